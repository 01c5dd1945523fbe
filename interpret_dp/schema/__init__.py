"""Public declarations of a table: types, names, bounds and levels; and the coding by them.

A :class:`Schema` is the only thing that decides how a row becomes integers. Nothing in this
package draws noise or spends budget.
"""

from __future__ import annotations

from importlib import import_module  # noqa: TID251
from typing import TYPE_CHECKING, Any

from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    PrivacyUnit,
    interpret_type,
    level_labels,
)
from interpret_dp.schema.schema import Schema

if TYPE_CHECKING:
    from interpret_dp.schema.containers import Table, open_table, open_target
    from interpret_dp.schema.draft import ColumnReport, SchemaReport
    from interpret_dp.schema.encode import (
        canonical_frame,
        encode_classes,
        encode_column,
        encode_target,
        fine_bin_count,
        fine_edges,
        search_edges,
        unseen_label,
    )

__all__ = [
    "Categorical",
    "ColumnReport",
    "Continuous",
    "FeatureSpec",
    "Integer",
    "PrivacyUnit",
    "Schema",
    "SchemaReport",
    "Table",
    "canonical_frame",
    "encode_classes",
    "encode_column",
    "encode_target",
    "fine_bin_count",
    "fine_edges",
    "interpret_type",
    "level_labels",
    "open_table",
    "open_target",
    "search_edges",
    "unseen_label",
]

# Loaded at first use: these modules need numpy, and declaring a schema does not.
_LAZY = {
    **dict.fromkeys(("ColumnReport", "SchemaReport"), "draft"),
    **dict.fromkeys(("Table", "open_table", "open_target"), "containers"),
    **dict.fromkeys(("canonical_frame", "encode_classes", "encode_column"), "encode"),
    **dict.fromkeys(("encode_target", "fine_bin_count", "fine_edges"), "encode"),
    **dict.fromkeys(("search_edges", "unseen_label"), "encode"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
