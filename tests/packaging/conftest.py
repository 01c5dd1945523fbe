"""The built distributions, the wheel in an environment of its own, and how to run things in it."""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


def run(*command, cwd, **environment):
    """Run a command with nothing of this checkout on the path, and return what it printed."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
    )


def succeed(*command, cwd):
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def python(self):
        return self.folder / "bin" / "python"

    @property
    def install(self):
        """Words that install; most modules are never imported, and so are not compiled."""
        return self.python, "-m", "pip", "install", "--quiet", "--no-compile"


@pytest.fixture(scope="session")
def distributions(tmp_path_factory):
    """Build the sdist from the checkout, and the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    succeed(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return SimpleNamespace(sdist=sdist, wheel=wheel)


@pytest.fixture(scope="session")
def environment(distributions, tmp_path_factory):
    """Install the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    created = Environment(folder)
    succeed(*created.install, distributions.wheel, cwd=folder)
    return created
