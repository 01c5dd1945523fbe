"""Rows as points: what each coordinate means, and that rows stay apart."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp import Categorical, Continuous, Integer, Schema, SchemaError
from interpret_dp.lime.coordinates import UNITS, Coordinates
from interpret_dp.schema import open_table
from tests.lime.paper.explanation_sets import FEATURES, points

TEXTS = st.sampled_from(["a", "b", "rare", "never seen", "1", ""])
AWKWARD = st.none() | st.floats() | st.integers() | st.booleans() | TEXTS


def test_a_schema_that_lacks_a_column_is_refused():
    with pytest.raises(SchemaError, match="does not declare column 'weight'"):
        Coordinates.of_schema(Schema({"age": Continuous(0, 1)}), ["age", "weight"])


def test_the_only_level_of_a_category_does_nothing():
    features = Coordinates.of_schema(Schema({"site": Categorical(["a"])}), ["site"])
    one = np.array([256], dtype=np.int16)
    assert features.effects(np.array([0.7]), one).tolist() == [0.0]


def test_bounds_with_few_floats_between_them_still_span_the_range():
    upper = float(np.nextafter(np.nextafter(1.0, 2), 2))
    features = Coordinates(("x",), (Continuous(1.0, upper),))
    found = features.points(open_table(np.array([[1.0], [upper]]), ["x"]))
    assert found[:, 0].tolist() == [-UNITS // 2, UNITS // 2]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_integers_stand_where_other_numbers_between_their_bounds_do(scale):
    table = open_table(np.arange(-1.0, 9.0).reshape(-1, 1), ["x"])
    whole, any_number = (kind(0, 7, scale) for kind in (Integer, Continuous))
    found = Coordinates(("x",), (whole,)).points(table)
    assert (found == Coordinates(("x",), (any_number,)).points(table)).all()


@given(st.lists(st.tuples(AWKWARD, AWKWARD, AWKWARD, AWKWARD), min_size=1, max_size=6))
def test_a_row_has_the_same_point_whatever_stands_beside_it(rows):
    together = points(rows)
    for row, own in zip(rows, together, strict=True):
        assert points([row])[0].tolist() == own.tolist()


@given(st.lists(st.tuples(AWKWARD, AWKWARD, AWKWARD, AWKWARD), min_size=2, max_size=6))
def test_no_two_points_are_further_apart_than_the_bound(rows):
    found = points(rows).astype(np.int64)
    for own in found:
        assert np.sum((found - own) ** 2, axis=1).max() <= FEATURES.largest_square


def test_the_bound_on_distances_is_reached():
    one, other = points([(0, 0, "a", 5), (100, 1e6, "b", 5)]).astype(np.int64)
    # "same" cannot differ, but its declaration counts as any number's.
    assert np.sum((one - other) ** 2) == FEATURES.largest_square - UNITS**2
