"""Columns of any container: which dtypes are read, and the forms that the scalar rules are given.

Arrow, and every DataFrame that narwhals reads, come in through :func:`arrow_values`.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from interpret_dp.exceptions import SchemaError

if TYPE_CHECKING:
    import narwhals as nw

#: A NumPy array, a pandas extension array or a CodedColumn, in the dtype in which it came.
Values: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class CodedColumn:
    """A column as codes into a list of values, which may repeat and be missing. Private.

    pandas' own categories must be unique and present. Those of an Arrow dictionary need not be,
    and whether they are is a property of the rows, which must not decide whether a table is read.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
        Positions among the categories; -1 for a missing cell.
    categories : pandas.Index, shape (n_categories,)
        What the codes stand for, as pandas' own category-coded columns have it.
    ordered : bool
        Whether the order of the categories means something.
    is_text : bool
        Whether the type says that cells are strings.
    """

    codes: npt.NDArray[np.signedinteger[Any]]
    categories: Any
    ordered: bool
    is_text: bool = False

    #: That of the cells, one by one.
    dtype: ClassVar[np.dtype[np.object_]] = np.dtype(np.object_)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def __getitem__(self, rows: Any) -> CodedColumn:
        """Return the column of some rows: a slice, a mask or positions."""
        return replace(self, codes=self.codes[rows])

    def to_numpy(self, dtype: Any = np.object_) -> npt.NDArray[Any]:
        """Return the cells, shape (n_rows,); None for a missing one."""
        cells = np.empty(len(self.categories) + 1, dtype=np.object_)
        cells[:-1] = list(self.categories)
        return np.asarray(cells[self.codes], dtype=dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the cells as NumPy asks for them."""
        if copy is False:
            raise ValueError("copy is False; a coded column is read by copying: leave copy out.")
        return self.to_numpy(np.object_ if dtype is None else dtype)


def is_category_coded(values: Values) -> bool:
    """Return whether ``values`` is a list of values and codes into it."""
    return hasattr(values, "codes") and hasattr(values, "categories")


def category_values(values: Values) -> Values:
    """Return the list that the codes of a category-coded column point into."""
    index = values.categories
    return index.to_numpy() if isinstance(index.dtype, np.dtype) else index.array


_ALLOWED = "Columns hold numbers, bools, strings, objects or categories of these."
_CONVERT = "Convert the column to one of these first, or drop it."
_BYTES = "Decode bytes into strings first, such as with column.str.decode('utf-8')."
_DATES = (
    "Turn dates into numbers first, such as days since a fixed public date, or drop the column."
)
_DURATIONS = "Turn durations into numbers first, such as seconds."
_TIMES = "Turn times of day into numbers first, such as seconds since midnight."
_DECIMALS = "Decimals of this scale cannot be read; turn them into floats first."
_IDENTIFIERS = (
    "Identifiers of people are text, integers, UUIDs or bytes. Turn them into text first, such as "
    "with column.astype('string')."
)
_NESTED = "Give each entry of a list, or field of a struct, a column of its own."
_HINTS = {
    "c": "Complex data not supported: pass the real and the imaginary part as two columns.",
    "M": _DATES,
    "m": _DURATIONS,
    "S": _BYTES,
    "V": "Pass a structured array as a pandas DataFrame, one column a field.",
}


def refuse_dtype(role: str, dtype: Any, *, is_identifier: bool = False) -> None:
    """Raise SchemaError unless cells of ``dtype`` can be read by the scalar rules.

    Parameters
    ----------
    role : str
        Whose dtype it is; the subject of the message.
    dtype : numpy.dtype, pandas.api.extensions.ExtensionDtype or pyarrow.DataType
        The dtype of a column. No cell is looked at.
    is_identifier : bool, default=False
        Whether cells identify people: then they may be bytes, as UUIDs are in Parquet files.
    """
    if is_identifier and _is_bytes(dtype):
        return
    # Whoever holds one of pyarrow's types has imported pyarrow.
    pyarrow = sys.modules.get("pyarrow")
    is_arrow = pyarrow is not None and isinstance(dtype, pyarrow.DataType)
    hint = _arrow_hint(dtype) if is_arrow else _pandas_hint(dtype)
    if hint is not None:
        mend = _IDENTIFIERS if is_identifier else f"{_ALLOWED} {hint}"
        raise SchemaError(f"{role} has dtype {_name(dtype)}. {mend}")


