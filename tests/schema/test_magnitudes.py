"""The public grid over all numbers: each number has one bin, whatever else is in the column."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.schema.magnitudes import MagnitudeGrid

GRIDS = [MagnitudeGrid(1), MagnitudeGrid(4)]
numbers = st.floats(allow_nan=False, allow_infinity=False)


def place(grid: MagnitudeGrid, number: float) -> int:
    (at,) = np.flatnonzero(grid.counts(np.array([number])))
    return int(at)


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
@given(number=numbers)
def test_a_number_lies_in_its_bin(grid: MagnitudeGrid, number: float) -> None:
    at = place(grid, number)
    lower, upper = grid.bounds(at, at)
    if abs(number) < 2.0**-64:
        assert (lower, upper) == (0.0, 0.0)
    elif abs(number) >= 2.0**64:
        assert at in (0, grid.n_bins - 1)
        assert (number > 0) == (at > 0)
    elif number > 0:
        assert lower <= number < upper
    else:
        assert lower < number <= upper


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
def test_bins_follow_one_another_without_gaps(grid: MagnitudeGrid) -> None:
    edges = [grid.bounds(at, at) for at in range(grid.n_bins)]
    middle = grid.n_signed
    for at, ((_, upper), (lower, _)) in enumerate(pairwise(edges)):
        if at + 1 == middle:
            assert (upper, lower) == (-(2.0**-64), 0.0)
        elif at == middle:
            assert (upper, lower) == (0.0, 2.0**-64)
        else:
            assert upper == lower
    assert grid.bounds(0, grid.n_bins - 1) == (-(2.0**64), 2.0**64)
    assert math.copysign(1.0, grid.bounds(middle, middle)[0]) == 1.0


def test_steps_within_an_octave() -> None:
    grid = MagnitudeGrid(4)
    for number, expected in ((3.0, (3.0, 3.5)), (4.0, (4.0, 5.0)), (-9.5, (-10.0, -8.0))):
        assert grid.bounds(*(place(grid, number),) * 2) == expected


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, None, "3", "x", np.inf, [1]], dtype=object),
        pd.array([1, 2, None, 3], dtype="Int64"),
        pd.Categorical([1.0, 2.0, None, 3.0]),
        np.array([1, 2, 3, np.nan, -np.inf]),
    ],
    ids=["objects", "nullable", "categories", "floats"],
)
def test_only_finite_numbers_count(values: Any) -> None:
    counts = MagnitudeGrid(1).counts(values)
    assert counts.dtype == np.int64
    expected = MagnitudeGrid(1).counts(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(counts, expected)


@given(values=st.lists(st.floats(), max_size=30), added=st.floats())
def test_one_row_changes_one_count_by_one_at_most(values: list[float], added: float) -> None:
    grid = MagnitudeGrid(4)
    before = grid.counts(np.array(values, dtype=np.float64))
    change = grid.counts(np.array([*values, added], dtype=np.float64)) - before
    assert change.min() == 0
    assert change.sum() == (1 if math.isfinite(added) else 0)
