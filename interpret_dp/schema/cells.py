"""Scalar rules: the meaning of a cell, a list's entry and a column, whatever stands beside them.

Columns are read in chunks through functions of one cell (or of one category). Nothing here
looks for common types, unique values, minima or orders of a column, so that no cell can change
what another one means. The proof is in docs/proofs/encoding.md.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, repeat
from operator import ne
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import check_sequence
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.declarations import Level

if TYPE_CHECKING:
    import narwhals as nw


# Lists of rows, and of what belongs to each row: one entry decides nothing about the others.

Objects: TypeAlias = npt.NDArray[np.object_]

# Most entries are of these types, of which the first two are rows.
_PLAIN = frozenset({list, tuple, str, int, float, bool, type(None)})
_NO_ROWS = (
    "Expected 2D array, got 1D array instead: a list must hold rows, each a list of cells. Reshape "
    "your data: write [[1], [2]] for two rows of one column, [[1, 2]] for one row of two."
)


def entries_of(values: Any) -> Sequence[Any] | None:
    """Return the entries of a list, a tuple or a one-dimensional array of objects; else None.

    Such an array is what NumPy makes of rows of which one has another length.
    """
    if isinstance(values, list | tuple):
        return values
    is_array = type(values) is np.ndarray and values.ndim == 1 and values.dtype == np.object_
    return list(values) if is_array else None


class _WholeRows(list[Any]):
    """Rows of ``n_columns`` cells each, even if there is none."""

    ndim = 2
    n_columns = 0


def whole_rows(
    X: Any,
    feature_names: Sequence[str | None] | None = None,
    *,
    are_public: bool = False,
    identifier: Collection[str] = (),
) -> Any:
    """Return rows in a list with the same cells each; any other container as it is.

    A row of another length, and what is no row, such as None, a text or a number, is a row of
    missing cells, as in a CSV file: it must not decide whether a table is read. A one-dimensional
    array of objects, which NumPy makes of such rows, becomes one of two dimensions.

    Parameters
    ----------
    X : object
        As ``fit`` takes it.
    feature_names : sequence of str or None, default=None
        Their number is that of the columns. None: the most frequent length is, the larger of
        two if these are equally frequent. Then, as with the shape of an array, tables of different
        numbers of columns are no neighbours (docs/proofs/encoding.md).
    are_public : bool, default=False
        Raise instead, as scikit-learn does.
    identifier : collection of str, default=()
        The columns among ``feature_names`` that identify people. There the cell of what is no row
        is an empty tuple, which is left out: the row may be somebody's who has other rows.

    Raises
    ------
    TypeError
        If ``feature_names`` is no sequence of names.
    SchemaError
        If most entries are no rows, and there are no names; or if public rows differ in length.
    """
    entries = entries_of(X)
    if entries is None or isinstance(X, _WholeRows):
        return X
    rows = [row_of(entry) for entry in entries]
    lengths = Counter(-1 if row is None else len(row) for row in rows)
    width = max(lengths, key=lambda length: (lengths[length], length), default=0)
    empty: list[Any] = [None] * width
    if feature_names is not None:
        empty = [() if name in identifier else None for name in wanted_names(feature_names)]
        width = len(empty)
    if width < 0:
        raise SchemaError(_NO_ROWS)
    if are_public and len(lengths) > 1:
        raise SchemaError("The rows of X differ in length; give every row the same columns.")
    whole = _WholeRows(empty if row is None or len(row) != width else row for row in rows)
    whole.n_columns = width
    return whole if isinstance(X, list | tuple) else cells_of_rows(whole)


def cells_of_rows(rows: Sequence[Any]) -> Objects:
    """Return a list of rows as an array, shape (n_rows, n_columns).

    Raises
    ------
    SchemaError
        If an entry is no row, or rows differ in length; those of :func:`whole_rows` do not.
    """
    whole: _WholeRows = whole_rows(rows, are_public=True)
    # NumPy would promote [[1, "a"]] to strings, so that one row could change another's cells:
    # cells stay the objects they are.
    cells = object_array(chain.from_iterable(whole), len(whole) * whole.n_columns)
    return cells.reshape(len(whole), whole.n_columns)


def row_of(entry: Any) -> Sequence[Any] | None:
    """Return the cells of an entry of a list; None if it is no row. Never raises."""
    kind = type(entry)
    if kind in _PLAIN:
        return entry if kind in (list, tuple) else None
    try:
        if isinstance(entry, str | bytes | Mapping | Set) or getattr(entry, "ndim", 1) != 1:
            return None
        # A black box gets arrays as they are.
        return entry if kind is np.ndarray else [*entry] if hasattr(entry, "__len__") else None
    except Exception:
        # A class of the user's own, or what has no entries.
        return None


def object_array(cells: Iterable[Any], count: int) -> Objects:
    """Return cells as they are, shape (count,)."""
    # Assigning a list to an object array would unpack cells that are lists themselves.
    return np.fromiter(cells, dtype=np.object_, count=count)


def wanted_names(feature_names: Sequence[str | None]) -> tuple[str | None, ...]:
    """Return the names of the columns; TypeError if they are no sequence."""
    if isinstance(feature_names, str):
        allowed = f"it must be a sequence of names. Write [{feature_names!r}]."
        raise TypeError(f"feature_names is {feature_names!r}; {allowed}")
    given = check_sequence("feature_names", feature_names, "names, one for each column")
    return tuple(None if name is None else str(name) for name in given)


FloatArray: TypeAlias = npt.NDArray[np.float64]
CodeArray: TypeAlias = npt.NDArray[np.uint16]
_Found = TypeVar("_Found", np.float64, np.uint16)

# Small enough that the temporaries of a chunk stay in the processor's cache.
_CHUNK_ROWS: Final = 2**16

# Types whose equality and hash agree with level_key, so that a dict look-up is the scalar rule.
# (np.float32 is not one: NumPy calls np.float32(0.1) equal to 0.1 and hashes it differently.)
_PLAIN_FLOATS: Final = frozenset({float, np.float64})
_PLAIN_NUMBERS: Final = _PLAIN_FLOATS | {int, bool, np.int64, np.bool_}
_PLAIN_CELLS: Final = _PLAIN_NUMBERS | {str, np.str_, NoneType}

_NO_LEVEL: Final = object()
"""Key of a cell that no level can be equal to."""


def number_of(cell: object) -> float:
    """Return the number that a cell stands for; NaN if it is missing or cannot be read as one.

    Strings are read as Python's ``float`` reads them, bools are 0 and 1, numbers beyond the
    floats are infinities. Never raises.

    Parameters
    ----------
    cell : object
        Any cell of a table.
    """
    try:
        if not _is_number(cell) and not isinstance(cell, str):
            return math.nan
        if isinstance(cell, str):
            return float(str.__str__(cell))
        if isinstance(cell, numbers.Complex) and not isinstance(cell, numbers.Real):
            return float(cell.real) if cell.imag == 0 else math.nan
        try:
            return float(cell)  # type: ignore[arg-type]
        except OverflowError:
            return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except Exception:
        # A value must not decide whether fit raises, whatever its class does when it is read.
        return math.nan


def level_key(cell: object) -> object:
    """Return what a cell is compared by: a string, a float, None if missing, or no level's key.

    Strings are their own key. Numbers and bools are compared as floats. An interval of pandas is
    its text, such as ``"(0, 10]"``. None, NaN, ``pandas.NA`` and the various NaT are missing.
    Anything else equals no level. Never raises.

    Parameters
    ----------
    cell : object
        Any cell of a table, hashable or not.
    """
    try:
        if isinstance(cell, str):
            return str.__str__(cell)
        if _is_number(cell):
            number = number_of(cell)
            if not math.isnan(number):
                return number
            is_complex = isinstance(cell, numbers.Complex) and not isinstance(cell, numbers.Real)
            return _NO_LEVEL if is_complex else None
        if is_interval(cell):
            return str(cell)
        return None if _is_missing(cell) else _NO_LEVEL
    except Exception:
        # An object's own word on its class may be wrong, or no answer.
        return _NO_LEVEL


def is_a(value: object, module: str, *names: str) -> bool:
    """Return whether a value is of a class of a module, which is not loaded for the question.

    Whoever holds an object of a module has imported it.
    """
    library = sys.modules.get(module)
    classes = () if library is None else tuple(getattr(library, name) for name in names)
    return issubclass(type(value), classes)


def is_interval(cell: object) -> bool:
    """Return whether a cell is an interval of pandas."""
    return is_a(cell, "pandas", "Interval")


def _is_number(cell: object) -> bool:
    # NumPy counts durations among the integers; their number depends on the unit.
    return isinstance(cell, numbers.Number | np.bool_) and not isinstance(cell, np.timedelta64)


def _is_missing(cell: object) -> bool:
    if cell is None or cell is np.ma.masked:
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    pandas = sys.modules.get("pandas")
    return pandas is not None and (cell is pandas.NA or cell is pandas.NaT)


def chunks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows in order."""
    for start in range(0, n_rows, _CHUNK_ROWS):
        yield slice(start, min(start + _CHUNK_ROWS, n_rows))


