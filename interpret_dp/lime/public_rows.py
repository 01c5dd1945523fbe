"""Public rows in the container of the caller: an example, and copies with other cells.

A model that is in production takes its own container: it gets that container back, with names and
dtypes as they were, as far as these can hold the new cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.schema import Categorical, FeatureSpec, Integer
from interpret_dp.schema.cells import level_key, numbers_of
from interpret_dp.schema.containers import read_source

# Place of each column, which copies keep their cell, and the cells of the others.
_Changes = list[tuple[int, NDArray[np.bool_], NDArray[Any]]]


def with_replaced_cells(
    X: Any,
    row: int,
    columns: Sequence[int],
    is_original: NDArray[np.bool_],
    values: Sequence[NDArray[Any]],
) -> Any:
    """Return copies of one row in which some cells are replaced, in the container of the row.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
    row : int
    columns : sequence of int, shape (n_columns,)
        Places of the columns in X.
    is_original : ndarray of bool, shape (n, n_columns)
        Which cells of the row stay.
    values : sequence of ndarray, shape (n,) each
        Cells of the other places.
    """
    changes = list(zip(columns, is_original.T, values, strict=True))
    n_rows = len(is_original)
    if isinstance(X, list | tuple):
        return _array(np.array([list(X[row])], dtype=object), n_rows, changes).tolist()
    if isinstance(X, np.ndarray):
        return _array(X[row : row + 1], n_rows, changes)
    if hasattr(X, "tocsr"):
        return type(X)(_array(X.tocsr()[[row]].toarray(), n_rows, changes))
    return _frame(X, row, n_rows, changes)


def example_row(X: Any, specs: Mapping[str, FeatureSpec]) -> Any:
    """Return one public row in the container of a private table.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or list of rows
        Of which names, types and shapes are looked at, and no cell; nor which categories a type
        lists, or how wide its texts and numbers are, since these may come from the rows.
    specs : mapping of str to Continuous or Categorical
        Of columns of X, in its order where it has no names. A number is in the middle of its
        bounds, a category has its first level; cells of other columns are missing. A categorical
        type lists the declared levels: in the order of an ordered one of pandas, else as declared.
    """
    cells = {name: _usual_cell(spec) for name, spec in specs.items()}
    levels = {name: s.levels for name, s in specs.items() if isinstance(s, Categorical)}
    if isinstance(X, list | tuple):
        return [list(cells.values())]
    if isinstance(X, np.ndarray):
        # The type without its length: that of texts is the longest one's.
        row = np.array([[*cells.values()]], dtype=object)
        return _held(row, np.dtype(X.dtype.type))
    if hasattr(X, "tocsr"):
        return type(X)(_held(np.array([list(cells.values())], dtype=object), X.dtype))
    import narwhals as nw
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        types = zip(read_source(X).names or (), X.dtypes, strict=True)
        return pd.DataFrame(
            {name: _typed(cells.get(name), dtype, levels.get(name, ())) for name, dtype in types}
        )
    frame = nw.from_native(X, eager_only=True)
    columns = {}
    for name, dtype in frame.collect_schema().items():
        cell = _of_kind(cells.get(name), is_integer=dtype.is_integer())
        kind = nw.Enum(map(str, levels.get(name, ()))) if dtype == nw.Enum else dtype
        columns[name] = nw.new_series(name, [cell], backend=frame.implementation)
        # Whether a type is too narrow for the cell may come from the rows.
        with suppress(Exception):
            columns[name] = columns[name].cast(kind)
    return nw.from_dict(columns).to_native()


def places_of(X: Any, names: Sequence[str]) -> list[int]:
    """Return where the columns stand in a container that may have others beside them."""
    is_array = isinstance(X, np.ndarray) or hasattr(X, "tocsr")
    own = (None if is_array else read_source(X).names) or tuple(names)
    return [own.index(name) for name in names]


def _usual_cell(spec: FeatureSpec) -> Any:
    if isinstance(spec, Categorical):
        return spec.levels[0]
    middle = spec.lower / 2 + spec.upper / 2
    return float(round(middle)) if isinstance(spec, Integer) else middle


def _typed(cell: Any, dtype: Any, levels: Sequence[Any]) -> Any:
    """Return one cell as a Series of a dtype, where that can hold it."""
    import pandas as pd

    cell = _of_kind(cell, is_integer=dtype.kind in "iu")
    if isinstance(dtype, pd.CategoricalDtype):
        # Its own categories may come from private rows; the order of ordered ones is public.
        order = [level_key(known) for known in dtype.categories] if dtype.ordered else []
        own = sorted(levels, key=lambda level: [*order, level_key(level)].index(level_key(level)))
        dtype = pd.CategoricalDtype(own, dtype.ordered)
    try:
        with np.errstate(over="raise"):
            return pd.Series([cell], dtype=dtype)
    except (TypeError, ValueError, ArithmeticError):
        return pd.Series([cell])


def _held(cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return cells in a dtype; numbers for which it is too narrow in the widest of its kind."""
    try:
        with np.errstate(over="raise"):
            return cells.astype(dtype)
    except ArithmeticError:
        return cells.astype(np.float64 if dtype.kind == "f" else np.int64)


