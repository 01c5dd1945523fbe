"""Which dtypes have a rule for their cells, and what to do about a column of another one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from interpret_dp.exceptions import SchemaError

__all__ = ["is_text", "refuse_dtype"]

_ALLOWED = "Columns hold numbers, bools, strings, objects or categories of these."
_CONVERT = "Convert the column to one of these first, or drop it."
_BYTES = "Decode bytes into strings first, such as with column.str.decode('utf-8')."
_DATES = (
    "Turn dates into numbers first, such as days since a fixed public date, or drop the column."
)
_DURATIONS = "Turn durations into numbers first, such as seconds."
_TIMES = "Turn times of day into numbers first, such as seconds since midnight."
_NESTED = "Give each entry of a list, or field of a struct, a column of its own."
_HINTS = {
    "c": "Complex data not supported: pass the real and the imaginary part as two columns.",
    "M": _DATES,
    "m": _DURATIONS,
    "S": _BYTES,
    "V": "Pass a structured array as a pandas DataFrame, one column a field.",
}


def refuse_dtype(role: str, dtype: Any) -> None:
    """Raise SchemaError unless cells of ``dtype`` can be read by the scalar rules.

    Parameters
    ----------
    role : str
        Whose dtype it is; the subject of the message.
    dtype : numpy.dtype, pandas.api.extensions.ExtensionDtype or pyarrow.DataType
        The dtype of a column. No cell is looked at.
    """
    # Whoever holds one of pyarrow's types has imported pyarrow.
    pyarrow = sys.modules.get("pyarrow")
    is_arrow = pyarrow is not None and isinstance(dtype, pyarrow.DataType)
    hint = _arrow_hint(dtype) if is_arrow else _pandas_hint(dtype)
    if hint is not None:
        raise SchemaError(f"{role} has dtype {dtype}. {_ALLOWED} {hint}")


def is_text(arrow_type: Any) -> bool:
    """Return whether cells of a ``pyarrow.DataType`` are strings."""
    # The oldest pyarrow that is supported has no predicate for string_view.
    return str(arrow_type) in ("string", "large_string", "string_view")


def _pandas_hint(dtype: Any) -> str | None:
    """Return how to mend a NumPy or pandas dtype, or None if it needs no mending."""
    categories = getattr(dtype, "categories", None)
    held = dtype if categories is None else categories.dtype
    if hasattr(held, "pyarrow_dtype"):
        return _arrow_hint(held.pyarrow_dtype)
    # Only sparse dtypes, which interpret cannot read either, have a fill value.
    if hasattr(held, "fill_value"):
        return "Pass column.sparse.to_dense()."
    # Intervals, as pandas.cut makes them, are read as their text.
    if hasattr(held, "closed"):
        return None
    if isinstance(held, np.dtype):
        is_read = held.kind in "biufOUT"
    else:
        # pandas' own dtypes: numbers say so by their kind, text by its type.
        is_read = held.kind in "biuf" or held.type is str
    return None if is_read else _HINTS.get(held.kind, _CONVERT)


def _arrow_hint(arrow_type: Any) -> str | None:
    """Return how to mend an Arrow type, or None if it needs no mending."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return _arrow_hint(arrow_type.value_type)
    # Arrow has a type for a column without values, which one value turns into another.
    is_number = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    if any(is_one(arrow_type) for is_one in (*is_number, types.is_null, is_text)):
        return None
    if types.is_duration(arrow_type) or types.is_interval(arrow_type):
        return _DURATIONS
    if types.is_time(arrow_type):
        return _TIMES
    if types.is_temporal(arrow_type):
        return _DATES
    if types.is_nested(arrow_type):
        return _NESTED
    return _BYTES if "binary" in str(arrow_type) else _CONVERT
