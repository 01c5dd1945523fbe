"""A declaration with gaps: what is public, and what a fit has to release privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from interpret_dp.schema.arguments import read_arguments
from interpret_dp.schema.column_arguments import ColumnArgument
from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    PrivacyUnit,
    UndeclaredCategorical,
    UndeclaredContinuous,
)
from interpret_dp.schema.schema import Schema

__all__ = ["Gap", "PartialSchema", "column_kind", "partial_schema_from_arguments"]

Gap: TypeAlias = UndeclaredContinuous | UndeclaredCategorical


@dataclass(frozen=True)
class PartialSchema:
    """A schema in which columns or the target may be undeclared; public, no row was looked at.

    Attributes
    ----------
    features : mapping of str to Continuous, Categorical or Gap
        Every column, in the table's order.
    target : Continuous, Categorical or Gap
    unit : PrivacyUnit or None
    """

    features: Mapping[str, FeatureSpec | Gap]
    target: FeatureSpec | Gap
    unit: PrivacyUnit | None = None

    @property
    def gaps(self) -> dict[str, Gap]:
        """The undeclared columns by name; the target is not among them."""
        return {
            name: spec
            for name, spec in self.features.items()
            if isinstance(spec, UndeclaredContinuous | UndeclaredCategorical)
        }

    @property
    def target_gap(self) -> Gap | None:
        """The target, if it is undeclared."""
        is_gap = isinstance(self.target, UndeclaredContinuous | UndeclaredCategorical)
        return self.target if is_gap else None  # type: ignore[return-value]

    def completed(self, features: Mapping[str, FeatureSpec], target: FeatureSpec | None) -> Schema:
        """Return the schema in which the gaps are filled.

        Parameters
        ----------
        features : mapping of str to Continuous or Categorical
            A declaration for each undeclared column.
        target : Continuous, Categorical or None
            That of the target, if it is undeclared.
        """
        filled = {
            name: spec if isinstance(spec, Continuous | Categorical) else features[name]
            for name, spec in self.features.items()
        }
        declared = self.target if isinstance(self.target, Continuous | Categorical) else target
        return Schema(filled, target=declared, unit=self.unit)


def column_kind(dtype: Any) -> str:
    """Return what a column's dtype, which is public, says about its cells.

    Parameters
    ----------
    dtype : numpy.dtype or pandas.api.extensions.ExtensionDtype

    Returns
    -------
    {"bool", "number", "value"}
        ``"value"`` for texts, categories and objects.
    """
    if hasattr(dtype, "categories"):
        return "value"
    kind = getattr(dtype, "kind", "O")
    return "bool" if kind == "b" else "number" if kind in "iuf" else "value"


def partial_schema_from_arguments(
    names: Sequence[str],
    kinds: Sequence[str],
    target_kind: str,
    feature_types: Sequence[Any] | None = None,
    privacy_bounds: Any = None,
    target_min: float | None = None,
    target_max: float | None = None,
    schema: Schema | None = None,
    *,
    task: str,
) -> PartialSchema:
    """Turn the arguments of ``interpret.privacy.DPExplainableBoosting*`` into a partial schema.

    Parameters
    ----------
    names, feature_types, privacy_bounds, target_min, target_max, schema
        As :func:`~interpret_dp.schema.arguments.schema_from_arguments` takes them. What they leave
        open becomes a gap instead of an error.
    kinds : sequence of str, shape (n_features,)
        :func:`column_kind` of each column: an undeclared column of numbers is continuous and one
        of values categorical, unless ``feature_types`` says otherwise. A column of bools needs no
        declaration: its dtype, which is public, says that its levels are False and True.
    target_kind : str
        That of the target.
    task : {"classification", "regression"}

    Raises
    ------
    SchemaError
        If an argument contradicts another or the schema, or the schema seems to be that of another
        table.
    TypeError, ValueError
        If an argument is of another form.
    """
    read = read_arguments(
        names, feature_types, privacy_bounds, target_min, target_max, schema, task=task
    )
    features = {
        name: read.features[name]
        if name in read.features
        else _undeclared(read.undeclared[name], kind)
        for name, kind in zip(names, kinds, strict=True)
    }
    said = ColumnArgument(
        "continuous" if task == "regression" else "nominal", None, *read.target_bounds
    )
    unit = None if schema is None else schema.unit
    return PartialSchema(features, read.target or _undeclared(said, target_kind), unit)


def _undeclared(said: ColumnArgument, kind: str) -> FeatureSpec | Gap:
    is_continuous = said.kind == "continuous" or said.has_bounds
    if kind == "bool" and not said.has_bounds:
        is_number = said.kind in ("continuous", None)
        return Continuous(0, 1) if is_number else Categorical([False, True], said.kind == "ordinal")
    if is_continuous or (said.kind is None and kind == "number"):
        return UndeclaredContinuous(said.lower, said.upper)
    return UndeclaredCategorical(ordered=said.kind == "ordinal")
