"""Containers: the one place that knows what a DataFrame, an array or a list of rows is.

It looks at types, names and shapes alone, never at a cell, so that whether it raises says
nothing about a row.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.schema import listed

__all__ = ["Table", "Values", "complete_names", "open_table", "open_target"]

#: A NumPy array or a pandas extension array of one column, in the dtype in which it came.
Values: TypeAlias = Any

_ALLOWED = "Columns hold numbers, bools, strings, objects or pandas categories."
_HINTS = {
    "c": "Complex data not supported: pass the real and the imaginary part as two columns.",
    "M": "Turn dates into numbers first, such as days since a fixed public date.",
    "m": "Turn durations into numbers first, such as seconds.",
    "S": "Decode bytes into strings first, such as with column.str.decode('utf-8').",
    "V": "Pass a structured array as a pandas DataFrame, one column a field.",
}


@dataclass(frozen=True)
class Table:
    """Columns by name, whatever the container.

    Attributes
    ----------
    names : tuple of str, shape (n_features,)
        Unique names of the columns. Public.
    n_rows : int
        Number of rows. Private: left out of the representation.
    """

    names: tuple[str, ...]
    n_rows: int = field(repr=False)
    _column: Callable[[int], Values] = field(repr=False)

    def column(self, index: int) -> Values:
        """Return column ``index``, an array of shape (n_rows,) in its own dtype. Private.

        It shares memory with the container unless cells are masked: do not write to it.
        """
        return self._column(index)


@dataclass(frozen=True)
class _Source:
    """One container: its own names (or None), and its columns by position."""

    names: tuple[str, ...] | None
    n_columns: int
    n_rows: int
    dtype: Callable[[int], Any]
    column: Callable[[int], Values]


def open_table(X: Any, feature_names: Sequence[str | None] | None = None) -> Table:
    """Open a container of rows as named columns.

    Parameters
    ----------
    X : pandas.DataFrame, ndarray or list of rows, shape (n_rows, n_columns)
        The rows. Masked cells of a masked array are missing.
    feature_names : sequence of str, default=None
        The columns that are wanted. A DataFrame is matched by name: columns are reordered and
        those not named are left out. Other containers have no names, so that the number must be
        equal; None among the names is filled in as interpret does, ``feature_0000`` onwards.

    Returns
    -------
    Table
        A view of ``X``.

    Raises
    ------
    TypeError
        If ``X`` is not such a container.
    SchemaError
        If ``X`` is not two-dimensional, has no column, lacks a named column, has a name twice,
        or holds a dtype that is neither numbers, bools, strings, objects nor categories.
    """
    source = _read(X)
    wanted = None if feature_names is None else _wanted_names(feature_names)
    if source.n_columns == 0:
        raise SchemaError(
            "X has 0 feature(s) while a minimum of 1 is required. Pass at least one column."
        )
    if source.names is None:
        positions = list(range(source.n_columns))
        if wanted is not None and len(wanted) != source.n_columns:
            raise SchemaError(
                f"X has {source.n_columns} features, but feature_names is expecting "
                f"{len(wanted)} features as input. Pass the same columns in the same order."
            )
        names = complete_names(wanted or (None,) * source.n_columns)
    else:
        names, positions = _matched(source.names, wanted)
    _refuse_doubles(names)
    for name, position in zip(names, positions, strict=True):
        _refuse_dtype(f"Column {name!r}", source.dtype(position))
    return Table(names, source.n_rows, lambda index: source.column(positions[index]))


def open_target(y: Any, n_rows: int | None = None) -> Values:
    """Open a target as one column of values, in its own dtype.

    Parameters
    ----------
    y : pandas.Series, ndarray or list, shape (n_rows,) or (n_rows, 1)
        The target; a DataFrame of one column will do.
    n_rows : int, default=None
        Number of rows of the table, if it must agree.

    Raises
    ------
    TypeError
        If ``y`` is not such a container.
    SchemaError
        If ``y`` is None, has more than one column or another length, or holds a dtype that is
        neither numbers, bools, strings, objects nor categories. No length is quoted: the number
        of rows is private.

    Warns
    -----
    sklearn.exceptions.DataConversionWarning
        If ``y`` is a column of a two-dimensional container.
    """
    if y is None:
        raise SchemaError(
            "y should be a 1d array. Expected array-like (array or non-string sequence), got None."
        )
    if isinstance(y, list | tuple) and not _is_all_rows(y):
        values: Values = _object_array(y, len(y))
    elif _is_pandas(y, "Series"):
        values = _series_values(y)
    elif _is_pandas(y, "DataFrame") or isinstance(y, list | tuple):
        values = _only_column(_read(y))
    else:
        values = _plain_array(y, "y")
        if values.ndim == 2:
            values = _only_column(_read(values))
        elif values.ndim != 1:
            raise SchemaError(
                f"y has {values.ndim} dimensions; y should be a 1d array. Pass y.ravel()."
            )
        elif isinstance(values, np.ma.MaskedArray):
            values = _unmasked(values)
    _refuse_dtype("y", values.dtype)
    if n_rows is not None and len(values) != n_rows:
        raise SchemaError(
            "Found input variables with inconsistent numbers of samples: X and y must have the "
            "same number of rows."
        )
    return values


def complete_names(names: Sequence[str | None]) -> tuple[str, ...]:
    """Fill in names that are None as interpret does: ``feature_0000``, ``feature_0001`` ...

    Parameters
    ----------
    names : sequence of str or None, shape (n_features,)
        Given names; generated ones skip over them.
    """
    taken = {name for name in names if name is not None}
    free = (name for name in map("feature_{:04}".format, range(10**9)) if name not in taken)
    return tuple(next(free) if name is None else name for name in names)


def _read(X: Any) -> _Source:
    if _is_pandas(X, "DataFrame"):
        return _read_frame(X)
    if isinstance(X, list | tuple):
        return _read_rows(X)
    return _read_array(_plain_array(X, "X"))


def _read_frame(frame: Any) -> _Source:
    dtypes = list(frame.dtypes)
    return _Source(
        names=tuple(map(str, frame.columns)),
        n_columns=len(dtypes),
        n_rows=len(frame),
        dtype=dtypes.__getitem__,
        column=lambda position: _series_values(frame.iloc[:, position]),
    )


def _read_array(array: Any) -> _Source:
    if array.ndim != 2:
        raise SchemaError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data either using "
            "array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it has a "
            "single row."
        )

    def column(position: int) -> Values:
        values = array[:, position]
        return _unmasked(values) if isinstance(values, np.ma.MaskedArray) else values

    return _Source(
        names=None,
        n_columns=array.shape[1],
        n_rows=array.shape[0],
        dtype=lambda position: array.dtype,
        column=column,
    )


def _read_rows(rows: Sequence[Any]) -> _Source:
    # NumPy would promote [[1, "a"]] to strings, so that one row could change another's cells:
    # cells stay the objects they are.
    if not all(_is_row(row) for row in rows):
        raise SchemaError(
            "Expected 2D array, got 1D array instead: a list must hold rows, each a list of "
            "cells. Reshape your data: write [[1], [2]] for two rows of one column, [[1, 2]] "
            "for one row of two."
        )
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise SchemaError("The rows of X differ in length; give every row the same columns.")
    width = widths.pop() if widths else 0
    cells = _object_array(chain.from_iterable(rows), len(rows) * width)
    return _read_array(cells.reshape(len(rows), width))


def _is_row(row: Any) -> bool:
    if isinstance(row, str | bytes | dict) or not hasattr(row, "__len__"):
        return False
    return getattr(row, "ndim", 1) == 1


def _is_all_rows(cells: Sequence[Any]) -> bool:
    # Only a list of nothing but lists is a table: one odd cell must not make the others rows.
    return bool(cells) and all(isinstance(cell, list | tuple) for cell in cells)


def _plain_array(values: Any, role: str) -> Any:
    if isinstance(values, np.ndarray):
        # np.matrix keeps two dimensions when a column is taken.
        return np.asarray(values) if isinstance(values, np.matrix) else values
    kind = f"{type(values).__module__}.{type(values).__name__}"
    if _is_pandas(values, "Series"):
        mend = "Expected 2D array, got 1D array instead. Reshape your data: pass X.to_frame()."
        raise SchemaError(f"{role} is of type {kind}. {mend}")
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise TypeError(f"{role} is sparse ({kind}); it must be dense. Pass {role}.toarray().")
    if kind.split(".")[0] in ("polars", "pyarrow"):
        raise TypeError(f"{role} is of type {kind}. Pass {role}.to_pandas().")
    if hasattr(values, "__array__") and not isinstance(values, np.generic):
        return np.asarray(values)
    raise TypeError(
        f"{role} is of type {kind}; it must be a pandas DataFrame or Series, a NumPy array or a "
        "list. Pass a dict of columns as pandas.DataFrame(...)."
    )


def _is_pandas(values: Any, name: str) -> bool:
    # Whoever holds a pandas object has imported pandas: no need to import it for the question.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(values, getattr(pandas, name))


def _series_values(series: Any) -> Values:
    return series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array


def _only_column(source: _Source) -> Values:
    if source.n_columns != 1:
        raise SchemaError(
            f"y has {source.n_columns} columns; y should be a 1d array. Pass the target column "
            "alone."
        )
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Change the shape of y to "
        "(n_samples,), for example using ravel().",
        DataConversionWarning,
        stacklevel=4,
    )
    return source.column(0)


def _object_array(cells: Any, count: int) -> np.ndarray[Any, np.dtype[np.object_]]:
    # Assigning a list to an object array would unpack cells that are lists themselves.
    return np.fromiter(cells, dtype=np.object_, count=count)


def _unmasked(values: Any) -> Values:
    data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
    if values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return np.where(mask, np.nan, data.astype(np.float64))
    cells = data.astype(np.object_)
    cells[mask] = None
    return cells


def _wanted_names(feature_names: Sequence[str | None]) -> tuple[str | None, ...]:
    if isinstance(feature_names, str):
        raise TypeError(
            f"feature_names is {feature_names!r}; it must be a sequence of names. Write "
            f"[{feature_names!r}]."
        )
    return tuple(None if name is None else str(name) for name in feature_names)


def _matched(
    names: tuple[str, ...], wanted: tuple[str | None, ...] | None
) -> tuple[tuple[str, ...], list[int]]:
    if wanted is None:
        return names, list(range(len(names)))
    known = tuple(name for name in wanted if name is not None)
    if len(known) < len(wanted):
        raise SchemaError(
            "feature_names holds None, which only tables without names may have. Name every "
            "column, or leave feature_names out."
        )
    present, asked = set(names), set(known)
    absent = [name for name in known if name not in present]
    if absent:
        raise SchemaError(
            f"X lacks {listed(absent)}. Columns are matched by name: rename or add what is missing."
        )
    _refuse_doubles(tuple(name for name in names if name in asked))
    where = {name: position for position, name in enumerate(names)}
    return known, [where[name] for name in known]


def _refuse_doubles(names: Sequence[str]) -> None:
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise SchemaError(
            f"X has {listed(doubled)} more than once; rename so that each name is unique as a "
            "string."
        )


def _refuse_dtype(role: str, dtype: Any) -> None:
    categories = getattr(dtype, "categories", None)
    held = dtype if categories is None else categories.dtype
    if isinstance(held, np.dtype):
        allowed = held.kind in "biufOUT"
    else:
        # pandas' own dtypes: numbers say so by their kind, text by its type. Arrow has a dtype
        # for a column without values, which one value turns into another. Only sparse ones,
        # which interpret cannot read either, have a fill value.
        is_read = held.kind in "biuf" or held.type is str or str(held) == "null[pyarrow]"
        allowed = is_read and not hasattr(held, "fill_value")
    if not allowed:
        hint = "Pass column.sparse.to_dense()." if hasattr(held, "fill_value") else _ALLOWED
        raise SchemaError(f"{role} has dtype {dtype}. {_HINTS.get(held.kind, hint)}")
