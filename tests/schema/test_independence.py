"""A row influences its own codes and no others: the precondition of every sensitivity.

The same cells are put into tables of many kinds, next to many other rows. The code of a cell
must be that of a slow rule written here, which sees the cell alone; so no other row, no
container and no dtype can matter. A control shows that the check catches the common mistake.
"""

import bisect
import datetime
import decimal
import fractions
import math
from functools import cache

import numpy as np
import pandas as pd
from hypothesis import given, settings, strategies as st

from interpret_dp import Categorical, Continuous, Integer
from interpret_dp.schema import encode_classes, encode_column, encode_target, fine_edges, open_table
from tests.schema.tables import object_column

N_BINS = 7
SPECS = [
    Continuous(-2, 3),
    Continuous(-2, 1000, scale="log"),
    Continuous(0, 0),
    Integer(-2, 3),
    Integer(-2, 1000, scale="log"),
    Categorical([1, 0, 2.5]),
    Categorical(["1", "b", "True", "", "nan"]),
    Categorical([1, "a", "1.0", 2.5, "b"]),
]

missing = st.sampled_from([None, math.nan, pd.NA])
integers = st.integers(-3, 4) | st.sampled_from([2**53 + 1, -(2**60) - 1])
floats = st.floats(-3, 4) | st.sampled_from([1.0, 2.5, -0.0, math.inf, -math.inf, 1e300])
strings = st.sampled_from(["a", "b", "1", "1.0", " 2 ", "", "nan", "inf", "True", "1e3", "ä"])
strange = st.sampled_from(
    [
        *([1], {"a": 1}, b"a", 2**63, 10**30, 10**400, 1 + 0j, 2j),
        *(decimal.Decimal("2.5"), decimal.Decimal("sNaN"), fractions.Fraction(5, 2)),
        *(np.float32(0.1), np.float32(2.5), np.float64(1), np.int8(1), np.bool_(True)),
        *(np.str_("a"), np.timedelta64(1, "ns"), datetime.date(2020, 1, 1)),
        *(pd.Timestamp("2020-01-01"), pd.NaT),
    ]
)
# Lists of cells as one column holds them, from all alike to all unlike.
PLAIN_COLUMNS = [
    st.lists(integers, min_size=1),
    st.lists(integers | missing, min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.booleans() | missing, min_size=1),
    st.lists(floats | missing, min_size=1),
    st.lists(integers | floats | st.booleans(), min_size=1),
    st.lists(strings | missing, min_size=1),
    st.lists(strings | integers | floats | st.booleans() | missing, min_size=1),
]
plain_columns = st.one_of(PLAIN_COLUMNS)
any_columns = plain_columns | st.lists(
    strange | strings | integers | floats | missing | st.booleans(), min_size=1
)


@cache
def edges_of(spec):
    return fine_edges(spec, N_BINS).tolist()


def cell_code(cell, spec):
    """Return the code of one cell by the rule as docs/proofs/encoding.md states it."""
    is_text = isinstance(cell, str)
    if isinstance(cell, complex) and cell.imag == 0:
        cell = cell.real
    is_number = isinstance(
        cell,
        int | float | np.integer | np.floating | np.bool_ | decimal.Decimal | fractions.Fraction,
    ) and not isinstance(cell, np.timedelta64)
    number = math.nan
    if is_text or is_number:
        try:
            number = float(cell)
        except OverflowError:
            number = math.inf if cell > 0 else -math.inf
        except ValueError:
            pass
    if isinstance(spec, Continuous):
        if math.isnan(number):
            return 0
        clipped = min(max(number, spec.lower), spec.upper)
        return bisect.bisect_right(edges_of(spec), clipped) + 1
    if cell is None or cell is pd.NA or cell is pd.NaT or (is_number and math.isnan(number)):
        return 0
    for position, level in enumerate(spec.levels, start=1):
        if is_text and isinstance(level, str) and str(cell) == level:
            return position
        if is_number and not isinstance(level, str) and number == level:
            return position
    return len(spec.levels) + 1


def nullable(cells, backend="numpy_nullable"):
    # Older versions of pandas try infinities as integers.
    with np.errstate(invalid="ignore"):
        return pd.Series(object_column(cells)).convert_dtypes(dtype_backend=backend)


