"""Objectives and monotone constraints on simulated tables: ``python -m benchmarks.objectives``.

Counts and amounts have known means, a product of curves; figures are mean deviances on 20,000 new
rows. Monotone constraints are measured on the simulated cohort: the root mean squared distance of
scores from the true ones, without and with constraints on three curves that rise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)
from interpret_dp.datasets import make_cohort

__all__ = ["markdown", "monotone_table", "objective_table", "simulate"]

Floats = NDArray[np.float64]

DELTA = 1e-6
RISING = {"age": 1, "length_of_stay": 1, "prior_admissions": 1}
FEATURES = {
    "a": Continuous(18, 90),
    "b": Continuous(0, 30),
    "c": Continuous(-4, 4),
    "d": Continuous(0, 1),
    "g": Categorical(["u", "v", "w"]),
}
TARGETS = {"poisson_deviance": Continuous(0, 20), "gamma_deviance": Continuous(1, 2_000)}
_TEST_ROWS = 20_000
_TEST_SEED = 999


def simulate(objective: str, n_rows: int, seed: int) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return features, targets and true means: counts of mean 1.4, or amounts of mean 136."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.uniform(18, 90, n_rows),
            "b": rng.lognormal(1.0, 0.7, n_rows).clip(0, 30),
            "c": rng.normal(size=n_rows).clip(-4, 4),
            "d": rng.uniform(size=n_rows),
            "g": rng.choice(["u", "v", "w"], n_rows, p=[0.5, 0.3, 0.2]),
        }
    )
    score = 0.08 + 1.2 / (1.0 + np.exp((60.0 - X["a"]) / 7.0)) - 0.35 * np.log1p(X["b"])
    score += 0.4 * np.sin(1.5 * X["c"]) + X["g"].map({"u": -0.2, "v": 0.1, "w": 0.4})
    mean = np.exp(score.to_numpy(dtype=np.float64))
    if objective == "poisson_deviance":
        return X, rng.poisson(mean).astype(np.float64), mean
    return X, rng.gamma(2.0, 50.0 * mean), 100.0 * mean


def objective_table(
    sizes: Sequence[int], epsilons: Sequence[float], n_fits: int
) -> list[dict[str, Any]]:
    """Return one row an objective, number of rows and epsilon, with mean deviances."""
    from interpret.glassbox import ExplainableBoostingRegressor
    from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance

    measures: dict[str, Callable[..., float]] = {
        "poisson_deviance": mean_poisson_deviance,
        "gamma_deviance": mean_gamma_deviance,
    }
    rows = []
    for objective, target in TARGETS.items():
        measure, schema = measures[objective], Schema(FEATURES, target=target)
        X_test, y_test, mean = simulate(objective, _TEST_ROWS, _TEST_SEED)
        for n_rows in sizes:
            X, y, _ = simulate(objective, n_rows, 0)
            plain = ExplainableBoostingRegressor(
                objective=objective, interactions=0, outer_bags=4, random_state=1
            ).fit(X, y)
            for epsilon in epsilons:
                found: dict[str, list[float]] = {objective: [], "rmse": []}
                for seed, name in ((s, n) for s in range(n_fits) for n in found):
                    X, y, _ = simulate(objective, n_rows, seed)
                    model = DPExplainableBoostingRegressor(
                        objective=name,
                        epsilon=epsilon,
                        delta=DELTA,
                        schema=schema,
                        ledger=PrivacyLedger.in_memory(),
                        dataset="simulated",
                    ).fit(X, y)
                    # A regression by squares may predict what no deviance is defined for.
                    smallest = max(target.lower, target.upper / 400)
                    shown = model.predict(X_test)
                    shown = np.maximum(shown, smallest) if name == "rmse" else shown
                    found[name].append(measure(y_test, shown))
                rows.append(
                    {
                        "objective": objective,
                        "rows": n_rows,
                        "epsilon": epsilon,
                        "ours": float(np.mean(found[objective])),
                        "standard error": _error(found[objective]),
                        "ours, rmse": float(np.mean(found["rmse"])),
                        "EBM without privacy": measure(y_test, plain.predict(X_test)),
                        "true mean": measure(y_test, mean),
                        "constant": measure(y_test, np.full(len(y_test), y.mean())),
                    }
                )
    return rows


def monotone_table(
    sizes: Sequence[int], epsilons: Sequence[float], n_fits: int
) -> list[dict[str, Any]]:
    """Return one row a task, number of rows and epsilon, with distances from the true scores."""
    tasks: dict[Literal["classification", "regression"], Any] = {
        "classification": DPExplainableBoostingClassifier,
        "regression": DPExplainableBoostingRegressor,
    }
    rows = []
    for task, kind in tasks.items():
        new = make_cohort(_TEST_ROWS, seed=_TEST_SEED, task=task)
        truth = new.score(new.X)
        for n_rows in sizes:
            for epsilon in epsilons:
                distances = np.zeros((n_fits, 2))
                for seed in range(n_fits):
                    cohort = make_cohort(n_rows, seed=seed, task=task)
                    for column, constraints in enumerate((None, RISING)):
                        model = kind(
                            epsilon=epsilon,
                            delta=DELTA,
                            schema=cohort.schema,
                            monotone_constraints=constraints,
                            ledger=PrivacyLedger.in_memory(),
                            dataset="simulated",
                        ).fit(cohort.X, cohort.y)
                        scores = model.predict_with_uncertainty(new.X)[:, 0]
                        distances[seed, column] = np.sqrt(np.mean((scores - truth) ** 2))
                free, bound = distances.T
                rows.append(
                    {
                        "task": task,
                        "rows": n_rows,
                        "epsilon": epsilon,
                        "free": float(free.mean()),
                        "three curves monotone": float(bound.mean()),
                        "difference": float((bound - free).mean()),
                        "standard error": _error(bound - free),
                    }
                )
    return rows


def _error(values: Sequence[float] | Floats) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as a table."""
    header = list(rows[0])
    lines = [" | ".join(header), " | ".join("---" for _ in header)]
    for row in rows:
        cells = (f"{v:.4g}" if isinstance(v, float) else f"{v}" for v in row.values())
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def main() -> None:
    """Measure and write ``objectives.md``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 20_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.25, 1.0, 4.0])
    parser.add_argument("--fits", type=int, default=10, help="at least 2")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/objectives.md"))
    arguments = parser.parse_args()
    how = (arguments.rows, arguments.epsilons, arguments.fits)
    text = (
        f"# Objectives and monotone constraints\n\n`python -m benchmarks.objectives`: simulated "
        f"tables, {arguments.fits} fits a line, delta {DELTA:g}.\n\n"
        "## Mean deviance on new rows\n\n"
        f"{markdown(objective_table(*how))}\n## Distance from the true scores of the cohort\n\n"
        f"{markdown(monotone_table(*how))}"
    )
    write_page(arguments.out, text)


if __name__ == "__main__":
    main()
