"""InterpretML's EBM without privacy and without pairs: the additive model to aim for."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

from benchmarks.engines import Engine

if TYPE_CHECKING:
    from benchmarks.problems import Problem

__all__ = ["ENGINE"]


# It speaks of its figures, which nobody draws here.
warnings.filterwarnings("ignore", message="Missing values detected", category=UserWarning)


def _build(problem: Problem, epsilon: float, delta: float) -> Any:
    estimator = (
        ExplainableBoostingClassifier
        if problem.task == "classification"
        else ExplainableBoostingRegressor
    )
    # All processors, since nobody compares its time; a fixed seed, since no privacy rests on it.
    return estimator(interactions=0, n_jobs=-1, random_state=0)


ENGINE = Engine("nonprivate", False, f"interpret-core {version('interpret-core')}", _build)
