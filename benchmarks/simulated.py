"""Simulated problems on which rules are chosen, so that the public tables only confirm them.

Each is a kind of table that people have: small, wide, correlated, skewed, imbalanced, with missing
values. Nothing in them imitates one of the benchmark tables.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import Problem
from interpret_dp import PrivacyWarning, Schema

__all__ = ["SIMULATED", "simulate"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class _Recipe:
    """What kind of table is drawn.

    Attributes
    ----------
    n_rows, n_features : int
    active : float
        Share of the features that matter.
    correlation : float
        Share of a feature's variance, before its marginal is bent, that one of a few common
        factors explains.
    signal : float
        Regression: variance explained. Classification: standard deviation of the logit.
    base_rate : float or None
        Share of the second class; None for a regression.
    skewed_target : bool
        Whether the target is the exponential of a sum, and so has a long tail.
    missing : float
        Share of missing cells.
    """

    n_rows: int
    n_features: int
    active: float = 0.6
    correlation: float = 0.3
    signal: float = 0.6
    base_rate: float | None = None
    skewed_target: bool = False
    missing: float = 0.0


_RECIPES = {
    "small_regression": _Recipe(n_rows=3_000, n_features=8),
    "wide_regression": _Recipe(n_rows=15_000, n_features=40, active=0.4, signal=0.7),
    "skewed_regression": _Recipe(n_rows=20_000, n_features=12, skewed_target=True),
    "correlated_regression": _Recipe(
        n_rows=16_000, n_features=18, correlation=0.9, active=0.8, signal=0.9
    ),
    "large_regression": _Recipe(n_rows=150_000, n_features=12, missing=0.05),
    "small_classification": _Recipe(n_rows=3_000, n_features=8, signal=1.5, base_rate=0.4),
    "plain_classification": _Recipe(
        n_rows=30_000, n_features=14, signal=2.0, base_rate=0.25, missing=0.05
    ),
    "noisy_classification": _Recipe(
        n_rows=20_000, n_features=30, active=0.1, signal=1.0, base_rate=0.5
    ),
    "rare_classification": _Recipe(n_rows=100_000, n_features=15, signal=2.5, base_rate=0.005),
}
SIMULATED = tuple(_RECIPES)


def simulate(name: str, seed: int = 0) -> Problem:
    """Draw a problem.

    Parameters
    ----------
    name : str
        One of ``SIMULATED``.
    seed : int
        Every seed has other features, curves and rows.
    """
    import pandas as pd

    recipe = _RECIPES[name]
    rng = np.random.default_rng([seed, *name.encode()])
    n, k = recipe.n_rows, recipe.n_features
    factors = rng.standard_normal((n, 3))
    columns: dict[str, Any] = {}
    score = np.zeros(n)
    for feature in range(k):
        own, common = rng.standard_normal(n), factors[:, rng.integers(3)]
        raw = np.sqrt(1 - recipe.correlation) * own + np.sqrt(recipe.correlation) * common
        cells, effect = _feature(rng, raw)
        column: Any = cells
        if rng.random() < recipe.active:
            score += rng.gamma(1.0) ** 0.5 * effect
        if recipe.missing:
            column = pd.Series(column).where(rng.random(n) >= recipe.missing)
        columns[f"x{feature}"] = column
    y, task = _target(rng, recipe, score / max(float(score.std()), 1e-9))
    X = pd.DataFrame(columns)
    with warnings.catch_warnings():
        # These tables are public.
        warnings.simplefilter("ignore", PrivacyWarning)
        schema = Schema.draft(X.assign(target=y), target="target", task=task)
    return Problem(name, X, pd.Series(y, name="target"), schema, task)


def _feature(rng: np.random.Generator, raw: Floats) -> tuple[NDArray[Any], Floats]:
    """Bend a normal variable into a column, and draw its standardised effect."""
    kind = rng.choice(
        ["normal", "skewed", "zeros", "counts", "levels"], p=[0.4, 0.2, 0.1, 0.1, 0.2]
    )
    if kind == "levels":
        shares = 1.0 / np.arange(1, rng.integers(3, 25)) ** 1.2
        borders = np.quantile(raw, np.cumsum(shares / shares.sum())[:-1])
        level = np.searchsorted(borders, raw)
        effects = rng.standard_normal(len(shares))[level]
        return np.array([f"level {i:02d}" for i in range(len(shares))], dtype=object)[
            level
        ], _standard(effects)
    centre, width = rng.normal(scale=0.7), rng.uniform(0.1, 0.8)
    curves = {
        "line": raw,
        "wave": np.sin(rng.uniform(1.0, 3.5) * raw + rng.uniform(0, 6)),
        "step": (raw > centre).astype(float),
        "bend": np.maximum(raw - centre, 0.0),
        "bump": np.exp(-(((raw - centre) / width) ** 2)),
    }
    effects = curves[str(rng.choice(list(curves)))]
    if kind == "skewed":
        column = np.exp(1.2 * raw)
    elif kind == "zeros":
        column = np.maximum(raw - 1.0, 0.0) * 1000.0
        effects = np.maximum(raw - 1.0, 0.0) ** 0.5
    elif kind == "counts":
        column = np.floor(np.exp(0.7 * raw + 1.0))
    else:
        column = raw
    return column, _standard(effects)


def _standard(effects: Floats) -> Floats:
    standard: Floats = (effects - effects.mean()) / max(float(effects.std()), 1e-9)
    return standard


def _target(
    rng: np.random.Generator, recipe: _Recipe, score: Floats
) -> tuple[NDArray[Any], Literal["classification", "regression"]]:
    if recipe.base_rate is None:
        noise = rng.standard_normal(len(score))
        y = np.sqrt(recipe.signal) * score + np.sqrt(1 - recipe.signal) * noise
        return (np.exp(0.8 * y) if recipe.skewed_target else y), "regression"
    logit = recipe.signal * score
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        rate = float(np.mean(1.0 / (1.0 + np.exp(-logit - middle))))
        low, high = (middle, high) if rate < recipe.base_rate else (low, middle)
    draws = rng.random(len(score)) < 1.0 / (1.0 + np.exp(-logit - low))
    return np.where(draws, "yes", "no"), "classification"
