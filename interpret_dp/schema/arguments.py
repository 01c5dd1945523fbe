"""The constructor arguments of interpret's DP-EBMs, read as a schema."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interpret_dp._validate import check_choice, check_real
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.declarations import Categorical, Continuous, FeatureSpec
from interpret_dp.schema.schema import Schema, absences

__all__ = ["schema_from_arguments"]

_TASKS = ("classification", "regression")
_TYPES_ALLOWED = "'continuous', 'nominal', 'ordinal', 'auto', None or a list of ordered levels"
_BOUNDS_ALLOWED = "an array of (minimum, maximum), one a column, or a mapping to such pairs"


@dataclass(frozen=True)
class _Argument:
    """What feature_types and privacy_bounds say about one column.

    ``kind`` is continuous, nominal, ordinal or None. A bound that is not given is None.
    """

    kind: str | None = None
    levels: tuple[str, ...] | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def has_bounds(self) -> bool:
        return self.lower is not None or self.upper is not None

    def spec(self) -> FeatureSpec | None:
        """Return the declaration, or None if a piece of it is missing."""
        if self.levels is not None:
            return Categorical(self.levels, ordered=True)
        # Bounds make a column continuous where no type is given.
        if self.kind in ("continuous", None) and self.lower is not None and self.upper is not None:
            return Continuous(self.lower, self.upper)
        return None

    def mend(self) -> str:
        """Return how the missing piece is declared in a schema."""
        if self.kind == "continuous" or self.has_bounds:
            lower = "lower" if self.lower is None else f"{self.lower:g}"
            upper = "upper" if self.upper is None else f"{self.upper:g}"
            return f"Continuous({lower}, {upper})"
        ordered = ", ordered=True" if self.kind == "ordinal" else ""
        levels = f"Categorical([level, ...]{ordered})"
        return levels if self.kind else f"Continuous(lower, upper) or {levels}"


def schema_from_arguments(
    names: Sequence[str],
    feature_types: Sequence[Any] | None = None,
    privacy_bounds: Any = None,
    target_min: float | None = None,
    target_max: float | None = None,
    schema: Schema | None = None,
    *,
    task: str | None = None,
) -> Schema:
    """Turn the arguments of ``interpret.privacy.DPExplainableBoosting*`` into a schema.

    Parameters
    ----------
    names : sequence of str, shape (n_features,)
        Columns of the table.
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
    task : {"classification", "regression"}, default=None
        Which kind of target is asked for; None takes either.

    Returns
    -------
    Schema
        Every column of ``names``, in that order, and the target; without a default.

    Raises
    ------
    SchemaError
        If an argument contradicts another or the schema, the schema declares a column that is
        not in ``names``, or anything is left undeclared. All faults of one sort are named at
        once.
    TypeError, ValueError
        If an argument is not of the form above.

    Notes
    -----
    No row is looked at. interpret reads undeclared types, levels and bounds off the data and
    warns; here they are an error, as the promise would not hold.
    """
    if task is not None:
        check_choice("task", task, _TASKS)
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError(
            f"schema is of type {type(schema).__name__}; it must be a Schema. Read one from a "
            "file with Schema.load(path)."
        )
    base = Schema() if schema is None else schema
    faults = absences(base, names)
    features: dict[str, FeatureSpec] = {}
    undeclared: dict[str, str] = {}
    for name, argument, is_row in _arguments(names, feature_types, privacy_bounds):
        declared = base.features.get(name, base.default)
        said = _without_array_row(argument, declared) if is_row else argument
        faults += _conflicts(name, said, declared)
        spec = declared or _argued(name, said)
        if spec is None:
            undeclared[name] = said.mend()
        else:
            features[name] = spec
    bounds = _bounds("privacy_target_min", target_min), _bounds("privacy_target_max", target_max)
    faults += _target_conflicts(base.target, bounds, task)
    if faults:
        raise SchemaError(" ".join(faults))
    target = base.target or _argued("the target", _Argument("continuous", None, *bounds))
    if undeclared or target is None:
        raise SchemaError(_undeclared_message(undeclared, target, bounds, task))
    return Schema(features, target=target)


def _arguments(
    names: Sequence[str], feature_types: Sequence[Any] | None, privacy_bounds: Any
) -> Iterable[tuple[str, _Argument, bool]]:
    types = [None] * len(names) if feature_types is None else list(feature_types)
    if isinstance(feature_types, str | Mapping) or len(types) != len(names):
        raise ValueError(
            f"feature_types is {feature_types!r}; it must be a list of one type for each of the "
            f"{len(names)} columns: {_TYPES_ALLOWED}."
        )
    pairs, is_array = _pairs(names, privacy_bounds)
    for name, given in zip(names, types, strict=True):
        kind, levels = _type(name, given)
        yield name, _Argument(kind, levels, *pairs.get(name, (None, None))), is_array


def _type(name: str, given: Any) -> tuple[str | None, tuple[str, ...] | None]:
    if given is None or (isinstance(given, str) and given == "auto"):
        return None, None
    if isinstance(given, str) and given in ("continuous", "nominal", "ordinal"):
        return given, None
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        levels = tuple(given)
        if levels and all(isinstance(level, str) for level in levels):
            return "ordinal", levels
    if isinstance(given, str) and given == "ignore":
        mend = "Drop the column from the table, or name it in exclude."
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
    is_array = not isinstance(privacy_bounds, Mapping)
    if is_array:
        if isinstance(privacy_bounds, str) or not hasattr(privacy_bounds, "__len__"):
            raise TypeError(
                f"privacy_bounds is of type {type(privacy_bounds).__name__}; it must be "
                f"{_BOUNDS_ALLOWED}."
            )
        if len(privacy_bounds) != len(names):
            raise ValueError(
                f"privacy_bounds has {len(privacy_bounds)} rows; it must have one for each of "
                f"the {len(names)} columns, or be a mapping of those that have bounds."
            )
        items: list[tuple[Any, Any]] = list(enumerate(privacy_bounds))
    else:
        items = list(privacy_bounds.items())
    pairs: dict[str, tuple[float | None, float | None]] = {}
    for key, given in items:
        name = _column_of(names, key)
        if name in pairs:
            raise ValueError(
                f"privacy_bounds has column {name!r} twice, by its name and by its index; keep one."
            )
        pairs[name] = _pair(name, given)
    return pairs, is_array


def _column_of(names: Sequence[str], key: Any) -> str:
    if isinstance(key, str) and key in names:
        return key
    is_index = isinstance(key, numbers.Integral) and not isinstance(key, bool)
    if is_index and 0 <= key < len(names):
        return names[int(key)]
    raise ValueError(
        f"privacy_bounds has the key {key!r}; keys must be a column's name or its index from 0 "
        f"to {len(names) - 1}."
    )


def _pair(name: str, given: Any) -> tuple[float | None, float | None]:
    try:
        lower, upper = given
    except (TypeError, ValueError):
        raise ValueError(
            f"privacy_bounds of column {name!r} is {given!r}; it must be a pair (minimum, maximum)."
        ) from None
    role = f"privacy_bounds of column {name!r}"
    return _bounds(f"The minimum in {role}", lower), _bounds(f"The maximum in {role}", upper)


def _bounds(role: str, bound: Any) -> float | None:
    if bound is None or (isinstance(bound, numbers.Real) and math.isnan(bound)):
        return None
    return check_real(role, bound)


def _without_array_row(argument: _Argument, declared: FeatureSpec | None) -> _Argument:
    # An array of bounds cannot leave a column out.
    if argument.kind in ("nominal", "ordinal") or isinstance(declared, Categorical):
        return _Argument(argument.kind, argument.levels)
    return argument


def _argued(name: str, argument: _Argument) -> FeatureSpec | None:
    try:
        return argument.spec()
    except SchemaError as error:
        raise SchemaError(f"The arguments for {name!r} do not fit together: {error}") from error


def _conflicts(name: str, argument: _Argument, declared: FeatureSpec | None) -> list[str]:
    kind = argument.kind
    if kind in ("nominal", "ordinal") and argument.has_bounds:
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
    return [
        f"For column {name!r} the schema says {declared!r}, and feature_types or privacy_bounds "
        "say something else. Remove what they say about it, or make them agree."
    ]


def _agrees(declared: Continuous, lower: float | None, upper: float | None) -> bool:
    return lower in (None, declared.lower) and upper in (None, declared.upper)


def _target_conflicts(
    declared: FeatureSpec | None, bounds: tuple[float | None, float | None], task: str | None
) -> list[str]:
    is_given = bounds != (None, None)
    if task == "classification" and (is_given or isinstance(declared, Continuous)):
        return [
            "The target of a classifier has class labels, not bounds. Declare "
            "Schema(..., target=Categorical([label, ...]))."
        ]
    if task == "regression" and isinstance(declared, Categorical):
        return [
            "The target of a regression has bounds, not class labels. Declare "
            "Schema(..., target=Continuous(lower, upper))."
        ]
    disagrees = is_given and (
        isinstance(declared, Categorical)
        or (isinstance(declared, Continuous) and not _agrees(declared, *bounds))
    )
    if not disagrees:
        return []
    return [
        f"For the target the schema says {declared!r}, and privacy_target_min or "
        "privacy_target_max say something else. Remove them, or make them agree."
    ]


def _undeclared_message(
    undeclared: Mapping[str, str],
    target: FeatureSpec | None,
    bounds: tuple[float | None, float | None],
    task: str | None,
) -> str:
    missing = [f"column {name!r}" for name in undeclared]
    lines = "".join(f"    {name!r}: {mend},\n" for name, mend in undeclared.items())
    example = f"Schema({{\n{lines}}}" if lines else "Schema({...}"
    if target is None:
        missing.append("the target")
        mends = {
            "classification": "Categorical([label, ...])",
            "regression": _Argument("continuous", None, *bounds).mend(),
        }
        shown = [mends[task]] if task else list(mends.values())
        if bounds != (None, None):
            shown = [mends["regression"]]
        example += f", target={' or '.join(shown)}"
    return (
        f"Not declared: {', '.join(missing)}. Types, bounds and levels must be public knowledge; "
        f"they are not read off the data. Declare them, such as\nschema={example})"
    )
