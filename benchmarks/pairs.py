"""What pairs gain where there is an interaction, and cost where there is none.

Run by ``python -m benchmarks.pairs``.

Simulated rows of ten features. In one problem the product of two features outweighs everything
else; in the other there are main effects alone. Each is fitted with fresh noise on fresh rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.report import write_page
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    Schema,
)

__all__ = ["Drawn", "draw", "main", "measured"]

DELTA = 1e-6
EPSILONS = (1.0, 4.0)
NAMED = [("x0", "x1")]
_TEST_ROWS = 20_000
_LEVELS = ["a", "b", "c", "d"]
_FEATURES: dict[str, Continuous | Categorical] = {
    **{f"x{k}": Continuous(-1, 1) for k in range(8)},
    "level": Categorical(_LEVELS),
    "flag": Categorical([0, 1]),
}
_SCHEMA = Schema(_FEATURES, target=Categorical(["no", "yes"]))


@dataclass(frozen=True)
class Drawn:
    """Rows, their labels and the true log-odds."""

    X: pd.DataFrame
    y: Any
    log_odds: Any


def draw(n_rows: int, strength: float, rng: np.random.Generator) -> Drawn:
    """Return rows whose log-odds hold ``strength * x0 * x1`` beside main effects."""
    X = pd.DataFrame({f"x{k}": rng.uniform(-1, 1, n_rows) for k in range(8)})
    X["level"] = rng.choice(_LEVELS, n_rows)
    X["flag"] = rng.integers(0, 2, n_rows)
    eta = 0.8 * X["x0"] + np.sin(3.0 * X["x2"]) + 0.6 * (X["x3"] > 0.2)
    eta += X["level"].map({"a": 0.5, "b": 0.0, "c": -0.3, "d": -0.2}) + strength * X["x0"] * X["x1"]
    eta = (eta - 0.3).to_numpy(dtype=np.float64)
    y = np.where(rng.uniform(size=n_rows) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    return Drawn(X, y, eta)


def _ours(epsilon: float, interactions: Any) -> Any:
    return DPExplainableBoostingClassifier(
        schema=_SCHEMA, epsilon=epsilon, delta=DELTA, interactions=interactions, n_jobs=1
    )


def _reference(epsilon: float) -> Any:
    from interpret.privacy import DPExplainableBoostingClassifier as Reference

    return Reference(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["continuous"] * 8 + ["nominal"] * 2,
        privacy_bounds={f"x{k}": (-1.0, 1.0) for k in range(8)},
        n_jobs=1,
    )


def measured(n_rows: int, strength: float, n_repeats: int) -> Iterator[dict[str, Any]]:
    """Yield one record a fit: engine, epsilon, area under the curve, and which pair was chosen."""
    for repeat in range(n_repeats):
        rng = np.random.default_rng([repeat, n_rows])
        train, test = draw(n_rows, strength, rng), draw(_TEST_ROWS, strength, rng)
        truth = test.y == "yes"
        yield _record("the true log-odds", None, roc_auc_score(truth, test.log_odds))
        for epsilon in EPSILONS:
            engines = {
                "reference (has no pairs)": _reference(epsilon),
                "ours, no pairs": _ours(epsilon, 0),
                "ours, the pair named": _ours(epsilon, NAMED),
                "ours, one pair chosen": _ours(epsilon, 1),
                "ours, three pairs chosen": _ours(epsilon, 3),
            }
            for name, model in engines.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the reference warns at every fit
                    model.fit(train.X, train.y)
                score = roc_auc_score(truth, model.predict_proba(test.X)[:, 1])
                found = "x0 & x1" in model.term_names_
                yield _record(name, epsilon, score, found)


def _record(
    engine: str, epsilon: float | None, score: float, found: bool = False
) -> dict[str, Any]:
    return {"engine": engine, "epsilon": epsilon, "score": float(score), "found": found}


def _table(records: list[dict[str, Any]]) -> list[str]:
    cells: dict[tuple[str, float | None], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        cells[record["engine"], record["epsilon"]].append(record)
    rows = ["| engine | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS) + " |"]
    rows.append("|---|" + "--:|" * len(EPSILONS))
    for engine in dict.fromkeys(record["engine"] for record in records):
        shown = []
        for epsilon in EPSILONS:
            found = cells.get((engine, epsilon)) or cells[engine, None]
            scores = np.array([record["score"] for record in found])
            text = f"{scores.mean():.4f} ± {scores.std(ddof=1) / len(scores) ** 0.5:.4f}"
            if "chosen" in engine:
                text += f" ({sum(record['found'] for record in found)} of {len(found)})"
            shown.append(text)
        rows.append(f"| {engine} | " + " | ".join(shown) + " |")
    return rows


def main() -> None:
    """Measure both problems at both sizes and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[8_000, 30_000])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/pairs.md"))
    arguments = parser.parse_args()
    lines = [
        "# Pairs",
        "",
        f"Area under the ROC curve on {_TEST_ROWS:,} test rows, mean ± standard error of "
        f"{arguments.repeats} draws, delta {DELTA:g}; in brackets, how often the true pair was "
        "chosen among 45. `python -m benchmarks.pairs`",
    ]
    for strength, title in ((3.0, "A strong interaction"), (0.0, "No interaction at all")):
        for n_rows in arguments.rows:
            records = list(measured(n_rows, strength, arguments.repeats))
            lines += ["", f"## {title}, {n_rows:,} rows", "", *_table(records)]
            print("\n".join(lines[-9:]), flush=True)
    write_page(arguments.out, "\n".join(lines))


if __name__ == "__main__":
    main()
