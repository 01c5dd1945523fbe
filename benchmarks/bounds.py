"""What generous bounds cost: ``python -m benchmarks.bounds``.

Every number is declared once with the minimum and maximum of its column, and once with bounds 20
times as wide: 9 more widths below, and 10 above. Both fits of a split have the same rows and the
same seed.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from benchmarks.engines.ours import ENGINE
from benchmarks.paired import corrected_standard_error
from benchmarks.problems import TEST_FRACTION, Problem, load_problem
from benchmarks.report import write_page
from benchmarks.rules import error_of
from benchmarks.summary import markdown_table
from interpret_dp import Categorical, Continuous, Schema

__all__ = ["log_normal", "main", "widened"]

_BELOW, _ABOVE = 9, 10  # Widths of the data; whole, so that integers keep whole bounds.
_EPSILONS = (0.5, 1.0)
_HEADER = ("problem", "epsilon", "splits", "tight", "generous", "difference", "standard error")


def log_normal(n_rows: int = 30_000, n_features: int = 10) -> Problem:
    """Draw a classification with log-normal columns, from a little to very skewed."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n_rows, n_features))
    score = z @ np.linspace(0.9, 0.0, n_features) - 1.2
    y = pd.Series(np.where(rng.random(n_rows) < 1 / (1 + np.exp(-score)), "yes", "no"))
    columns = np.exp(z * rng.permutation(np.linspace(0.5, 2.0, n_features)))
    X = pd.DataFrame(columns, columns=[f"x{j}" for j in range(n_features)])
    features = {name: Continuous(X[name].min(), X[name].max()) for name in X}
    schema = Schema(features, target=Categorical(["no", "yes"]))
    return Problem("log_normal", X, y, schema, "classification")


def widened(schema: Schema) -> Schema:
    """Return the schema with the bounds of every number 20 times as far apart."""
    features = dict(schema.features)
    for name, spec in features.items():
        if isinstance(spec, Continuous):
            width = spec.upper - spec.lower
            lower, upper = spec.lower - _BELOW * width, spec.upper + _ABOVE * width
            features[name] = replace(spec, lower=lower, upper=upper)
    return replace(schema, features=features)


def _line(tight: Problem, epsilon: float, n_splits: int) -> list[str]:
    generous = replace(tight, schema=widened(tight.schema))
    scores = np.empty((n_splits, 2))
    for number in tqdm(range(n_splits), desc=f"{tight.name} {epsilon:g}"):
        split = tight.split(number)
        scores[number] = [1 - error_of(p, split, epsilon, number) for p in (tight, generous)]
    differences = scores[:, 1] - scores[:, 0]
    error = corrected_standard_error(differences, TEST_FRACTION / (1 - TEST_FRACTION)) or np.nan
    cells = [*scores.mean(axis=0), differences.mean(), error]
    return [tight.name, f"{epsilon:g}", str(n_splits), *(f"{cell:.4f}" for cell in cells)]


def main() -> None:
    """Measure both tables and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bounds.md"))
    arguments = parser.parse_args()
    tables = (load_problem("adult"), log_normal())
    lines = [_line(table, epsilon, arguments.splits) for table in tables for epsilon in _EPSILONS]
    page = (
        "# Generous bounds\n\n`python -m benchmarks.bounds`: AUROC with the minima and maxima of "
        f"the data as bounds (tight), and with bounds {1 + _BELOW + _ABOVE} times as wide "
        f"(generous); {ENGINE.version}, delta {tables[0].delta:g}. Standard errors of the "
        "differences are corrected for splits that overlap.\n\n"
    )
    page += markdown_table(_HEADER, lines)
    print(page)
    write_page(arguments.out, page)


if __name__ == "__main__":
    main()
