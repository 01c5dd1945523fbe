"""Open a table together with what says which rows are one person's."""

from __future__ import annotations

from typing import Any

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.columns import Values
from interpret_dp.schema.containers import Source, read_column
from interpret_dp.schema.declarations import PrivacyUnit
from interpret_dp.schema.kinds import kind_of
from interpret_dp.schema.tables import Table, open_column, open_table, read_source

__all__ = ["has_other_index", "open_people"]

_UNNAMED_UNIT = "unit"


def open_people(
    X: Any, feature_names: Any, declared: PrivacyUnit | None, unit: Any, *, call: str
) -> tuple[Table, Values | None, PrivacyUnit | None]:
    """Open the features of a table and the identifiers of its rows' units.

    Parameters
    ----------
    X : object
        As :func:`~interpret_dp.schema.tables.open_table` takes it, with or without the unit's
        column.
    feature_names : sequence of str, or None
        As ``open_table`` takes them; a container with names of its own need not have the unit's
        column named here.
    declared : PrivacyUnit or None
        What the schema says.
    unit : Series, pyarrow.Array, ndarray or list, shape (n_rows,), or None
        Identifiers that are given beside the table; a DataFrame of one column will do.
    call : str
        How a user gives them, for the message, such as ``"fit(X, y, unit=ids)"``.

    Returns
    -------
    table : Table
        Without the unit's column. Private.
    identifiers : Values, shape (n_rows,), or None
        Private; None where every row is a unit.
    declared : PrivacyUnit or None
        What was declared; a unit without a name of one row if only identifiers were given.

    Raises
    ------
    TypeError, SchemaError
        If one has another form, or it is not clear which rows are one unit's.
    """
    source = read_source(X)
    if isinstance(unit, str):
        raise TypeError(
            f"unit is {unit!r} (str); it must hold the identifier of each row. Name a column in "
            f"the schema, Schema(..., unit=PrivacyUnit({unit!r})), or pass the column's cells: "
            f"{call}."
        )
    if unit is None and declared is not None:
        table = open_table(source, _with_unit(source, feature_names, declared.column))
        if declared.column not in table.names:
            raise SchemaError(
                f"X lacks column {declared.column!r}, which the schema names as the privacy unit. "
                f"Add it, or pass its cells: {call}. Data without names need feature_names=[...]."
            )
        identifiers = table.column(table.names.index(declared.column))
        _check_identifiers(f"Column {declared.column!r}", identifiers)
        table = table.without(declared.column)
        if not table.names:
            raise SchemaError(
                f"X has only column {declared.column!r}, which is the privacy unit. Pass at least "
                "one feature."
            )
        return table, identifiers, declared
    table = open_table(source, feature_names)
    if declared is not None and declared.column in table.names:
        raise SchemaError(
            f"unit was given, and X has column {declared.column!r}, which the schema names as "
            "the privacy unit. Drop one of the two."
        )
    if unit is None:
        return table, None, declared
    identifiers = open_column("unit", unit, table.n_rows)
    if has_other_index(source, unit):
        raise SchemaError(
            "X and unit are both of pandas, and their indexes differ, so that it is not clear "
            "which rows are one unit's. Pass unit.loc[X.index] if the index says it, or "
            "unit.to_numpy() if the rows of both stand in the same order."
        )
    _check_identifiers("unit", identifiers)
    return table, identifiers, declared or PrivacyUnit(_UNNAMED_UNIT)


def has_other_index(X: Any, unit: Any) -> bool:
    """Return whether a table and its identifiers are of pandas and are labelled differently.

    An index is structure, as a length is. It is compared as a whole, and no message quotes it.

    Parameters
    ----------
    X, unit : object
        As :func:`open_people` takes them.
    """
    own = read_source(X).index
    other = None if unit is None else read_column("unit", unit).index
    # Tables without rows say what the columns of Dask are, whose indexes are known to the workers.
    return own is not None and other is not None and len(own) > 0 and not own.equals(other)


def _with_unit(source: Source, feature_names: Any, column: str) -> Any:
    """Return the columns to open: the named features, and the unit where X has names of its own."""
    if feature_names is None or column in feature_names or source.names is None:
        return feature_names
    return [*feature_names, column]


def _check_identifiers(role: str, identifiers: Values) -> None:
    """Raise SchemaError for a dtype in which two people may have one identifier, or none has any.

    A float stands for several large integers. Otherwise one missing cell, by which pandas turns
    all integers into floats, would decide for everybody whose identifiers can still be told apart.
    """
    cells = kind_of(identifiers).cells
    if cells in ("floats", "intervals"):
        raise SchemaError(
            f"{role} has a dtype of {cells}, in which not everybody can be told apart; a privacy "
            "unit must be of integers or text. Read it so from the start: as 'Int64' or 'string' "
            "in pandas, which have missing cells too, or cast decimals to text."
        )
