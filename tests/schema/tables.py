"""Columns of any objects, and codes of whole tables, for tests of the encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from interpret_dp.schema import FeatureSpec, Schema, encode_column
from interpret_dp.schema.containers import Table
from interpret_dp.schema.encode import Codes

__all__ = ["Liar", "encode_table", "object_column"]


class Liar:
    """A cell that says that it is of another class; None: it gives no answer."""

    def __init__(self, said: type | None) -> None:
        self.said = said

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        if self.said is None:
            raise RuntimeError("not today")
        return self.said


def encode_table(table: Table, specs: Schema | Sequence[FeatureSpec], n_bins: int) -> list[Codes]:
    """Return the codes of each column."""
    resolved = specs.resolve(table.names) if isinstance(specs, Schema) else specs
    return [encode_column(table.column(index), spec, n_bins) for index, spec in enumerate(resolved)]


def object_column(cells: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return an array that holds each cell as it is."""
    return np.fromiter(cells, dtype=object, count=len(cells))
