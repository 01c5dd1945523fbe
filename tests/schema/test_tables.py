"""Containers: what is opened, how names are matched, and what is refused with a hint."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import encode_classes, open_table, open_target
from interpret_dp.schema.tables import complete_names, open_column

NUMBERS = np.arange(6.0).reshape(3, 2)


class ArrayLike:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return NUMBERS


def test_frames_keep_names_and_dtypes() -> None:
    frame = pd.DataFrame({"a": [1, 2], 7: pd.array([1, None], dtype="Int64")})
    frame["c"] = pd.Categorical(["x", None])
    table = open_table(frame)
    assert table.names == ("a", "7", "c")
    assert table.n_rows == 2
    assert [str(table.column(i).dtype) for i in range(3)] == ["int64", "Int64", "category"]


def test_frames_are_matched_by_name() -> None:
    frame = pd.DataFrame({"a": [1], "extra": [object()], "b": ["x"]})
    table = open_table(frame, ["b", "a"])
    assert table.names == ("b", "a")
    assert list(table.column(0)) == ["x"]
    assert list(table.column(1)) == [1]


def test_columns_left_out_may_be_of_any_dtype_and_name() -> None:
    frame = pd.DataFrame([[1, 2, datetime.datetime(2020, 1, 1)]], columns=["a", "d", "d"])
    assert open_table(frame, ["a"]).names == ("a",)


@pytest.mark.parametrize("shape", [(3, 4), (0, 2), (2, 12)])
def test_names_are_those_of_the_host(shape: tuple[int, int]) -> None:
    from interpret.utils._clean_x import unify_feature_names

    array = np.zeros(shape)
    expected, _ = unify_feature_names(array)
    assert list(open_table(array).names) == expected
    given = [None, "feature_0000", *[None] * (shape[1] - 2)]
    expected, _ = unify_feature_names(array, list(given))
    assert list(open_table(array, given).names) == expected
    assert list(complete_names(given)) == expected


@pytest.mark.parametrize(
    "rows",
    [
        [[1, "a"], (None, 2.5)],
        ([1, "a"], [None, 2.5]),
        [np.array([1, "a"], dtype=object), [None, 2.5]],
    ],
)
def test_lists_of_rows_keep_their_cells(rows: Any) -> None:
    table = open_table(rows)
    assert list(table.column(0)) == [1, None]
    assert list(table.column(1)) == ["a", 2.5]
    assert type(table.column(0)[0]) is int


def test_cells_that_are_lists_stay_cells() -> None:
    table = open_table([[[1, 2], "a"], [[3, 4], "b"]])
    assert table.names == ("feature_0000", "feature_0001")
    assert list(table.column(0)) == [[1, 2], [3, 4]]


def test_masked_cells_are_missing() -> None:
    numbers = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    assert np.isnan(open_table(numbers).column(1)[0])
    objects = np.ma.masked_array(np.array([["a"], ["b"]], dtype=object), mask=[[1], [0]])
    assert list(open_table(objects).column(0)) == [None, "b"]


@pytest.mark.parametrize("array", [np.asmatrix(NUMBERS), ArrayLike(), NUMBERS.tolist()])
def test_other_forms_of_an_array_are_read(array: Any) -> None:
    assert open_table(array).column(1).tolist() == [1.0, 3.0, 5.0]


def test_representation_hides_the_number_of_rows() -> None:
    assert "137" not in repr(open_table(np.zeros((137, 2))))


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (None, "NoneType"),
        ("abc", "builtins.str"),
        ({"a": [1]}, r"pandas\.DataFrame"),
        (7, "builtins.int"),
        ((row for row in [[1]]), "generator"),
        (sparse.csr_array(NUMBERS), r"sparse.*X\.toarray\(\)"),
    ],
)
def test_other_containers_are_refused(X: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        open_table(X)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros(3),
        np.zeros((2, 2, 2)),
        pd.Series([1, 2]),
        [1, 2, 3],
        ["ab", "cd"],
        [np.zeros((2, 2)), np.zeros((2, 2))],
    ],
)
def test_other_dimensions_are_refused(X: Any) -> None:
    with pytest.raises(SchemaError, match="Reshape your data"):
        open_table(X)


@pytest.mark.parametrize("X", [np.zeros((3, 0)), [], [[], []], pd.DataFrame(index=range(3))])
def test_a_table_needs_a_column(X: Any) -> None:
    with pytest.raises(SchemaError, match=r"0 feature\(s\)"):
        open_table(X)


def test_rows_must_be_alike() -> None:
    with pytest.raises(SchemaError, match="differ in length"):
        open_table([[1, 2], [3]])


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pd.to_datetime(["2020-01-01"]), "days since a fixed public date"),
        (pd.to_datetime(["2020-01-01"]).tz_localize("UTC"), "days since a fixed public date"),
        (pd.to_timedelta([1], unit="s"), "durations"),
        (pd.Categorical(pd.to_datetime(["2020-01-01"])), "dates"),
        (pd.period_range("2020", periods=1, freq="D"), "Columns hold"),
        (pd.cut([1.0], [0, 2]), "Columns hold"),
        (pd.arrays.SparseArray([1]), r"to_dense\(\)"),
        (np.array([1j]), "Complex data not supported"),
    ],
)
def test_dtypes_without_a_rule_are_refused(column: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        open_table(pd.DataFrame({"a": column}))


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([[b"a"]]), "Decode bytes"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.zeros((2, 2), dtype=[("a", int)]), "structured array as a pandas DataFrame"),
        (np.zeros((2, 2), dtype="datetime64[s]"), "dates"),
    ],
)
def test_array_dtypes_without_a_rule_are_refused(array: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        open_table(array)


def test_names_must_be_there_once() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(SchemaError, match="column 'a' more than once"):
        open_table(frame)
    with pytest.raises(SchemaError, match="column 'a' more than once"):
        open_table(frame, ["a"])
    with pytest.raises(SchemaError, match="column '0' more than once"):
        open_table(pd.DataFrame([[1, 2]], columns=["0", 0]))
    with pytest.raises(SchemaError, match="column 'a' more than once"):
        open_table(NUMBERS, ["a", "a"])


def test_missing_columns_are_named() -> None:
    with pytest.raises(SchemaError, match="lacks columns 'Age', 'City'"):
        open_table(pd.DataFrame({"a": [1]}), ["Age", "a", "City"])
    with pytest.raises(SchemaError, match="holds None"):
        open_table(pd.DataFrame({"a": [1]}), ["a", None])
    with pytest.raises(SchemaError, match="X has 2 features, but feature_names is expecting 3"):
        open_table(NUMBERS, ["a", "b", "c"])
    with pytest.raises(TypeError, match=r"Write \['ab'\]"):
        open_table(NUMBERS, "ab")


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        (1, 2, 3),
        np.array([1, 2, 3]),
        pd.Series([1, 2, 3], index=[5, 6, 7]),
        pd.array([1, 2, 3]),
        pd.Index([1, 2, 3]),
    ],
)
def test_targets_are_one_column(y: Any) -> None:
    assert list(open_target(y, 3)) == [1, 2, 3]


@pytest.mark.parametrize("y", [[[1], [2], 3], [(1,), 2, [3]], [np.array([1]), 2, 3]])
def test_in_a_list_a_row_of_one_cell_is_that_cell(y: Any) -> None:
    """Whether every cell is a row must not decide what any of them means."""
    assert list(open_target(y)) == [1, 2, 3]


@pytest.mark.parametrize("y", [np.array([[1], [2]]), pd.DataFrame({"y": [1, 2]})])
def test_a_column_vector_is_read_with_a_warning(y: Any) -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert list(open_target(y)) == [1, 2]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "Expected array-like"),
        (np.zeros((3, 2)), "y has 2 columns"),
        (pd.DataFrame({"a": [1], "b": [2]}), "y has 2 columns"),
        (np.zeros((3, 1, 1)), "3 dimensions"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "y has dtype datetime64"),
    ],
)
def test_other_targets_are_refused(y: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        open_target(y)


def test_masked_labels_are_missing() -> None:
    y = np.ma.masked_array([1, 2], mask=[True, False])
    assert np.isnan(open_target(y)[0])


@pytest.mark.parametrize("cell", [np.ma.masked, np.array("yes"), np.array(1.0)])
def test_no_cell_of_a_list_is_an_error(cell: Any) -> None:
    # list(masked_array) holds such cells, which have no length: raising for them would tell that
    # somebody's cell is missing.
    found = open_target([1, cell, [0]])
    assert list(encode_classes(found, [0, 1])) == [1, -1, 0]
    assert len(open_column("sample_weight", [1, cell, 0], 3)) == 3


def test_lengths_must_agree_and_are_not_told() -> None:
    with pytest.raises(SchemaError, match="inconsistent numbers of samples") as caught:
        open_target(np.zeros(137), 139)
    assert "13" not in str(caught.value)
