"""Columns of any objects, and codes of whole tables, for tests of the encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from interpret_dp.schema import FeatureSpec, Schema, encode_column
from interpret_dp.schema.containers import Table
from interpret_dp.schema.encode import Codes

__all__ = ["encode_table", "object_column"]


def encode_table(table: Table, specs: Schema | Sequence[FeatureSpec], n_bins: int) -> list[Codes]:
    """Return the codes of each column."""
    resolved = specs.resolve(table.names) if isinstance(specs, Schema) else specs
    return [encode_column(table.column(index), spec, n_bins) for index, spec in enumerate(resolved)]


def object_column(cells: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return an array that holds each cell as it is."""
    return np.fromiter(cells, dtype=object, count=len(cells))
