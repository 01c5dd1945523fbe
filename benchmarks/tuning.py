"""Is a private search worth its price? ``python -m benchmarks.tuning`` writes results/tuning.md.

On the same splits and at the same total epsilon: the default rule, the search, the default rule
with the budget that one run of the search has, and the best settings of the grid in hindsight,
which nobody may know (chosen by the mean over the splits of the test parts, at the full budget).
``--tables wiggles --output benchmarks/results/tuning_wiggles.md`` is a simulated table on which the
default rule is wrong.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import ParameterGrid
from tqdm.auto import tqdm

from benchmarks.paired import corrected_standard_error
from benchmarks.problems import DELTA, TEST_FRACTION, Problem, Split, load_problem, metric_of
from interpret_dp import (
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPRandomizedSearch,
    Schema,
)
from interpret_dp.accounting import GdpPair, mu_of_budget
from interpret_dp.accounting.repeated import Repetitions, calibrated_run_mu

GRID: dict[str, list[Any]] = {
    "learning_rate": [None, 0.1, 0.4],
    "max_leaves": [None, 4, 16],
    "max_rounds": [10, 40],
}
_WIGGLES: dict[str, list[Any]] = {"max_bins": [64, 256], "max_leaves": [None, 64]}
_MEAN_FITS = 5.0
_RESULTS = Path(__file__).parent / "results" / "tuning.md"


def _problem(name: str) -> Problem:
    """Return a table; wiggles has a curve of ten periods, for which 64 bins are too few."""
    if name != "wiggles":
        return load_problem(name)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(size=62_500), "z": rng.uniform(size=62_500)})
    y = np.sin(60 * X["x"]) + X["z"] + 0.3 * rng.normal(size=62_500)
    features = {"x": Continuous(0, 1), "z": Continuous(0, 1)}
    return Problem(name, X, y, Schema(features, target=Continuous(-4, 4)), "regression")


def _grid(problem: Problem) -> dict[str, list[Any]]:
    return _WIGGLES if problem.name == "wiggles" else GRID


def _estimator(problem: Problem, epsilon: float, **settings: Any) -> Any:
    kind = (
        DPExplainableBoostingRegressor
        if problem.task == "regression"
        else DPExplainableBoostingClassifier
    )
    return kind(schema=problem.schema, epsilon=epsilon, delta=DELTA, n_jobs=1, **settings)


def _tested(problem: Problem, split: Split, model: Any) -> float:
    if problem.task == "regression":
        return problem.score(split.y_test, model.predict(split.X_test))
    return problem.score(split.y_test, model.predict_proba(split.X_test)[:, 1])


def _epsilon_of_run(epsilon: float) -> float:
    """Return the epsilon of a fit that has the budget of one run."""
    total = mu_of_budget(epsilon, DELTA)
    run = calibrated_run_mu(total, Repetitions.of_mean(_MEAN_FITS, 1.0))
    return GdpPair(run).epsilon_at(DELTA) * (1.0 - 1e-9)


def _measured(problem: Problem, epsilon: float, split: Split) -> dict[str, float]:
    """Return the test score of everything that is compared on one split."""
    rows = split.X_train, split.y_train
    found = {
        "default": _tested(problem, split, _estimator(problem, epsilon).fit(*rows)),
        "one run": _tested(
            problem, split, _estimator(problem, _epsilon_of_run(epsilon)).fit(*rows)
        ),
    }
    search = DPRandomizedSearch(_estimator(problem, epsilon), _grid(problem), mean_fits=_MEAN_FITS)
    found["search"] = _tested(problem, split, search.fit(*rows))
    for settings in ParameterGrid(_grid(problem)):
        model = _estimator(problem, epsilon, **settings).fit(*rows)
        found[str(settings)] = _tested(problem, split, model)
    return found


def _line(problem: Problem, epsilon: float, found: pd.DataFrame) -> list[str]:
    """Return one row of the table: means, and paired differences with corrected errors."""
    grid = found[[str(settings) for settings in ParameterGrid(_grid(problem))]].mean()
    best = grid.idxmax() if metric_of(problem.name) == "AUROC" else grid.idxmin()
    gain = found["search"] - found["default"]
    if metric_of(problem.name) == "RMSE":
        gain = -gain
    error = corrected_standard_error(gain.tolist(), TEST_FRACTION / (1 - TEST_FRACTION))
    figures = (found["default"], found["search"], found["one run"], found[best])
    return [
        f"{problem.name} ({metric_of(problem.name)})",
        f"{epsilon:g}",
        *(f"{figure.mean():.4f}" for figure in figures),
        f"{gain.mean():+.4f} ± {error:.4f}",
    ]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=["adult", "wine_quality", "elevators"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 4.0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--output", type=Path, default=_RESULTS)
    arguments = parser.parse_args()
    header = ["table", "epsilon", "default", "search", "default, one run's budget"]
    header += ["best of the grid in hindsight", "gain of the search"]
    lines = [header, ["---"] * len(header)]
    for name in arguments.tables:
        problem = _problem(name)
        for epsilon in arguments.epsilons:
            numbers = tqdm(range(arguments.splits), desc=f"{name} {epsilon:g}")
            found = [_measured(problem, epsilon, problem.split(number)) for number in numbers]
            lines.append(_line(problem, epsilon, pd.DataFrame(found)))
    grid = _grid(problem)
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    arguments.output.write_text(
        "# A private search against the default rule\n\n"
        f"`python -m benchmarks.tuning`: {arguments.splits} splits of 80/20, delta {DELTA:g}, "
        f"a geometric number of fits of mean {_MEAN_FITS:g} over {len(ParameterGrid(grid))} "
        f"settings ({grid}). AUROC: higher is better; RMSE: lower. Gain: above 0 where the search "
        f"is better, with the corrected standard error.\n\n{text}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
