"""What it is worth to declare the hour of the day as an integer: alone, and in a pair.

Run by ``python -m benchmarks.integers``.

Simulated rows, as of rented bicycles: on working days there are two rush hours, on other days one
hump. In one problem this interaction is strong, in the other weak.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    Integer,
    Schema,
)

__all__ = ["draw", "main", "measured"]

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 4.0)
DECLARED: dict[str, Continuous | Categorical] = {
    "Continuous(0, 23)": Continuous(0, 23),
    "Categorical(range(24), ordered=True)": Categorical(range(24), ordered=True),
    "Integer(0, 23)": Integer(0, 23),
}
_OTHERS = [f"x{k}" for k in range(8)]
_TEST_ROWS = 20_000


def draw(n_rows: int, strength: float, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Return rows and their targets; ``strength`` is that of the interaction."""
    X = pd.DataFrame({name: rng.uniform(size=n_rows) for name in _OTHERS})
    X["hour"], X["working"] = rng.integers(0, 24, n_rows), rng.binomial(1, 0.7, n_rows)
    hour = X["hour"].to_numpy()
    rush = np.exp(-((hour - 8) ** 2)) + np.exp(-((hour - 17.5) ** 2) / 2)
    hump = 0.6 * np.exp(-((hour - 14) ** 2) / 18)
    mean = 0.7 * rush + 0.3 * hump
    y = mean + strength * (np.where(X["working"] == 1, rush, hump) - mean)
    y += 0.5 * X["x0"] + 0.3 * np.sin(6.0 * X["x1"]) + rng.normal(0, 0.15, n_rows)
    return X, y.to_numpy()


def measured(n_rows: int, strength: float, n_repeats: int) -> Iterator[dict[str, Any]]:
    """Yield one record a fit: how the hour was declared, the pairs, epsilon and R2."""
    for repeat in range(n_repeats):
        rng = np.random.default_rng([repeat, n_rows])
        X, y = draw(n_rows, strength, rng)
        test = draw(_TEST_ROWS, strength, rng)
        for declared, spec in DECLARED.items():
            specs = {name: Continuous(0, 1) for name in _OTHERS}
            schema = Schema(
                specs | {"hour": spec, "working": Categorical([0, 1])}, target=Continuous(-1, 2.5)
            )
            for epsilon in EPSILONS:
                for named in ([], [("hour", "working")]):
                    model = DPExplainableBoostingRegressor(
                        schema=schema, epsilon=epsilon, delta=DELTA, interactions=named, n_jobs=1
                    ).fit(X, y)
                    score = r2_score(test[1], model.predict(test[0]))
                    cell = (declared, "the pair named" if named else "no pair")
                    yield {"cell": cell, "epsilon": epsilon, "score": score}


def _table(records: list[dict[str, Any]]) -> list[str]:
    frame = pd.DataFrame(records)
    rows = ["| the hour is | pairs | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS) + " |"]
    rows.append("|---|---|" + "--:|" * len(EPSILONS))
    for cell, of_cell in frame.groupby("cell", sort=False):
        scores = of_cell.groupby("epsilon")["score"]
        shown = [f"{scores.mean()[e]:.3f} ± {scores.sem()[e]:.3f}" for e in EPSILONS]
        rows.append(f"| `{cell[0]}` | {cell[1]} | " + " | ".join(shown) + " |")
    return rows


def main() -> None:
    """Measure both problems and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=14_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/integers.md"))
    arguments = parser.parse_args()
    lines = [
        "# Integers",
        "",
        f"R2 on {_TEST_ROWS:,} test rows, mean ± standard error of {arguments.repeats} draws of "
        f"{arguments.rows:,} rows, delta {DELTA:g}. `python -m benchmarks.integers`",
    ]
    for strength, title in ((1.0, "A strong interaction"), (0.2, "A weak interaction")):
        records = list(measured(arguments.rows, strength, arguments.repeats))
        lines += ["", f"## {title}", "", *_table(records)]
        print("\n".join(lines[-10:]), flush=True)
    write_page(arguments.out, "\n".join(lines))


if __name__ == "__main__":
    main()
