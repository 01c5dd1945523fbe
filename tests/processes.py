"""Python in a process of its own, with the package of this tree."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python(*arguments, cwd=ROOT, timeout=600.0, **environment):
    """Run Python; return what it wrote, and how it ended."""
    words = [sys.executable, *(str(part) for part in arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout)


def output_of(*arguments, **options):
    """Return what Python wrote; it has to end well."""
    done = python(*arguments, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
