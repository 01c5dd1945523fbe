"""A draft of a schema from a public table, and a report of what a schema changes in one."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._validate import (
    check_choice,
    check_int,
    did_you_mean,
    listed,
    name_faults,
    text_table,
)
from interpret_dp.exceptions import PrivacyWarning, SchemaError, warn_caller
from interpret_dp.schema import containers
from interpret_dp.schema.cells import (
    FloatArray,
    LevelTable,
    Values,
    category_values,
    column_numbers,
    in_chunks,
    is_a,
    is_category_coded,
    level_key,
    number_of,
    refuse_dtype,
)
from interpret_dp.schema.declarations import (
    Categorical,
    ColumnArgument,
    Continuous,
    FeatureSpec,
    Integer,
    PrivacyUnit,
    bounds_integers,
)
from interpret_dp.schema.units import n_without_unit

if TYPE_CHECKING:
    import pandas as pd


_TASKS = ("auto", "classification", "regression")


def draft_declarations(
    frame: Any, target: str | None, max_levels: int, task: str, unit: PrivacyUnit | None
) -> tuple[dict[str, FeatureSpec], FeatureSpec | None]:
    """Write down minima, maxima and levels of a public table; see :meth:`Schema.draft`."""
    check_int("max_levels", max_levels, low=1)
    check_choice("task", task, _TASKS)
    table = containers.open_table(frame)
    if unit is not None:
        others = [name for name in table.names if name != target]
        for column in unit.columns:
            if column not in others:
                raise SchemaError(
                    f"unit names the column {column!r}; it must be one of the columns but for the "
                    f"target: {', '.join(map(repr, others)) or 'there is none'}."
                    f"{did_you_mean(column, others)} Leave it out if no column identifies people."
                )
        table = table.without(*unit.columns)
    if target is not None and target not in table.names:
        allowed = f"must be one of {', '.join(map(repr, table.names))}"
        if not table.names:
            allowed = "cannot be named, since the table has no column but the unit's"
        raise SchemaError(
            f"The table has no column {target!r}; target {allowed}."
            f"{did_you_mean(target, table.names)} Leave it out if the target is not in the table."
        )
    warn_caller(
        "Schema.draft reads minima, maxima and levels off the rows, and all of a schema counts as "
        "public. Use it for public data, or replace all bounds and levels by public knowledge.",
        PrivacyWarning,
    )
    faults: list[str] = []
    specs: dict[str, FeatureSpec] = {}
    for index, name in enumerate(table.names):
        values = table.column(index)
        try:
            if name == target:
                specs[name] = _target_spec(values, max_levels, task)
            elif _holds_numbers(values):
                specs[name] = _number(values)
            else:
                specs[name] = _levels(values, max_levels)
        except _UndraftableError as fault:
            faults.append(f"Column {name!r} {fault}.")
    if faults:
        raise SchemaError(
            f"{' '.join(faults)} Drop identifiers and free text, turn dates into numbers first, "
            "raise max_levels where all levels are needed, or write the schema by hand."
        )
    target_spec = specs.pop(target) if target is not None else None
    return specs, target_spec


class _UndraftableError(Exception):
    """Why a column has no draft; the text continues 'Column x ...'."""


def _target_spec(values: Values, max_levels: int, task: str) -> FeatureSpec:
    if task == "auto":
        numbers = column_numbers(values) if _holds_numbers(values) else np.zeros(0)
        has_many = len(np.unique(numbers[~np.isnan(numbers)])) > 2
        task = "regression" if has_many else "classification"
    if task == "classification":
        return _levels(values, max_levels)
    if not _holds_numbers(values):
        raise _UndraftableError("is not numeric, which the target of a regression must be")
    return Continuous(*_bounds(_finite(values)))


def _holds_numbers(values: Values) -> bool:
    if is_category_coded(values):
        return False
    if values.dtype.kind in "biuf":
        return bool(values.dtype.kind != "b")
    keys = [(cell, key) for cell in values if (key := level_key(cell)) is not None]
    # Text that looks like a number stays text: a code book of digits is not a measurement.
    return bool(keys) and all(
        isinstance(key, float) and not isinstance(cell, bool | np.bool_) for cell, key in keys
    )


def _number(values: Values) -> Continuous:
    # Whatever the dtype: a missing cell makes floats of integers.
    finite = _finite(values)
    is_integer, bounds = (np.floor(finite) == finite).all(), _bounds(finite)
    return (Integer if is_integer and bounds_integers(*bounds) else Continuous)(*bounds)


def _finite(values: Values) -> FloatArray:
    numbers = column_numbers(values)
    return numbers[np.isfinite(numbers)]


def _bounds(finite: FloatArray) -> tuple[float, float]:
    if not len(finite):
        raise _UndraftableError("has no finite number")
    return float(finite.min()), float(finite.max())


def _levels(values: Values, max_levels: int) -> Categorical:
    ordered = is_category_coded(values) and bool(values.ordered)
    by_key: dict[object, Any] = {}
    for cell in _distinct(values):
        key = level_key(cell)
        if isinstance(key, str | float):
            by_key.setdefault(key, cell)
        elif key is not None:
            kind = type(cell).__name__
            raise _UndraftableError(f"holds cells of type {kind}, neither text nor numbers")
    if values.dtype.kind == "b":
        # Both are known from the type, whether or not they occur.
        by_key = {0.0: False, 1.0: True}
    if not by_key:
        raise _UndraftableError("has no value")
    if not is_category_coded(values):
        _refuse_numbers_as_text(by_key)
    if len(by_key) > max_levels:
        raise _UndraftableError(f"has {len(by_key)} levels, more than max_levels={max_levels}")
    # Text and numbers do not compare: numbers first.
    order = sorted(by_key, key=lambda key: (isinstance(key, str), key))
    keys = list(by_key) if ordered else order
    try:
        return Categorical([by_key[key] for key in keys], ordered=ordered)
    except (SchemaError, TypeError) as error:
        raise _UndraftableError(f"has levels that cannot be declared: {error}") from error


def _refuse_numbers_as_text(by_key: Mapping[Any, Any]) -> None:
    """Refuse numbers among blanks or marks such as "?", which say that a number is missing."""
    marks = [key for key in by_key if isinstance(key, str) and not any(map(str.isalnum, key))]
    cells = [cell for key, cell in by_key.items() if key not in marks]
    numbers = [math.nan if isinstance(cell, bool | np.bool_) else number_of(cell) for cell in cells]
    if marks and numbers and np.isfinite(numbers).all():
        some = "blank" if not marks[0].strip() else repr(marks[0])
        raise _UndraftableError(
            f"holds numbers as text, some {some}: declare Continuous({min(numbers):.12g}, "
            f"{max(numbers):.12g}) by hand, or turn it into numbers; codes, into a category"
        )


def _distinct(values: Values) -> Iterable[Any]:
    if is_category_coded(values):
        return list(category_values(values))
    if isinstance(values, np.ndarray):
        # Objects of unlike types neither sort nor always hash.
        return values if values.dtype.kind == "O" else np.unique(values)
    return list(values.unique())


_HEAD = """\
from interpret_dp import Categorical, Continuous, Integer, Schema

