"""Codes: layout, edges, the scalar rules, targets."""

import datetime
import decimal
import enum
import fractions
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from interpret_dp import Categorical, Continuous, Integer, SchemaError
from interpret_dp.schema import (
    encode,
    encode_classes,
    encode_column,
    encode_target,
    fine_bin_count,
    fine_edges,
    open_table,
    search_edges,
)
from interpret_dp.schema.cells import level_key, number_of
from interpret_dp.schema.declarations import integer_ranges
from interpret_dp.schema.encode import encode_features
from tests.memory import peak_of
from tests.schema.tables import Liar, encode_table, object_column

HUGE = 10**400


class Colour(enum.StrEnum):
    RED = "red"

    def __str__(self):
        return "a colour"


class Rude(float):
    def __float__(self):
        raise RuntimeError("not today")


def test_integer_cuts_are_exact():
    for width in range(2, 300):
        edges = fine_edges(Continuous(17, 17 + width), width)
        assert edges.tolist() == list(range(18, 17 + width))
    assert fine_edges(Continuous(0, 1), 10).tolist() == [k / 10 for k in range(1, 10)]


@given(
    st.tuples(
        st.floats(-8e307, 8e307, allow_subnormal=True),
        st.floats(-8e307, 8e307, allow_subnormal=True),
    ),
    st.sampled_from(["linear", "log"]),
    st.integers(1, 300),
    st.sampled_from([fine_edges, search_edges]),
)
def test_cuts_increase_strictly_inside_the_bounds(bounds, scale, n_bins, cuts):
    spec = Continuous(min(bounds), max(bounds), scale)
    edges = cuts(spec, n_bins)
    assert len(edges) <= n_bins - 1
    assert np.all(np.diff(edges) > 0)
    assert np.all((edges > spec.lower) & (edges <= spec.upper))
    codes = encode_column(np.array([spec.lower, spec.upper]), spec, n_bins, edges=edges)
    assert codes.tolist() == [1, len(edges) + 1]


def test_as_many_fine_bins_as_integers_have_one_each():
    assert search_edges(Integer(0, 3), 4).tolist() == [0.5, 1.5, 2.5]


@given(
    st.tuples(*[st.integers(-(2**53) + 1, 2**53 - 1)] * 2) | st.tuples(*[st.integers(-60, 60)] * 2),
    st.sampled_from(["linear", "log", "symlog"]),
    st.integers(1, 130),
    st.sampled_from([fine_edges, search_edges]),
    st.data(),
)
def test_each_integer_lies_in_its_range_and_few_have_a_bin_each(bounds, scale, n_bins, cuts, data):
    spec = Integer(min(bounds), max(bounds), scale)
    edges = cuts(spec, n_bins)
    n_values = max(bounds) - min(bounds) + 1
    assert len(edges) < n_bins
    if n_values <= n_bins:
        assert len(edges) == n_values - 1
    ranges = integer_ranges(spec, edges)
    assert [low for low, _ in ranges[1:]] == [high + 1 for _, high in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (min(bounds), max(bounds))
    value = data.draw(st.integers(min(bounds), max(bounds)))
    low, high = ranges[encode_column(np.array([value]), spec, n_bins, edges=edges)[0] - 1]
    assert low <= value <= high


def test_rows_in_a_small_part_of_generous_bounds_have_many_fine_bins():
    ages, tail = np.arange(20, 90), np.exp(np.linspace(-3, 3, 200))
    for values, spec in ((ages, Continuous(-1e4, 1e4)), (tail, Continuous(0, 1e5))):
        codes = encode_column(values, spec, 254, edges=search_edges(spec, 254))
        assert len(np.unique(codes)) >= 8
        assert len(np.unique(encode_column(values, spec, 254))) <= 2


def test_cuts_are_even_in_the_order_of_magnitude():
    """The symmetric-log scale: fine near zero, coarse far away, whatever the unit."""
    edges = fine_edges(Continuous(-(2**30), 2**30, "symlog"), 128)
    assert len(edges) == 127
    np.testing.assert_allclose(edges, -edges[::-1], rtol=1e-9, atol=1e-12)
    far = edges[edges > 1]
    ratios = far[1:] / far[:-1]
    np.testing.assert_allclose(ratios, ratios[-1], rtol=1e-5)
    assert 1.3 < ratios[-1] < 1.7
    assert ((edges > 0) & (edges < 1)).sum() > 10


def test_a_range_of_few_floats_has_few_bins():
    lower = 1.0
    upper = math.nextafter(math.nextafter(lower, 2), 2)
    assert fine_bin_count(Continuous(lower, upper), 64) == 3
    assert fine_bin_count(Continuous(5, 5), 64) == 1
    assert encode_column(np.array([4.0, 5.0, 6.0, np.nan]), Continuous(5, 5), 64).tolist() == [
        1,
        1,
        1,
        0,
    ]


@pytest.mark.parametrize("n_bins", [0, 2**16 - 1])
def test_the_number_of_bins_has_limits(n_bins):
    with pytest.raises(ValueError, match="n_bins is"):
        fine_edges(Continuous(0, 1), n_bins)


@pytest.mark.parametrize(("n_bins", "dtype"), [(254, np.uint8), (255, np.uint16)])
def test_codes_are_one_byte_where_they_fit(n_bins, dtype):
    spec = Continuous(0, 1)
    codes = encode_column(np.array([0.0, 1.0, np.nan]), spec, n_bins)
    assert codes.dtype == dtype
    assert codes.tolist() == [1, n_bins, 0]
    levels = Categorical(range(n_bins))
    codes = encode_column(np.array([0, n_bins - 1, n_bins]), levels, 1)
    assert codes.dtype == dtype
    assert codes.tolist() == [1, n_bins, n_bins + 1]


CELLS_AND_NUMBERS = [
    (3, 3.0),
    (True, 1.0),
    (np.True_, 1.0),
    (" 2.5 ", 2.5),
    (np.str_("2"), 2.0),
    ("-inf", -math.inf),
    (HUGE, math.inf),
    (-HUGE, -math.inf),
    (fractions.Fraction(-HUGE, 3), -math.inf),
    (decimal.Decimal("0.5"), 0.5),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.longdouble("1.5"), 1.5),
    (2 + 0j, 2.0),
]


