"""Containers: the one place that knows a DataFrame, an array or a list of rows, and its types.

A table has named columns, whatever the container: names are matched, dtypes are checked. That
looks at types, names and shapes alone, never at a cell, so that whether it raises says nothing
about a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import did_you_mean, listed, shortened
from interpret_dp.exceptions import DeclarationWarning, SchemaError, warn_caller
from interpret_dp.schema.cells import (
    CodedColumn,
    Values,
    arrow_values,
    cells_of_rows,
    entries_of,
    in_chunks,
    is_a,
    is_category_coded,
    level_key,
    numbers_of,
    object_array,
    refuse_dtype,
    row_of,
    series_dtype,
    series_values,
    wanted_names,
    whole_rows,
)
from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    UndeclaredCategorical,
    UndeclaredContinuous,
    check_text,
    level_labels,
)

_ALLOWED = (
    "a DataFrame or Series of pandas, polars or another library that narwhals reads, a pyarrow "
    "Table or Array, a NumPy array, or a list"
)


@dataclass(frozen=True)
class Source:
    """One container: its own names (or None), and its columns by position.

    Attributes
    ----------
    names : tuple of str, shape (n_columns,), or None
        As the container has them; they may repeat.
    n_columns : int
        Number of columns. Public.
    n_rows : int
        Number of rows. Private.
    dtype : callable
        From the position of a column to its NumPy, pandas or Arrow dtype. Public.
    column : callable
        From the position of a column whose dtype was not refused to its cells. Private.
    n_dimensions : int
        2 for a table, 1 for a single column.
    index : pandas.Index, shape (n_rows,), or None
        Labels of the rows, where the container is of pandas. Private.
    """

    names: tuple[str, ...] | None
    n_columns: int
    n_rows: int
    dtype: Callable[[int], Any]
    column: Callable[[int], Values]
    n_dimensions: int = 2
    index: Any = None


def _read_one_column(role: str, values: Any) -> Source:
    entries = entries_of(values)
    if entries is not None:
        # Cell by cell: whether the others are lists must not decide what one of them means.
        source = _array(object_array(map(_only_element, entries), len(entries)))
    else:
        source = _read(role, values)
    allowed = f"{role} should be a 1d array."
    if source.n_dimensions not in (1, 2):
        what = f"{role} has {source.n_dimensions} dimensions"
        raise SchemaError(f"{what}; {allowed} Pass {role}.ravel().")
    if source.n_columns != 1:
        what = f"{role} has {source.n_columns} columns"
        raise SchemaError(f"{what}; {allowed} Pass one column alone.")
    return source


def _only_element(cell: Any) -> Any:
    """Return what a row of one column holds; any other cell is itself. Never raises."""
    row = row_of(cell)
    return row[0] if row is not None and len(row) == 1 else cell


def is_dask(values: Any) -> bool:
    """Return whether something is a DataFrame, Series or array of Dask."""
    # Others, such as xarray's, may speak Dask's protocol and hold their rows all the same.
    library = type(values).__module__.partition(".")[0]
    return library in ("dask", "dask_expr") and hasattr(values, "__dask_graph__")


def _read(role: str, values: Any) -> Source:
    if isinstance(values, np.ndarray):
        # np.matrix keeps two dimensions when a column is taken.
        return _array(np.asarray(values) if isinstance(values, np.matrix) else values)
    if isinstance(values, CodedColumn):
        return _single(len(values), values.dtype, lambda: values)
    if is_dask(values):
        raise TypeError(
            f"{role} is lazy ({_kind(values)}), which only fit, predict, predict_proba, "
            f"decision_function and eval_terms of a DP-EBM read. Pass {role}.compute()."
        )
    if is_a(values, "pandas", "DataFrame"):
        return _pandas_frame(values)
    if is_a(values, "pandas", "Series"):
        return _single(len(values), values.dtype, lambda: _series_values(values), values.index)
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise TypeError(f"{role} is sparse ({_kind(values)}); it must be dense: {role}.toarray().")
    if is_a(values, "pyarrow", "Array", "ChunkedArray"):
        return _single(len(values), values.type, lambda: arrow_values(values))
    if is_a(values, "pyarrow", "Table", "RecordBatch"):
        return _arrow_table(values)
    source = _narwhals(role, values)
    if source is not None:
        return source
    if hasattr(values, "__arrow_array__"):
        # An array of pandas' own stays in the dtype in which it came.
        return _single(len(values), values.dtype, lambda: values)
    if hasattr(values, "__array__") and not isinstance(values, np.generic):
        return _array(np.asarray(values))
    raise TypeError(
        f"{role} is of type {_kind(values)}; it must be {_ALLOWED}. Pass pandas.DataFrame(columns)."
    )


def _single(n_rows: int, dtype: Any, column: Callable[[], Values], index: Any = None) -> Source:
    return Source(None, 1, n_rows, lambda _: dtype, lambda _: column(), n_dimensions=1, index=index)


def _pandas_frame(frame: Any) -> Source:
    dtypes = list(frame.dtypes)
    return Source(
        names=tuple(map(str, frame.columns)),
        n_columns=len(dtypes),
        n_rows=len(frame),
        dtype=dtypes.__getitem__,
        column=lambda position: _series_values(frame.iloc[:, position]),
        index=frame.index,
    )


def _series_values(series: Any) -> Values:
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()
    arrow_type = getattr(series.dtype, "pyarrow_dtype", None)
    if arrow_type is not None and str(arrow_type).startswith(("decimal", "dictionary")):
        return arrow_values(series.array.__arrow_array__())
    return series.array


def _arrow_table(table: Any) -> Source:
    # Not through narwhals, which reads no table with a name twice, needed or not.
    return Source(
        names=tuple(table.schema.names),
        n_columns=len(table.schema.names),
        n_rows=table.num_rows,
        dtype=table.schema.types.__getitem__,
        column=lambda position: arrow_values(table.column(position)),
    )


def _narwhals(role: str, values: Any) -> Source | None:
    """Return what narwhals reads of a foreign object, or None if it does not know it."""
    import narwhals as nw

    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        raise TypeError(
            f"{role} is lazy ({_kind(values)}); it must hold its rows. Run its query first, as "
            f"{role}.collect() does in polars, and pass the result."
        )
    if isinstance(native, nw.Series):
        return _single(len(native), series_dtype(native), lambda: series_values(native))
    if not isinstance(native, nw.DataFrame):
        return None
    columns = list(native.iter_columns())
    return Source(
        names=tuple(native.columns),
        n_columns=len(columns),
        n_rows=len(native),
        dtype=lambda position: series_dtype(columns[position]),
        column=lambda position: series_values(columns[position]),
    )


def _array(array: Any) -> Source:
    is_table = array.ndim == 2

    def column(position: int) -> Values:
        values = array[:, position] if is_table else array
        return _unmasked(values) if isinstance(values, np.ma.MaskedArray) else values

    return Source(
        names=None,
        n_columns=array.shape[1] if is_table else 1,
        n_rows=len(array) if array.ndim else 0,
        dtype=lambda _: array.dtype,
        column=column,
        n_dimensions=array.ndim,
    )


def _unmasked(values: Any) -> Values:
    data, mask = np.ma.getdata(values), np.ma.getmaskarray(values)
    if values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return np.where(mask, np.nan, data.astype(np.float64))
    cells = data.astype(np.object_)
    cells[mask] = None
    return cells


def _kind(values: Any) -> str:
    return f"{type(values).__module__}.{type(values).__name__}"


@dataclass(frozen=True)
class Table:
    """Columns by name, whatever the container.

    Attributes
    ----------
    names : tuple of str, shape (n_features,)
        Unique names of the columns. Public.
    n_rows : int
        Number of rows. Private: left out of the representation.
    column : callable
        From the position of a column to its cells, an array of shape (n_rows,) in its own dtype.
        Private. It shares memory with the container unless cells are masked: do not write to it.
    """

    names: tuple[str, ...]
    n_rows: int = field(repr=False)
    column: Callable[[int], Values] = field(repr=False)

    def without(self, *names: str) -> Table:
        """Return the table without some of its columns."""
        positions = [index for index, own in enumerate(self.names) if own not in names]
        left = tuple(self.names[index] for index in positions)
        return Table(left, self.n_rows, lambda index: self.column(positions[index]))

    def rows(self, mask: npt.NDArray[np.bool_]) -> Table:
        """Return the table of the rows for which ``mask``, shape (n_rows,), is true."""
        n_rows = int(np.count_nonzero(mask))
        return Table(self.names, n_rows, lambda index: self.column(index)[mask])


def read_source(X: Any) -> Source:
    """Return the columns of a container by position, whatever their names and dtypes.

    Parameters
    ----------
    X : object
        As :func:`open_table` takes it.
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, Table):
        names, column = X.names, X.column
        return Source(names, len(names), X.n_rows, lambda index: column(index).dtype, column)
    source = _array(cells_of_rows(X)) if isinstance(X, list | tuple) else _read("X", X)
    if source.n_dimensions == 2:
        return source
    mend = (
        "either using array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if "
        "it has a single row"
    )
    if hasattr(X, "to_frame"):
        mend = "and pass X.to_frame() if it is a column, or table.iloc[[0]] for one row of a table"
    elif is_a(X, "pyarrow", "Array", "ChunkedArray"):
        mend = "and pass pyarrow.table({'a': X})"
    raise SchemaError(
        f"X is of type {_kind(X)}. Expected 2D array, got {source.n_dimensions}D array instead. "
        f"Reshape your data {mend}."
    )


