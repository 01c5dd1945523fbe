"""The public grid over all numbers: each number has one bin, whatever else is in the column."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.schema.occurrences import MagnitudeGrid

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


@given(values=st.lists(st.floats(), max_size=30), added=st.floats())
def test_one_row_changes_one_count_by_one_at_most(values: list[float], added: float) -> None:
    grid = MagnitudeGrid(4)
    before = grid.counts(np.array(values, dtype=np.float64))
    change = grid.counts(np.array([*values, added], dtype=np.float64)) - before
    assert change.min() == 0
    assert change.sum() == (1 if math.isfinite(added) else 0)
