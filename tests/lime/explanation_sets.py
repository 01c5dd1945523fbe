"""Small explanation sets of awkward rows, a black box that is row-wise, and requests on them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from interpret_dp import Categorical, Continuous, PrivacyLedger, Schema
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.descent import descend, gradients_release
from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.labels import black_box
from interpret_dp.lime.moments import ExplanationData, Queries
from interpret_dp.lime.statistics import moments_release, release_moments
from interpret_dp.lime.weighting import WeightTable, stable_weight, weight_table
from interpret_dp.mechanisms import Randomness, SeededRandomness, active_randomness
from interpret_dp.release import PlannedRelease, ReleaseDoor, ReleasePlan
from interpret_dp.schema import open_table

SCHEMA = Schema(
    {
        "age": Continuous(0, 100),
        "income": Continuous(0, 1e6, scale="log"),
        "site": Categorical(["a", "b", "rare"]),
        "same": Continuous(5, 5),
    }
)
FEATURES = LocalFeatures.of_schema(SCHEMA, tuple(SCHEMA.features))
STEPS = 3

Record = tuple[Any, Any, Any, Any]


def records(n_rows: int = 30, seed: int = 0) -> list[Record]:
    rng = np.random.default_rng(seed)
    return [
        (
            int(rng.integers(0, 100)),
            float(rng.uniform(0, 1e6)),
            str(rng.choice(["a", "b"])),
            5,
        )
        for _ in range(n_rows)
    ]


def cells(rows: list[Record]) -> Any:
    table = np.empty((len(rows), 4), dtype=object)
    for index, row in enumerate(rows):
        table[index] = row
    return table


def model(rows: Any) -> Any:
    """Return a probability of each row, by Python's own arithmetic on its cells."""

    def one(row: Any) -> float:
        age = row[0] if isinstance(row[0], int | float) else 50.0
        return min(max(age / 100, 0.0), 1.0) * (0.2 if row[2] == "b" else 0.9)

    return np.array([one(row) for row in rows], dtype=np.float64)


def explanation_data(rows: list[Record], box: Callable[[Any], Any] = model) -> ExplanationData:
    table = cells(rows)
    points = FEATURES.points(open_table(table, FEATURES.names))
    return ExplanationData(points, black_box(box).labels(table, len(rows), 1))


def queries(rows: list[Record]) -> Queries:
    points = FEATURES.points(open_table(cells(rows), FEATURES.names))
    return Queries(points, (0,) * len(rows))


ASKED = [(30, 2e5, "a", 5), (99, 0, "rare", 5), (None, 5e5, None, 5)]


@functools.cache
def weights(c: float = 0.5) -> WeightTable:
    return weight_table(stable_weight, c, FEATURES.largest_square, FEATURES.stretch)


def door_of(
    planned: PlannedRelease,
    randomness: Randomness | None = None,
    neighbourhood: Neighbourhood | None = None,
    ledger: PrivacyLedger | None = None,
) -> ReleaseDoor:
    return ReleaseDoor(
        ledger or PrivacyLedger.in_memory(),
        "explained",
        ReleasePlan((planned,)),
        randomness or active_randomness() or SeededRandomness(0),
        neighbourhood=neighbourhood or Neighbourhood(),
        explainer="test",
        epsilon=1.0,
        delta=1e-6,
    )


def request(
    data: ExplanationData,
    asked: Queries,
    table: WeightTable,
    *,
    method: str,
    relation: str = "add_or_remove_one",
    mu: float = 1.0,
    steps: int = STEPS,
    randomness: Randomness | None = None,
) -> list[LinearFit]:
    """Explain the queries at a cost of mu, as an explainer would."""
    neighbourhood = Neighbourhood(relation=relation)
    if method == "statistics":
        planned = moments_release(table, neighbourhood, mu, len(asked))
    else:
        planned = gradients_release(table, neighbourhood, mu, len(asked), steps)
    with door_of(planned, randomness, neighbourhood) as door:
        if method == "statistics":
            return [one.solve() for one in release_moments(door, data, asked, table)]
        return descend(door, data, asked, table, steps)
