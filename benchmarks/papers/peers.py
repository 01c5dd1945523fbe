"""What another interpreter runs for the papers' tables: diffprivlib and DP-XGBoost.

Their lower versions of scikit-learn and numpy are not the package's, so nothing of it is imported,
and `make .venv-peers/.ready` gives them an environment. It runs as

    .venv-peers/bin/python benchmarks/papers/peers.py IN.npz OUT.npz linear boosted
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

__all__ = ["main"]

_TREES = 20
_SHARE = 0.1  # of the rows in a tree, drawn anew for each


def main(source: str, target: str, *methods: str) -> None:
    """Fit each peer at each epsilon, and write the predictions.

    Parameters
    ----------
    source : str
        Arrays ``train`` (n_rows, n_inputs), scaled to 0 to 1 by public bounds, ``target``,
        ``test``, ``epsilons``, and the numbers ``low`` and ``high`` (bounds of the target; of
        classes 0 and 1) and ``classifies``.
    target : str
        Gets each method's predictions, shape (n_epsilons, n_test).
    *methods : {"linear", "boosted"}
    """
    warnings.simplefilter("ignore")
    with np.load(source) as arrays:
        given = {name: arrays[name] for name in arrays}
    fits = {"linear": _linear, "boosted": _boosted}
    found = {
        name: np.stack([fits[name](given, float(epsilon)) for epsilon in given["epsilons"]])
        for name in methods
    }
    np.savez(target, **found)


def _linear(given: dict[str, Any], epsilon: float) -> Any:
    """Return predictions of diffprivlib's linear or logistic regression, with its defaults."""
    from diffprivlib.models import LinearRegression, LogisticRegression

    X, y = given["train"], given["target"]
    if given["classifies"]:
        norm = float(np.sqrt(X.shape[1]))
        fitted = LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=1_000).fit(X, y)
        return fitted.predict_proba(given["test"])[:, 1]
    bounds = float(given["low"]), float(given["high"])
    fitted = LinearRegression(epsilon=epsilon, bounds_X=(0.0, 1.0), bounds_y=bounds).fit(X, y)
    return fitted.predict(given["test"])


def _boosted(given: dict[str, Any], epsilon: float) -> Any:
    """Return predictions of DP-XGBoost: 20 trees, each of a tenth of the rows."""
    import dp_xgboost

    X, low, width = given["train"], float(given["low"]), float(given["high"] - given["low"])
    limits = {"feature_min": np.zeros(X.shape[1]), "feature_max": np.ones(X.shape[1])}
    # Sampling amplifies: a tree may spend more than its share (Grislain and Gonzalvez, 2021).
    of_tree = float(np.log1p(np.expm1(epsilon / _TREES) / _SHARE))
    settings = {
        "objective": "binary:logistic" if given["classifies"] else "reg:squarederror",
        "tree_method": "approxDP",
        "dp_epsilon_per_tree": of_tree,
        "subsample": _SHARE,
        "max_depth": 6,
        "learning_rate": 0.3,
        "lambda": 0.1,
        "base_score": 0.5,
        "nthread": 1,
        "verbosity": 0,
    }
    rows = dp_xgboost.DMatrix(X, (given["target"] - low) / width, **limits)
    fitted = dp_xgboost.train(settings, rows, _TREES)
    return low + width * fitted.predict(dp_xgboost.DMatrix(given["test"], **limits))


if __name__ == "__main__":
    main(*sys.argv[1:])