def in_chunks(
    values: Values, rule: Callable[[Values], npt.NDArray[_Found]]
) -> Iterator[tuple[slice, npt.NDArray[_Found]]]:
    """Yield the rows of each chunk of a column, and what a rule makes of their cells.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        A column. Where it is category-coded, the rule reads each category once.
    rule : callable
        An array form of a scalar rule, such as :func:`numbers_of`.
    """
    if not is_category_coded(values):
        for rows in chunks(len(values)):
            yield rows, rule(values[rows])
        return
    # The code of a missing cell is -1, which picks the last entry.
    missing = np.array([None], dtype=np.object_)
    by_category = np.concatenate([rule(category_values(values)), rule(missing)])
    for rows in chunks(len(values)):
        yield rows, by_category[values.codes[rows]]


def numbers_of(values: Values) -> FloatArray:
    """Return :func:`number_of` of each cell; meant for one chunk of a column.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        Cells, in whatever dtype they came.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Numbers; NaN where there is none. May share memory with ``values``.
    """
    if values.dtype.kind in "biuf":
        if isinstance(values, np.ndarray):
            # Long doubles beyond the floats become infinite without a word about it.
            with np.errstate(all="ignore"):
                return values.astype(np.float64, copy=False)
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    cells = cells_of(values)
    if set(map(type, cells)) <= _PLAIN_NUMBERS:
        try:
            return cells.astype(np.float64)
        except OverflowError:
            # An integer beyond the floats: cell by cell, which gives the others the same number.
            pass
    with np.errstate(all="ignore"):
        return np.fromiter(map(number_of, cells), dtype=np.float64, count=len(cells))


