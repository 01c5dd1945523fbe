"""A declaration with gaps: what is public, and what a fit has to release privately."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from interpret_dp import _validate
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.containers import ColumnKind, refuse_mismatches, target_mismatch
from interpret_dp.schema.declarations import (
    Categorical,
    ColumnArgument,
    Continuous,
    FeatureSpec,
    PrivacyUnit,
    UndeclaredCategorical,
    UndeclaredContinuous,
    bounds_integers,
    check_most_classes,
)
from interpret_dp.schema.schema import Schema

# The constructor arguments of interpret's DP-EBMs, read as a schema.
#
# ``feature_types`` and ``privacy_bounds`` are read column by column.

_OF_LEVELS = ("nominal", "ordinal")
_TYPES_ALLOWED = "'continuous', 'nominal', 'ordinal', 'auto', None or a list of ordered levels"
_BOUNDS_ALLOWED = "pairs (minimum, maximum), one a column, or a mapping to such pairs"


def _argued(name: str, argument: ColumnArgument) -> FeatureSpec | None:
    try:
        return argument.spec()
    except SchemaError as error:
        raise SchemaError(f"The arguments for {name!r} do not fit together: {error}") from error


def _conflicts(name: str, argument: ColumnArgument, declared: FeatureSpec | None) -> list[str]:
    kind = argument.kind
    if kind in _OF_LEVELS and argument.has_bounds:
        return [
            f"Column {name!r} has feature_types {kind!r} and privacy_bounds; only continuous "
            "columns have bounds. Remove one of the two."
        ]
    if isinstance(declared, Continuous):
        agrees = kind in ("continuous", None) and _agrees(declared, argument.lower, argument.upper)
    elif isinstance(declared, Categorical):
        agrees = (
            not argument.has_bounds
            and kind in (None, "ordinal" if declared.ordered else "nominal")
            and argument.levels in (None, declared.levels)
        )
    else:
        agrees = True
    if agrees:
        return []
    is_given = {"feature_types": kind is not None, "privacy_bounds": argument.has_bounds}
    given = " and ".join(own for own, is_said in is_given.items() if is_said)
    return [
        f"For column {name!r} the schema says {declared!r}, which contradicts {given}. Leave the "
        "column out of one of the two, or make them agree."
    ]


def _agrees(declared: Continuous, lower: float | None, upper: float | None) -> bool:
    return lower in (None, declared.lower) and upper in (None, declared.upper)


def _target_conflicts(
    declared: FeatureSpec | None, bounds: tuple[float | None, float | None], task: str | None
) -> list[str]:
    is_given = bounds != (None, None)
    labels = (
        "that of a classifier has class labels, not bounds. Declare Schema(..., "
        "target=Categorical([label, ...]))"
    )
    if task == "classification" and isinstance(declared, Continuous):
        return [f"The target is declared as {declared!r}; {labels}."]
    if task == "classification" and is_given:
        return [
            f"The target has the bounds {bounds}; {labels}. Remove privacy_target_min and _max."
        ]
    if task == "regression" and isinstance(declared, Categorical):
        return [
            f"The target is declared as {declared!r}; that of a regression has bounds, not class "
            "labels. Declare Schema(..., target=Continuous(lower, upper))."
        ]
    agrees = declared is None or (isinstance(declared, Continuous) and _agrees(declared, *bounds))
    if agrees or not is_given:
        return []
    return [
        f"For the target the schema says {declared!r}, and privacy_target_min or "
        "privacy_target_max say something else. Remove them, or make them agree."
    ]


def _column_arguments(
    names: Sequence[str],
    kinds: Sequence[ColumnKind],
    feature_types: Sequence[Any] | None,
    privacy_bounds: Any,
) -> tuple[list[ColumnArgument], bool]:
    """Return each column's arguments, and whether bounds are an array, with a row for each.

    Raises
    ------
    TypeError, ValueError
        If an argument is not of the right form.
    """
    allowed = f"one type for each of the {len(names)} columns: {_TYPES_ALLOWED}"
    types: list[Any] = [None] * len(names)
    if feature_types is not None:
        types = _validate.check_sequence("feature_types", feature_types, allowed)
    if len(types) != len(names):
        description = _validate.describe_argument("feature_types", feature_types)
        raise ValueError(f"{description}; it must be a list of {allowed}.")
    pairs, is_array = _pairs(names, privacy_bounds)
    arguments = []
    for name, given, column in zip(names, types, kinds, strict=True):
        kind, levels = _type(name, given)
        bounds = pairs.get(name, (None, None))
        holds_integers = column.cells == "integers" and not column.is_category
        is_integer = holds_integers and kind is None and bounds_integers(*bounds)
        arguments.append(ColumnArgument(kind, levels, *bounds, is_integer))
    return arguments, is_array


def _type(name: str, given: Any) -> tuple[str | None, tuple[str, ...] | None]:
    if given is None or (isinstance(given, str) and given == "auto"):
        return None, None
    if isinstance(given, str) and given in ("continuous", "nominal", "ordinal"):
        return given, None
    is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    # An array without dimensions has the method and cannot be iterated.
    if is_list and getattr(given, "ndim", 1) > 0:
        levels = tuple(given)
        if levels and all(isinstance(level, str) for level in levels):
            return "ordinal", levels
    if isinstance(given, str) and given == "ignore":
        mend = "Drop the column from the table; a model takes exclude= as well."
    else:
        mend = "Cut points and binning methods are not chosen here: bins are made privately."
    raise ValueError(
        f"feature_types of column {name!r} is {given!r}; it must be {_TYPES_ALLOWED}. {mend}"
    )


def _pairs(
    names: Sequence[str], privacy_bounds: Any
) -> tuple[dict[str, tuple[float | None, float | None]], bool]:
    if privacy_bounds is None:
        return {}, False
    if isinstance(privacy_bounds, Mapping):
        items = list(privacy_bounds.items())
    else:
        items = list(
            enumerate(_validate.check_sequence("privacy_bounds", privacy_bounds, _BOUNDS_ALLOWED))
        )
        if len(items) != len(names):
            raise ValueError(
                f"privacy_bounds has {len(items)} rows; it must have one for each of the "
                f"{len(names)} columns, or be a mapping of those that have bounds."
            )
    pairs: dict[str, tuple[float | None, float | None]] = {}
    for key, given in items:
        name = _column_of(names, key)
        if name in pairs:
            raise ValueError(f"privacy_bounds has {name!r} twice, by its name and index; keep one.")
        pairs[name] = _pair(name, given)
    return pairs, not isinstance(privacy_bounds, Mapping)


def _column_of(names: Sequence[str], key: Any) -> str:
    if isinstance(key, str) and key in names:
        return key
    is_index = isinstance(key, numbers.Integral) and not isinstance(key, bool)
    if is_index and 0 <= key < len(names):
        return names[int(key)]
    raise ValueError(
        f"privacy_bounds has the key {key!r}; keys must be a column's name or its index from 0 "
        f"to {len(names) - 1}.{_validate.did_you_mean(key, names)}"
    )


def _pair(name: str, given: Any) -> tuple[float | None, float | None]:
    role = f"privacy_bounds of column {name!r}"
    try:
        lower, upper = given
    except (TypeError, ValueError):
        text = f"{role} is {given!r}; it must be a pair (minimum, maximum), such as (0, 100)."
        raise ValueError(text) from None
    first = _read_bound(f"The minimum in {role}", lower)
    return first, _read_bound(f"The maximum in {role}", upper)


def _read_bound(role: str, bound: Any) -> float | None:
    """Return a bound, or None if it is None or NaN; TypeError or ValueError for anything else."""
    if bound is None or (isinstance(bound, numbers.Real) and bound != bound):
        return None
    return _validate.check_real(role, bound)


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
    target_kind: ColumnKind | None,
    feature_types: Sequence[Any] | None = None,
    privacy_bounds: Any = None,
    target_min: float | None = None,
    target_max: float | None = None,
    schema: Schema | None = None,
    classes: Any = None,
    *,
    task: str | None,
) -> PartialSchema:
    """Turn the arguments of ``interpret.privacy.DPExplainableBoosting*`` into a partial schema.

    Parameters
    ----------
    names : sequence of str, shape (n_features,)
        Columns of the table.
    kinds : sequence of ColumnKind, shape (n_features,)
        What each column's type says: an undeclared column of numbers is continuous, or an Integer
        if its type holds integers, and any other categorical, unless ``feature_types`` says
        otherwise. A column of bools needs no declaration: its levels are False and True.
    target_kind : ColumnKind or None
        That of the target.
    feature_types : sequence, shape (n_features,), default=None
        For each column ``"continuous"``, a list of ordered levels (strings), ``"nominal"``,
        ``"ordinal"``, ``"auto"`` or None. The last four leave the levels or the type undeclared;
        bounds of a column without a type make it continuous.
    privacy_bounds : array of shape (n_features, 2), or mapping, default=None
        Public (minimum, maximum) of each column; a mapping goes by index or name. NaN means
        undeclared. An array must have a row for every column: those of categorical columns are
        ignored, as interpret does.
    target_min, target_max : float, default=None
        Public bounds of a regression target; NaN means undeclared.
    schema : Schema, default=None
        Wins over the arguments, which may only repeat it or add columns that it leaves out.
    classes : sequence of str, int, float or bool, default=None
        The class labels, where the schema does not declare the target.
    task : {"classification", "regression"} or None
        None where nothing is predicted; the schema's target is left out then.

    Raises
    ------
    SchemaError
        If an argument contradicts another or the schema, the schema seems to be that of another
        table, the type of a column or of the target rules out what is declared of it, or there are
        too few or too many class labels. All faults of one sort are named at once.
    TypeError, ValueError
        If an argument is of another form.

    Notes
    -----
    No row is read. interpret reads undeclared types, levels and bounds off the data; here they
    become gaps, which have to be declared or released with noise.
    """
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError(
            f"schema is of type {type(schema).__name__}; it must be a Schema: Schema.load(path)."
        )
    base = with_classes(schema or Schema(), classes)
    faults: list[str] = []
    unlisted: list[str] = []
    features: dict[str, FeatureSpec | Gap] = {}
    arguments, is_array = _column_arguments(names, kinds, feature_types, privacy_bounds)
    for name, kind, argument in zip(names, kinds, arguments, strict=True):
        declared = base.features.get(name, base.default)
        # An array of bounds cannot leave a column of levels out.
        if is_array and (argument.kind in _OF_LEVELS or isinstance(declared, Categorical)):
            argument = ColumnArgument(argument.kind, argument.levels)
        faults += _conflicts(name, argument, declared)
        spec = declared or _argued(name, argument)
        if name not in base.features and (spec is None or base.default is not None):
            unlisted.append(name)
        features[name] = spec or _undeclared(argument, kind)
    faults += _validate.name_faults(base.features, names, unlisted)
    lower = _read_bound("privacy_target_min", target_min)
    bounds = lower, _read_bound("privacy_target_max", target_max)
    faults += _target_conflicts(base.target, bounds, task)
    if faults:
        raise SchemaError(" ".join(faults))
    specs = list(features.values())
    if target_kind is None or task is None:
        refuse_mismatches(names, kinds, specs)
        return PartialSchema(features, None, base.unit)
    argument = ColumnArgument("continuous" if task == "regression" else "nominal", None, *bounds)
    target = base.target or _argued("the target", argument)
    refuse_mismatches(names, kinds, specs, target_mismatch(target_kind, target, task))
    if task == "classification" and isinstance(target, Categorical):
        if len(target.levels) < 2:
            raise SchemaError(
                f"The target has one declared class, {target.levels[0]!r}; a classifier needs at "
                "least two. Declare every label that could occur, whether or not it does."
            )
        check_most_classes(target)
    return PartialSchema(features, target or _undeclared(argument, target_kind), base.unit)


def with_classes(schema: Schema, classes: Any) -> Schema:
    """Return the schema with class labels as its target.

    Raises
    ------
    SchemaError, TypeError
        If they are no labels, or the schema declares others.
    """
    if classes is None:
        return schema
    try:
        target = Categorical(classes)
    except (SchemaError, TypeError) as error:
        raise type(error)(f"classes cannot be read as class labels. {error}") from None
    if schema.target is None:
        return replace(schema, target=target)
    declared = schema.target
    if not isinstance(declared, Categorical) or set(declared.levels) != set(target.levels):
        raise SchemaError(
            f"classes declares {target!r} and the schema declares the target {declared!r}; they "
            "must agree. Leave one of them out."
        )
    return schema


def _undeclared(argument: ColumnArgument, kind: ColumnKind) -> FeatureSpec | Gap:
    is_ordinal = argument.kind == "ordinal"
    if kind.cells == "bools" and argument.kind != "continuous" and not argument.has_bounds:
        return Categorical([False, True], ordered=is_ordinal)
    if kind.cells == "bools" and not argument.has_bounds:
        return Continuous(0, 1)
    is_number = kind.is_number and not kind.is_category
    is_open = argument.kind is None
    if argument.kind == "continuous" or argument.has_bounds or (is_open and is_number):
        return UndeclaredContinuous(argument.lower, argument.upper, argument.is_integer)
    # A dtype's order counts unless the caller says that there is none.
    order = None if argument.kind == "nominal" else kind.order
    return UndeclaredCategorical(is_ordinal or order is not None, order)
