"""Codes of whole tables, for tests of the encoding."""

from __future__ import annotations

from collections.abc import Sequence

from interpret_dp.schema import FeatureSpec, Schema, encode_column
from interpret_dp.schema.containers import Table
from interpret_dp.schema.encode import Codes

__all__ = ["encode_table"]


def encode_table(table: Table, specs: Schema | Sequence[FeatureSpec], n_bins: int) -> list[Codes]:
    """Return the codes of each column."""
    resolved = specs.resolve(table.names) if isinstance(specs, Schema) else specs
    return [encode_column(table.column(index), spec, n_bins) for index, spec in enumerate(resolved)]