def column_numbers(values: Values) -> FloatArray:
    """Return :func:`number_of` of each cell of a column, shape (n_rows,), in memory of its own."""
    numbers = np.empty(len(values), dtype=np.float64)
    for rows, chunk in in_chunks(values, numbers_of):
        numbers[rows] = chunk
    return numbers


class LevelTable:
    """Look-up from cells to positions of levels: 0 missing, 1..L levels, L + 1 anything else.

    Parameters
    ----------
    levels : sequence of Level, shape (L,)
        Levels with different keys, as :class:`Categorical` keeps them.
    """

    def __init__(self, levels: Sequence[Level]) -> None:
        self.n_levels = len(levels)
        self._unseen = self.n_levels + 1
        self._by_key: dict[object, int] = {
            level_key(level): position for position, level in enumerate(levels, start=1)
        }
        # Numeric columns are looked up by bisection among the numeric levels.
        numeric = {key: at for key, at in self._by_key.items() if isinstance(key, float)}
        self._numbers = np.array(sorted(numeric), dtype=np.float64)
        self._positions = np.array([numeric[key] for key in sorted(numeric)], dtype=np.uint16)
        self._by_key[None] = 0

    def positions(self, values: Values) -> CodeArray:
        """Return the position of each cell's level; meant for one chunk of a column.

        Parameters
        ----------
        values : Values, shape (n_rows,)
            Cells, in whatever dtype they came.

        Returns
        -------
        ndarray of uint16, shape (n_rows,)
            0 for missing, 1..L for a level, L + 1 for anything else.
        """
        if values.dtype.kind in "biuf":
            return self._positions_of_numbers(numbers_of(values))
        return self._positions_of_cells(cells_of(values))

    def _positions_of_numbers(self, numbers: FloatArray) -> CodeArray:
        positions = np.full(len(numbers), self._unseen, dtype=np.uint16)
        if len(self._numbers):
            nearest = np.searchsorted(self._numbers, numbers)
            # A number beyond every level is compared with the last one.
            np.minimum(nearest, len(self._numbers) - 1, out=nearest)
            equal = self._numbers[nearest] == numbers
            positions[equal] = self._positions[nearest[equal]]
        positions[np.isnan(numbers)] = 0
        return positions

    def _positions_of_cells(self, cells: npt.NDArray[np.object_]) -> CodeArray:
        types = set(map(type, cells))
        if not types <= _PLAIN_CELLS:
            with np.errstate(all="ignore"):
                return np.fromiter(map(self._position, cells), np.uint16, count=len(cells))
        positions_by_key = map(self._by_key.get, cells, repeat(self._unseen))
        positions = np.fromiter(positions_by_key, dtype=np.uint16, count=len(cells))
        if types & _PLAIN_FLOATS:
            # NaN equals no key, not even itself: it is among the unseen so far.
            rows = np.flatnonzero(positions == self._unseen)
            is_nan = np.fromiter(map(ne, cells[rows], cells[rows]), dtype=np.bool_, count=len(rows))
            positions[rows[is_nan]] = 0
        return positions

    def _position(self, cell: object) -> int:
        return self._by_key.get(level_key(cell), self._unseen)


