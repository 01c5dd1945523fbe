"""Private models that need older libraries than the package: diffprivlib and DP-XGBoost.

``make .venv-peers/.ready`` gives them an environment, in which this file runs as a script. So it
imports nothing of the package.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ask", "main"]

_PYTHON = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
_TREES = 20
_SHARE = 0.1  # of the rows in a tree, drawn anew for each


def ask(given: dict[str, Any], *methods: str) -> dict[str, Any]:
    """Return what some methods predict, in their own environment; see :func:`main`.

    Raises
    ------
    FileNotFoundError
        If there is no such environment.
    """
    if not _PYTHON.exists():
        raise FileNotFoundError(f"There is no {_PYTHON}. `make .venv-peers/.ready` makes it.")
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **given)
        subprocess.run([_PYTHON, __file__, source, answer, *methods], check=True)
        with np.load(answer) as arrays:
            return dict(arrays)


def main(source: str, target: str, *methods: str) -> None:
    """Fit some methods at each epsilon, and write what they predict.

    Parameters
    ----------
    source : str
        Arrays ``train`` (n_rows, n_inputs), ``target`` (n_rows,), ``test`` and ``epsilons``. For
        "linear" and "boosted" inputs are scaled to 0 to 1 by public bounds, and there are the
        numbers ``low`` and ``high`` (bounds of the target; of classes 0 and 1) and ``classifies``.
        For "classes" targets are positions, and there are ``strengths`` of regularisation,
        ``norm`` (public bound on a row's length) and ``n_classes``.
    target : str
        Gets (n_epsilons, n_test) predictions of "linear" and "boosted", and of "classes"
        probabilities (n_epsilons, n_strengths, n_test, n_classes).
    *methods : {"linear", "boosted", "classes"}
    """
    # A noisy objective may have no minimum near by; the weights at the last step are as private.
    warnings.simplefilter("ignore")
    with np.load(source) as arrays:
        given = {name: arrays[name] for name in arrays}
    fits = {"linear": _linear, "boosted": _boosted, "classes": _classes}
    found = {
        name: np.stack([fits[name](given, float(epsilon)) for epsilon in given["epsilons"]])
        for name in methods
    }
    np.savez(target, **found)


def _classes(given: dict[str, Any], epsilon: float) -> Any:
    """Return probabilities of diffprivlib's logistic regression at each strength."""
    from diffprivlib.models import LogisticRegression

    shape = (len(given["strengths"]), len(given["test"]), int(given["n_classes"]))
    found, norm = np.zeros(shape), float(given["norm"])
    for one, strength in zip(found, given["strengths"].tolist(), strict=True):
        model = LogisticRegression(epsilon=epsilon, data_norm=norm, C=strength, max_iter=1_000)
        # A class without rows has no column: its probability stays 0.
        model.fit(given["train"], given["target"])
        one[:, model.classes_] = model.predict_proba(given["test"])
    return found


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
