"""polars, Arrow and other libraries' tables: the same codes as in pandas, and what is refused."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.exceptions import DataConversionWarning

from interpret_dp import Categorical, Continuous, Schema, SchemaError
from interpret_dp.schema import canonical_frame, encode_column, open_table, open_target
from interpret_dp.schema.containers import kind_of
from tests.schema.tables import encode_table
from tests.schema.test_independence import N_BINS, check_codes

SEVEN_LEVELS = ["1", "b", "True", "", "nan", "ä", "1.0"]


def of_polars(dtype):
    return lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})


def of_arrow(dtype):
    return lambda cells: pa.table({"a": pa.array(cells, type=dtype)})


def of_dictionary(dtype):
    return lambda cells: pa.table({"a": pa.array(cells, type=dtype).dictionary_encode()})


def in_two_chunks(cells):
    """Return a dictionary column whose chunks have dictionaries of their own."""
    halves = (cells[: len(cells) // 2], cells[len(cells) // 2 :])
    chunks = [pa.array(half, type=pa.string()).dictionary_encode() for half in halves]
    return pa.table({"a": pa.chunked_array(chunks)})


def with_nulls_and_repeats(cells):
    """Return dictionary columns whose values hold a null, and each text twice."""
    texts = list(dict.fromkeys(cell for cell in cells if cell is not None))
    values = pa.array([None, *texts, *texts], type=pa.string())
    place = {text: 1 + at for at, text in enumerate(texts)}
    # Every other row refers to the second time that its text is there.
    codes = [0 if c is None else place[c] + row % 2 * len(texts) for row, c in enumerate(cells)]
    chunk = pa.DictionaryArray.from_arrays(pa.array(codes, type=pa.int32()), values)
    return pa.table({"a": pa.chunked_array([chunk[:1], chunk[1:]] if len(cells) > 2 else [chunk])})


def on_arrow_in_pandas(container):
    return lambda cells: container(cells).to_pandas(types_mapper=pd.ArrowDtype)


integers = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 4), min_size=1)
unsigned = st.lists(st.none() | st.integers(0, 2**64 - 1) | st.integers(0, 4), min_size=1)
small = st.lists(st.none() | st.integers(-3, 4), min_size=1)
floats = st.lists(
    st.none() | st.floats(-3, 4) | st.sampled_from([1.0, 2.5, -0.0, math.inf, -math.inf, math.nan]),
    min_size=1,
)
bools = st.lists(st.none() | st.booleans(), min_size=1)
texts = st.lists(st.none() | st.sampled_from(["a", "x", " 2 ", "1e3", *SEVEN_LEVELS]), min_size=1)
decimals = st.lists(
    st.none() | st.decimals(-999, 999, allow_nan=False, allow_infinity=False, places=9), min_size=1
)
nothing = st.lists(st.none(), min_size=1)

COLUMNS = {
    "polars Int64": (of_polars(pl.Int64), integers),
    "polars Int8": (of_polars(pl.Int8), small),
    "polars UInt64": (of_polars(pl.UInt64), unsigned),
    "polars Int128": (of_polars(pl.Int128), integers),
    "polars Float64": (of_polars(pl.Float64), floats),
    "polars Boolean": (of_polars(pl.Boolean), bools),
    "polars String": (of_polars(pl.String), texts),
    "polars Categorical": (of_polars(pl.Categorical), texts),
    "polars Enum": (of_polars(pl.Enum(["x", *SEVEN_LEVELS, "a", " 2 ", "1e3"])), texts),
    "polars Decimal": (of_polars(pl.Decimal(20, 9)), decimals),
    "polars Null": (of_polars(pl.Null), nothing),
    "polars Object": (of_polars(pl.Object), texts),
    "arrow int64": (of_arrow(pa.int64()), integers),
    "arrow uint64": (of_arrow(pa.uint64()), unsigned),
    "arrow double": (of_arrow(pa.float64()), floats),
    "arrow bool": (of_arrow(pa.bool_()), bools),
    "arrow string": (of_arrow(pa.string()), texts),
    "arrow large_string": (of_arrow(pa.large_string()), texts),
    "arrow string_view": (of_arrow(pa.string_view()), texts),
    "arrow decimal128": (of_arrow(pa.decimal128(20, 9)), decimals),
    "arrow decimal256": (of_arrow(pa.decimal256(70, 9)), decimals),
    "arrow null": (of_arrow(pa.null()), nothing),
    "arrow dictionary of text": (of_dictionary(pa.string()), texts),
    "arrow dictionary of numbers": (of_dictionary(pa.int64()), integers),
    "arrow dictionary of decimals": (of_dictionary(pa.decimal128(20, 9)), decimals),
    "arrow dictionary in two chunks": (in_two_chunks, texts),
    "arrow dictionary with nulls": (with_nulls_and_repeats, texts),
    "pandas arrow decimal": (on_arrow_in_pandas(of_arrow(pa.decimal128(20, 9))), decimals),
    "pandas arrow dictionary": (on_arrow_in_pandas(of_dictionary(pa.string())), texts),
}


@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=40)
@given(data=st.data())
def test_codes_are_a_function_of_the_cell(kind, data):
    """Each code is that of the slow rule, which sees the cell alone: as those of pandas are."""
    container, cells = COLUMNS[kind]
    drawn = data.draw(cells, label="cells")
    check_codes(drawn, container(drawn))
    column = open_table(container(drawn)).column(0)
    # What a type says decides which fits are refused: neither rows nor missing cells change it.
    for others in ([], drawn[:1], [*drawn, None]):
        assert kind_of(open_table(container(others)).column(0)) == kind_of(column)


TEXT_TYPES = ((pa.binary(), pa.string()), (pa.large_binary(), pa.large_string()))


@pytest.mark.parametrize("types", [*TEXT_TYPES, (pa.binary_view(), pa.string_view())], ids=str)
def test_bytes_that_are_no_text_are_an_undeclared_level(types):
    """Arrow does not check them. An error would quote the cell, and stop everybody's fit."""
    cells = pa.array([b"b", b"secret \xff", None, b"\xfe", b"b"], types[0]).view(types[1])
    forms = [pa.table({"a": cells}), pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(cells)})]
    if types in TEXT_TYPES:
        forms.append(pa.table({"a": cells.dictionary_encode()}))
    for form in forms:
        column = open_table(form).column(0)
        assert encode_column(column, Categorical(["a", "b"]), N_BINS).tolist() == [2, 3, 0, 3, 2]


