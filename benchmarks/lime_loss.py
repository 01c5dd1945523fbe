"""Approximation loss of private local explanations on adult: ``python -m benchmarks.lime_loss``.

Loss is equation 4 of Patel, Shokri and Zick (2022), the mean over rows of the local loss above that
of the best explanation; the black box is a random forest of 100 trees of depth 10. ``paper`` is
their Algorithm 1 with their own noise formula, which takes the number of rows as public.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from interpret_dp import PrivacyLedger, Schema
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.datasets import load_benchmark
from interpret_dp.lime.ball import minimum_on_ball
from interpret_dp.lime.descent import descend, gradients_release
from interpret_dp.lime.features import UNITS, LocalFeatures
from interpret_dp.lime.labels import black_box
from interpret_dp.lime.moments import ExplanationData, Queries, exact_moments
from interpret_dp.lime.statistics import moments_release, release_moments
from interpret_dp.lime.weighting import WeightTable, stable_weight, weight_table
from interpret_dp.mechanisms import SystemRandomness
from interpret_dp.release import ReleaseDoor, ReleasePlan
from interpret_dp.schema import open_table

__all__ = ["main", "measure", "paper_noise"]

DELTA = 1e-6
STEPS = 300
METHODS = ("statistics", "interactive", "paper")

Floats = NDArray[np.float64]
Moments = tuple[Floats, Floats]


def paper_noise(epsilon: float, delta: float, steps: int, n_rows: int, c: float) -> float:
    """Return the noise scale of line 1 of Algorithm 1, for sensitivity c / n_rows."""
    logarithms = np.log(np.e + np.sqrt(steps) * epsilon / delta) * np.log(steps / delta)
    return float(c / (n_rows * epsilon) * np.sqrt(16 * steps * logarithms))


def paper(moments: Moments, sigma: float, rng: np.random.Generator) -> Floats:
    """Return the last iterate of Algorithm 1 on the mean loss, with steps c / sqrt(t).

    The paper does not say which c: it gets the best of three at each query, which no release could.
    """
    second, first = moments
    found = []
    for rate in (0.3, 3.0, 30.0):
        phi = np.zeros(len(first))
        for step in range(1, STEPS):
            noise = sigma * rng.standard_normal(len(first))
            phi = phi - rate / np.sqrt(step) * (2 * (second @ phi - first) + noise)
            phi /= max(1.0, float(np.linalg.norm(phi)))
        found.append(phi)
    return min(found, key=lambda phi: _loss(moments, phi))


def _loss(moments: Moments, phi: Floats) -> float:
    second, first = moments
    return float(phi @ second @ phi - 2 * first @ phi)


def _ours(
    method: str, data: ExplanationData, asked: Queries, weights: WeightTable, epsilon: float
) -> list[Floats]:
    """Explain each query at epsilon by itself."""
    # One mu a query, all of a batch behind one door.
    mu = mu_of_budget(epsilon, DELTA) * np.sqrt(len(asked))
    planned = (
        moments_release(weights, Neighbourhood(), mu, len(asked))
        if method == "statistics"
        else gradients_release(weights, Neighbourhood(), mu, len(asked), STEPS // 4)
    )
    with ReleaseDoor(
        PrivacyLedger.in_memory(),
        "adult",
        ReleasePlan((planned,)),
        SystemRandomness(),
        explainer="benchmark",
        epsilon=epsilon,
        delta=DELTA,
    ) as door:
        if method == "statistics":
            fits = [one.solve() for one in release_moments(door, data, asked, weights)]
        else:
            fits = descend(door, data, asked, weights, STEPS // 4)
    return [fit.coefficients for fit in fits]


def measure(n_queries: int, epsilons: Sequence[float], c: float, seed: int = 0) -> pd.DataFrame:
    """Return the mean loss, its standard error and the seconds a query of each method.

    Parameters
    ----------
    n_queries : int
        Rows of the table that are explained.
    epsilons : sequence of float
        Of one query.
    c : float
        Sensitivity constant of the stable weight, for all methods alike.
    """
    table, target = load_benchmark("adult")
    opened = open_table(table)
    # The benchmark treats adult as public.
    features = LocalFeatures.of_schema(Schema.draft(table), opened.names)
    points = features.points(opened)
    forest = RandomForestClassifier(100, max_depth=10, random_state=0).fit(points, target)
    labels = black_box(forest).labels(points, len(points), 2)
    data = ExplanationData(points, labels)
    rng = np.random.default_rng(seed)
    asked = Queries(points[rng.choice(len(points), n_queries, replace=False)], (1,) * n_queries)
    weights = weight_table(stable_weight, c, features.largest_square, features.stretch)
    truth = [_exact(points, labels[:, 1], point, weights) for point in asked.points]
    best = [_loss(moments, minimum_on_ball(*moments)[0]) for moments in truth]
    start = time.perf_counter()
    exact_moments(data, asked, weights)
    records = [{"method": "(sums)", "seconds": (time.perf_counter() - start) / n_queries}]
    explainers: dict[str, Callable[[float], list[Floats]]] = {
        "statistics": lambda epsilon: _ours("statistics", data, asked, weights, epsilon),
        "interactive": lambda epsilon: _ours("interactive", data, asked, weights, epsilon),
        "paper": lambda epsilon: [
            paper(moments, paper_noise(epsilon, DELTA, STEPS, len(points), c), rng)
            for moments in truth
        ],
    }
    for method in METHODS:
        for epsilon in epsilons:
            start = time.perf_counter()
            phis = explainers[method](epsilon)
            seconds = (time.perf_counter() - start) / n_queries
            losses = [
                _loss(moments, phi) - least
                for moments, phi, least in zip(truth, phis, best, strict=True)
            ]
            error = float(np.std(losses) / np.sqrt(n_queries))
            record: dict[str, Any] = {"method": method, "epsilon": epsilon}
            record |= {"loss": float(np.mean(losses)), "error": error, "seconds": seconds}
            records.append(record)
    return pd.DataFrame(records)


def _exact(
    points: NDArray[np.int16], labels: NDArray[np.int16], point: Any, table: WeightTable
) -> Moments:
    """Return the moments of the mean loss in floating point, with equation 5 as it is printed."""
    apart = (points - point.astype(np.float64)) / table.unit
    distances = np.linalg.norm(apart, axis=1)
    with np.errstate(divide="ignore"):
        weights = np.minimum(1.0, table.c / (2 * distances * (distances + 1))) / len(points)
    weighted = apart * weights[:, np.newaxis]
    return weighted.T @ apart, weighted.T @ (labels / UNITS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.01, 0.1, 1.0])
    parser.add_argument("--c", type=float, default=0.5)
    arguments = parser.parse_args()
    found = measure(arguments.queries, arguments.epsilons, arguments.c)
    print(found.to_string(index=False, float_format="%.3g", na_rep=""))


if __name__ == "__main__":
    main()