def open_table(
    X: Any, feature_names: Sequence[str | None] | None = None, *, identifier: Collection[str] = ()
) -> Table:
    """Open a container of rows as named columns.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, list of rows, Table or Source
        The rows, shape (n_rows, n_columns). DataFrames are those of pandas, polars and whatever
        else narwhals reads eagerly. Masked cells of a masked array are missing.
    feature_names : sequence of str, default=None
        The columns that are wanted. A table with names is matched by them: columns are reordered
        and those not named are left out. Other containers have no names, so that the number must be
        equal; None among the names is filled in as interpret does, ``feature_0000`` onwards.
    identifier : collection of str, default=()
        The columns that identify people, as far as they are among them.

    Returns
    -------
    Table
        A view of ``X``.

    Raises
    ------
    TypeError
        If ``X`` is not such a container, is lazy, or is sparse.
    SchemaError
        If ``X`` is not two-dimensional, has no column, lacks a named column, has a name twice,
        or holds a dtype that is neither numbers (decimals among them), bools, strings, objects
        nor categories (Arrow dictionaries among them).
    """
    wanted = None if feature_names is None else wanted_names(feature_names)
    # A list without rows has the columns that are wanted, as it has where it is fitted.
    source = read_source(whole_rows(X, wanted) if isinstance(X, list | tuple) and not X else X)
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
        is_identifier = name in identifier
        refuse_dtype(f"Column {name!r}", source.dtype(position), is_identifier=is_identifier)
    return Table(names, source.n_rows, lambda index: source.column(positions[index]))


