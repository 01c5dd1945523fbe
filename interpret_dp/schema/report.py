"""Exact counts of what a schema changes in a table, for the curator; no privacy promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._validate import listed, name_faults
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.cells import LevelTable, in_chunks, numbers_of
from interpret_dp.schema.containers import Values, open_table, open_target, read_source
from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    PrivacyUnit,
)
from interpret_dp.schema.kinds import identifiers_of, kind_of
from interpret_dp.schema.units import n_without_unit

if TYPE_CHECKING:
    import pandas as pd

_HEAD = ("column", "kind", "missing", "clipped", "unseen")


@dataclass(frozen=True)
class ColumnReport:
    """Exact counts of one column. Private.

    Attributes
    ----------
    name : str
        The column, or ``(target)``.
    kind : {"continuous", "integer", "categorical", "undeclared"}
        How it is declared. A fit finds the levels or bounds of an undeclared column privately.
    missing : int
        Cells that are missing, or that a continuous column cannot read as a number.
    clipped : int
        Numbers outside the declared bounds; 0 for an undeclared column.
    unseen : int
        Cells that equal no declared level; 0 for an undeclared column.

    Examples
    --------
    >>> import pandas as pd
    >>> from interpret_dp import Continuous, Schema
    >>> report = Schema({"age": Continuous(18, 95)}).check(pd.DataFrame({"age": [20, 130, None]}))
    >>> column = report.columns[0]
    >>> column.name, column.missing, column.clipped
    ('age', 1, 1)
    """

    name: str
    kind: str
    missing: int
    clipped: int
    unseen: int


@dataclass(frozen=True)
class SchemaReport:
    """Exact counts of the cells of a table that a schema changes. Private: do not publish it.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    columns : tuple of ColumnReport, shape (n_features,) or (n_features + 1,)
        One entry a column, and one for the target if it was given.
    absent : tuple of str
        Columns that the schema declares and the table lacks; a fit does not use them.
    speaks_of : str
        Whom a DP-EBM of this schema speaks of, such as "a random row of each 'patient_id'"; empty
        where each row is a person.
    may_lack : tuple of str
        The unit's columns whose dtype allows missing cells.
    drops_missing : bool
        Whether rows without an identifier are left out; otherwise each is a person of its own.
    without_unit : int
        Rows whose identifier is missing, or tells nobody apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from interpret_dp import Continuous, Schema
    >>> table = pd.DataFrame({"age": [20, 130, None]})
    >>> report = Schema({"age": Continuous(18, 95)}).check(table)
    >>> report.n_rows, report.columns[0].clipped
    (3, 1)
    """

    n_rows: int
    columns: tuple[ColumnReport, ...]
    absent: tuple[str, ...] = ()
    speaks_of: str = ""
    may_lack: tuple[str, ...] = ()
    drops_missing: bool = False
    without_unit: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether all columns are declared, and nothing is missing, clipped or unseen."""
        return not self.without_unit and not any(
            column.missing or column.clipped or column.unseen or column.kind == "undeclared"
            for column in self.columns
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the counts as a table indexed by column name. Private."""
        import pandas as pd

        table = pd.DataFrame(map(astuple, self.columns), columns=list(_HEAD))
        return table.set_index("column")

    def __str__(self) -> str:
        """Return the counts as aligned text."""
        body = [tuple(map(str, astuple(column))) for column in self.columns]
        widths = [max(map(len, cells)) for cells in zip(_HEAD, *body, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in (_HEAD, *body)
        ]
        title = f"{self.n_rows} rows. Exact counts, private: for the curator's eyes only."
        return "\n".join([title, *lines, *self._notes()])

    def _notes(self) -> list[str]:
        undeclared = [column.name for column in self.columns if column.kind == "undeclared"]
        notes = []
        if undeclared:
            notes.append(
                f"Undeclared: {listed(undeclared)}. A fit finds levels or bounds privately, out of "
                "its own budget."
            )
        if self.absent:
            notes.append(f"Declared, but not in the table: {listed(self.absent)}.")
        if self.speaks_of:
            notes.append(f"A DP-EBM speaks of {self.speaks_of}.")
        if self.may_lack:
            become = (
                "such rows are left out."
                if self.drops_missing
                else "each such row counts as a person of its own. PrivacyUnit(..., "
                "missing='drop') leaves them out."
            )
            notes.append(f"By its dtype, {listed(self.may_lack)} may be missing: {become}")
        if self.without_unit:
            notes.append(f"{self.without_unit} rows have no usable identifier.")
        return notes


def check_table(
    X: Any,
    y: Any,
    *,
    features: Mapping[str, FeatureSpec],
    target: FeatureSpec | None,
    default: FeatureSpec | None,
    unit: PrivacyUnit | None,
) -> SchemaReport:
    """Count what a schema would change in a table; see :meth:`Schema.check`."""
    source, people = read_source(X), () if unit is None else unit.columns
    table = open_table(source, identifier=people)
    without_unit = n_without_unit(identifiers_of(table, people))
    may_lack = tuple(
        name
        for position, name in enumerate(table.names)
        if name in people and _may_lack_cells(source.dtype(position))
    )
    table = table.without(*people)
    names = table.names
    faults = name_faults(features, names, [name for name in names if name not in features])
    if faults:
        raise SchemaError(" ".join(faults))
    columns = [
        _count(name, table.column(index), features.get(name, default))
        for index, name in enumerate(names)
    ]
    if y is not None:
        if target is None:
            raise SchemaError(
                "y is given, but the schema declares no target. Declare Schema(target=...)."
            )
        columns.append(_count("(target)", open_target(y, table.n_rows), target))
    absent = tuple(name for name in features if name not in names)
    speaks_of = "" if unit is None else unit.speaks_of()
    drops_missing = unit is not None and unit.drops_missing
    return SchemaReport(
        table.n_rows, tuple(columns), absent, speaks_of, may_lack, drops_missing, without_unit
    )


def _may_lack_cells(dtype: object) -> bool:
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biuSU"


def _count(name: str, values: Values, spec: FeatureSpec | None) -> ColumnReport:
    missing = clipped = unseen = 0
    if spec is None and kind_of(values).cells == "bools":
        # As a fit reads it: the dtype says which values there are.
        spec = Categorical([False, True])
    if spec is None:
        for _, positions in in_chunks(values, LevelTable(()).positions):
            missing += int((positions == 0).sum())
        return ColumnReport(name, "undeclared", missing, clipped, unseen)
    if isinstance(spec, Continuous):
        for _, numbers in in_chunks(values, numbers_of):
            missing += int(np.isnan(numbers).sum())
            clipped += int(((numbers < spec.lower) | (numbers > spec.upper)).sum())
        kind = "integer" if isinstance(spec, Integer) else "continuous"
        return ColumnReport(name, kind, missing, clipped, unseen)
    levels = LevelTable(spec.levels)
    for _, positions in in_chunks(values, levels.positions):
        missing += int((positions == 0).sum())
        unseen += int((positions > levels.n_levels).sum())
    return ColumnReport(name, "categorical", missing, clipped, unseen)