@pytest.mark.parametrize(("cell", "number"), CELLS_AND_NUMBERS)
def test_cells_that_are_numbers(cell, number):
    assert number_of(cell) == number
    assert encode_target(object_column([cell]), Continuous(-9, 9)).tolist() == [
        min(max(number, -9), 9)
    ]


NOT_NUMBERS = [
    *(None, math.nan, "nan", "", "abc", "1,5", b"1", 1j, np.complex64(1j), [1], {"a": 1}),
    *(np.array([1.0]), pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), np.timedelta64(1, "s")),
    *(datetime.date(2020, 1, 1), decimal.Decimal("sNaN"), Rude(1.0), object()),
    *(Liar(str), Liar(float)),
]


# By their places: an address in a name would differ between the workers of a run.
@pytest.mark.parametrize("cell", NOT_NUMBERS, ids=range(len(NOT_NUMBERS)))
def test_cells_that_are_not_numbers_are_missing(cell):
    assert math.isnan(number_of(cell))
    codes = encode_column(object_column([cell, 1, "1"]), Continuous(0, 1), 4)
    assert codes.tolist() == [0, 4, 4]


CODES = {
    0: [
        *(None, math.nan, np.float32("nan"), decimal.Decimal("NaN"), pd.NA, pd.NaT, Rude(1.0)),
        *(np.datetime64("NaT"), np.timedelta64("NaT"), np.ma.masked),
    ],
    1: ["red", Colour.RED, np.str_("red")],
    2: [1, 1.0, True, np.True_, np.int8(1), decimal.Decimal(1), 1 + 0j],
    3: [0.5, np.float16(0.5)],
    4: ["0.1"],
    5: [
        *("Red", b"red", 1j, "1.0", 0.1, 2**53 + 1, HUGE, math.inf, [1], {"red"}),
        *(np.array(["red"]), np.timedelta64(1, "ns"), pd.Timestamp("2020-01-01")),
    ],
}


@pytest.mark.parametrize(
    ("cell", "code"), [(cell, code) for code, cells in CODES.items() for cell in cells], ids=repr
)
def test_levels_match_by_typed_equality(cell, code):
    spec = Categorical(["red", 1, 0.5, "0.1"])
    assert encode_column(object_column([cell]), spec, 1).tolist() == [code]
    # The neighbour forces the slow path, and the fast one where there is none.
    assert encode_column(object_column([[], cell]), spec, 1).tolist() == [5, code]
    assert encode_column(object_column(["red", cell, 1.0]), spec, 1).tolist() == [1, code, 2]