def _of_kind(cell: Any, *, is_integer: bool) -> Any:
    return round(cell) if is_integer and isinstance(cell, float) else cell


def _array(cells: NDArray[Any], n_rows: int, changes: _Changes) -> NDArray[Any]:
    copies = np.repeat(cells, n_rows, axis=0)
    if copies.dtype.kind in "iub":
        # Numbers between integers, and missing ones, have no place among integers.
        copies = copies.astype(np.float64)
    if copies.dtype.kind in "US":
        # A longer text would be cut.
        copies = copies.astype(object)
    holds_numbers = copies.dtype.kind == "f"
    for place, stay, new in changes:
        copies[~stay, place] = numbers_of(new[~stay]) if holds_numbers else new[~stay]
    return copies


def _frame(X: Any, row: int, n_rows: int, changes: _Changes) -> Any:
    """Replace cells of a data frame of any library, and keep dtypes where they can hold them."""
    import narwhals as nw
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        return _pandas_frame(X.iloc[row : row + 1], n_rows, changes)
    frame = nw.from_native(X, eager_only=True)
    # A column's name may hold a NUL, on which polars dies when it hands the name to Arrow.
    plain = {name: str(place) for place, name in enumerate(frame.columns)}
    frame_row = frame[row : row + 1].rename(plain).to_pandas()
    copies = _pandas_frame(frame_row, n_rows, changes)
    for name in copies:
        if pd.api.types.infer_dtype(copies[name]).startswith("mixed"):
            copies[name] = copies[name].map(str, na_action="ignore")
    table = nw.from_arrow(nw.from_native(copies).to_arrow(), backend=frame.implementation)
    for name, dtype in frame.schema.items():
        if dtype == nw.Enum:
            with suppress(Exception):  # a level may be none of its own
                table = table.with_columns(nw.col(plain[name]).cast(dtype))
    return table.rename({short: name for name, short in plain.items()}).to_native()


def _pandas_frame(X: Any, n_rows: int, changes: _Changes) -> Any:
    """Return copies of the only row of X, some cells replaced."""
    copies = X.iloc[np.zeros(n_rows, dtype=np.int64)].reset_index(drop=True)
    for place, stay, new in changes:
        column = X.iloc[:, place]
        copies[column.name] = _series(column, stay, new)
    return copies


def _series(column: Any, stay: NDArray[np.bool_], new: NDArray[Any]) -> Any:
    """Return copies of one cell, some of them replaced, in its dtype where that can hold them."""
    import pandas as pd

    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    known = column.cat.categories if is_category else column
    if known.dtype.kind in "iufb":
        new = numbers_of(new)
    elif is_category and pd.api.types.infer_dtype(known) == "string":
        new = np.array([cell if cell is None else str(cell) for cell in new], dtype=object)
    if is_category:
        present = [cell for cell in new[~stay] if cell is not None and cell == cell]
        # False and 0.0 are one level, which is written as the column has it.
        levels = {level: level for level in dict.fromkeys([*known, *present])}
        written = [levels.get(cell) for cell in np.where(stay, column.to_numpy(object), new)]
        return pd.Series(written, name=column.name, dtype=object).astype(
            pd.CategoricalDtype(list(levels), column.cat.ordered)
        )
    # A missing cell of a nullable dtype has no place among floats in older versions of pandas.
    is_number = column.dtype.kind in "iufb"
    held = column.to_numpy(np.float64, na_value=np.nan) if is_number else column.to_numpy(object)
    cells = np.where(stay, held, new)
    series = pd.Series(cells, name=column.name, dtype=cells.dtype)
    try:
        typed = series.astype(column.dtype)
    except (OverflowError, TypeError, ValueError):
        # Such as a missing cell among integers.
        return series.infer_objects()
    # NumPy cuts fractions, wraps what is too large, and takes a missing cell for True.
    is_same = column.dtype.kind not in "iub" or np.array_equal(
        typed.to_numpy(np.float64, na_value=np.nan), cells, equal_nan=True
    )
    return typed if is_same else series
