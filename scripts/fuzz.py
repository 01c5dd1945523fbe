"""Runs the property tests with fresh examples and fresh noise until the time is over.

Each round has a seed of its own. What a round finds is printed with the command that repeats it.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import subprocess
import sys
import time

SEED_VARIABLE = "INTERPRET_DP_TEST_SEED"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", re.MULTILINE)


def main() -> int:
    """Return 1 if a test failed, 0 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long (default: 10)")
    parser.add_argument("--workers", default=os.environ.get("PYTEST_WORKERS", "2"))
    parser.add_argument("paths", nargs="*", default=["tests"], help="of tests (default: all)")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    found: dict[str, str] = {}
    rounds = 0
    while (left := end - time.monotonic()) > 0:
        seed = str(secrets.randbelow(10**9))
        base = [sys.executable, "-m", "pytest", f"--hypothesis-seed={seed}", "-q", "--tb=short"]
        command = [*base, "-m", "hypothesis and not slow", "-n", options.workers, *options.paths]
        try:
            done = subprocess.run(
                command,
                env=os.environ | {SEED_VARIABLE: seed, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=left,
            )
        except subprocess.TimeoutExpired:
            break
        rounds += 1
        failed = _FAILED.findall(done.stdout)
        if failed or done.returncode not in (0, 1):
            print(done.stdout)
        for test in failed:
            repeat = shlex.join([*base[:3], f"--hypothesis-seed={seed}", test])
            found.setdefault(test, f"{SEED_VARIABLE}={seed} {repeat}")
        if done.returncode not in (0, 1):
            print(f"pytest ended with {done.returncode}; no further round.")
            return 1
    print(f"{rounds} whole rounds; {len(found)} tests failed.")
    for repeat in found.values():
        print(f"repeat with: {repeat}")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
