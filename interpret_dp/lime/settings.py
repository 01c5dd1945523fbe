"""What a user chooses of an explainer, checked before a row is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interpret_dp._validate import check_choice, check_int, check_real, check_sequence
from interpret_dp.exceptions import SchemaError
from interpret_dp.lime.features import LocalFeatures
from interpret_dp.lime.weighting import WeightFunction, exponential_weight, stable_weight
from interpret_dp.schema import Categorical, Continuous, Schema

__all__ = [
    "METHODS",
    "Settings",
    "check_types",
    "checked_flag",
    "checked_schema",
    "checked_settings",
    "output_bounds_of",
]

METHODS = (
    "auto",
    "statistics",
    "interactive",
    "adaptive",
    "enhanced",
    "non_interactive",
    "surrogate",
)
_TYPES = {"continuous": Continuous, "nominal": Categorical, "ordinal": Categorical}
_WEIGHTS: Mapping[str, WeightFunction] = {
    "stable": stable_weight,
    "exponential": exponential_weight(),
}


@dataclass(frozen=True)
class Settings:
    """Checked choices of an explainer; public.

    Attributes
    ----------
    epsilon, delta : float
        Of everything that the explainer ever releases.
    per_query : float or None
        Epsilon, at ``delta``, of one fully computed explanation.
    method : str
    weight : callable
    c : float
    steps : int
    reuse_distance : float or None
    n_rows : float or None
    centered : bool
        Whether explanations are of how outputs differ from that at the query.
    verbose : bool
    """

    epsilon: float
    delta: float
    per_query: float | None
    method: str
    weight: WeightFunction
    c: float
    steps: int
    reuse_distance: float | None
    n_rows: float | None
    centered: bool
    verbose: bool


def checked_settings(
    *,
    epsilon: Any,
    delta: Any,
    per_query: Any,
    method: Any,
    weight: Any,
    c: Any,
    steps: Any,
    reuse_distance: Any,
    n_rows: Any,
    centered: Any,
    verbose: Any,
) -> Settings:
    """Return the settings, or raise.

    Raises
    ------
    TypeError, ValueError
        If one of them is out of range.
    """
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True, mend="1 is a usual start.")
    delta = check_real(
        "delta",
        delta,
        low=0,
        high=1,
        low_open=True,
        high_open=True,
        mend="Choose it well below one over the number of people, such as 1e-6.",
    )
    if per_query is not None:
        per_query = check_real(
            "per_query",
            per_query,
            low=0,
            high=epsilon,
            low_open=True,
            mend="It is the epsilon of one explanation, a part of the whole; None leaves room for "
            "a hundred.",
        )
    if reuse_distance is not None:
        reuse_distance = check_real(
            "reuse_distance",
            reuse_distance,
            low=0,
            high=1,
            mend="1 is the largest distance of two rows; 0 takes nothing over.",
        )
    if n_rows is not None:
        n_rows = check_real(
            "n_rows", n_rows, low=1, mend="It is the public number of rows; None if it is private."
        )
    return Settings(
        epsilon=epsilon,
        delta=delta,
        per_query=per_query,
        method=check_choice("method", method, METHODS),
        weight=_weight(weight),
        c=check_real("c", c, low=2.0**-10, high=2.0**10, mend="0.5 is a usual choice."),
        steps=check_int(
            "steps", steps, low=8, mend="300 gradients a query are what the paper takes."
        ),
        reuse_distance=reuse_distance,
        n_rows=n_rows,
        centered=checked_flag("centered", centered),
        verbose=checked_flag("verbose", verbose),
    )


def _weight(weight: Any) -> WeightFunction:
    if callable(weight):
        return weight  # type: ignore[no-any-return]
    name = check_choice(
        "weight",
        weight,
        _WEIGHTS,
        mend="A function from distances to weights will do, too: it is cut to what c allows.",
    )
    return _WEIGHTS[name]


def checked_flag(name: str, value: Any) -> bool:
    """Return a flag, or raise TypeError."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be True or False.")
    return bool(value)


def checked_schema(schema: Any) -> Schema:
    """Return the schema, or raise SchemaError and say how to write one."""
    if isinstance(schema, Schema):
        return schema
    raise SchemaError(
        f"schema is {schema!r} ({type(schema).__name__}); explanations need the public bounds of "
        "numbers and the levels of categories, since nothing may be read off private rows. Write "
        "schema=Schema({'age': Integer(17, 90), 'job': Categorical([...])}), or start from "
        "Schema.draft(public_table)."
    )


def output_bounds_of(output_bounds: Any, schema: Schema, model: Any) -> Continuous | None:
    """Return the bounds of a regression's output; None where outputs are probabilities."""
    if output_bounds is not None:
        if isinstance(output_bounds, Continuous):
            return output_bounds
        if not isinstance(output_bounds, tuple | list) or len(output_bounds) != 2:
            raise TypeError(
                f"output_bounds is {output_bounds!r} ({type(output_bounds).__name__}); it must be "
                "(lower, upper), public bounds of what the model returns."
            )
        return Continuous(*output_bounds)
    is_regression = not hasattr(model, "predict_proba") and isinstance(schema.target, Continuous)
    return schema.target if is_regression else None  # type: ignore[return-value]


def check_types(feature_types: Sequence[str | None] | None, features: LocalFeatures) -> None:
    """Raise unless interpret's names of the features' types agree with the schema."""
    if feature_types is None:
        return
    feature_types = check_sequence("feature_types", feature_types, "one type for each feature")
    if len(feature_types) != len(features.names):
        raise ValueError(
            f"feature_types has {len(feature_types)} items; there are {len(features.names)} "
            "features. Give one for each, or leave it None: the schema decides."
        )
    for name, spec, given in zip(features.names, features.specs, feature_types, strict=True):
        if given is None:
            continue
        kind = _TYPES[check_choice(f"The type of feature {name!r}", given, _TYPES)]
        if not isinstance(spec, kind):
            raise SchemaError(
                f"feature_types says that {name!r} is {given!r}, and the schema declares it as "
                f"{type(spec).__name__}. Mend one of the two, or leave feature_types None."
            )