def open_target(y: Any, n_rows: int | None = None) -> Values:
    """Open a target as one column of values, in its own dtype.

    Parameters
    ----------
    y : Series, pyarrow.Array, ndarray or list, shape (n_rows,) or (n_rows, 1)
        The target; a DataFrame of one column will do. What this function returned will do too.
    n_rows : int, default=None
        Number of rows of the table, if it must agree.

    Raises
    ------
    TypeError
        If ``y`` is not such a container.
    SchemaError
        If ``y`` is None, has more than one column or another length, or holds a dtype that
        :func:`open_table` refuses. No length is quoted: the number of rows is private.

    Warns
    -----
    sklearn.exceptions.DataConversionWarning
        If ``y`` is a column of a two-dimensional container.
    """
    if y is None:
        raise SchemaError(
            "y should be a 1d array. Expected array-like (array or non-string sequence), got None. "
            "Pass the column of the target."
        )
    source = _read_one_column("y", y)
    if source.n_dimensions == 2:
        from sklearn.exceptions import DataConversionWarning

        warn_caller(
            "A column-vector y was passed when a 1d array was expected. Change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
        )
    return _checked_column("y", source, n_rows)


def name_of_column(values: Any) -> str | None:
    """Return the name of a Series, or of the only column of a table; None if it has none.

    A name is public, as those of a table's columns are. What no file can hold is no name.
    """
    names = list(getattr(values, "columns", ()))
    name = names[0] if len(names) == 1 else getattr(values, "name", None)
    if not isinstance(name, str) or not name:
        return None
    try:
        check_text("The name of the column", name)
    except SchemaError:
        return None
    return name


