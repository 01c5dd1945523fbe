"""What the adaptive methods spend where queries are dense, and where a model is overfitted.

Figure 9 of Patel, Shokri and Zick (2022), on adult: rows of the densest cluster, rows of all
clusters in equal shares, and any rows; a forest of full depth against one of depth 10, on rows of
the clusters where their accuracies differ most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_report import Report
from benchmarks.lime_setting import (
    DELTA,
    Answers,
    Indices,
    Task,
    adult_task,
    answer,
    mean_and_error,
)
from benchmarks.lime_truth import truth_of
from interpret_dp.datasets import load_benchmark

__all__ = ["density_study"]

METHODS = ("adaptive", "enhanced")
_CLUSTERS = 20
_SAMPLES = 3
_STYLES = ("-", "--", ":")


def density_study(n_queries: int, epsilons: Sequence[float], report: Report) -> None:
    """Measure, tabulate and draw.

    Parameters
    ----------
    n_queries : int
        Of each of three samples of each kind.
    epsilons : sequence of float
        The most that one query may cost; the first is drawn.
    report : Report
    """
    sound, overfitted = adult_task(), adult_task(depth=None)
    clusters = _clusters(sound)
    worst = _overfitted_region(sound, overfitted, clusters, n_queries)
    densest = _densest(sound, clusters, n_queries)
    kinds: dict[str, tuple[Task, Any]] = {
        "any rows": (sound, lambda rng: rng.choice(len(sound), n_queries, replace=False)),
        "dense rows": (sound, lambda rng: rng.choice(densest, n_queries, replace=False)),
        "sparse rows": (sound, lambda rng: _spread(clusters, n_queries, rng)),
    }
    pair: dict[str, tuple[Task, Any]] = {
        "depth 10": (sound, lambda rng: rng.choice(worst, n_queries, replace=False)),
        "full depth": (overfitted, lambda rng: rng.choice(worst, n_queries, replace=False)),
    }
    curves = []
    for title, group in (("dense and sparse rows", kinds), ("an overfitted model", pair)):
        records, drawn = [], {}
        for method in METHODS:
            for epsilon in epsilons:
                for kind, (task, draw) in group.items():
                    streams = [draw(np.random.default_rng(seed)) for seed in range(_SAMPLES)]
                    found = [answer(task, stream, method, epsilon) for stream in streams]
                    records.append(_record(task, streams, found, method, epsilon, kind))
                    if epsilon == epsilons[0]:
                        drawn[method, kind] = found
        report.add(f"Budget spent: {title}", pd.DataFrame(records), _note(n_queries))
        curves.append((title, drawn))
    _draw(report, curves)


def _note(n_queries: int) -> str:
    return (
        f"adult, {_SAMPLES} samples of {n_queries} rows; totals are means over the samples, at "
        f"delta {DELTA:g}. `of full` is the total over that of as many queries at full cost; "
        "`reused` counts answers that were taken over from a near row, free."
    )


def _clusters(task: Task) -> NDArray[np.int32]:
    from sklearn.cluster import KMeans

    found: NDArray[np.int32] = KMeans(_CLUSTERS, n_init=1, random_state=0).fit_predict(
        task.points / task.weights.unit
    )
    return found


def _members(clusters: NDArray[np.int32]) -> list[Indices]:
    return [np.flatnonzero(clusters == one) for one in range(_CLUSTERS)]


def _densest(task: Task, clusters: NDArray[np.int32], n_least: int) -> Indices:
    """Return the rows of the cluster with the smallest mean distance from its centre."""
    points = task.points / task.weights.unit
    large = [own for own in _members(clusters) if len(own) >= n_least]
    return min(large, key=lambda own: float(_distances(points[own]).mean()))


def _distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.linalg.norm(points - points.mean(axis=0), axis=1)
    return found


def _spread(clusters: NDArray[np.int32], n_queries: int, rng: np.random.Generator) -> Indices:
    """Draw as many rows from every cluster, in random order."""
    each = -(-n_queries // _CLUSTERS)
    drawn = [rng.choice(own, min(each, len(own)), replace=False) for own in _members(clusters)]
    return rng.permutation(np.concatenate(drawn))[:n_queries]


def _overfitted_region(
    sound: Task, overfitted: Task, clusters: NDArray[np.int32], n_least: int
) -> Indices:
    """Return rows of the clusters where the training accuracies differ most."""
    target = load_benchmark("adult")[1].to_numpy()
    right = [task.model.probabilities.argmax(axis=1) == target for task in (overfitted, sound)]
    gain = right[0].astype(float) - right[1]
    ordered = sorted(_members(clusters), key=lambda own: -float(gain[own].mean()))
    found: list[Indices] = []
    while sum(map(len, found)) < 2 * n_least:
        found.append(ordered[len(found)])
    return np.concatenate(found)


def _record(
    task: Task,
    streams: Sequence[Indices],
    found: Sequence[Answers],
    method: str,
    epsilon: float,
    kind: str,
) -> dict[str, Any]:
    totals = np.array([one.epsilons()[-1] for one in found])
    squares = [float(np.sum(one.mus**2)) / (len(one.mus) * one.mus.max() ** 2) for one in found]
    # Right answers take longer to find than private ones: the first 100 rows stand for all.
    losses = np.concatenate(
        [
            truth_of(task, stream[:100]).losses(one.phis[:100])
            for stream, one in zip(streams, found, strict=True)
        ]
    )
    loss, error = mean_and_error(losses)
    return {
        "method": method,
        "epsilon of a query": epsilon,
        "rows": kind,
        "total epsilon": float(totals.mean()),
        "its error": float(totals.std(ddof=1) / np.sqrt(len(totals))),
        "of full": float(np.sqrt(np.mean(squares))),
        "reused": float(np.mean([(one.origins == "reused").sum() for one in found])),
        "loss, first 100": loss,
        "loss error": error,
    }


def _draw(
    report: Report, curves: Sequence[tuple[str, Mapping[tuple[str, str], Sequence[Answers]]]]
) -> None:
    with report.drawing("lime_density", len(curves)) as axes:
        for axis, (title, drawn) in zip(axes, curves, strict=True):
            kinds = list(dict.fromkeys(kind for _, kind in drawn))
            for (method, kind), found in drawn.items():
                spent = np.mean([one.epsilons() for one in found], axis=0)
                axis.plot(
                    np.arange(1, len(spent) + 1),
                    spent,
                    _STYLES[kinds.index(kind)],
                    color={"adaptive": "#d9480f", "enhanced": "#9c36b5"}[method],
                    label=f"{method}, {kind}",
                )
            axis.set(xlabel="queries", ylabel="epsilon spent", title=title)
            axis.legend(frameon=False, fontsize=8)
