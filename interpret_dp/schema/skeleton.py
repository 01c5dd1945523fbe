"""A schema as source text with blanks to fill in, from the dtypes of a table alone."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.column_arguments import ColumnArgument
from interpret_dp.schema.containers import read_column
from interpret_dp.schema.dtypes import refuse_dtype
from interpret_dp.schema.kinds import kind_of

__all__ = ["skeleton_text"]

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
