"""Representation "bins": what a bin is, what an effect means, and that the promise is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.audit import replay
from interpret_dp.lime.features import UNITS, LocalFeatures, differences
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.history import Explained, History
from interpret_dp.lime.moments import ExplanationData, Queries, exact_moments
from interpret_dp.lime.weighting import WeightTable, stable_weight, weight_table
from interpret_dp.schema import Integer
from tests.lime import explanation_sets as sets
from tests.lime.explanation_sets import (
    ASKED,
    EXTREMES,
    RELATIONS,
    SCHEMA,
    Record,
    explanation_data,
    neighbours,
    published,
    queries,
    request,
)

FEATURES = LocalFeatures.of_schema(SCHEMA, tuple(SCHEMA.features), representation="bins")
AWKWARD = st.one_of(
    st.none(), st.floats(), st.integers(), st.sampled_from(["a", "b", "rare", "never seen", "1"])
)


def points(rows: Any) -> Any:
    return sets.points(rows, FEATURES)


def table(c: float = 0.5) -> WeightTable:
    return weight_table(stable_weight, c, FEATURES.largest_square, FEATURES.stretch)


def test_every_feature_has_one_coordinate() -> None:
    assert FEATURES.widths == (1, 1, 1, 1)
    assert FEATURES.n_coordinates == 4
    assert FEATURES.labels == FEATURES.names
    assert FEATURES.largest_square == 4 * UNITS**2
    assert FEATURES.stretch == 2
    assert FEATURES.own_coordinates(points(ASKED)[0]).tolist() == [0, 1, 2, 3]


def test_bins_are_named_in_words() -> None:
    named = [FEATURES.bin_labels(point) for point in points([(30, 0, "b", 5), (99, 1e6, "?", 5)])]
    assert named[0][0] == "25 <= age < 50"
    assert named[0][1].startswith("income < 30.6")
    assert named[0][2:] == ("site = b", "same is not missing")
    assert named[1][0] == "75 <= age"
    assert named[1][1].startswith("31621.8 <= income")
    assert named[1][2] == "site is undeclared"
    missing = FEATURES.bin_labels(points([(None, None, None, None)])[0])
    assert missing == ("age is missing", "income is missing", "site is missing", "same is missing")


def test_bins_of_integers_are_named_by_their_values() -> None:
    hours = LocalFeatures(("hour",), (Integer(0, 11),), "bins")
    named = [hours.bin_labels(np.array([code]))[0] for code in range(1, 5)]
    assert named == ["hour <= 2", "3 <= hour <= 5", "6 <= hour <= 8", "9 <= hour"]
    few = LocalFeatures(("hour",), (Integer(0, 2),), "bins")
    assert few.bin_labels(np.array([2])) == ("hour = 1",)


def test_the_nearest_explanation_is_the_one_in_most_of_the_same_bins() -> None:
    found = points([(99, 1e6, "a", 5), (30, 0, "b", 5), (26, 1, "a", 5)])
    nothing = LinearFit(np.zeros(4), np.zeros(4))
    history = History(
        tuple(Explained(point, 0, 0, nothing, "statistics", "released", 0.1) for point in found[:2])
    )
    nearest = history.nearest(found[2], 0)
    assert nearest is not None
    assert nearest[0].point.tolist() == found[1].tolist()
    assert nearest[1] == UNITS


@given(st.lists(st.tuples(AWKWARD, AWKWARD, AWKWARD, AWKWARD), min_size=1, max_size=6))
def test_a_row_s_bins_are_its_own_and_within_the_bound(rows: Any) -> None:
    together = points(rows)
    for row, own in zip(rows, together, strict=True):
        assert points([row])[0].tolist() == own.tolist()
        squares = np.sum(differences(together, own).astype(np.int64) ** 2, axis=1)
        assert squares.max() <= FEATURES.largest_square


@pytest.mark.parametrize("extreme", EXTREMES, ids=range(len(EXTREMES)))
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", ["statistics", "interactive"])
def test_a_neighbouring_explanation_set_differs_only_where_it_was_charged(
    method: str, relation: str, extreme: Record
) -> None:
    asked = queries(ASKED, FEATURES)

    def fit(rows: Any) -> Any:
        data = explanation_data(rows, FEATURES)
        return request(data, asked, table(), method=method, relation=relation)

    for pair in neighbours(relation, extreme):
        report = replay(fit, *pair, published=published)
        assert report.ok, report
        assert report.mu == pytest.approx(1.0, rel=1e-6)


def test_the_sensitivity_of_bins_is_reached() -> None:
    """By a row in another bin, with a label at its bound; few distances occur between bins."""
    weights = table()
    norms = []
    for n_apart in range(5):
        row = np.array([[1, 1, 1, 1]], dtype=np.uint16)
        centre = row.copy()
        centre[0, :n_apart] = 2
        data = ExplanationData(row, np.array([[UNITS]], dtype=np.int16))
        (sums,) = exact_moments(data, Queries(centre, (0,)), weights)
        squared = np.sum(sums.second.astype(float) ** 2) + np.sum(sums.first.astype(float) ** 2)
        norms.append(np.sqrt(squared))
    assert 0.87 < max(norms) / weights.moments_norm <= 1.0
