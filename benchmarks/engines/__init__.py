"""What is compared: one module per engine, all with the same two functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems import Problem

__all__ = ["ENGINES", "Engine", "load_engine"]

ENGINES = ("ours", "reference", "classic", "nonprivate", "constant")


def _unchanged(X: pd.DataFrame) -> pd.DataFrame:
    return X


@dataclass(frozen=True)
class Engine:
    """One way to fit an additive model.

    Attributes
    ----------
    name : str
    is_private : bool
        False: epsilon has no effect, so one fit per split is enough.
    version : str
        Changes whenever a measurement would have to be repeated.
    build : callable
        ``build(problem, epsilon, delta)`` returns an estimator with the engine's defaults.
    prepare : callable
        Rows in the form that the engine takes, outside the time that is measured.
    """

    name: str
    is_private: bool
    version: str
    build: Callable[[Problem, float, float], Any]
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = _unchanged

    def predict(self, problem: Problem, model: Any, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return the probability of the second class, or the predicted target; (n_rows,)."""
        if problem.task == "regression":
            return np.asarray(model.predict(X), dtype=np.float64)
        return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)


def load_engine(name: str) -> Engine:
    """Import an engine; only now, so that its import time can be measured.

    Parameters
    ----------
    name : str
        One of ``ENGINES``.
    """
    engine: Engine = import_module(f"benchmarks.engines.{name}").ENGINE
    return engine
