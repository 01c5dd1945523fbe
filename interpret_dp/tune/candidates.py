"""The settings among which a search may choose: public, and drawn before a row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, ParameterSampler

__all__ = ["TUNABLE", "candidates_of", "with_settings"]

TUNABLE = ("bin_budget_frac", "learning_rate", "max_bins", "max_leaves", "max_rounds")
"""Parameters that change neither the promise nor what is declared, nor which columns are used."""

_DRAWS = 1000


def candidates_of(
    distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]], public: np.random.Generator
) -> tuple[dict[str, Any], ...]:
    """Return the settings, each of which every run is as likely to get.

    Parameters
    ----------
    distributions : mapping, or sequence of mappings
        As scikit-learn's RandomizedSearchCV takes them. Lists alone give their whole grid;
        otherwise 1,000 settings are drawn.
    public : numpy.random.Generator

    Raises
    ------
    TypeError, ValueError
        If it is of another form, empty, or names a parameter that a search may not change.
    """
    parts = [distributions] if isinstance(distributions, Mapping) else distributions
    if not isinstance(parts, list | tuple) or not all(isinstance(p, Mapping) for p in parts):
        raise TypeError(
            f"param_distributions is {distributions!r}; it must be a mapping from names of "
            "parameters to lists or distributions, such as {'max_leaves': [2, 4, 8]}, or a list "
            "of such mappings."
        )
    names = sorted({str(name) for part in parts for name in part})
    if not names:
        raise ValueError(
            "param_distributions names no parameter; a search needs something to choose from, such "
            "as {'max_leaves': [2, 4, 8]}. Without a choice, fit the estimator itself."
        )
    others = [name for name in names if name not in TUNABLE]
    if others:
        raise ValueError(
            f"param_distributions has {', '.join(map(repr, others))}; a search may change only "
            f"{', '.join(map(repr, TUNABLE))}. All others belong to the promise or to the "
            "declaration, which must be the same in every run: set them on the estimator."
        )
    is_grid = all(not hasattr(value, "rvs") for part in parts for value in part.values())
    if is_grid:
        return tuple(dict(settings) for settings in ParameterGrid(parts))
    seed = int(public.integers(2**32, dtype=np.uint64))
    drawn = ParameterSampler(parts, n_iter=_DRAWS, random_state=seed)
    return tuple(dict(settings) for settings in drawn)


def with_settings(estimator: Any, settings: Mapping[str, Any]) -> Any:
    """Return an unfitted copy of an estimator with other settings."""
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in settings.items()
    }
    return clone(estimator).set_params(**plain)
