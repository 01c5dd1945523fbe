"""What the benchmarks of the paper's algorithms share: a black box, its rows, and explanations.

All explanations come through ``PaperLimeTabular`` as users call it. Tables and labels are taken as
public here, so that losses can be computed without noise.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lime_report import public_tables
from benchmarks.tables import load_benchmark
from interpret_dp import PrivacyLedger, Schema
from interpret_dp.accounting.gaussian import epsilon_of_mu, mu_of_budget
from interpret_dp.lime.black_box import black_box
from interpret_dp.lime.coordinates import Coordinates, WeightTable, stable_weight, weight_table
from interpret_dp.lime.paper import PaperLimeTabular
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.schema import open_table

__all__ = [
    "DELTA",
    "STEPS",
    "Answers",
    "C",
    "Task",
    "adult_task",
    "answer",
    "forest",
    "mean_and_error",
    "task_of",
    "top_overlap",
]

DELTA = 1e-6
STEPS = 300
C = 0.5
_TOP = 5
_POSITIVE = 1

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Looked:
    """A black box whose answers about the rows of a table are known and looked up by their index.

    Parameters
    ----------
    probabilities : ndarray, shape (n_rows, n_classes)
        Of the rows that are numbered from 0 in their index.
    """

    def __init__(self, probabilities: Floats) -> None:
        self.probabilities = probabilities

    def predict_proba(self, X: pd.DataFrame) -> Floats:
        """Return what the model said of these rows."""
        found: Floats = self.probabilities[X.index.to_numpy()]
        return found


@dataclass(frozen=True)
class Task:
    """A black box and the rows that explain it.

    Attributes
    ----------
    rows : DataFrame, shape (n_rows, n_columns)
        Numbered from 0.
    schema : Schema
    features : Coordinates
    points : ndarray, shape (n_rows, n_coordinates)
    model : Looked
    labels : ndarray of int16, shape (n_rows,)
        The explained output, as ``BlackBox.labels`` has it.
    weights : WeightTable
    """

    rows: pd.DataFrame
    schema: Schema
    features: Coordinates
    points: Any
    model: Looked
    labels: Any
    weights: WeightTable

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def draw(self, n_rows: int, seed: int = 0) -> Indices:
        """Draw rows to be explained."""
        return np.random.default_rng(seed).choice(len(self), n_rows, replace=False)


def forest(points: Any, target: Any, *, depth: int | None = 10, n_trees: int = 100) -> Any:
    """Return a fitted random forest over one-hot coordinates."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_trees, max_depth=depth, random_state=0).fit(points, target)


def task_of(rows: pd.DataFrame, schema: Schema, probabilities: Floats) -> Task:
    """Return a task about the second output of a black box whose answers are known."""
    opened = open_table(rows)
    features = Coordinates.of_schema(schema, opened.names)
    model = Looked(probabilities)
    labels = black_box(model).labels(rows, len(rows), probabilities.shape[1])[:, _POSITIVE]
    weights = weight_table(stable_weight, C, features.largest_square, features.stretch)
    return Task(rows, schema, features, features.points(opened), model, labels, weights)


@cache
def adult_task(depth: int | None = 10) -> Task:
    """Return adult with a random forest of 100 trees, of which answers are about its own rows."""
    rows, target = load_benchmark("adult")
    with public_tables():
        schema = Schema.draft(rows)
    opened = open_table(rows)
    points = Coordinates.of_schema(schema, opened.names).points(opened)
    probabilities = forest(points, target, depth=depth).predict_proba(points)
    return task_of(rows, schema, probabilities)


@dataclass(frozen=True)
class Answers:
    """Released explanations of a stream of rows, in its order.

    Attributes
    ----------
    phis : ndarray, shape (n_queries, n_coordinates)
    mus : ndarray, shape (n_queries,)
        What each cost; 0 where it was not computed on the private rows.
    origins : ndarray of str, shape (n_queries,)
    seconds : float
        Of one query.
    """

    phis: Floats
    mus: Floats
    origins: NDArray[np.str_]
    seconds: float

    @property
    def released(self) -> NDArray[np.bool_]:
        """Which were computed on the private rows."""
        found: NDArray[np.bool_] = self.origins == "released"
        return found

    def epsilons(self) -> Floats:
        """Return the epsilon of everything up to each query, by exact composition."""
        totals = np.sqrt(np.cumsum(self.mus**2))
        return np.array([epsilon_of_mu(float(mu), DELTA) for mu in totals])


def answer(
    task: Task,
    chosen: Indices,
    method: str,
    epsilon: float,
    *,
    centered: bool = False,
    seed: int = 0,
) -> Answers:
    """Explain rows by a fresh explainer, at ``epsilon`` a fully computed query.

    Noise is reproducible here, so that a table can be repeated to the last digit.
    """
    room = mu_of_budget(epsilon, DELTA) * np.sqrt(len(chosen)) * 1.001
    total = max(epsilon, epsilon_of_mu(float(room), DELTA) * 1.001)
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("explained", total, DELTA)
    explainer = PaperLimeTabular(
        task.model,
        task.rows,
        schema=task.schema,
        epsilon=total,
        delta=DELTA,
        ledger=ledger,
        dataset="explained",
        per_query=epsilon,
        method=method,
        centered=centered,
        c=C,
        trained_on_same_people=True,
        steps=STEPS,
        n_rows=float(len(task)),
    )
    start = time.perf_counter()
    with use_randomness(SeededRandomness(seed)):
        explainer.explain_local(task.rows.iloc[chosen])
    seconds = (time.perf_counter() - start) / len(chosen)
    history = explainer.history_
    return Answers(
        np.array([one.coefficients for one in history]),
        np.array([one.mu for one in history]),
        np.array([one.origin for one in history]),
        seconds,
    )


def top_overlap(ours: Sequence[Any] | Floats, theirs: Sequence[Any] | Floats) -> float:
    """Return how many of the five largest in size both have, on average over queries."""
    counts = []
    for one, other in zip(ours, theirs, strict=True):
        tops = [set(np.argsort(-np.abs(np.nan_to_num(values)))[:_TOP]) for values in (one, other)]
        counts.append(len(tops[0] & tops[1]))
    return float(np.mean(counts))


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean and its standard error; NaN of nothing."""
    if len(values) == 0:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))
