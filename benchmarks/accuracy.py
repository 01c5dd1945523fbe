"""Measure accuracy and fit time against the reference: ``python -m benchmarks.accuracy``.

The engines take turns on the same rows in one process, so that a machine that slows down slows
down both. Results are kept after every split; a run that was broken off continues where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from benchmarks.engines import ENGINES, Engine, load_engine
from benchmarks.figure import draw_accuracy
from benchmarks.problems import PROBLEMS, TABLES, TEST_FRACTION, Problem, Split, load_problem
from benchmarks.records import Fit, Results
from benchmarks.summary import write_summary

if TYPE_CHECKING:
    Progress = tqdm[Any]

__all__ = ["main", "measured"]

_FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "accuracy.png"
_RESULTS = Path(__file__).parent / "results" / "accuracy.json"


class _Session:
    """Warm fits of one process, after one unmeasured fit per engine and problem."""

    def __init__(self, results: Results, progress: Progress) -> None:
        self._results = results
        self._progress = progress
        self._warm: set[tuple[str, str]] = set()

    def measure(
        self,
        problem: Problem,
        engines: Sequence[Engine],
        epsilon: float | None,
        number: int,
        split: Split,
    ) -> None:
        """Fit all engines on one split, unless the file has them all from the same code."""
        known = [self._results.find(problem.name, e.name, epsilon, number) for e in engines]
        # All or none: times are only compared between fits that followed each other.
        if all(
            fit is not None and fit.version == engine.version
            for fit, engine in zip(known, engines, strict=True)
        ):
            self._progress.update(len(engines))
            return
        turn = number % len(engines)
        fits = []
        for engine in (*engines[turn:], *engines[:turn]):
            self._progress.set_description(f"{problem.name} {epsilon or ''} {engine.name}")
            fits.append(self._fit(problem, engine, epsilon, number, split))
            self._progress.update()
        self._results.add(fits)

    def _fit(
        self, problem: Problem, engine: Engine, epsilon: float | None, number: int, split: Split
    ) -> Fit:
        rows = engine.prepare(split.X_train)
        # Without privacy the value has no effect.
        budget = 1.0 if epsilon is None else epsilon
        if engine.is_private and (problem.name, engine.name) not in self._warm:
            engine.build(problem, budget, problem.delta).fit(rows, split.y_train)
            self._warm.add((problem.name, engine.name))
        model = engine.build(problem, budget, problem.delta)
        began = time.perf_counter()
        model.fit(rows, split.y_train)
        seconds = time.perf_counter() - began
        predicted = engine.predict(problem, model, engine.prepare(split.X_test))
        return Fit(
            problem=problem.name,
            engine=engine.name,
            version=engine.version,
            epsilon=epsilon,
            split=number,
            score=problem.score(split.y_test, predicted),
            seconds=seconds,
            test_rows_per_training_row=len(split.y_test) / len(split.y_train),
        )


def _measure_all(arguments: argparse.Namespace, results: Results) -> None:
    engines = [load_engine(name) for name in arguments.engines]
    private = [engine for engine in engines if engine.is_private]
    others = [engine for engine in engines if not engine.is_private]
    problems = [load_problem(name) for name in arguments.problems]
    epsilons = {problem.name: arguments.epsilons or problem.epsilons for problem in problems}
    per_split = [len(private) * len(own) + len(others) for own in epsilons.values()]
    with tqdm(total=arguments.splits * sum(per_split), unit="fit") as progress:
        session = _Session(results, progress)
        for problem in problems:
            for number in range(arguments.splits):
                split = problem.split(number)
                if private:
                    for epsilon in epsilons[problem.name]:
                        session.measure(problem, private, epsilon, number, split)
                # Nobody compares their times, so that each may be measured alone.
                for engine in others:
                    session.measure(problem, [engine], None, number, split)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy",
        description=(
            f"Accuracy and fit time on public tables, {round(100 * (1 - TEST_FRACTION))}/"
            f"{round(100 * TEST_FRACTION)} splits. Continues an earlier run."
        ),
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(TABLES))
    parser.add_argument(
        "--epsilons",
        nargs="+",
        type=float,
        metavar="EPSILON",
        help="default: those of each problem",
    )
    parser.add_argument("--splits", type=int, default=10, help="number of splits (default: 10)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument(
        "--summary",
        action="store_true",
        help="measure nothing; write the tables and the figure of what the file has",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=_RESULTS,
        metavar="FILE",
        help="raw results (JSON); the tables come beside it as .md and .csv",
    )
    return parser


def measured(arguments: Sequence[str]) -> Results:
    """Measure what the file lacks, given the command's options, and return what it has."""
    options = _parser().parse_args(arguments)
    results = Results(options.out)
    _measure_all(options, results)
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the file lacks, then write the tables."""
    options = _parser().parse_args(arguments)
    if options.splits < 1:
        _parser().error(f"--splits is {options.splits}; it must be at least 1.")
    if not all(epsilon > 0 for epsilon in options.epsilons or ()):
        _parser().error(f"--epsilons is {options.epsilons}; each must be above 0.")
    results = Results(options.out)
    began = time.perf_counter()
    if not options.summary:
        _measure_all(options, results)
    print(write_summary(results, options.out))
    draw_accuracy(results, options.out.with_suffix(".png") if options.out != _RESULTS else _FIGURE)
    print(f"{time.perf_counter() - began:.0f} s; tables in {options.out.with_suffix('.md')}")


if __name__ == "__main__":
    main()
