"""Declarations in ``feature_types`` and ``privacy_bounds`` of interpret's DP-EBMs, by column."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interpret_dp._validate import check_real, check_sequence, describe_argument, did_you_mean
from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    Integer,
    bounds_integers,
)

__all__ = ["ColumnArgument", "column_arguments", "read_bound"]

_TYPES_ALLOWED = "'continuous', 'nominal', 'ordinal', 'auto', None or a list of ordered levels"
_BOUNDS_ALLOWED = "an array of (minimum, maximum), one a column, or a mapping to such pairs"


@dataclass(frozen=True)
class ColumnArgument:
    """The declaration of one column in feature_types and privacy_bounds.

    Attributes
    ----------
    kind : {"continuous", "nominal", "ordinal", None}
        The type, None if it is left open.
    levels : tuple of str, shape (n_levels,), or None
        The ordered levels, if they are listed.
    lower, upper : float or None
        The bounds, each None if it is not given.
    is_integer : bool
        Whether the numbers are known to be whole, and the bounds are.
    """

    kind: str | None = None
    levels: tuple[str, ...] | None = None
    lower: float | None = None
    upper: float | None = None
    is_integer: bool = False

    @property
    def has_bounds(self) -> bool:
        """Whether at least one bound is given."""
        return self.lower is not None or self.upper is not None

    def spec(self) -> FeatureSpec | None:
        """Return the declaration, or None if a piece of it is missing."""
        if self.levels is not None:
            return Categorical(self.levels, ordered=True)
        # Bounds make a column continuous where no type is given.
        if self.kind in ("continuous", None) and self.lower is not None and self.upper is not None:
            return (Integer if self.is_integer else Continuous)(self.lower, self.upper)
        return None

    def example(self) -> str:
        """Return a declaration for a schema, with the missing piece as a blank."""
        if self.kind == "continuous" or self.has_bounds:
            lower = "lower" if self.lower is None else f"{self.lower:g}"
            upper = "upper" if self.upper is None else f"{self.upper:g}"
            return f"{'Integer' if self.is_integer else 'Continuous'}({lower}, {upper})"
        ordered = ", ordered=True" if self.kind == "ordinal" else ""
        levels = f"Categorical([level, ...]{ordered})"
        return levels if self.kind else f"Continuous(lower, upper) or {levels}"


def column_arguments(
    names: Sequence[str],
    feature_types: Sequence[Any] | None,
    privacy_bounds: Any,
    integers: Collection[str] = (),
) -> Iterator[tuple[str, ColumnArgument, bool]]:
    """Yield each column's name, its arguments, and whether its bounds are a row of an array.

    Parameters
    ----------
    names : sequence of str, shape (n_features,)
        Columns of the table.
    feature_types, privacy_bounds
        As :func:`schema_from_arguments` takes them.
    integers : collection of str
        Columns whose dtype is one of integers. A type that is given says more.

    Raises
    ------
    TypeError, ValueError
        If an argument has another form.
    """
    allowed = f"one type for each of the {len(names)} columns: {_TYPES_ALLOWED}"
    types: list[Any] = [None] * len(names)
    if feature_types is not None:
        types = check_sequence("feature_types", feature_types, allowed)
    if len(types) != len(names):
        description = describe_argument("feature_types", feature_types)
        raise ValueError(f"{description}; it must be a list of {allowed}.")
    pairs, is_array = _pairs(names, privacy_bounds)
    for name, given in zip(names, types, strict=True):
        kind, levels = _type(name, given)
        bounds = pairs.get(name, (None, None))
        is_integer = name in integers and kind is None and bounds_integers(*bounds)
        yield name, ColumnArgument(kind, levels, *bounds, is_integer), is_array


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
    is_array = not isinstance(privacy_bounds, Mapping)
    if is_array:
        # An array without dimensions has the method, and no length.
        has_length = hasattr(privacy_bounds, "__len__") and getattr(privacy_bounds, "ndim", 1) > 0
        if isinstance(privacy_bounds, str | bytes) or not has_length:
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
        f"to {len(names) - 1}.{did_you_mean(key, names)}"
    )


def _pair(name: str, given: Any) -> tuple[float | None, float | None]:
    try:
        lower, upper = given
    except (TypeError, ValueError):
        raise ValueError(
            f"privacy_bounds of column {name!r} is {given!r}; it must be a pair (minimum, "
            "maximum), such as (0, 100)."
        ) from None
    role = f"privacy_bounds of column {name!r}"
    return read_bound(f"The minimum in {role}", lower), read_bound(f"The maximum in {role}", upper)


def read_bound(role: str, bound: Any) -> float | None:
    """Return a bound, or None if it is None or NaN; TypeError or ValueError for anything else."""
    if bound is None or (isinstance(bound, numbers.Real) and bound != bound):
        return None
    return check_real(role, bound)
