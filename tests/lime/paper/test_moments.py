"""Exact sums: equal to big integers', whatever the order, the threads and the other rows."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from threadpoolctl import threadpool_limits

from interpret_dp.lime import adaptive as moments_module
from interpret_dp.lime.adaptive import PHI_UNITS, ExplanationData, Queries, exact_moments
from interpret_dp.lime.black_box import LABEL_UNITS
from interpret_dp.lime.coordinates import (
    UNITS,
    differences,
    exponential_weight,
    stable_weight,
    weight_table,
)
from tests.lime.paper import explanation_sets as sets


def by_big_integers(data, point, output, table):
    """Sum w t t' and w f t row by row in Python's integers."""
    rows = differences(data.points, point).astype(object)
    squares = (rows * rows).sum(axis=1).astype(np.int64)
    weighted = table.of_squares(squares).astype(object)[:, np.newaxis] * rows
    step = UNITS * PHI_UNITS // LABEL_UNITS
    first = weighted.T @ data.labels[:, output].astype(object) * (table.stretch * step)
    return (weighted.T @ rows).tolist(), first.tolist()


def sums(data, asked, table):
    return [(one.second.tolist(), one.first.tolist()) for one in exact_moments(data, asked, table)]


def check_against_big_integers(data, asked, table):
    expected = [
        by_big_integers(data, point, output, table)
        for point, output in zip(asked.points, asked.outputs, strict=True)
    ]
    assert sums(data, asked, table) == expected


@pytest.mark.parametrize("c", [2.0**-10, 0.5, 2.0**10])
@pytest.mark.parametrize("weight", [stable_weight, exponential_weight])
def test_sums_are_those_of_big_integers(c, weight):
    table = weight_table(weight, c, 5 * UNITS**2, 3)
    check_against_big_integers(
        sets.explanation_data(sets.records(50)), sets.queries(sets.ASKED), table
    )


def drawn(n_rows, kind):
    """Return rows that are near each other or far apart."""
    rng = np.random.default_rng(2)
    points = rng.integers(-UNITS // 2, UNITS + 1, size=(n_rows, 30)).astype(np.int16)
    if kind == "sparse":
        points[rng.random(points.shape) < 0.9] = -UNITS // 2
    labels = rng.integers(-LABEL_UNITS, LABEL_UNITS + 1, (n_rows, 2)).astype(np.int16)
    return ExplanationData(points, labels)


KINDS = ["dense", "sparse"]
WIDE = weight_table(stable_weight, 0.5, 80 * UNITS**2, 9)


@pytest.fixture(scope="module")
def many():
    return drawn(20_000, "dense")


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_many_coordinates_are_those_of_big_integers(kind):
    data = drawn(300, kind)
    check_against_big_integers(data, Queries(data.points[:3], (0, 1, 1), (0, 0, 0)), WIDE)


@pytest.mark.parametrize("kind", KINDS)
def test_order_threads_and_blocks_change_no_bit(kind, monkeypatch):
    data = drawn(20_000, kind)
    asked = Queries(data.points[:2], (0, 1), (0, 0))
    expected = sums(data, asked, WIDE)
    order = np.random.default_rng(3).permutation(len(data.points))
    assert sums(ExplanationData(data.points[order], data.labels[order]), asked, WIDE) == expected
    for threads in (1, 2):
        with threadpool_limits(threads):
            assert sums(data, asked, WIDE) == expected
    # Short blocks; sums of integers in place of floats.
    for name, value in (("_MOST_ROWS", 777), ("_EXACT", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(moments_module, name, value)
            assert sums(data, asked, WIDE) == expected


def test_rows_whose_weight_is_zero_are_passed_over(many):
    near = weight_table(lambda d: 1.0 * (d < 0.2), 0.5, 80 * UNITS**2, 9)
    asked = Queries(many.points[:1], (0,), (0,))
    squares = np.sum(differences(many.points, many.points[0]).astype(np.int64) ** 2, axis=1)
    counted = many.rows(near.of_squares(squares) > 0)
    assert 0 < len(counted.points) < len(many.points)
    assert sums(many, asked, near) == sums(counted, asked, near)


def test_removing_a_row_removes_what_it_added_and_nothing_else(many):
    asked, table = Queries(many.points[:1], (1,), (0,)), WIDE
    (whole,) = exact_moments(many, asked, table)
    for gone in (5, 12_345):
        mask = np.arange(len(many.points)) == gone
        (rest,) = exact_moments(many.rows(~mask), asked, table)
        (alone,) = exact_moments(many.rows(mask), asked, table)
        assert np.array_equal(whole.second - rest.second, alone.second)
        assert np.array_equal(whole.first - rest.first, alone.first)


@settings(max_examples=50)
@given(st.data())
def test_no_row_adds_more_than_the_norms(data):
    """Rows of any 16-bit coordinates and labels, also such as no encoder makes."""
    n = data.draw(st.integers(1, 4))
    asked = Queries(sets.extreme_data(data, 1, n).points, (0,), (0,))
    table = weight_table(stable_weight, data.draw(st.floats(2.0**-9, 2.0**9)), n * UNITS**2, 2)
    (added,) = exact_moments(sets.extreme_data(data, 1, n), asked, table)
    squared = sum(v**2 for v in added.second.ravel().tolist())
    squared += sum(v**2 for v in added.first.tolist()) / PHI_UNITS**2
    assert squared <= table.moments_norm**2


def test_private_sums_and_rows_are_not_shown():
    data = sets.explanation_data(sets.records(3))
    (one,) = exact_moments(data, sets.queries(sets.ASKED[:1]), sets.weights())
    assert repr(data) == "ExplanationData()"
    assert repr(one) == "ExactMoments()"
