"""Time two commits in one run: ``python -m benchmarks.compare BASE``.

One suite of pytest-benchmark (``benchmarks/regressions``) times the package of another commit and
the one of this checkout, uncommitted changes included, in turns: base, now, now, base and so on,
each turn in a process of its own. A machine that slows down slows down both. What is compared is
the ratio of the two medians of each turn, so that its spread says how much the machine wobbles.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.summary import markdown_table

__all__ = ["Ratio", "checked_out", "compared", "environment", "main", "turns_in_order"]

_ROOT = Path(__file__).parents[1]
_SUITE = Path(__file__).parent / "regressions"
_RAW = Path(__file__).parent / "results" / "compare.json"
_SIDES = ("base", "now")
_TIMERS = {"wall": "time.perf_counter", "processor": "time.process_time"}

#: Median seconds of each benchmark in one turn of one side.
Turn = Mapping[str, float]


@dataclass(frozen=True)
class Ratio:
    """One benchmark of two commits.

    Attributes
    ----------
    name : str
    base, now : float or None
        Medians over turns, in seconds; None where a commit lacks what is measured.
    ratios : tuple of float
        Now over base, by turn.
    """

    name: str
    base: float | None
    now: float | None
    ratios: tuple[float, ...]

    @property
    def verdict(self) -> str:
        """What all turns agree on; with 5 turns chance alone agrees once in 16 times."""
        if not self.ratios:
            return "in one of them only"
        if len(self.ratios) > 1 and min(self.ratios) > 1.0:
            return "slower"
        if len(self.ratios) > 1 and max(self.ratios) < 1.0:
            return "faster"
        return "no difference seen"

    @property
    def cells(self) -> list[str]:
        """The row of a table."""
        spread = ""
        if self.ratios:
            low, high = min(self.ratios), max(self.ratios)
            spread = f"{median(self.ratios):.2f} ({low:.2f} to {high:.2f})"
        return [self.name, _milliseconds(self.base), _milliseconds(self.now), spread, self.verdict]


_HEADER = ("benchmark", "base (ms)", "now (ms)", "now / base (spread over turns)", "")


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:,.1f}"


def compared(turns: Mapping[str, Sequence[Turn]]) -> list[Ratio]:
    """Compare the turns of both sides.

    Parameters
    ----------
    turns : mapping of {"base", "now"} to a sequence of Turn
        As many of each.
    """
    names = dict.fromkeys(name for side in _SIDES for turn in turns[side] for name in turn)
    found = []
    for name in names:
        base, now = ([turn[name] for turn in turns[side] if name in turn] for side in _SIDES)
        pairs = zip(turns["base"], turns["now"], strict=True)
        ratios = [new[name] / old[name] for old, new in pairs if name in old and name in new]
        found.append(
            Ratio(name, median(base) if base else None, median(now) if now else None, tuple(ratios))
        )
    return found


def turns_in_order(n_turns: int) -> list[tuple[int, str]]:
    """Return which side runs when: each begins every other turn."""
    return [
        (turn, side)
        for turn in range(n_turns)
        for side in (_SIDES if turn % 2 == 0 else reversed(_SIDES))
    ]


@contextlib.contextmanager
def checked_out(repository: Path, revision: str) -> Iterator[Path]:
    """Check a commit out into a folder of its own, which is gone afterwards.

    Parameters
    ----------
    repository : Path
    revision : str
        Anything that git understands.

    Raises
    ------
    ValueError
        If there is no such commit.
    """
    git = ["git", "-C", str(repository)]
    asked = subprocess.run(
        [*git, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        raise ValueError(f"{revision!r} is no commit of {repository}. `git log` shows those.")
    with tempfile.TemporaryDirectory(prefix="interpret-dp-base-") as folder:
        place = Path(folder) / "base"
        commit = asked.stdout.strip()
        subprocess.run(
            [*git, "worktree", "add", "--quiet", "--detach", str(place), commit], check=True
        )
        try:
            yield place
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(place)], check=True)


def environment(root: Path) -> dict[str, str]:
    """Return the environment of a process that imports the package of a checkout."""
    # In front of everything that is installed, this project in editable mode included.
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "INTERPRET_DP_ROOT": str(root)}


def _run(root: Path, raw: Path, options: argparse.Namespace) -> Turn:
    """Run the suite once in a process of its own; return the median of each benchmark."""
    command = [sys.executable, "-m", "pytest", "-c", str(_SUITE / "pytest.ini"), str(_SUITE), "-q"]
    command += [f"--benchmark-json={raw}", f"--benchmark-timer={_TIMERS[options.timer]}"]
    command += ["-k", options.only] if options.only else []
    # Elsewhere: `python -m` puts the folder where it runs before everything else.
    finished = subprocess.run(
        command, cwd=raw.parent, env=environment(root), capture_output=True, text=True, check=False
    )
    # A benchmark of what the base does not have yet may fail; the others are compared.
    if finished.returncode not in (0, 1) or not raw.exists():
        raise RuntimeError(f"{' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
    document = json.loads(raw.read_text(encoding="utf-8"))
    return {
        one["name"].removeprefix("bench_"): one["stats"]["median"] for one in document["benchmarks"]
    }


def _measured(base: Path, kept: Path, options: argparse.Namespace) -> dict[str, list[Turn]]:
    """Run all turns."""
    roots = {"base": base, "now": _ROOT}
    turns: dict[str, list[Turn]] = {side: [] for side in _SIDES}
    for number, side in turns_in_order(options.turns):
        print(f"turn {number + 1} of {options.turns}: {side}", file=sys.stderr, flush=True)
        turns[side].append(_run(roots[side], kept / f"{number}_{side}.json", options))
    return turns


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=__doc__.splitlines()[0]
    )
    parser.add_argument("base", help="commit to compare this checkout with, as git names it")
    parser.add_argument("--turns", type=int, default=5, help="of each commit (default: 5)")
    parser.add_argument("--only", default="", help="part of a name, as pytest's -k takes it")
    parser.add_argument(
        "--timer",
        choices=_TIMERS,
        default="wall",
        help="seconds of the clock, or of all processors, which other work stretches less",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep the files of all turns, as `pytest-benchmark compare` takes them",
    )
    parser.add_argument("--out", type=Path, default=_RAW, metavar="FILE", help="raw figures (JSON)")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both commits, print the ratios, keep the raw figures."""
    options = _parser().parse_args(arguments)
    if options.turns < 1:
        _parser().error(f"--turns is {options.turns}; it must be at least 1.")
    if importlib.util.find_spec("pytest_benchmark") is None:
        _parser().error("pytest-benchmark is missing; install the extra 'test'.")
    machine: dict[str, Any] = describe_machine()
    with contextlib.ExitStack() as stack:
        try:
            base = stack.enter_context(checked_out(_ROOT, options.base))
        except ValueError as error:
            _parser().error(str(error))
        kept = options.keep
        if kept is None:
            kept = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept.mkdir(parents=True, exist_ok=True)
        turns = _measured(base, kept.resolve(), options)
    document = {"machine": machine, "base": options.base, "timer": options.timer, "turns": turns}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(document, indent=1), encoding="utf-8")
    said = "; ".join(f"{name} {value}" for name, value in machine.items())
    print(f"Base: {options.base}. Seconds of the {options.timer}; {said}.\n")
    print(markdown_table(_HEADER, [ratio.cells for ratio in compared(turns)]))


if __name__ == "__main__":
    main()
