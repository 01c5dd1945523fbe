"""Rows as points: what each coordinate means, and that rows stay apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, Schema, SchemaError
from interpret_dp.lime.features import UNITS, Centering, LocalFeatures
from interpret_dp.schema import open_table
from tests.lime.explanation_sets import FEATURES, cells, records

AWKWARD = st.one_of(
    st.none(),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.sampled_from(["a", "b", "rare", "never seen", "1", ""]),
)


def points(rows: Any) -> Any:
    return FEATURES.points(open_table(cells(rows), FEATURES.names))


def test_a_number_is_its_place_between_its_bounds() -> None:
    rows = [(age, 0, "a", 5) for age in (0, 25, 50, 100, -7, 1e9, np.inf)]
    assert points(rows)[:, 0].tolist() == [-128, -64, 0, 128, -128, 128, 128]


def test_a_log_scale_is_followed() -> None:
    middle = float(np.expm1(np.log1p(1e6) / 2))
    assert abs(int(points([(0, middle, "a", 5)])[0, 1])) <= 1


def test_a_category_has_one_coordinate_a_level() -> None:
    rows = [(0, 0, level, 5) for level in ("a", "b", "rare", None, "never seen")]
    expected = np.vstack([np.eye(3) * UNITS, np.zeros((2, 3))])
    np.testing.assert_array_equal(points(rows)[:, 2:5], expected)


def test_what_is_missing_or_the_same_everywhere_is_zero() -> None:
    assert (
        points([(None, "nonsense", None, 5), (np.nan, None, None, None)]).tolist() == [[0] * 6] * 2
    )


def test_labels_and_widths_agree() -> None:
    assert FEATURES.labels == ("age", "income", "site = a", "site = b", "site = rare", "same")
    assert sum(FEATURES.widths) == FEATURES.n_coordinates == len(FEATURES.labels)


def test_a_schema_that_lacks_a_column_is_refused() -> None:
    with pytest.raises(SchemaError, match="does not declare column 'weight'"):
        LocalFeatures.of_schema(Schema({"age": Continuous(0, 1)}), ["age", "weight"])


def test_values_are_reported_per_feature() -> None:
    values = np.array([0.0, 1.0, 2.0, 6.0, 4.0, 5.0])
    (own, none) = points([(30, 1, "b", 5), (30, 1, None, 5)])
    # Three numbers and a category: no two rows are further apart than sqrt(5), which 3 bounds.
    assert FEATURES.stretch == 3
    # Level b against the mean of the two others.
    assert FEATURES.per_feature(values, own).tolist() == [0.0, 1 / 3, (6 - 3) / 3, 5 / 3]
    np.testing.assert_array_equal(FEATURES.per_feature(values, none), [0.0, 1 / 3, np.nan, 5 / 3])
    # Of centred coefficients the difference is 3 / 2 times b's own.
    assert FEATURES.errors_per_feature(values, own)[2] == pytest.approx(6 * 1.5 / 3)
    centered = FEATURES.centering(own)(values)
    assert centered.tolist() == [0.0, 1.0, -2.0, 2.0, 0.0, 5.0]
    np.testing.assert_allclose(FEATURES.per_feature(centered, own), [0, 1 / 3, 1, 5 / 3])
    np.testing.assert_array_equal(FEATURES.centering(none)(values), values)


def test_what_is_centered_away_is_what_no_row_with_a_level_tells() -> None:
    rows = points([(30, 1, "b", 5), (99, 10, "a", 5), (5, 1e6, "rare", 5)])
    apart = (rows - rows[0]).astype(np.float64)
    coefficients = np.array([0.3, -0.1, 7.0, 6.0, 8.0, 0.2])
    kept = FEATURES.centering(rows[0])(coefficients)
    np.testing.assert_allclose(apart @ kept, apart @ coefficients)
    # An orthogonal projection: doing it twice is doing it once.
    np.testing.assert_allclose(FEATURES.centering(rows[0])(kept), kept)
    assert kept @ (coefficients - kept) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "categories",
    [(), ((0, 9),), ((8, 9),), ((0, 3), (3, 5)), ((1, 2), (4, 7)), ((2, 5), (5, 6), (7, 9))],
    ids=str,
)
def test_the_mean_of_each_category_is_taken_away_wherever_it_lies(categories: Any) -> None:
    """Alone and in stacks: categories side by side, apart, at either end, of one level."""
    project = Centering(9, tuple(slice(*levels) for levels in categories))
    vectors = np.random.default_rng(0).normal(size=(2, 3, 9))
    expected = vectors.copy()
    for start, stop in categories:
        expected[..., start:stop] -= expected[..., start:stop].mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(project(vectors), expected, atol=1e-15)
    np.testing.assert_allclose(project(vectors[0, 0]), expected[0, 0], atol=1e-15)


def test_the_only_level_of_a_category_does_nothing() -> None:
    features = LocalFeatures.of_schema(Schema({"site": Categorical(["a"])}), ["site"])
    one = np.array([256], dtype=np.int16)
    assert features.per_feature(np.array([0.7]), one).tolist() == [0.0]
    assert features.errors_per_feature(np.array([0.7]), one).tolist() == [0.0]


@pytest.mark.parametrize(("n_numbers", "stretch"), [(1, 1), (2, 2), (4, 2), (5, 3), (500, 23)])
def test_the_stretch_is_the_least_that_bounds_every_distance(n_numbers: int, stretch: int) -> None:
    names = tuple(map(str, range(n_numbers)))
    assert LocalFeatures(names, (Continuous(0, 1),) * n_numbers).stretch == stretch


def test_bounds_with_few_floats_between_them_still_span_the_range() -> None:
    upper = float(np.nextafter(np.nextafter(1.0, 2), 2))
    features = LocalFeatures(("x",), (Continuous(1.0, upper),))
    found = features.points(open_table(np.array([[1.0], [upper]]), ["x"]))
    assert found[:, 0].tolist() == [-UNITS // 2, UNITS // 2]


@given(st.lists(st.tuples(AWKWARD, AWKWARD, AWKWARD, AWKWARD), min_size=1, max_size=6))
def test_a_row_has_the_same_point_whatever_stands_beside_it(rows: Any) -> None:
    together = points(rows)
    for row, own in zip(rows, together, strict=True):
        assert points([row])[0].tolist() == own.tolist()


@given(st.lists(st.tuples(AWKWARD, AWKWARD, AWKWARD, AWKWARD), min_size=2, max_size=6))
def test_no_two_points_are_further_apart_than_the_bound(rows: Any) -> None:
    found = points(rows).astype(np.int64)
    for own in found:
        assert np.sum((found - own) ** 2, axis=1).max() <= FEATURES.largest_square


def test_the_bound_on_distances_is_reached() -> None:
    one, other = points([(0, 0, "a", 5), (100, 1e6, "b", 5)]).astype(np.int64)
    # "same" cannot differ, but its declaration counts as any number's.
    assert np.sum((one - other) ** 2) == FEATURES.largest_square - UNITS**2


def test_the_container_does_not_matter() -> None:
    rows = records(20)
    frame = pd.DataFrame(dict(zip(FEATURES.names, zip(*rows, strict=True), strict=True)))
    np.testing.assert_array_equal(FEATURES.points(open_table(frame, FEATURES.names)), points(rows))


def test_numeric_levels_are_matched_as_numbers() -> None:
    features = LocalFeatures(("grade",), (Categorical([1, 2]),))
    found = features.points(open_table(pd.DataFrame({"grade": [2.0, 1.0, np.nan]})))
    assert found.tolist() == [[0, UNITS], [UNITS, 0], [0, 0]]