def open_column(
    role: str, values: Any, n_rows: int | None = None, *, is_identifier: bool = False
) -> Values:
    """Open what belongs to each row, such as its weight, as one column of values.

    Parameters
    ----------
    role : str
        The name of the argument.
    values : Series, pyarrow.Array, ndarray or list, shape (n_rows,)
        A DataFrame of one column will do.
    n_rows : int, default=None
        Number of rows of the table, if it must agree.
    is_identifier : bool, default=False
        Whether cells identify people.

    Raises
    ------
    TypeError, SchemaError
        As :func:`open_target`, and if ``values`` is a two-dimensional array.
    """
    source = _read_one_column(role, values)
    if source.n_dimensions == 2 and source.names is None:
        # scikit-learn's own words. A table of one named column is that column.
        raise SchemaError(f"{role} must be 1D array or scalar, got 2D array. Pass {role}.ravel().")
    return _checked_column(role, source, n_rows, is_identifier)


def open_parts(role: str, values: Any, n_rows: int, names: Sequence[str]) -> list[Values]:
    """Open what identifies the unit of each row: one column, or a table of its parts.

    Parameters
    ----------
    role : str
    values : Series, DataFrame, pyarrow.Array, ndarray or list
        A table must have exactly the columns ``names``, in any order, if these are several.
    n_rows : int
    names : sequence of str
        The columns that identify a unit.

    Returns
    -------
    list of Values, shape (n_rows,) each
        One column, or one for each name. Private.

    Raises
    ------
    TypeError, SchemaError
        As :func:`open_column`, and if a table has other columns.
    """
    source = None if entries_of(values) is not None or len(names) < 2 else _read(role, values)
    if source is None or source.names is None or source.n_columns < 2:
        return [open_column(role, values, n_rows, is_identifier=True)]
    if sorted(source.names) != sorted(names):
        raise SchemaError(
            f"{role} has {shortened(source.names)}, and the schema names {listed(names)} as the "
            "privacy unit. Pass these columns alone, or their cells as tuples."
        )
    places = map(source.names.index, names)
    return [_checked_column(role, source, n_rows, True, place) for place in places]


def index_of(values: Any) -> Any:
    """Return the labels of the rows, where a container is of pandas; else None."""
    return None if entries_of(values) is not None else _read("unit", values).index


def _checked_column(
    role: str, source: Source, n_rows: int | None, is_identifier: bool = False, place: int = 0
) -> Values:
    refuse_dtype(role, source.dtype(place), is_identifier=is_identifier)
    if n_rows is not None and source.n_rows != n_rows:
        what = "the target" if role == "y" else "an entry for each"
        raise SchemaError(
            f"Found input variables with inconsistent numbers of samples: X and {role} must have "
            f"the same number of rows. Pass {what} of exactly the rows of X."
        )
    return source.column(place)


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


def _matched(
    names: tuple[str, ...], wanted: tuple[str | None, ...] | None
) -> tuple[tuple[str, ...], list[int]]:
    if wanted is None:
        return names, list(range(len(names)))
    known = tuple(name for name in wanted if name is not None)
    if len(known) < len(wanted):
        raise SchemaError("feature_names holds None: for tables without names. Name every column.")
    present, requested = set(names), set(known)
    absent = [name for name in known if name not in present]
    if absent:
        raise SchemaError(
            f"X lacks {listed(absent)}; it has {shortened(names)}.{did_you_mean(absent[0], names)} "
            "Columns are matched by name: rename or add what is missing."
        )
    _refuse_doubles(tuple(name for name in names if name in requested))
    where = {name: position for position, name in enumerate(names)}
    return known, [where[name] for name in known]


def _refuse_doubles(names: Sequence[str]) -> None:
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        mend = "rename so that each name is unique as a string."
        raise SchemaError(f"X has {listed(doubled)} more than once; {mend}")


# The kind of cells that a column's type implies: public, and known before a row is read.
#
# A declaration that no cell of the type can meet is refused here, before anything is charged.

_NUMBERS = {"i": "integers", "u": "integers", "f": "floats", "b": "bools"}


