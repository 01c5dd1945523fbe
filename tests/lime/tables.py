"""A table of simulated people, and models that answer row by row."""

import numpy as np
import pandas as pd

from interpret_dp import Categorical, Continuous, Schema
from tests.ledger.requests import budgeted

SITES = ["a", "b", "c"]
SCHEMA = Schema({"age": Continuous(0, 100), "site": Categorical(SITES), "noise": Continuous(-1, 1)})


def table(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n_rows),
            "site": rng.choice(SITES, n_rows),
            "noise": rng.uniform(-1, 1, n_rows),
        }
    )


def account(epsilon=4.0):
    """Return a ledger with a budget of these people."""
    return budgeted("people", epsilon, 1e-6, delta_x=0.0)


class Risk:
    """Rises with age, and is higher at site a."""

    classes_ = np.array(["low", "high"])

    def predict_proba(self, X):
        assert isinstance(X, pd.DataFrame)
        age = X["age"].fillna(50).clip(0, 100).to_numpy(dtype=float)
        high = 0.2 + 0.4 * age / 100 + 0.3 * (X["site"] == "a").to_numpy()
        return np.column_stack([1 - high, high])


class Three(Risk):
    classes_ = np.array(["x", "y", "z"])

    def predict_proba(self, X):
        high = super().predict_proba(X)[:, 1]
        return np.column_stack([0.5 * high, 0.5 * (1 - high), np.full(len(X), 0.5)])
