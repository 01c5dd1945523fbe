"""The constructor arguments of interpret's DP-EBMs, read as a schema."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from interpret_dp._validate import check_choice, name_faults
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.column_arguments import ColumnArgument, column_arguments, read_bound
from interpret_dp.schema.declarations import Categorical, Continuous, FeatureSpec
from interpret_dp.schema.schema import Schema

__all__ = ["ReadArguments", "read_arguments", "schema_from_arguments"]

_TASKS = ("classification", "regression")


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
        If an argument contradicts another or the schema, the schema seems to be that of another
        table, or anything is left undeclared. All faults of one sort are named at once.
    TypeError, ValueError
        If an argument is not of the form above.

    Notes
    -----
    No row is looked at. interpret reads undeclared types, levels and bounds off the data and
    warns; here they are an error, as the promise would not hold.
    """
    read = read_arguments(
        names, feature_types, privacy_bounds, target_min, target_max, schema, task=task
    )
    if read.undeclared or read.target is None:
        raise SchemaError(_undeclared_message(read, task))
    return Schema(read.features, target=read.target)


@dataclass(frozen=True)
class ReadArguments:
    """Declarations of a schema and the arguments, and the gaps they leave.

    Attributes
    ----------
    features : dict of str to Continuous or Categorical
        The columns that are declared in full.
    undeclared : dict of str to ColumnArgument
        The others, with what is said about them.
    target : Continuous, Categorical or None
    target_bounds : tuple of float or None
        Bounds of the target as arguments gave them, each None if it is not given.
    """

    features: dict[str, FeatureSpec]
    undeclared: dict[str, ColumnArgument]
    target: FeatureSpec | None
    target_bounds: tuple[float | None, float | None]


def read_arguments(
    names: Sequence[str],
    feature_types: Sequence[Any] | None = None,
    privacy_bounds: Any = None,
    target_min: float | None = None,
    target_max: float | None = None,
    schema: Schema | None = None,
    *,
    task: str | None = None,
    integers: Collection[str] = (),
) -> ReadArguments:
    """Read what :func:`schema_from_arguments` takes, and leave open what is not declared.

    Of the columns ``integers`` the dtype is one of integers.

    Raises
    ------
    SchemaError, TypeError, ValueError
        As :func:`schema_from_arguments`, except that nothing needs to be declared.
    """
    if task is not None:
        check_choice("task", task, _TASKS)
    if schema is not None and not isinstance(schema, Schema):
        raise TypeError(
            f"schema is of type {type(schema).__name__}; it must be a Schema. Read one from a "
            "file with Schema.load(path)."
        )
    base = Schema() if schema is None else schema
    faults: list[str] = []
    features: dict[str, FeatureSpec] = {}
    undeclared: dict[str, ColumnArgument] = {}
    for name, argument, is_row in column_arguments(names, feature_types, privacy_bounds, integers):
        declared = base.features.get(name, base.default)
        declared_argument = _without_array_row(argument, declared) if is_row else argument
        faults += _conflicts(name, declared_argument, declared)
        spec = declared or _argued(name, declared_argument)
        if spec is None:
            undeclared[name] = declared_argument
        else:
            features[name] = spec
    by_default = base.default is not None
    unlisted = [n for n in names if n not in base.features and (by_default or n in undeclared)]
    faults += name_faults(base.features, names, unlisted)
    bounds = (
        read_bound("privacy_target_min", target_min),
        read_bound("privacy_target_max", target_max),
    )
    faults += _target_conflicts(base.target, bounds, task)
    if faults:
        raise SchemaError(" ".join(faults))
    target = base.target or _argued("the target", ColumnArgument("continuous", None, *bounds))
    return ReadArguments(features, undeclared, target, bounds)


def _without_array_row(argument: ColumnArgument, declared: FeatureSpec | None) -> ColumnArgument:
    # An array of bounds cannot leave a column out.
    if argument.kind in ("nominal", "ordinal") or isinstance(declared, Categorical):
        return ColumnArgument(argument.kind, argument.levels)
    return argument


def _argued(name: str, argument: ColumnArgument) -> FeatureSpec | None:
    try:
        return argument.spec()
    except SchemaError as error:
        raise SchemaError(f"The arguments for {name!r} do not fit together: {error}") from error


def _conflicts(name: str, argument: ColumnArgument, declared: FeatureSpec | None) -> list[str]:
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
    if task == "classification" and isinstance(declared, Continuous):
        return [
            f"The target is declared as {declared!r}; that of a classifier has class labels, not "
            "bounds. Declare Schema(..., target=Categorical([label, ...]))."
        ]
    if task == "classification" and is_given:
        return [
            f"The target has the bounds {bounds}; that of a classifier has class labels, not "
            "bounds. Remove privacy_target_min and privacy_target_max, and declare "
            "Schema(..., target=Categorical([label, ...]))."
        ]
    if task == "regression" and isinstance(declared, Categorical):
        return [
            f"The target is declared as {declared!r}; that of a regression has bounds, not class "
            "labels. Declare Schema(..., target=Continuous(lower, upper))."
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


def _undeclared_message(read: ReadArguments, task: str | None) -> str:
    missing = [f"column {name!r}" for name in read.undeclared]
    lines = "".join(
        f"    {name!r}: {argument.example()},\n" for name, argument in read.undeclared.items()
    )
    example = f"Schema({{\n{lines}}}" if lines else "Schema({...}"
    if read.target is None:
        missing.append("the target")
        mends = {
            "classification": "Categorical([label, ...])",
            "regression": ColumnArgument("continuous", None, *read.target_bounds).example(),
        }
        shown = [mends[task]] if task else list(mends.values())
        if read.target_bounds != (None, None):
            shown = [mends["regression"]]
        example += f", target={' or '.join(shown)}"
    return (
        f"Not declared: {', '.join(missing)}. Types, bounds and levels must be public knowledge; "
        f"they are not read off the data. Declare them, such as\nschema={example})"
    )
