"""A draft of a schema: read off a public table, or text with blanks from dtypes alone."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from interpret_dp._validate import check_choice, check_int, did_you_mean
from interpret_dp.exceptions import PrivacyWarning, SchemaError, warn_caller
from interpret_dp.schema.cells import FloatArray, in_chunks, level_key, number_of, numbers_of
from interpret_dp.schema.columns import Values, category_values, is_category_coded, refuse_dtype
from interpret_dp.schema.containers import open_table, read_column
from interpret_dp.schema.declarations import (
    Categorical,
    ColumnArgument,
    Continuous,
    FeatureSpec,
    Integer,
    PrivacyUnit,
    bounds_integers,
)
from interpret_dp.schema.kinds import kind_of

_TASKS = ("auto", "classification", "regression")


def draft_declarations(
    frame: Any, target: str | None, max_levels: int, task: str, unit: PrivacyUnit | None
) -> tuple[dict[str, FeatureSpec], FeatureSpec | None]:
    """Write down minima, maxima and levels of a public table; see :meth:`Schema.draft`."""
    check_int("max_levels", max_levels, low=1)
    check_choice("task", task, _TASKS)
    table = open_table(frame)
    if unit is not None:
        others = [name for name in table.names if name != target]
        for column in unit.columns:
            if column not in others:
                raise SchemaError(
                    f"unit names the column {column!r}; it must be one of the columns but for the "
                    f"target: {', '.join(map(repr, others)) or 'there is none'}."
                    f"{did_you_mean(column, others)} Leave it out if the identifiers are not in "
                    "the table."
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
        "Schema.draft reads minima, maxima and levels off the rows, and whatever a schema says "
        "counts as public. Use it for public data, or replace every bound and level by public "
        "knowledge.",
        PrivacyWarning,
    )
    faults: list[str] = []
    specs: dict[str, FeatureSpec] = {}
    for index, name in enumerate(table.names):
        values = table.column(index)
        try:
            if name == target:
                specs[name] = _target_spec(values, max_levels, task)
            else:
                specs[name] = _feature_spec(values, max_levels)
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


def _feature_spec(values: Values, max_levels: int) -> FeatureSpec:
    return _number(values) if _holds_numbers(values) else _levels(values, max_levels)


def _target_spec(values: Values, max_levels: int, task: str) -> FeatureSpec:
    if task == "auto":
        is_number = _holds_numbers(values)
        task = "regression" if is_number and _has_many_numbers(values) else "classification"
    if task == "classification":
        return _levels(values, max_levels)
    if not _holds_numbers(values):
        raise _UndraftableError("is not numeric, which the target of a regression must be")
    return Continuous(*_bounds(values))


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


def _has_many_numbers(values: Values) -> bool:
    distinct: set[float] = set()
    for _, numbers in in_chunks(values, numbers_of):
        distinct.update(np.unique(numbers[~np.isnan(numbers)]).tolist())
    return len(distinct) > 2


def _number(values: Values) -> Continuous:
    # Whatever the dtype: a missing cell makes floats of integers.
    is_integer = all((np.floor(finite) == finite).all() for finite in _finite_chunks(values))
    bounds = _bounds(values)
    return (Integer if is_integer and bounds_integers(*bounds) else Continuous)(*bounds)


def _finite_chunks(values: Values) -> Iterator[FloatArray]:
    return (numbers[np.isfinite(numbers)] for _, numbers in in_chunks(values, numbers_of))


def _bounds(values: Values) -> tuple[float, float]:
    lower, upper = np.inf, -np.inf
    for finite in _finite_chunks(values):
        lower = min(lower, finite.min(initial=np.inf))
        upper = max(upper, finite.max(initial=-np.inf))
    if lower > upper:
        raise _UndraftableError("has no finite number")
    return float(lower), float(upper)


def _levels(values: Values, max_levels: int) -> Categorical:
    ordered = is_category_coded(values) and bool(values.ordered)
    by_key: dict[object, Any] = {}
    for cell in _distinct(values):
        key = level_key(cell)
        if isinstance(key, str | float):
            by_key.setdefault(key, cell)
        elif key is not None:
            kind = type(cell).__name__
            raise _UndraftableError(
                f"holds cells of type {kind}, which are neither text nor numbers"
            )
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
    if _is_arrow(given) or isinstance(given, np.dtype):
        return given
    import pandas as pd

    try:
        # pandas takes None for "whatever the cells are".
        return pd.Series([], dtype="" if given is None else given).dtype
    except (TypeError, ValueError):
        raise TypeError(f"dtypes has an entry{where} that is no dtype; {_ALLOWED}") from None


def _is_arrow(dtype: Any) -> bool:
    # Whoever holds one of pyarrow's types has imported pyarrow.
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(dtype, pyarrow.DataType)


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
    if _is_arrow(dtype):
        import pyarrow as pa

        empty = pa.nulls(0, dtype)
    else:
        import pandas as pd

        empty = pd.Series([], dtype=dtype)
    kind = kind_of(read_column("dtypes", empty).column(0))
    if kind.cells == "bools":
        return "Categorical([False, True])"
    if kind.is_category or not kind.is_number:
        named = "ordinal" if getattr(dtype, "ordered", False) else "nominal"
        return ColumnArgument(named).example()
    return "Integer(lower, upper)" if kind.cells == "integers" else "Continuous(lower, upper)"