def cells_of(values: Values) -> npt.NDArray[np.object_]:
    """Return the cells of a column as Python objects, shape (n_rows,)."""
    if isinstance(values, np.ndarray):
        return values.astype(np.object_, copy=False)
    try:
        return np.asarray(values.to_numpy(dtype=np.object_), dtype=np.object_)
    except Exception:
        if not hasattr(values, "__arrow_array__"):
            raise
        # Arrow text that is not UTF-8. The error would quote the cell, and stop the whole fit.
        return np.asarray(arrow_values(values.__arrow_array__()), dtype=np.object_)


# Columns of any container: which dtypes are read, and the forms that the scalar rules are given.
#
# Arrow, and every DataFrame that narwhals reads, come in through :func:`arrow_values`.

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
    hint = _arrow_hint(dtype) if is_a(dtype, "pyarrow", "DataType") else _pandas_hint(dtype)
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
    if types.is_decimal(chunked.type):
        # Arrow's cast of decimals to floats need not round to nearest; reading text does.
        chunked = chunked.cast(pa.string()).cast(pa.float64())
    is_whole = types.is_integer(chunked.type) or types.is_boolean(chunked.type)
    if is_whole and chunked.null_count:
        return _nullable(chunked)
    if is_whole or types.is_floating(chunked.type):
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


def _nullable(column: Any) -> Values:
    """Keep integers and bools: as floats, one missing cell would change how levels are written."""
    import pandas as pd
    from pyarrow import types

    missing = _to_numpy(column.is_null())
    if types.is_boolean(column.type):
        return pd.arrays.BooleanArray(_to_numpy(column.fill_null(False)), missing)
    return pd.arrays.IntegerArray(_to_numpy(column.fill_null(0)), missing)


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