schema = Schema(
    {"""
_TAIL = """\
    },
    target=Categorical([label, ...]),  # or Continuous(lower, upper)
    # Where a person has several rows: unit=PrivacyUnit("person_id", max_rows=3),
)"""
_INDENT = " " * 8
_WIDTH = 96
_ALLOWED = (
    "it must be X.dtypes, a mapping of column names to dtypes of NumPy, pandas or Arrow, or a "
    "pyarrow.Schema. In polars pass X.head(0).to_arrow().schema."
)


def skeleton_text(dtypes: Any) -> str:
    """Return the text of a schema; see :meth:`Schema.skeleton`."""
    if isinstance(dtypes, Mapping):
        columns = {str(name): _dtype(given, f" for {name!r}") for name, given in dtypes.items()}
    elif hasattr(dtypes, "names") and hasattr(dtypes, "types"):
        columns = dict(zip(dtypes.names, dtypes.types, strict=True))
    elif hasattr(dtypes, "items") and getattr(dtypes, "dtype", None) == np.object_:
        # It may be a column of the table: then its labels and cells are private, and not quoted.
        columns = {str(name): _dtype(given, "") for name, given in dtypes.items()}
    else:
        raise TypeError(f"dtypes is of type {type(dtypes).__name__}; {_ALLOWED}")
    return "\n".join([_HEAD, *(_line(name, dtype) for name, dtype in columns.items()), _TAIL])


def _dtype(given: Any, where: str) -> Any:
    """Return a dtype of NumPy, pandas or Arrow; ``where`` follows "dtypes has an entry"."""
    if is_a(given, "pyarrow", "DataType") or isinstance(given, np.dtype):
        return given
    import pandas as pd

    try:
        # pandas takes None for "whatever the cells are".
        return pd.Series([], dtype="" if given is None else given).dtype
    except (TypeError, ValueError):
        raise TypeError(f"dtypes has an entry{where} that is no dtype; {_ALLOWED}") from None


def _line(name: str, dtype: Any) -> str:
    try:
        refuse_dtype(f"Column {name!r}", dtype)
    except SchemaError as refusal:
        comment = f"{_INDENT}# "
        return textwrap.fill(
            str(refusal), _WIDTH, initial_indent=comment, subsequent_indent=comment
        )
    return f"{_INDENT}{name!r}: {_blank(dtype)},"


def _blank(dtype: Any) -> str:
    """Return the declaration of a column of ``dtype``, with blanks."""
    if is_a(dtype, "pyarrow", "DataType"):
        import pyarrow as pa

        empty = pa.nulls(0, dtype)
    else:
        import pandas as pd

        empty = pd.Series([], dtype=dtype)
    kind = containers.kind_of(containers.open_column("dtypes", empty))
    if kind.cells == "bools":
        return "Categorical([False, True])"
    if kind.is_category or not kind.is_number:
        named = "ordinal" if getattr(dtype, "ordered", False) else "nominal"
        return ColumnArgument(named).example()
    return "Integer(lower, upper)" if kind.cells == "integers" else "Continuous(lower, upper)"


# Exact counts of what a schema changes in a table, for the curator; no privacy promise.

_REPORT_COLUMNS = ("column", "kind", "missing", "clipped", "unseen")


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

        table = pd.DataFrame(map(astuple, self.columns), columns=list(_REPORT_COLUMNS))
        return table.set_index("column")

    def __str__(self) -> str:
        """Return the counts as aligned text."""
        body = [tuple(map(str, astuple(column))) for column in self.columns]
        lines = text_table(_REPORT_COLUMNS, body, n_left=2)
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
    features: Mapping[str, FeatureSpec],
    target: FeatureSpec | None,
    default: FeatureSpec | None,
    unit: PrivacyUnit | None,
) -> SchemaReport:
    """Count what a schema would change in a table; see :meth:`Schema.check`."""
    source, people = containers.read_source(X), () if unit is None else unit.columns
    table = containers.open_table(source, identifier=people)
    without_unit = n_without_unit(containers.identifiers_of(table, people))
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
            raise SchemaError("y is given; the schema declares no target. Add Schema(target=...).")
        columns.append(_count("(target)", containers.open_target(y, table.n_rows), target))
    return SchemaReport(
        table.n_rows,
        tuple(columns),
        absent=tuple(name for name in features if name not in names),
        speaks_of="" if unit is None else unit.speaks_of(),
        may_lack=may_lack,
        drops_missing=unit is not None and unit.drops_missing,
        without_unit=without_unit,
    )


def _may_lack_cells(dtype: object) -> bool:
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biuSU"


def _count(name: str, values: Values, spec: FeatureSpec | None) -> ColumnReport:
    missing = clipped = unseen = 0
    if spec is None and containers.kind_of(values).cells == "bools":
        # As a fit reads it: the dtype says which values there are.
        spec = Categorical([False, True])
    if isinstance(spec, Continuous):
        numbers = column_numbers(values)
        missing = int(np.isnan(numbers).sum())
        clipped = int(((numbers < spec.lower) | (numbers > spec.upper)).sum())
        kind = "integer" if isinstance(spec, Integer) else "continuous"
        return ColumnReport(name, kind, missing, clipped, unseen)
    levels = LevelTable(() if spec is None else spec.levels)
    for _, positions in in_chunks(values, levels.positions):
        missing += int((positions == 0).sum())
        unseen += int((positions > levels.n_levels).sum())
    if spec is None:
        return ColumnReport(name, "undeclared", missing, clipped, 0)
    return ColumnReport(name, "categorical", missing, clipped, unseen)
