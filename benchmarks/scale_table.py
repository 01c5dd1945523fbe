"""The table of the benchmarks of speed: a fixed generator of any number of rows and features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.problems import Problem
from interpret_dp import Categorical, Continuous, Schema

__all__ = ["N_FEATURES", "make_problem"]

Floats = NDArray[np.float64]

N_FEATURES = 14

_CHUNK = 2**18  # rows at a time: the scores of a chunk stay in the cache
_LEVEL = -1.7  # log-odds of the average row; about a quarter of the labels is 1

# In turn; every seventh feature says nothing.
_CURVES: tuple[Callable[[Floats], Floats], ...] = (
    lambda x: 1.6 / (1.0 + np.exp((0.6 - x) / 0.08)) - 0.65,
    lambda x: 4.0 * (x - 0.5) ** 2 - 0.33,
    lambda x: 1.2 * (x - 0.5),
    lambda x: 0.8 * (x > 0.7) - 0.24,
    lambda x: 0.5 * np.log1p(9.0 * x) - 0.78,
    lambda x: 0.5 * np.sin(2.0 * np.pi * x),
    np.zeros_like,
)


def make_problem(n_rows: int, n_features: int = N_FEATURES, *, seed: int = 0) -> Problem:
    """Draw rows: features uniform on [0, 1), labels by a logistic model of known curves.

    Parameters
    ----------
    n_rows, n_features : int
    seed : int
        Tables of different seeds have the same law.
    """
    rng = np.random.default_rng(seed)
    # One block of memory, a column after another, as a DataFrame has it.
    cells = np.empty((n_rows, n_features), order="F")
    labels = np.empty(n_rows, dtype=np.int64)
    for start in range(0, n_rows, _CHUNK):
        rows = slice(start, min(start + _CHUNK, n_rows))
        count = rows.stop - rows.start
        score = np.full(count, _LEVEL)
        for feature in range(n_features):
            drawn = rng.random(count)
            cells[rows, feature] = drawn
            score += _CURVES[feature % len(_CURVES)](drawn)
        labels[rows] = rng.random(count) < 1.0 / (1.0 + np.exp(-score))
    names = [f"x{feature}" for feature in range(n_features)]
    schema = Schema({name: Continuous(0, 1) for name in names}, target=Categorical([0, 1]))
    return Problem(
        "scale",
        pd.DataFrame(cells, columns=names, copy=False),
        pd.Series(labels),
        schema,
        "classification",
    )