def _is_bytes(dtype: Any) -> bool:
    """Return whether cells are bytes or, in Arrow, UUIDs."""
    name = str(getattr(dtype, "pyarrow_dtype", dtype))
    return getattr(dtype, "kind", "") == "S" or "binary" in name or "uuid" in name


def _name(dtype: Any) -> str:
    """Return the name of a dtype without its parameters, which may come from the rows.

    The longest text is as wide as NumPy's type, the keys of dicts are the fields of Arrow's.
    """
    is_numpy = isinstance(dtype, np.dtype)
    return dtype.type.__name__.strip("_") if is_numpy else re.split(r"[<\[(]", str(dtype))[0]


def is_text(arrow_type: Any) -> bool:
    """Return whether cells of a ``pyarrow.DataType`` are strings."""
    # The oldest pyarrow that is supported has no predicate for string_view.
    return str(arrow_type) in ("string", "large_string", "string_view")


def _pandas_hint(dtype: Any) -> str | None:
    """Return how to mend a NumPy or pandas dtype, or None if it needs no mending."""
    categories = getattr(dtype, "categories", None)
    held = dtype if categories is None else categories.dtype
    if hasattr(held, "pyarrow_dtype"):
        return _arrow_hint(held.pyarrow_dtype)
    # Only sparse dtypes, which interpret cannot read either, have a fill value.
    if hasattr(held, "fill_value"):
        return "Pass column.sparse.to_dense()."
    # Intervals, as pandas.cut makes them, are read as their text.
    if hasattr(held, "closed"):
        return None
    if isinstance(held, np.dtype):
        is_read = held.kind in "biufOUT"
    else:
        # pandas' own dtypes: numbers say so by their kind, text by its type.
        is_read = held.kind in "biuf" or held.type is str
    return None if is_read else _HINTS.get(held.kind, _CONVERT)


