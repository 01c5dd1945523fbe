"""Small explanation sets of awkward rows, a black box that is row-wise, and requests on them."""

import functools

import numpy as np
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, PrivacyLedger, Schema
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.accounting.plans import ReleasePlan
from interpret_dp.lime.adaptive import ExplanationData, Queries
from interpret_dp.lime.black_box import black_box
from interpret_dp.lime.coordinates import Coordinates, stable_weight, weight_table
from interpret_dp.mechanisms import SeededRandomness, active_randomness
from interpret_dp.release import ReleaseRequest
from interpret_dp.schema import open_table
from tests.audit.fits import cells_of

SCHEMA = Schema(
    {
        "age": Continuous(0, 100),
        "income": Continuous(0, 1e6, scale="log"),
        "site": Categorical(["a", "b", "rare"]),
        "same": Continuous(5, 5),
    }
)
FEATURES = Coordinates.of_schema(SCHEMA, tuple(SCHEMA.features))
RELATIONS = ["add_or_remove_one", "replace_one"]

EXTREMES = [
    (100, 1e6, "rare", 5),
    (0, 0.0, "b", 5),
    (None, None, None, None),
    (np.inf, -np.inf, "never seen", "x"),
    (10**400, np.nan, 3, 5),
    (30, 2e5, "a", 5),
]


def records(n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (int(rng.integers(0, 100)), float(rng.uniform(0, 1e6)), str(rng.choice(["a", "b"])), 5)
        for _ in range(n_rows)
    ]


def cells(rows):
    return cells_of(rows, 4)


def model(rows):
    """Return a probability of each row, by Python's own arithmetic on its cells."""

    def one(row):
        age = row[0] if isinstance(row[0], int | float) else 50.0
        return min(max(age / 100, 0.0), 1.0) * (0.2 if row[2] == "b" else 0.9)

    return np.array([one(row) for row in rows], dtype=np.float64)


def points(rows, features=FEATURES):
    return features.points(open_table(cells(rows), features.names))


def explanation_data(rows, features=FEATURES):
    labels = black_box(model).labels(cells(rows), len(rows), 1)
    return ExplanationData(points(rows, features), labels)


def queries(rows, features=FEATURES):
    labels = explanation_data(rows, features).labels[:, 0].tolist()
    return Queries(points(rows, features), (0,) * len(rows), tuple(labels))


NUMBERS = st.sampled_from([-(2**15), -128, -1, 0, 1, 77, 128, 256, 2**15 - 1]) | st.integers(
    -(2**15), 2**15 - 1
)
"""Coordinates and labels of 16 bits, also such as no encoder makes."""


def extreme_data(data, n_rows, n_coordinates):
    """Draw rows of extreme integers by Hypothesis."""
    row = st.lists(NUMBERS, min_size=n_coordinates, max_size=n_coordinates)
    points = np.array([data.draw(row) for _ in range(n_rows)], np.int16)
    labels = np.array([data.draw(NUMBERS) for _ in range(n_rows)], np.int16)
    return ExplanationData(points.reshape(n_rows, n_coordinates), labels.reshape(n_rows, 1))


def extreme_pair(data, relation, n):
    n_others = 1 if relation == "replace_one" else 0
    return extreme_data(data, 1, n), extreme_data(data, n_others, n)


ASKED = [(30, 2e5, "a", 5), (99, 0, "rare", 5), (None, 5e5, None, 5)]


@functools.cache
def weights(c=0.5):
    return weight_table(stable_weight, c, FEATURES.largest_square, FEATURES.stretch)


def session_of(*planned, neighbourhood=None, ledger=None, charges_used=False):
    request = ReleaseRequest(
        epsilon=1.0,
        delta=1e-6,
        neighbourhood=neighbourhood or Neighbourhood(),
        plan=ReleasePlan(planned),
        randomness=active_randomness() or SeededRandomness(0),
        ledger=ledger or PrivacyLedger.in_memory(),
        dataset="explained",
    )
    return request.opened("test", charges_used=charges_used)


def published(phis):
    return {str(at): phi for at, phi in enumerate(phis)}
