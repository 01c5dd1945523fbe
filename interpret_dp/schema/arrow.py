"""Columns of Arrow, and of every DataFrame that narwhals reads, in the forms of ``columns``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.schema.columns import CodedColumn, Values
from interpret_dp.schema.dtypes import is_text

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["arrow_values", "series_dtype", "series_values"]


def series_dtype(series: nw.Series[Any]) -> Any:
    """Return the dtype of a narwhals Series, as :func:`dtypes.refuse_dtype` takes it. Public.

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
    values = arrow_values(_to_arrow(series))
    if not isinstance(series.dtype, nw.Enum):
        return values
    import pandas as pd

    # An Enum is what pandas calls an ordered categorical: its type lists the levels in order.
    levels = pd.Index(values.categories, dtype="string")
    return pd.Categorical.from_codes(values.codes, categories=levels, ordered=True)


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
