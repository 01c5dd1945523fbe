"""How often a fit warns of a declaration that is right: `python -m benchmarks.declarations`.

Tables are declared by their own minima, maxima and levels, so that each finding of bounds or
levels is a false alarm. That all rows are in one bin is always true, and is not counted. Whole
tables and samples of 500 rows are fitted, with a round of boosting each: what is looked at is
released before.
"""

from __future__ import annotations

import argparse
import warnings

import interpret_dp as dp
from benchmarks.problems import DELTA, TABLES, Problem, load_problem

_EPSILONS = 0.1, 1.0, 4.0
_FEW_ROWS = 500


def findings(problem: Problem, epsilon: float, seed: int, n_rows: int | None) -> list[str]:
    """Return what a fit and a background say against right declarations."""
    X = problem.X if n_rows is None else problem.X.sample(n_rows, random_state=seed)
    given = {"epsilon": epsilon, "delta": DELTA, "schema": problem.schema}
    kind = {
        "classification": dp.DPExplainableBoostingClassifier,
        "regression": dp.DPExplainableBoostingRegressor,
    }[problem.task]
    schema = problem.schema.replace(target=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind(max_rounds=1, **given).fit(X, problem.y.loc[X.index])
        dp.PrivateBackground(**(given | {"schema": schema})).fit(X)
    return [
        str(w.message)
        for w in caught
        if w.category is dp.DeclarationWarning and "% of" in str(w.message)
    ]


def main() -> None:
    """Print the number of fits and of those that warn, for each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10, help="of each table, epsilon and size")
    parser.add_argument("--names", nargs="+", default=TABLES, choices=TABLES)
    given = parser.parse_args()
    n_fits = given.fits
    for name in given.names:
        problem = load_problem(name)
        said = [
            text
            for epsilon in _EPSILONS
            for n_rows in (None, _FEW_ROWS)
            for seed in range(n_fits)
            for text in findings(problem, epsilon, seed, n_rows)
        ]
        print(f"{name}: {len(said)} of {4 * len(_EPSILONS) * n_fits} fits warn", flush=True)
        for text in sorted(set(said)):
            print(f"  {text}", flush=True)


if __name__ == "__main__":
    main()