def _arrow_hint(arrow_type: Any) -> str | None:
    """Return how to mend an Arrow type, or None if it needs no mending."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return _arrow_hint(arrow_type.value_type)
    # Arrow has a type for a column without values, which one value turns into another.
    is_number = (types.is_integer, types.is_floating, types.is_boolean)
    if types.is_decimal(arrow_type):
        # Arrow cannot write others as text: the first cell that is not missing would fail.
        most = int((arrow_type.bit_width - 1) * math.log10(2))
        return _DECIMALS if abs(arrow_type.scale) > most else None
    if any(is_one(arrow_type) for is_one in (*is_number, types.is_null, is_text)):
        return None
    if types.is_duration(arrow_type) or types.is_interval(arrow_type):
        return _DURATIONS
    if types.is_time(arrow_type):
        return _TIMES
    if types.is_temporal(arrow_type):
        return _DATES
    if types.is_nested(arrow_type):
        return _NESTED
    return _BYTES if "binary" in str(arrow_type) else _CONVERT


def series_dtype(series: nw.Series[Any]) -> Any:
    """Return the dtype of a narwhals Series, as :func:`refuse_dtype` takes it. Public.

    Parameters
    ----------
    series : narwhals.Series, shape (n_rows,)
        A column; none of its cells is looked at.
    """
    import narwhals as nw
    import pyarrow as pa

    # Arrow would take the addresses of Python objects for bytes.
    if series.dtype == nw.Object:
        return np.dtype(np.object_)
    if _is_wide_integer(series):
        return pa.float64()
    return _to_arrow(series[:0]).type


def series_values(series: nw.Series[Any]) -> Values:
    """Return the cells of a narwhals Series. Private.

    Parameters
    ----------
    series : narwhals.Series, shape (n_rows,)
        A column whose dtype was not refused.
    """
    import narwhals as nw

    if series.dtype == nw.Object:
        return np.fromiter(series.to_list(), dtype=np.object_, count=len(series))
    if _is_wide_integer(series):
        # Arrow has no such integers; the cast rounds each to the nearest float, as ours does.
        series = series.cast(nw.Float64)
    return arrow_values(_to_arrow(series))


def arrow_values(column: Any) -> Values:
    """Return the cells of an Arrow column. Private.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray, shape (n_rows,)
        A column whose type was not refused.

    Returns
    -------
    Values, shape (n_rows,)
        Numbers and decimals as NumPy numbers, a null as NaN; bools as bools; strings and
        dictionaries as a :class:`CodedColumn`. Numbers in one chunk without nulls share memory
        with ``column``.
    """
    import pyarrow as pa
    from pyarrow import types

    chunked = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if types.is_dictionary(chunked.type):
        return _coded(chunked)
    if types.is_null(chunked.type):
        return np.full(len(chunked), None, dtype=np.object_)
    if types.is_boolean(chunked.type):
        return _bools(chunked)
    if types.is_decimal(chunked.type):
        # Arrow's cast of decimals to floats need not round to nearest; reading text does.
        chunked = chunked.cast(pa.string()).cast(pa.float64())
    if types.is_integer(chunked.type) and chunked.null_count:
        return _nullable_integers(chunked)
    if types.is_integer(chunked.type) or types.is_floating(chunked.type):
        # Joining chunks copies, and a single one need not be joined.
        single = chunked.chunk(0) if chunked.num_chunks == 1 else chunked
        return _to_numpy(single)
    if _is_bytes(chunked.type):
        # Only identifiers may be of such a type.
        return np.fromiter(chunked.to_pylist(), dtype=np.object_, count=len(chunked))
    # Text: most columns repeat few values, of which each then becomes a Python string once.
    if str(chunked.type) == "string_view":
        # The oldest pyarrow that is supported can neither cast nor encode it.
        chunked = pa.chunked_array([_texts(chunked)], type=pa.large_string())
    return _coded(chunked.dictionary_encode())


def _to_arrow(series: nw.Series[Any]) -> Any:
    # A column's name may hold a NUL, on which polars dies when it hands the name to Arrow.
    return series.alias("").to_arrow()


def _is_wide_integer(series: nw.Series[Any]) -> bool:
    import narwhals as nw

    return series.dtype in (nw.Int128, nw.UInt128)


def _to_numpy(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _texts(column: Any) -> Any:
    """Return strings as an array of objects.

    Arrow does not check that text is UTF-8. Invalid bytes are replaced, as in CSV files: an error
    would quote the cell.
    """
    import pyarrow as pa

    try:
        return _to_numpy(column)
    except (pa.ArrowException, UnicodeDecodeError):
        cells = (cell.as_buffer() for cell in column)
        texts = [
            None if cell is None else cell.to_pybytes().decode("utf-8", "replace") for cell in cells
        ]
        return np.array(texts, dtype=np.object_)


def _nullable_integers(column: Any) -> Values:
    """Keep integers integers: as floats, one missing cell would change how levels are written."""
    import pandas as pd

    missing = _to_numpy(column.is_null())
    return pd.arrays.IntegerArray(_to_numpy(column.fill_null(0)), missing)


def _bools(column: Any) -> Values:
    if not column.null_count:
        return _to_numpy(column)
    import pandas as pd

    return pd.arrays.BooleanArray(_to_numpy(column.fill_null(False)), _to_numpy(column.is_null()))


def _coded(column: Any) -> CodedColumn:
    import pandas as pd
    import pyarrow as pa

    ordered, holds_text = column.type.ordered, is_text(column.type.value_type)
    if column.num_chunks == 0:
        # Of the same dtype as with rows: whether there are any must not decide what is refused.
        column = pa.chunked_array([pa.nulls(0, column.type)])
    if column.num_chunks > 1:
        if any(chunk.dictionary.null_count for chunk in column.chunks):
            # Arrow cannot join dictionaries that hold nulls.
            column = column.cast(column.type.value_type).combine_chunks().dictionary_encode()
            column, ordered = pa.chunked_array([column]), False
        else:
            column = column.unify_dictionaries()
    # Unsigned codes have no room for the -1 of a missing cell.
    codes = [_to_numpy(chunk.indices.cast(pa.int64()).fill_null(-1)) for chunk in column.chunks]
    dictionary = column.chunk(0).dictionary
    values = _texts(dictionary) if is_text(dictionary.type) else arrow_values(dictionary)
    if values.dtype == np.float16:
        # pandas has no Index of them.
        values = values.astype(np.float32)
    # With its dtype given, pandas infers none from the values.
    categories = pd.Index(values, dtype=values.dtype, copy=False)
    return CodedColumn(np.concatenate(codes), categories, ordered, holds_text)
