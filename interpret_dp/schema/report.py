"""The curator's own look at what a schema changes in a table; outside the privacy promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.cells import LevelTable, in_chunks, numbers_of
from interpret_dp.schema.declarations import Continuous, FeatureSpec
from interpret_dp.schema.schema import Schema
from interpret_dp.schema.tables import Values, open_table, open_target

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnReport", "SchemaReport", "check_table"]


@dataclass(frozen=True)
class ColumnReport:
    """Exact counts of one column. Private.

    Attributes
    ----------
    name : str
        The column, or ``(target)``.
    kind : {"continuous", "categorical"}
        How it is declared.
    missing : int
        Cells that are missing, or that a continuous column cannot read as a number.
    clipped : int
        Numbers outside the declared bounds.
    unseen : int
        Cells that equal no declared level.
    """

    name: str
    kind: str
    missing: int
    clipped: int
    unseen: int


@dataclass(frozen=True)
class SchemaReport:
    """What a schema changes in a table, in exact counts. Private: do not publish it.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    columns : tuple of ColumnReport, shape (n_features,) or (n_features + 1,)
        One entry a column, and one for the target if it was given.
    """

    n_rows: int
    columns: tuple[ColumnReport, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is missing, clipped or unseen."""
        return not any(column.missing or column.clipped or column.unseen for column in self.columns)

    def to_frame(self) -> pd.DataFrame:
        """Return the counts as a table indexed by column name. Private."""
        import pandas as pd

        rows = [
            (column.kind, column.missing, column.clipped, column.unseen) for column in self.columns
        ]
        return pd.DataFrame(
            rows,
            index=pd.Index([column.name for column in self.columns], name="column"),
            columns=["kind", "missing", "clipped", "unseen"],
        )

    def __str__(self) -> str:
        """Return the counts as aligned text."""
        head = ("column", "kind", "missing", "clipped", "unseen")
        body = [
            (column.name, column.kind, *map(str, (column.missing, column.clipped, column.unseen)))
            for column in self.columns
        ]
        widths = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in (head, *body)
        ]
        title = f"{self.n_rows} rows. Exact counts, private: for the curator's eyes only."
        return "\n".join([title, *lines])


def check_table(schema: Schema, X: Any, y: Any = None) -> SchemaReport:
    """Count what ``schema`` would change in a table; see :meth:`Schema.check`."""
    table = open_table(X)
    if schema.unit is not None:
        table = table.without(schema.unit.column)
    specs = schema.resolve(table.names)
    columns = [
        _count(name, table.column(index), spec)
        for index, (name, spec) in enumerate(zip(table.names, specs, strict=True))
    ]
    if y is not None:
        if schema.target is None:
            raise SchemaError(
                "y is given, but the schema declares no target. Declare Schema(target=...)."
            )
        columns.append(_count("(target)", open_target(y, table.n_rows), schema.target))
    return SchemaReport(table.n_rows, tuple(columns))


def _count(name: str, values: Values, spec: FeatureSpec) -> ColumnReport:
    missing = clipped = unseen = 0
    if isinstance(spec, Continuous):
        for _, found in in_chunks(values, numbers_of):
            missing += int(np.isnan(found).sum())
            clipped += int(((found < spec.lower) | (found > spec.upper)).sum())
        return ColumnReport(name, "continuous", missing, clipped, unseen)
    levels = LevelTable(spec.levels)
    for _, positions in in_chunks(values, levels.positions):
        missing += int((positions == 0).sum())
        unseen += int((positions > levels.n_levels).sum())
    return ColumnReport(name, "categorical", missing, clipped, unseen)