@dataclass(frozen=True)
class ColumnKind:
    """The kind of a column by its type; no cell is looked at.

    Attributes
    ----------
    cells : {"integers", "floats", "bools", "texts", "intervals", "objects"}
        What the cells are. Intervals are read as their texts. ``"objects"`` leaves it open: each
        cell is read by itself. Not the name of the dtype: an opened column of Arrow has another
        one if a cell is missing.
    is_category : bool
        Whether cells are names of categories, even if they are numbers.
    order : tuple or None
        The keys (:func:`~interpret_dp.schema.cells.level_key`) of an ordered type's categories.
    """

    cells: str
    is_category: bool = False
    order: tuple[object, ...] | None = None

    @property
    def is_number(self) -> bool:
        """Whether all cells are integers, floats or bools."""
        return self.cells in ("integers", "floats", "bools")


def kind_of(values: Values) -> ColumnKind:
    """Return the kind of an opened column.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        A column whose dtype was not refused.
    """
    if not is_category_coded(values):
        return ColumnKind(_cells(values.dtype))
    if isinstance(values, CodedColumn):
        # The values of an Arrow dictionary are no part of its type: they say nothing of an order.
        cells = "texts" if values.is_text else _cells(values.categories.dtype)
        return ColumnKind(cells, is_category=True)
    order = tuple(map(level_key, values.categories)) if values.ordered else None
    return ColumnKind(_cells(values.categories.dtype), is_category=True, order=order)


def _cells(dtype: object) -> str:
    """Return what cells of a NumPy or pandas dtype hold."""
    number = _NUMBERS.get(getattr(dtype, "kind", "O"))
    if number is not None:
        return number
    if hasattr(dtype, "closed"):
        return "intervals"
    is_text = getattr(dtype, "kind", "O") in "UT" or getattr(dtype, "type", None) is str
    return "texts" if is_text else "objects"


def kinds_of(table: Table) -> tuple[ColumnKind, ...]:
    """Return the kind of each column of a table."""
    return tuple(kind_of(table.column(index)) for index in range(len(table.names)))


def refuse_mismatches(
    names: Sequence[str],
    kinds: Sequence[ColumnKind],
    specs: Sequence[object],
    target_faults: Sequence[str] = (),
) -> None:
    """Raise SchemaError if the type of a column rules out its declaration.

    Parameters
    ----------
    names : sequence of str, shape (n_features,)
    kinds : sequence of ColumnKind, shape (n_features,)
    specs : sequence, shape (n_features,)
        Declarations; an undeclared column fits any kind but intervals, None any at all.
    target_faults : sequence of str
        What :func:`target_mismatch` returned.
    """
    faults = [
        mismatch(f"Column {name!r}", kind, spec)
        for name, kind, spec in zip(names, kinds, specs, strict=True)
    ]
    if text := " ".join(fault for fault in (*faults, *target_faults) if fault):
        raise SchemaError(text)


def target_mismatch(kind: ColumnKind, target: FeatureSpec | None, task: str) -> list[str]:
    """Return why the type of a target rules out its declaration: one sentence, or none.

    Parameters
    ----------
    kind : ColumnKind
    target : Continuous, Categorical or None
        None if it is not declared.
    task : {"classification", "regression"}
    """
    what = f"The target has a dtype of {kind.cells}"
    if task == "regression":
        mend = "Convert it to numbers, or use a classifier."
        is_text = kind.cells in ("texts", "intervals")
        return [f"{what}; a regressor needs numbers. {mend}"] if is_text else []
    if target is None and kind.cells == "floats" and not kind.is_category:
        # The first words are scikit-learn's.
        return [
            f"Unknown label type: continuous. {what}, and a classifier takes floats for classes "
            "only if they are declared. Pass the labels, classes=[0, 1], or use a regressor."
        ]
    fault = mismatch("The target", kind, target or UndeclaredCategorical())
    return [fault] if fault else []


def refuse_texts(role: str, values: Values) -> None:
    """Raise SchemaError if what must be numbers, such as weights, has a type of texts."""
    cells = kind_of(values).cells
    if cells in ("texts", "intervals"):
        raise SchemaError(f"{role} has a dtype of {cells}; it must be numbers. Convert it.")