def test_long_doubles_beyond_the_floats_raise_no_warning():
    values = np.array(["1e400", "1"], dtype=np.longdouble)
    assert encode_column(values, Continuous(0, 2), 2).tolist() == [2, 2]
    assert encode_column(values.astype(object), Continuous(0, 2), 2).tolist() == [2, 2]


def test_no_column_is_copied_whole():
    n_rows, n_columns = 300_000, 4
    table = open_table(np.asfortranarray(np.random.default_rng(0).random((n_rows, n_columns))))
    specs = [Continuous(0, 1)] * n_columns
    encode_table(table, specs, 64)  # imports the compiled loop
    _, peak = peak_of(lambda: encode_table(table, specs, 64))
    # The codes themselves take a byte a cell; a float copy of one column would take 2.4 MB more.
    assert peak < n_rows * n_columns + 0.9 * 8 * n_rows


def test_classes_are_counted_from_zero():
    levels = ["no", "yes"]
    for y in (["yes", None, "no", "maybe"], pd.Series(["yes", None, "no", "maybe"])):
        codes = encode_classes(y, levels)
        assert codes.dtype == np.int16
        assert codes.tolist() == [1, -1, 0, -1]
    assert encode_classes(np.array([False, True]), Categorical([0, 1])).tolist() == [0, 1]
    assert encode_classes(np.array([1.0, 0.0, np.nan]), [0, 1]).tolist() == [1, 0, -1]


@pytest.mark.parametrize("encode", [encode_classes, encode_target])
def test_targets_have_as_many_rows_as_the_table(encode):
    declared = Categorical([1]) if encode is encode_classes else Continuous(0, 1)
    assert len(encode([1, 1], declared, 2)) == 2
    with pytest.raises(SchemaError, match="inconsistent numbers"):
        encode([1, 1], declared, 3)


def test_level_keys_of_levels_differ():
    cells = ["1", 1, 1.5, "a"]
    assert len({level_key(cell) for cell in cells}) == len(cells)


BIN_BOUNDS = [
    *((Continuous, bounds) for bounds in [(0, 1), (17, 19), (-8e307, 8e307), (0, 5e-324)]),
    *((kind, (3, 3)) for kind in (Continuous, Integer)),
    (Integer, (-7, 9000)),
]


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
@pytest.mark.parametrize(("kind", "bounds"), BIN_BOUNDS)
@pytest.mark.parametrize("n_bins", [1, 2, 3, 128, 5000])
@pytest.mark.parametrize("compiled_from", [0, 10**6])
def test_bins_are_numbered_by_the_cuts_that_are_not_above(
    scale, kind, bounds, n_bins, compiled_from, monkeypatch
):
    """At every cut and next to it, and far away: the guess of the bin is only where to look."""
    monkeypatch.setattr(encode, "_COMPILED_FROM", compiled_from)
    spec = kind(*bounds, scale=scale)
    cuts = fine_edges(spec, n_bins)
    far = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, *bounds]
    numbers = np.concatenate([far, cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
    expected = 1 + np.searchsorted(cuts, numbers, side="right")
    expected[np.isnan(numbers)] = 0
    assert (encode_column(numbers, spec, n_bins) == expected).all()
    # Neither strides nor a lock on the memory change anything.
    strided = np.repeat(numbers, 2)[::2]
    strided.flags.writeable = False
    assert (encode_column(strided, spec, n_bins) == expected).all()


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_bins", [254, 255])
def test_a_block_of_codes_is_that_of_its_columns(n_threads, n_bins, monkeypatch):
    monkeypatch.setattr(encode, "_ROWS_PER_THREAD", 1)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "word": pd.Categorical.from_codes(rng.integers(-1, 2, 50), categories=["x", "y"]),
            "number": rng.random(50),
            "text": [str(value) for value in rng.random(50)],
        }
    )
    table = open_table(frame)
    specs = [Continuous(0, 1), Categorical(["y", "x"])]
    edges = [fine_edges(specs[0], n_bins), None]
    block = encode_features(table, [2, 0], specs, edges, n_threads=n_threads)
    assert block.flags.c_contiguous
    assert block.dtype == (np.uint8 if n_bins == 254 else np.uint16)
    for codes, column, spec in zip(block, [2, 0], specs, strict=True):
        assert (codes == encode_column(table.column(column), spec, n_bins)).all()
