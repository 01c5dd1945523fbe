"""Rows in the user's container, opened twice: as a table to explain, and as input of the model.

A model that is in production takes its own container, such as a DataFrame or a sparse bag of words.
It gets that container back, row for row; the explanation sees named columns. Types, names and
shapes alone are looked at, never a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import PrivacyUnit, Schema, Table, open_table
from interpret_dp.schema.containers import Source, Values, read_source
from interpret_dp.schema.kinds import warn_of_mismatches
from interpret_dp.schema.lists import whole_rows
from interpret_dp.schema.units import open_people

# scipy's other sparse formats cannot be sliced by rows.
_SLICED_FORMATS = ("csr", "csc")


@dataclass(frozen=True)
class OpenedRows:
    """The same rows as a table and as the model takes them; left out of the representation.

    Attributes
    ----------
    table : Table
        The explained features, in the order of the input's columns, or of ``feature_names``.
    X : object
        The container as it was given, without the unit's columns; sparse ones in a format that can
        be sliced.
    identifiers : Values, shape (n_rows,), or None
        Of each row's unit; None where every row is a unit.
    """

    table: Table = field(repr=False)
    X: Any = field(repr=False)
    identifiers: Values | None = field(default=None, repr=False)


def open_model_rows(
    X: Any,
    *,
    feature_names: Sequence[str | None] | None,
    schema: Schema | None,
    unit: Any = None,
    needs_unit: bool = True,
) -> tuple[OpenedRows, PrivacyUnit | None]:
    """Open rows for the explanation and for the model.

    Parameters
    ----------
    X : DataFrame, pyarrow.Table, ndarray, sparse matrix or array of scipy, or list of rows
        Shape (n_rows, n_columns).
    feature_names : sequence of str, default=None
        The features to explain. A container with names of its own may have other columns, which
        the model gets all the same; of others these are the names of all columns, and the default
        is interpret's, ``feature_0000`` onwards.
    schema : Schema or None
        Only its ``unit`` is used here.
    unit : Series, pyarrow.Array, ndarray, list or "rows", default=None
        Identifier of each row's unit, where X does not have it as a column.
    needs_unit : bool, default=True
        False for queries, which belong to no unit: the unit's columns are dropped if there.

    Returns
    -------
    OpenedRows
        Private, if the rows are.
    PrivacyUnit or None
        Which rows are one unit's; None where every row is one.

    Raises
    ------
    TypeError
        If X is not such a container.
    SchemaError
        If X has another number of dimensions or columns, lacks a column, or holds a dtype that
        cannot be read; or if it is not clear which rows are one unit's. No value of a cell makes
        it raise.
    """
    known = schema if isinstance(schema, Schema) else None
    declared = None if known is None else known.people
    columns = () if declared is None else declared.columns
    if needs_unit:
        X = whole_rows(X, feature_names, identifier=columns)
    X, source = _readable_sparse(X) if hasattr(X, "tocsc") else (X, read_source(X))
    if needs_unit:
        call = "PaperLimeTabular(model, data, unit=ids)"
        table, identifiers, declared = open_people(source, feature_names, known, unit, call=call)
    else:
        feature_names = _without_unit(source, feature_names, columns)
        table, identifiers = open_table(source, feature_names, identifier=columns), None
        table = table.without(*columns)
    own_names = feature_names if source.names is None else source.names
    places = [at for at, name in enumerate(own_names or ()) if name not in columns]
    if own_names is not None and len(places) < len(own_names):
        X = _columns(X, places)
    return OpenedRows(table, X, identifiers), declared


def open_query_rows(
    X: Any, feature_names: Sequence[str | None] | None, schema: Schema
) -> OpenedRows:
    """Open the rows to explain, which are public to everyone who sees the explanation.

    Raises
    ------
    TypeError, SchemaError, ValueError
        As :func:`open_model_rows`, or if there is no row.

    Warns
    -----
    DeclarationWarning
        If the dtype of a column contradicts its declaration.
    """
    opened, _ = open_model_rows(X, feature_names=feature_names, schema=schema, needs_unit=False)
    if opened.table.n_rows == 0:
        raise ValueError("X has 0 rows; there must be at least one row to explain.")
    warn_of_mismatches(opened.table, schema.resolve(opened.table.names))
    return opened


def kind_of_container(X: Any) -> str:
    """Return the kind of a container in words."""
    if isinstance(X, list | tuple):
        return "list"
    if isinstance(X, np.ndarray):
        return "numpy array"
    if hasattr(X, "tocsc"):
        return "scipy sparse matrix"
    return f"{type(X).__module__.partition('.')[0]} {type(X).__name__}"


def _readable_sparse(X: Any) -> tuple[Any, Source]:
    if X.ndim != 2:
        raise SchemaError(
            f"X is sparse and has {X.ndim} dimension; it must have two. Pass X.reshape(1, -1) if "
            "it is a single row."
        )
    sliced = X if X.format in _SLICED_FORMATS else X.tocsr()
    # A copy: entries that are given twice are added up, which must not change the user's matrix.
    columns = sliced.tocsc(copy=True)
    columns.sum_duplicates()
    n_rows, n_columns = columns.shape

    def column(position: int) -> Values:
        values = np.zeros(n_rows, dtype=columns.dtype)
        entries = slice(columns.indptr[position], columns.indptr[position + 1])
        values[columns.indices[entries]] = columns.data[entries]
        return values

    return sliced, Source(None, n_columns, n_rows, lambda _: columns.dtype, column)


def _without_unit(
    source: Source, feature_names: Sequence[str | None] | None, columns: tuple[str, ...]
) -> Sequence[str | None] | None:
    """Return the names of a query's columns, which may lack the unit's columns."""
    if feature_names is None or (source.names is None and source.n_columns == len(feature_names)):
        return feature_names
    return [name for name in feature_names if name not in columns]


def _columns(X: Any, places: list[int]) -> Any:
    """Return some of the columns in a container of the same kind."""
    if isinstance(X, list | tuple):
        return [[row[at] for at in places] for row in X]
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    # Arrow's tables have names that may repeat, and narwhals does not read those.
    if hasattr(X, "num_columns"):
        return X.select(places)
    if hasattr(X, "columns"):
        import narwhals as nw

        return nw.from_native(X, eager_only=True)[:, places].to_native()
    return X[:, places]
