"""A declaration with gaps: what is public, and what a fit has to release privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.arguments import ReadArguments, read_arguments
from interpret_dp.schema.declarations import (
    Categorical,
    ColumnArgument,
    Continuous,
    FeatureSpec,
    PrivacyUnit,
    UndeclaredCategorical,
    UndeclaredContinuous,
    check_most_classes,
)
from interpret_dp.schema.kinds import ColumnKind, mismatches, target_mismatch
from interpret_dp.schema.schema import Schema

Gap: TypeAlias = UndeclaredContinuous | UndeclaredCategorical


@dataclass(frozen=True)
class PartialSchema:
    """A schema in which columns or the target may be undeclared; public, no row was looked at.

    Attributes
    ----------
    features : mapping of str to Continuous, Categorical or Gap
        Every column, in the table's order.
    target : Continuous, Categorical, Gap or None
        None where nothing is predicted.
    unit : PrivacyUnit, "rows" or None
    """

    features: Mapping[str, FeatureSpec | Gap]
    target: FeatureSpec | Gap | None
    unit: PrivacyUnit | Literal["rows"] | None = None

    @property
    def gaps(self) -> dict[str, Gap]:
        """The undeclared columns by name; the target is not among them."""
        return {name: spec for name, spec in self.features.items() if isinstance(spec, Gap)}

    @property
    def target_gap(self) -> Gap | None:
        """The target, if it is undeclared."""
        return self.target if isinstance(self.target, Gap) else None

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
            name: features[name] if isinstance(spec, Gap) else spec
            for name, spec in self.features.items()
        }
        declared = self.target if isinstance(self.target, FeatureSpec) else target
        return Schema(filled, target=declared, unit=self.unit)


def partial_schema_from_arguments(
    names: Sequence[str],
    kinds: Sequence[ColumnKind],
    target_kind: ColumnKind,
    feature_types: Sequence[Any] | None = None,
    privacy_bounds: Any = None,
    target_min: float | None = None,
    target_max: float | None = None,
    schema: Schema | None = None,
    classes: Any = None,
    *,
    task: str,
) -> PartialSchema:
    """Turn the arguments of ``interpret.privacy.DPExplainableBoosting*`` into a partial schema.

    Parameters
    ----------
    names, feature_types, privacy_bounds, target_min, target_max, schema
        As :func:`~interpret_dp.schema.arguments.read_arguments` takes them. What they leave
        open becomes a gap instead of an error.
    kinds : sequence of ColumnKind, shape (n_features,)
        What each column's type says: an undeclared column of numbers is continuous, or an Integer
        if its type holds integers, and any other categorical, unless ``feature_types`` says
        otherwise. A column of bools needs no declaration: its levels are False and True.
    target_kind : ColumnKind
        That of the target.
    classes : sequence of str, int, float or bool, default=None
        The class labels, where the schema does not declare the target.
    task : {"classification", "regression"}

    Raises
    ------
    SchemaError
        If an argument contradicts another or the schema, the schema seems to be that of another
        table, the type of a column or of the target rules out what is declared of it, or there are
        too few or too many class labels.
    TypeError, ValueError
        If an argument is of another form.
    """
    read = read_arguments(
        names,
        feature_types,
        privacy_bounds,
        target_min,
        target_max,
        with_classes(schema, classes),
        task=task,
        integers=_integers(names, kinds),
    )
    features = _features(read, names, kinds)
    faults = mismatches(names, kinds, list(features.values()))
    faults += target_mismatch(target_kind, read.target, task)
    if faults:
        raise SchemaError(" ".join(faults))
    if task == "classification" and isinstance(read.target, Categorical):
        _check_classes(read.target)
    argument = ColumnArgument(
        "continuous" if task == "regression" else "nominal", None, *read.target_bounds
    )
    unit = None if schema is None else schema.unit
    return PartialSchema(features, read.target or _undeclared(argument, target_kind), unit)


def partial_schema_of_columns(
    names: Sequence[str],
    kinds: Sequence[ColumnKind],
    schema: Schema | None,
    feature_types: Sequence[Any] | None = None,
) -> PartialSchema:
    """Return the partial schema of a table in which nothing is predicted.

    Parameters
    ----------
    names, kinds, schema, feature_types
        As :func:`partial_schema_from_arguments` takes them. The schema's target is left out.

    Raises
    ------
    SchemaError, TypeError, ValueError
        If the schema seems to be that of another table, an argument contradicts it or is of
        another form, or a column's type rules out what is declared of it.
    """
    read = read_arguments(names, feature_types, schema=schema, integers=_integers(names, kinds))
    features = _features(read, names, kinds)
    faults = mismatches(names, kinds, list(features.values()))
    if faults:
        raise SchemaError(" ".join(faults))
    return PartialSchema(features, None, None if schema is None else schema.unit)


def _integers(names: Sequence[str], kinds: Sequence[ColumnKind]) -> set[str]:
    """Return the columns whose dtype is one of integers."""
    return {
        name
        for name, kind in zip(names, kinds, strict=True)
        if kind.cells == "integers" and not kind.is_category
    }


def _features(
    read: ReadArguments, names: Sequence[str], kinds: Sequence[ColumnKind]
) -> dict[str, FeatureSpec | Gap]:
    return {
        name: read.features[name]
        if name in read.features
        else _undeclared(read.undeclared[name], kind)
        for name, kind in zip(names, kinds, strict=True)
    }


def with_classes(schema: Schema | None, classes: Any) -> Schema | None:
    """Return the schema with class labels as its target.

    Raises
    ------
    SchemaError, TypeError
        If the labels are of another form, or the schema declares another target.
    """
    if classes is None:
        return schema
    try:
        target = Categorical(classes)
    except (SchemaError, TypeError) as error:
        raise type(error)(f"classes cannot be read as class labels. {error}") from None
    if schema is None:
        return Schema(target=target)
    if schema.target is None:
        return replace(schema, target=target)
    declared = schema.target
    if not isinstance(declared, Categorical) or set(declared.levels) != set(target.levels):
        raise SchemaError(
            f"classes declares {target!r} and the schema declares the target {declared!r}; they "
            "must agree. Leave one of them out."
        )
    return schema


def _check_classes(labels: Categorical) -> None:
    if len(labels.levels) < 2:
        raise SchemaError(
            f"The target has one declared class, {labels.levels[0]!r}; a classifier needs at "
            "least two. Declare every label that could occur, whether or not it does."
        )
    check_most_classes(labels)


def _undeclared(argument: ColumnArgument, kind: ColumnKind) -> FeatureSpec | Gap:
    is_ordinal = argument.kind == "ordinal"
    if kind.cells == "bools" and argument.kind != "continuous" and not argument.has_bounds:
        return Categorical([False, True], ordered=is_ordinal)
    if kind.cells == "bools" and not argument.has_bounds:
        return Continuous(0, 1)
    is_number = kind.is_number and not kind.is_category
    if (
        argument.kind == "continuous"
        or argument.has_bounds
        or (argument.kind is None and is_number)
    ):
        return UndeclaredContinuous(argument.lower, argument.upper, argument.is_integer)
    # A dtype's order counts unless the caller says that there is none.
    order = None if argument.kind == "nominal" else kind.order
    return UndeclaredCategorical(is_ordinal or order is not None, order)
