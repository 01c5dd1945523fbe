"""A table of named columns, whatever the container: names are matched, dtypes are checked.

It looks at types, names and shapes alone, never at a cell, so that whether it raises says
nothing about a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import check_sequence, did_you_mean
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.columns import Values, refuse_dtype
from interpret_dp.schema.containers import Source, read_column, read_table, read_target
from interpret_dp.schema.names import listed, shortened

__all__ = [
    "Table",
    "Values",
    "complete_names",
    "open_column",
    "open_table",
    "open_target",
    "read_source",
]


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

    def _source(self) -> Source:
        def dtype(index: int) -> Any:
            return self._column(index).dtype

        return Source(self.names, len(self.names), self.n_rows, dtype, self._column)

    def without(self, name: str) -> Table:
        """Return the table without one of its columns."""
        kept = [index for index, own in enumerate(self.names) if own != name]
        names = tuple(self.names[index] for index in kept)
        return Table(names, self.n_rows, lambda index: self._column(kept[index]))

    def rows(self, mask: npt.NDArray[np.bool_]) -> Table:
        """Return the table of the rows for which ``mask``, shape (n_rows,), is true."""
        n_rows = int(np.count_nonzero(mask))
        return Table(self.names, n_rows, lambda index: self._column(index)[mask])


def read_source(X: Any) -> Source:
    """Return the columns of a container by position, whatever their names and dtypes.

    Parameters
    ----------
    X : object
        As :func:`open_table` takes it.
    """
    if isinstance(X, Source):
        return X
    return X._source() if isinstance(X, Table) else read_table(X)


def open_table(X: Any, feature_names: Sequence[str | None] | None = None) -> Table:
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
    source = read_source(X)
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
        refuse_dtype(f"Column {name!r}", source.dtype(position))
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
    return _checked_column("y", read_target(y), n_rows)


def open_column(role: str, values: Any, n_rows: int | None = None) -> Values:
    """Open what belongs to each row, such as its weight, as one column of values.

    Parameters
    ----------
    role : str
        The name of the argument.
    values : Series, pyarrow.Array, ndarray or list, shape (n_rows,)
        A DataFrame of one column will do.
    n_rows : int, default=None
        Number of rows of the table, if it must agree.

    Raises
    ------
    TypeError, SchemaError
        As :func:`open_target`, and if ``values`` is a two-dimensional array.
    """
    return _checked_column(role, read_column(role, values), n_rows)


def _checked_column(role: str, source: Source, n_rows: int | None) -> Values:
    refuse_dtype(role, source.dtype(0))
    if n_rows is not None and source.n_rows != n_rows:
        what = "the target" if role == "y" else "an entry for each"
        raise SchemaError(
            f"Found input variables with inconsistent numbers of samples: X and {role} must have "
            f"the same number of rows. Pass {what} of exactly the rows of X."
        )
    return source.column(0)


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


def _wanted_names(feature_names: Sequence[str | None]) -> tuple[str | None, ...]:
    if isinstance(feature_names, str):
        raise TypeError(
            f"feature_names is {feature_names!r}; it must be a sequence of names. Write "
            f"[{feature_names!r}]."
        )
    given = check_sequence("feature_names", feature_names, "names, one for each column")
    return tuple(None if name is None else str(name) for name in given)


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
            f"X lacks {listed(absent)}; it has {shortened(names)}.{did_you_mean(absent[0], names)} "
            "Columns are matched by name: rename or add what is missing."
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
