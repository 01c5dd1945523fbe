"""Counting what occurs: each row counts once at most, by a rule that sees its cell alone."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from interpret_dp.fitting import declaring
from interpret_dp.schema import Categorical
from interpret_dp.schema.cells import level_key
from tests.schema.tables import object_column

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(["a", "b", "1", "", "nul\0", "\ud800", 2**53, 10**400, [1], b"a", pd.NA]),
)


@given(values=st.lists(cells, max_size=20), added=cells)
def test_one_row_changes_one_count_by_one_at_most(values, added):
    before = declaring.count_occurring(object_column(values))
    after = declaring.count_occurring(object_column([*values, added]))
    changed = {key: after.get(key, 0) - before.get(key, 0) for key in {*before, *after}}
    moved = {key: change for key, change in changed.items() if change}
    assert moved in ({}, {level_key(added): 1})


@given(values=st.lists(cells, max_size=20))
def test_every_counted_value_can_be_declared(values):
    counts = declaring.count_occurring(object_column(values))
    levels = declaring.levels_of_keys(
        sorted(counts, key=lambda key: (isinstance(key, str), key)), None
    )
    if levels:
        Categorical(levels)
    assert sum(counts.values()) <= len(values)


COLUMNS = [
    (np.array([1, 1, 2], dtype=np.int8), {1.0: 2, 2.0: 1}),
    (np.array([0.0, -0.0, math.nan, math.inf]), {0.0: 2}),
    (np.array([True, False, True]), {1.0: 2, 0.0: 1}),
    (np.array(["a", "b", "a"]), {"a": 2, "b": 1}),
    (pd.array(["a", None, "a"], dtype="string"), {"a": 2}),
    (pd.Series(["a", None, "a"]).array, {"a": 2}),
    (pd.array([1, None, 1], dtype="Int64"), {1.0: 2}),
    # A category without a row does not occur.
    (pd.Categorical(["a", None, "a"], categories=["a", "hidden"]), {"a": 2}),
    (pd.Categorical([1, 2, 1]), {1.0: 2, 2.0: 1}),
    (object_column(["a", 1, 1.0, True, "1", None]), {"a": 1, 1.0: 3, "1": 1}),
    (np.array([], dtype=object), {}),
]


@pytest.mark.parametrize(("column", "expected"), COLUMNS, ids=repr)
def test_columns_of_every_kind(column, expected):
    assert declaring.count_occurring(column) == expected


WRITTEN_LEVELS = [
    (np.array([1], dtype=np.uint8), [0.0, 1.0], [0, 1]),
    (np.array([1.5]), [0.0, 1.5], [0.0, 1.5]),
    (np.array([True]), [0.0, 1.0], [False, True]),
    (object_column([]), [0.0, 1.5, "a"], [0, 1.5, "a"]),
    (pd.Categorical([1]), [1.0], [1]),
    (object_column([]), [1.0, "1", "a"], [1, "a"]),
]


@pytest.mark.parametrize(("column", "keys", "levels"), WRITTEN_LEVELS, ids=repr)
def test_levels_are_written_in_the_column_s_type(column, keys, levels):
    written = declaring.levels_of_keys(keys, declaring.number_kind(column))
    assert written == levels
    assert list(map(type, written)) == list(map(type, levels))


# ----------------------------------------- the public grid over all numbers, one bin a number

GRIDS = [declaring.MagnitudeGrid(1), declaring.MagnitudeGrid(4)]
numbers = st.floats(allow_nan=False, allow_infinity=False)


def place(grid, number):
    (at,) = np.flatnonzero(grid.counts(np.array([number])))
    return int(at)


@pytest.mark.parametrize("grid", GRIDS, ids=repr)
@given(number=numbers)
def test_a_number_lies_in_its_bin(grid, number):
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
def test_one_row_changes_one_count_of_the_grid_by_one_at_most(values, added):
    grid = declaring.MagnitudeGrid(4)
    before = grid.counts(np.array(values, dtype=np.float64))
    change = grid.counts(np.array([*values, added], dtype=np.float64)) - before
    assert change.min() == 0
    assert change.sum() == (1 if math.isfinite(added) else 0)
