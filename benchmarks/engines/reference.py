"""InterpretML's own DP-EBM with its defaults, given the same bounds and feature types."""

from __future__ import annotations

import functools
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

from benchmarks.engines import Engine
from interpret_dp import Continuous

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems import Problem

__all__ = ["ENGINE", "engine"]


def _build(problem: Problem, epsilon: float, delta: float, **settings: Any) -> Any:
    names = list(problem.X.columns)
    specs = problem.schema.resolve(names)
    public: dict[str, Any] = {
        # It takes levels from the data whatever is declared, so "nominal" is all it can be told.
        "feature_types": [
            "continuous" if isinstance(spec, Continuous) else "nominal" for spec in specs
        ],
        "privacy_bounds": {
            name: (spec.lower, spec.upper)
            for name, spec in zip(names, specs, strict=True)
            if isinstance(spec, Continuous)
        },
        **settings,
    }
    if problem.task == "classification":
        return DPExplainableBoostingClassifier(epsilon=epsilon, delta=delta, **public)
    target = problem.schema.target
    if not isinstance(target, Continuous):
        raise TypeError(f"The target of a regression is {target!r}; it must be Continuous.")
    return DPExplainableBoostingRegressor(
        epsilon=epsilon,
        delta=delta,
        privacy_target_min=target.lower,
        privacy_target_max=target.upper,
        **public,
    )


def _prepare(X: pd.DataFrame) -> pd.DataFrame:
    """Make a missing text a level: the reference refuses missing values, which adult has."""
    filled = X.copy()
    for name in X.columns[X.isna().any()]:
        filled[name] = X[name].fillna("(missing)")
    return filled


def engine(name: str, **settings: str) -> Engine:
    """Return the engine with some parameters that are not its defaults."""
    build = functools.partial(_build, **settings)
    return Engine(name, True, f"interpret-core {version('interpret-core')}", build, _prepare)


ENGINE = engine("reference")
