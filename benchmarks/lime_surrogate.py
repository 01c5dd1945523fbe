"""How good a private surrogate of a black box is: ``python -m benchmarks.lime_surrogate``.

``adult``: a random forest of 100 trees of depth 10, as in ``benchmarks.lime_loss``. Errors against
the forest's probabilities on all rows, true and as released; and how many of the five largest
effects at a query are those of the best local explanation (equation 2 of Patel, Shokri and Zick
2022, without noise), per original feature. ``words``: a logistic model of 500 simulated word
counts, a fifth of which matter. ``images``: a logistic model of smooth simulated images.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from interpret_dp import Continuous, PrivacyLedger, Schema
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.datasets import load_benchmark
from interpret_dp.lime.ball import minimum_on_ball
from interpret_dp.lime.features import UNITS, LocalFeatures
from interpret_dp.lime.labels import black_box
from interpret_dp.lime.moments import ExplanationData, Queries, exact_moments
from interpret_dp.lime.surrogate import Surrogate, fit_surrogate
from interpret_dp.lime.weighting import stable_weight, weight_table
from interpret_dp.schema import open_table

__all__ = ["main", "measure_adult", "measure_simulated"]

DELTA = 1e-6
_TOP = 5

Floats = NDArray[np.float64]


def _fitted(
    table: Any, labels: Floats, schema: Schema, epsilon: float, **keywords: Any
) -> tuple[Surrogate, float]:
    """Fit a surrogate that costs epsilon in all; return it and the seconds that it took."""
    start = time.perf_counter()
    surrogate = fit_surrogate(
        table,
        labels,
        n_outputs=labels.shape[1],
        schema=schema,
        bounds=Continuous(0, 1),
        mu=mu_of_budget(epsilon, DELTA),
        delta=DELTA,
        ledger=PrivacyLedger.in_memory(),
        dataset="explained",
        **keywords,
    )
    return surrogate, time.perf_counter() - start


def _figures(surrogate: Surrogate, table: Any, label: Floats, output: int) -> dict[str, Any]:
    """Return true and released errors, and the noise in the predictions that is admitted."""
    found = surrogate.explain(table, [output] * len(label))
    errors = label - found.predictions
    mean = surrogate.fidelity.table.loc[output]
    noise = surrogate.fidelity.standard_errors.loc[output]
    return {
        "rmse": float(np.sqrt((errors**2).mean())),
        "released_rmse": f"{mean['rmse']:.4f} ± {noise['rmse']:.4f}",
        "mae": float(np.abs(errors).mean()),
        "released_mae": f"{mean['mean_absolute_error']:.4f} ± {noise['mean_absolute_error']:.4f}",
        "r2": float(1 - (errors**2).mean() / label.var()),
        "released_r2": f"{mean['r2']:.3f} ± {noise['r2']:.3f}",
    }


def _overlap(ours: Floats, theirs: Floats) -> float:
    """Return how many of the largest effects both have, on average."""
    tops = [np.argsort(-np.abs(np.nan_to_num(one)), axis=1)[:, :_TOP] for one in (ours, theirs)]
    return float(np.mean([len(set(a) & set(b)) for a, b in zip(*tops, strict=True)]))


def measure_adult(
    epsilons: Sequence[float], n_queries: int, n_fits: int, c: float = 0.5, seed: int = 0
) -> pd.DataFrame:
    """Return one row a fit.

    Parameters
    ----------
    epsilons : sequence of float
        Of the whole surrogate, its fidelity included.
    n_queries : int
        Rows at which effects are compared.
    n_fits : int
        At each epsilon.
    c : float
        Sensitivity constant of the local explanations' weight.
    """
    table, target = load_benchmark("adult")
    opened = open_table(table)
    # The benchmark treats adult as public.
    schema = Schema.draft(table)
    features = LocalFeatures.of_schema(schema, opened.names)
    points = features.points(opened)
    forest = RandomForestClassifier(100, max_depth=10, random_state=0).fit(points, target)
    integers = black_box(forest).labels(points, len(points), 2)
    labels = (integers / UNITS + 1) / 2
    chosen = np.random.default_rng(seed).choice(len(points), n_queries, replace=False)
    weights = weight_table(stable_weight, c, features.largest_square, features.stretch)
    asked = Queries(points[chosen], (1,) * n_queries)
    local = []
    for point, sums in zip(
        asked.points,
        exact_moments(ExplanationData(points, integers), asked, weights),
        strict=True,
    ):
        moments = (sums.second / weights.scale, sums.first / weights.scale)
        local.append(features.per_feature(minimum_on_ball(*moments)[0], point))
    records = []
    for epsilon in epsilons:
        for _ in range(n_fits):
            surrogate, seconds = _fitted(opened, labels, schema, epsilon, complementary=True)
            effects = surrogate.explain(table.iloc[chosen], [1] * n_queries)
            record = {"epsilon": epsilon, **_figures(surrogate, opened, labels[:, 1], 1)}
            record["top5_of_local"] = _overlap(effects.effects, np.array(local))
            record["standard_error"] = float(effects.standard_errors.mean())
            records.append(record | {"seconds": seconds})
    return pd.DataFrame(records)


def measure_simulated(kind: str, epsilons: Sequence[float], n_rows: int) -> pd.DataFrame:
    """Return one row an epsilon.

    Parameters
    ----------
    kind : {"words", "images"}
        500 word counts, or images of 48 x 48 pixels.
    epsilons : sequence of float
    n_rows : int
    """
    make = _words if kind == "words" else _images
    rows, label, schema, keywords = make(n_rows)
    records = []
    for epsilon in epsilons:
        surrogate, seconds = _fitted(rows, label[:, np.newaxis], schema, epsilon, **keywords)
        start = time.perf_counter()
        surrogate.explain(rows[:100], [0] * 100)
        asking = (time.perf_counter() - start) / 100
        figures = _figures(surrogate, rows, label, 0)
        records.append({"epsilon": epsilon, **figures, "seconds": seconds, "query": asking})
    return pd.DataFrame(records)


def _words(n_rows: int) -> tuple[Floats, Floats, Schema, dict[str, Any]]:
    rng = np.random.default_rng(0)
    frequency = np.minimum(0.3, 3 / np.arange(1, 501))
    rows = rng.poisson(frequency, size=(n_rows, 500)).astype(np.float64)
    weights = rng.normal(size=500) * (rng.uniform(size=500) < 0.2)
    score = np.minimum(rows, 3) @ weights
    score = 1.5 * (score - score.mean()) / score.std() + 0.5 * (rows[:, 0] > 0) * (rows[:, 3] > 0)
    return rows, 1 / (1 + np.exp(-score)), Schema(default=Continuous(0, 5)), {}


def _images(n_rows: int) -> tuple[Floats, Floats, Schema, dict[str, Any]]:
    rng = np.random.default_rng(0)
    side = 48
    places = np.mgrid[:side, :side].reshape(2, -1).T / side
    shapes = np.array(
        [np.exp(-((places - centre) ** 2).sum(1) / 0.02) for centre in rng.uniform(size=(20, 2))]
    )
    hidden = rng.normal(size=(n_rows, 20))
    rows = np.clip(0.5 + 0.25 * hidden @ shapes + 0.05 * rng.normal(size=(n_rows, side**2)), 0, 1)
    label = 1 / (1 + np.exp(-hidden[:, :4] @ [1, -1, 0.7, 0.5]))
    return rows, label, Schema(default=Continuous(0, 1)), {"image_shape": (side, side)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["adult", "words", "images"], nargs="?", default="adult")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1.0])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--fits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=50_000)
    arguments = parser.parse_args()
    if arguments.data == "adult":
        found = measure_adult(arguments.epsilons, arguments.queries, arguments.fits)
    else:
        found = measure_simulated(arguments.data, arguments.epsilons, arguments.rows)
    print(found.to_string(index=False, float_format="%.4g"))


if __name__ == "__main__":
    main()