def refuse_identifiers(role: str, identifiers: Values) -> None:
    """Raise SchemaError for a dtype in which two people may have one identifier, or none has any.

    A float stands for several large integers. Otherwise one missing cell, by which pandas turns
    all integers into floats, would decide for everybody whose identifiers can still be told apart.
    """
    cells = kind_of(identifiers).cells
    if cells in ("floats", "intervals"):
        raise SchemaError(
            f"{role} has a dtype of {cells}, which cannot tell everybody apart; it must be of "
            "integers or text. Read it so from the start: in pandas as 'Int64' or 'string'."
        )


def identifiers_of(table: Table, columns: Sequence[str]) -> list[Values]:
    """Return the unit's columns, as far as the table has them; private.

    Raises
    ------
    SchemaError
        If the dtype of one cannot tell everybody apart.
    """
    present = [name for name in columns if name in table.names]
    parts = [table.column(table.names.index(name)) for name in present]
    for name, part in zip(present, parts, strict=True):
        refuse_identifiers(f"Column {name!r}", part)
    return parts


def warn_of_mismatches(table: Table, specs: Sequence[FeatureSpec]) -> None:
    """Warn if the type of a column, of rows to predict, rules out its declaration.

    Rows to predict are the caller's own: a column of numbers that are all missing is no mismatch.

    Warns
    -----
    DeclarationWarning
    """
    kinds = kinds_of(table)
    faults = [
        fault
        for index, (name, kind, spec) in enumerate(zip(table.names, kinds, specs, strict=True))
        if (fault := mismatch(f"Column {name!r}", kind, spec))
        and not (kind.is_number and _are_missing(table.column(index)))
    ]
    if faults:
        warn_caller(f"{' '.join(faults)} All cells count as undeclared.", DeclarationWarning)


def _are_missing(values: Values) -> bool:
    return len(values) > 0 and all(
        np.isnan(numbers).all() for _, numbers in in_chunks(values, numbers_of)
    )


def mismatch(role: str, kind: ColumnKind, spec: object) -> str:
    """Return why no cell of a kind fits a declaration; empty if some can.

    Parameters
    ----------
    role : str
        Which column it is; the subject of the sentence.
    kind : ColumnKind
    spec : object
        As for :func:`refuse_mismatches`. Levels of both sorts, numbers and texts, fit any kind.
        Texts fit bounds, since a text may be a number.
    """
    has = f"{role} has a dtype of {kind.cells}"
    if kind.cells == "intervals" and isinstance(spec, UndeclaredCategorical | UndeclaredContinuous):
        return (
            f"{has}, and is not declared. pandas.cut and pandas.qcut read edges off the rows if "
            "they are given a number of bins. Cut at public edges, and declare the intervals as "
            "texts, Categorical(['(0, 10]', '(10, 20]'], ordered=True), or pass the numbers."
        )
    if kind.cells == "intervals" and isinstance(spec, Continuous):
        return (
            f"{has}, and is declared as {spec!r}. No interval is a number. Declare the intervals "
            "as levels, Categorical([...], ordered=True), or pass the numbers."
        )
    if not isinstance(spec, Categorical):
        return ""
    are_texts = {isinstance(level, str) for level in spec.levels}
    if kind.is_number and are_texts == {True}:
        levels, other = "texts", "text"
        mend = _as_numbers(spec) or "numbers as levels"
    elif kind.cells in ("texts", "intervals") and are_texts == {False}:
        levels, other = "numbers", "numbers"
        mend = repr(Categorical(level_labels(spec)))
    else:
        return ""
    return (
        f"{has}, and its declared levels are {levels}: {spec!r}. No cell can equal one of them. "
        f"Declare {mend}, or convert the column to {other}."
    )


def _as_numbers(spec: Categorical) -> str:
    """Return the declaration with texts such as "1" as numbers; empty if they are not such."""
    texts = [str(level) for level in spec.levels]
    if {text.lower() for text in texts} <= {"true", "false"}:
        return "Categorical([False, True])"
    try:
        numbers = [float(text) for text in texts]
        levels = [int(number) if number.is_integer() else number for number in numbers]
        return repr(Categorical(levels, ordered=spec.ordered))
    except (ValueError, OverflowError):
        return ""
