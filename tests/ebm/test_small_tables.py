"""Tables too small for curves: a fit is as good as their mean, which the noise allows to know."""

import numpy as np
import pandas as pd
import pytest

from interpret_dp import Continuous, DPExplainableBoostingRegressor, PrivacyWarning, Schema

NAMES = [f"x{k}" for k in range(6)]
SCHEMA = Schema(dict.fromkeys(NAMES, Continuous(-5, 5)), target=Continuous(-5, 5))


def errors(n_rows, epsilon, seed):
    """Return the RMSE of a fit on new rows, and that of the training rows' exact mean."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(np.clip(rng.normal(size=(n_rows + 2_000, 6)), -5, 5), columns=NAMES)
    score = np.sin(1.5 * X["x0"]) + 0.7 * X["x1"] - 0.6 * X["x2"].abs()
    y = np.clip(score + 0.7 * rng.normal(size=len(X)), -5, 5)
    model = DPExplainableBoostingRegressor(
        epsilon=epsilon, delta=1e-6, schema=SCHEMA, random_state=seed
    )
    with pytest.warns(PrivacyWarning, match="random_state"):
        model.fit(X[:n_rows], y[:n_rows])
    new = y[n_rows:]
    squares = [(model.predict(X[n_rows:]) - new) ** 2, (y[:n_rows].mean() - new) ** 2]
    return [float(np.sqrt(np.mean(square))) for square in squares]


def test_a_fit_is_hardly_worse_than_the_mean():
    """Of 20 tables the mean is 1.06 times as large; from sums of leaves it was 1.67 times."""
    ours, constant = np.mean([errors(300, 0.1, seed) for seed in range(6)], axis=0)
    assert ours < 1.15 * constant
