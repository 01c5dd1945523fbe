"""Runs the property tests with fresh examples and fresh noise until the time is over.

Each round has a seed of its own. Each failure is printed when it is found, with the command that
repeats it, so that nothing is lost when the time ends in the middle of a round.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import subprocess
import sys
import threading
import time

SEED_VARIABLE = "INTERPRET_DP_TEST_SEED"
# With -v pytest names each test as it ends, with or without workers.
_FAILED = re.compile(
    r"^\[gw\d+\] \[ *\d+%\] (?:FAILED|ERROR) (tests/.+?) *$"
    r"|^(tests/.+?) (?:FAILED|ERROR) +\[ *\d+%\]$"
)
_QUIET = ("tests/", "[gw")


def _round(command: list[str], seed: str, seconds: float) -> tuple[int | None, list[str]]:
    """Run pytest once; return its exit status, None if the time was over, and what failed."""
    process = subprocess.Popen(
        command,
        env=os.environ | {SEED_VARIABLE: seed, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    timer = threading.Timer(seconds, process.terminate)
    timer.start()
    failed: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        if (match := _FAILED.search(line.rstrip())) is not None:
            test = match[1] or match[2]
            if test not in failed:
                failed.append(test)
                repeat = shlex.join([*command[:3], f"--hypothesis-seed={seed}", test])
                print(f"{test} failed. Repeat with:\n  {SEED_VARIABLE}={seed} {repeat}", flush=True)
        elif not line.startswith(_QUIET):
            print(line, end="")
    is_over = not timer.is_alive()
    timer.cancel()
    status = process.wait()
    return (None if is_over else status), failed


def main() -> int:
    """Return 1 if a test failed, 0 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long (default: 10)")
    parser.add_argument("--workers", default=os.environ.get("PYTEST_WORKERS", "2"))
    parser.add_argument("paths", nargs="*", default=["tests"], help="of tests (default: all)")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    found: set[str] = set()
    rounds = 0
    while (left := end - time.monotonic()) > 0:
        seed = str(secrets.randbelow(10**9))
        command = [sys.executable, "-m", "pytest", f"--hypothesis-seed={seed}", "-v", "--tb=short"]
        command += ["-m", "hypothesis and not slow", "-n", options.workers, *options.paths]
        status, failed = _round(command, seed, left)
        found.update(failed)
        rounds += status is not None
        # 0: all passed, 1: some failed; anything else would be the same in the next round.
        if status not in (None, 0, 1):
            print(f"pytest ended with status {status}; there is no further round.")
            return 1
    print(f"{rounds} whole rounds; {len(found)} tests failed.")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