FEATURES = {
    "age": Continuous(17, 90),
    "job": Categorical(["a", "b"]),
    "flag": Categorical([False, True]),
    "grade": Categorical(["low", "high"], ordered=True),
}
MIXED = {
    "other": [1.5] * 4,
    "grade": ["low", None, "high", "?"],
    "flag": [True, None, False, True],
    "job": ["a", None, "new", "b"],
    "age": [30.0, None, math.inf, -5.0],
}
TABLES = {
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "record batch": pa.RecordBatch.from_pydict,
    "pandas on arrow": lambda cells: pa.table(cells).to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_are_those_of_pandas(make):
    """Columns are found by their names, whatever their order."""
    schema, names = Schema(FEATURES, target=Categorical(["no", "yes"])), list(FEATURES)
    frame = pd.DataFrame(MIXED, dtype=object)
    table = open_table(make(MIXED), names)
    assert table.names == tuple(names)
    expected = encode_table(open_table(frame, names), schema, 7)
    np.testing.assert_array_equal(encode_table(table, schema, 7), expected)
    canonical = [canonical_frame(one, schema, names) for one in (make(MIXED), frame)]
    pd.testing.assert_frame_equal(*canonical)
    report = schema.check(make(MIXED), pl.Series(["no", None, "yes", "maybe"]))
    assert report.columns[:-1] == schema.check(frame).columns
    assert (report.columns[-1].missing, report.columns[-1].unseen) == (1, 1)


@pytest.mark.parametrize("y", [pl.DataFrame({"y": [1, 2]}), pa.table({"y": [1, 2]})])
def test_a_column_vector_is_read_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert open_target(y).tolist() == [1, 2]


def test_coded_columns_can_be_read_by_numpy():
    column = open_target(pa.array(["a", None, "b"]).dictionary_encode())
    assert list(np.asarray(column)) == ["a", None, "b"]
    assert list(np.asarray(column[1:])) == [None, "b"]
    halves = pa.DictionaryArray.from_arrays([0, None], pa.array(np.array([0.5], dtype="f2")))
    assert list(np.asarray(open_target(halves))) == [0.5, None]
    with pytest.raises(ValueError, match="leave copy out"):
        column.__array__(copy=False)


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_columns_are_read(rows):
    chunked = pa.chunked_array([], type=pa.dictionary(pa.int8(), pa.string()))
    assert len(open_target(chunked)) == 0
    numbers = pa.chunked_array([], type=pa.dictionary(pa.int8(), pa.int64()))
    assert kind_of(open_target(numbers)).cells == "integers"
    frame = pl.DataFrame({"a": ["x"], "b": [True], "c": [1]}).head(rows)
    specs = [Categorical(["x"]), Categorical([True]), Continuous(0, 1)]
    assert [len(codes) for codes in encode_table(open_table(frame), specs, 4)] == [rows] * 3


DATE = datetime.date(2020, 1, 1)
NOON = datetime.time(12)
REFUSED = {
    "date": (pa.array([DATE]), r"days since a fixed public date"),
    "timestamp": (pa.array([datetime.datetime(2020, 1, 1)]), r"days since a fixed public date"),
    "time": (pa.array([NOON]), r"seconds since midnight"),
    "duration": (pa.array([datetime.timedelta(1)]), r"durations into numbers first"),
    "list": (pa.array([[1]]), r"entry of a list, or field of a struct, a column of its own"),
    "struct": (pa.array([{"a": 1}]), r"entry of a list, or field of a struct, a column of its own"),
    "map": (pa.array([[("a", 1)]], type=pa.map_(pa.string(), pa.int64())), r"a column of its own"),
    "binary": (pa.array([b"a"]), r"Decode bytes"),
    "dates by code": (pa.array([DATE]).dictionary_encode(), r"days since a fixed public date"),
    "scale": (pa.nulls(1, pa.decimal128(5, -39)), r"Decimals of this scale"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_types_without_a_rule_are_refused(kind):
    column, said = REFUSED[kind]
    table = pa.table({"a": column, "b": [1]})
    tables = [table, table.to_pandas(types_mapper=pd.ArrowDtype)]
    if kind not in ("dates by code", "scale"):
        tables.append(pl.from_arrow(table))
    for refused in tables:
        with pytest.raises(SchemaError, match=f"Column 'a' has dtype .*numbers, bools.*{said}"):
            open_table(refused)
        assert open_table(refused, ["b"]).names == ("b",)
    with pytest.raises(SchemaError, match=f"y has dtype .*{said}"):
        open_target(column)


def test_numbers_without_nulls_are_not_copied():
    numbers = np.arange(1000.0)
    for table in (pa.table({"a": numbers}), pl.DataFrame({"a": numbers}, nan_to_null=False)):
        first, second = open_table(table).column(0), open_table(table).column(0)
        assert np.shares_memory(first, second)