ANY_CONTAINERS = [
    lambda cells: [[cell] for cell in cells],
    lambda cells: object_column(cells).reshape(-1, 1),
    lambda cells: pd.DataFrame({"a": pd.Series(object_column(cells), dtype=object)}),
]
# These choose a dtype by the cells, so that other rows change the type in which a cell comes.
INFERRING_CONTAINERS = [
    lambda cells: pd.DataFrame({"a": list(cells)}),
    lambda cells: pd.DataFrame({"a": nullable(cells)}),
    lambda cells: pd.DataFrame({"a": pd.Categorical(object_column(cells))}),
    lambda cells: pd.DataFrame({"a": pd.Series(list(cells)).astype("category")}),
]


def codes_of(container):
    """Return the codes of a column for each declaration."""
    column = open_table(container).column(0)
    return [encode_column(column, spec, N_BINS).tolist() for spec in SPECS]


def check_codes(cells, *containers):
    """Compare the codes of cells in containers with those of the slow rule."""
    expected = [[cell_code(cell, spec) for cell in cells] for spec in SPECS]
    for container in containers:
        assert codes_of(container) == expected


@settings(max_examples=200)
@given(cells=any_columns)
def test_codes_are_a_function_of_the_cell(cells):
    check_codes(cells, *(container(cells) for container in ANY_CONTAINERS))


@settings(max_examples=200)
@given(cells=plain_columns)
def test_dtypes_that_depend_on_other_rows_do_not_matter(cells):
    check_codes(cells, *(container(cells) for container in INFERRING_CONTAINERS))


@settings(max_examples=200)
@given(cells=st.one_of([PLAIN_COLUMNS[0], PLAIN_COLUMNS[3], PLAIN_COLUMNS[4], PLAIN_COLUMNS[6]]))
def test_arrow_columns_agree(cells):
    check_codes(cells, pd.DataFrame({"a": nullable(cells, "pyarrow")}))


@settings(max_examples=200)
@given(cells=st.lists(floats, min_size=1), dtype=st.sampled_from(["f2", "f4", "f8", "g"]))
def test_narrow_floats_are_their_own_values(cells, dtype):
    with np.errstate(over="ignore"):
        array = np.array(cells).astype(dtype)
    check_codes([float(cell) for cell in array], array.reshape(-1, 1), pd.DataFrame({"a": array}))


@given(cells=any_columns, others=any_columns)
def test_targets_are_functions_of_the_cell(cells, others):
    bounds, labels = Continuous(-2, 3), Categorical([1, "a", 0])
    # A row of one cell means that cell; whether all others are rows does not matter.
    meant = [c[0] if isinstance(c, list | tuple) and len(c) == 1 else c for c in cells]
    for y in ([*cells], object_column(cells)):
        neighbour = [*y, *others] if isinstance(y, list) else object_column([*cells, *others])
        np.testing.assert_array_equal(
            encode_target(y, bounds), encode_target(neighbour, bounds)[: len(y)]
        )
        expected = [cell_code(cell, labels) for cell in meant]
        classes = [code - 1 if 1 <= code <= 3 else -1 for code in expected]
        assert encode_classes(y, labels).tolist() == classes
        assert encode_classes(neighbour, labels).tolist()[: len(y)] == classes


def test_the_check_catches_promoted_dtypes():
    """Control: the common way of matching levels, by text, fails this module's check."""

    def by_text(cells):
        labels = {"1": 1, "0": 2}
        return [labels.get(text, 3) for text in pd.Series(list(cells)).astype(str)]

    alone, with_missing = by_text([1, 0]), by_text([1, 0, None])
    assert alone != with_missing[:2]
    for container in (*ANY_CONTAINERS, *INFERRING_CONTAINERS):
        assert codes_of(container([1, 0])) == [c[:2] for c in codes_of(container([1, 0, None]))]


def test_chunks_do_not_matter():
    rng = np.random.default_rng(1)
    values = rng.normal(size=150_000)
    spec = SPECS[0]
    codes = encode_column(values, spec, N_BINS)
    rows = rng.permutation(len(values))
    assert np.array_equal(encode_column(values[rows], spec, N_BINS), codes[rows])
    cells = np.array(["a", None, 1, 2.5, "z"], dtype=object)[rng.integers(0, 5, len(values))]
    codes = encode_column(cells, SPECS[5], N_BINS)
    assert np.array_equal(encode_column(cells[rows], SPECS[5], N_BINS), codes[rows])
