"""The private rows of one fit: what belongs to each row, in one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import PrivacyUnit, Schema, Table, open_table, open_target
from interpret_dp.schema.columns import category_values, is_category_coded
from interpret_dp.schema.tables import Values, open_column
from interpret_dp.schema.units import kept_rows

__all__ = ["PrivateRows", "open_rows"]

_UNNAMED_UNIT = "unit"


@dataclass(frozen=True)
class PrivateRows:
    """Rows of a fit. Private, and so left out of the representation.

    Attributes
    ----------
    table : Table
    y : Values, shape (n_rows,)
    weights : Values, shape (n_rows,), or None
    start : callable, or None
        Gives the scores that rows start from, once it is asked inside the door.
    init_scores : ndarray of float64, shape (n_rows, n_scores), or None
        Those scores; None before :meth:`started`.
    identifiers : Values, shape (n_rows,), or None
        Of each row's unit; None where every row is a unit.
    """

    table: Table = field(repr=False)
    y: Values = field(repr=False)
    weights: Values | None = field(default=None, repr=False)
    start: Callable[[], NDArray[np.float64]] | None = field(default=None, repr=False)
    init_scores: NDArray[np.float64] | None = field(default=None, repr=False)
    identifiers: Values | None = field(default=None, repr=False)

    def started(self) -> PrivateRows:
        """Return the rows with the scores that they start from, if there are any."""
        return self if self.start is None else replace(self, init_scores=self.start())

    def kept(self, max_rows: int, public: np.random.Generator) -> NDArray[np.bool_]:
        """Return which rows :meth:`drawn` keeps, shape (n_rows,). Private."""
        if self.identifiers is None:
            return np.ones(self.table.n_rows, dtype=np.bool_)
        key = int(public.integers(2**64, dtype=np.uint64))
        return kept_rows(self.identifiers, max_rows, key)

    def drawn(self, max_rows: int, public: np.random.Generator) -> PrivateRows:
        """Return at most ``max_rows`` rows of each unit.

        Parameters
        ----------
        max_rows : int
        public : numpy.random.Generator
            Of coin flips that are public: no part of the privacy argument rests on them.
        """
        if self.identifiers is None:
            return self
        kept = self.kept(max_rows, public)
        return PrivateRows(
            self.table.rows(kept),
            self.y[kept],
            weights=None if self.weights is None else self.weights[kept],
            init_scores=None if self.init_scores is None else self.init_scores[kept],
        )


def open_rows(
    X: Any,
    y: Any,
    *,
    feature_names: Any,
    schema: Schema | None,
    sample_weight: Any,
    unit: Any,
) -> tuple[PrivateRows, PrivacyUnit | None]:
    """Open what belongs to each row, but for the scores to start from, and say what a unit is.

    Parameters
    ----------
    X, y, sample_weight, unit
        As ``fit`` takes them.
    feature_names : sequence of str, or None
    schema : Schema or None

    Raises
    ------
    TypeError, SchemaError
        If one has another form, or it is not clear which rows are one unit's.
    """
    declared = schema.unit if isinstance(schema, Schema) else None
    if unit is None and declared is not None:
        table = open_table(X, _with_unit(X, feature_names, declared.column))
        if declared.column not in table.names:
            raise SchemaError(
                f"X lacks column {declared.column!r}, which the schema names as the privacy unit. "
                "Add it, or pass its cells: fit(X, y, unit=ids)."
            )
        identifiers = table.column(table.names.index(declared.column))
        _refuse_floats(f"Column {declared.column!r}", identifiers)
        table = table.without(declared.column)
        if not table.names:
            raise SchemaError(
                f"X has only column {declared.column!r}, which is the privacy unit. Pass at least "
                "one feature."
            )
    else:
        table = open_table(X, feature_names)
        if declared is not None and declared.column in table.names:
            raise SchemaError(
                f"unit was given, and X has column {declared.column!r}, which the schema names as "
                "the privacy unit. Drop one of the two."
            )
        identifiers = None
        if unit is not None:
            identifiers = open_column("unit", unit, table.n_rows)
            _refuse_floats("unit", identifiers)
            declared = declared or PrivacyUnit(_UNNAMED_UNIT)
    rows = PrivateRows(
        table,
        open_target(y, table.n_rows),
        weights=(
            None
            if sample_weight is None
            else open_column("sample_weight", sample_weight, table.n_rows)
        ),
        identifiers=identifiers,
    )
    return rows, declared


def _with_unit(X: Any, feature_names: Any, column: str) -> Any:
    """Return the columns to open: the named features, and the unit where X has names of its own."""
    if feature_names is None or column in feature_names or not _has_names(X):
        return feature_names
    return [*feature_names, column]


def _has_names(X: Any) -> bool:
    return not isinstance(X, list | tuple | np.ndarray)


def _refuse_floats(role: str, identifiers: Values) -> None:
    """Raise SchemaError for a dtype in which two large integers are one number.

    Otherwise one missing cell, by which pandas turns all integers into floats, would decide for
    everybody whose identifiers can still be told apart.
    """
    is_coded = is_category_coded(identifiers)
    held = category_values(identifiers) if is_coded else identifiers
    if held.dtype.kind == "f":
        raise SchemaError(
            f"{role} is read as {held.dtype}, in which large integers cannot be told apart; a "
            "privacy unit must be of integers or text. Read it so from the start: as 'Int64' or "
            "'string' in pandas, which have missing cells too, or cast decimals to text."
        )
