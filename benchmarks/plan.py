"""Planned widths of noise bands beside those of fits: ``python -m benchmarks.plan``.

`interpret_dp.plan` is given the schema, the true number of rows and the true rate or spread of the
target. Compared is the median over features of 1.96 noise deviations, each feature by its median
over rows, with the median of repeated fits. Planned are features without correlation, numbers that
are correlated by 0.9, and a public fifth of the rows with ``like=``. ``--out`` writes the table.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems import DELTA, Problem, load_problem
from interpret_dp import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyWarning,
    plan,
)

__all__ = ["fitted_width", "planned_widths"]

TABLES = ("adult_complete", "abalone", "wine_quality", "elevators", "credit_fraud", "pol")
EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
_WITHIN = 0.25
_PUBLIC = 5  # of so many rows one is public


def fitted_width(problem: Problem, epsilon: float) -> float:
    """Return the median half-width of one fit."""
    kind = DPExplainableBoostingRegressor
    if problem.task == "classification":
        kind = DPExplainableBoostingClassifier
    model = kind(epsilon=epsilon, delta=DELTA, schema=problem.schema).fit(problem.X, problem.y)
    return float(np.median([_median_over_rows(term) for term in model.released_.terms]))


def _median_over_rows(term: Any) -> float:
    deviations = np.asarray(term.noise_deviations)
    order = np.argsort(deviations)
    sums = np.cumsum(term.weights[order])
    return 1.96 * float(deviations[order][np.searchsorted(sums, sums[-1] / 2)])


def planned_widths(problem: Problem, n_fits: int) -> Iterator[tuple[float, float, float]]:
    """Yield for each epsilon the width, that of correlated numbers, and that of public rows."""
    target: dict[str, float] = {"spread": float(np.std(problem.y))}
    if problem.task == "classification":
        target = {"rate": float(np.mean(problem.y == problem.schema.target.levels[1]))}
    settings: dict[str, Any] = {"delta": DELTA, "n_fits": n_fits}
    size, public = len(problem.y), slice(None, None, _PUBLIC)
    simulated = plan(problem.schema, size, EPSILONS, **settings, **target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        rows = problem.X[public], problem.y[public]
        alike = plan(problem.schema, size, EPSILONS, **settings, like=rows)
    for own, other in zip(simulated.fits, alike.fits, strict=True):
        widths = own.widths, own.correlated_widths, other.widths
        yield tuple(float(np.median(list(each.values()))) for each in widths)


def _lines(names: Sequence[str], n_fits: int, n_planned: int) -> Iterator[str]:
    """Yield a table of ratios of planned to fitted widths."""
    yield "| table | epsilon | fitted (range) | independent | correlated | between | like= |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    counts = np.zeros(3, dtype=int)
    for name in names:
        problem = load_problem(name)
        for epsilon, planned in zip(EPSILONS, planned_widths(problem, n_planned), strict=True):
            fits = [fitted_width(problem, epsilon) for _ in range(n_fits)]
            fitted = float(np.median(fits))
            with np.errstate(divide="ignore", invalid="ignore"):
                alone, correlated, like = np.divide(planned, fitted)
            low, high = min(alone, correlated), max(alone, correlated)
            is_between = low <= 1.0 + _WITHIN and high >= 1.0 - _WITHIN
            counts += [abs(alone - 1) <= _WITHIN, is_between, abs(like - 1) <= _WITHIN]
            shown = f"{fitted:.3g} ({min(fits):.3g} to {max(fits):.3g})"
            ratios = (
                f"{alone:.2f} | {correlated:.2f} | {'yes' if is_between else 'no'} | {like:.2f}"
            )
            yield f"| {name} | {epsilon:g} | {shown} | {ratios} |"
    n = len(names) * len(EPSILONS)
    yield ""
    yield (
        f"Of {n} cells {counts[0]} are within 25 % of the fits, {counts[1]} within 25 % of the "
        f"range from independent to correlated, and {counts[2]} within 25 % with `like=`."
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--fits", type=int, default=9)
    parser.add_argument("--planned", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for line in _lines(options.tables, options.fits, options.planned):
        print(line, flush=True)
        lines.append(line)
    if options.out is not None:
        options.out.write_text("\n".join(["# Planned widths of bands", "", *lines, ""]))


if __name__ == "__main__":
    main()
