"""Rows of two features and a target of each task, and models of them."""

import numpy as np
import pandas as pd

import interpret_dp as dp

FEATURES = {"x": dp.Continuous(0, 1), "g": dp.Categorical(["a", "b"])}
TARGETS = {
    "binary": dp.Categorical(["no", "yes"]),
    "multiclass": dp.Categorical(["high", "low", "mid"]),
    "regression": dp.Continuous(0, 10),
}


def table(task, n_rows=4000, seed=3):
    """Return features, and a target that depends on both."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(size=n_rows), "g": rng.choice(["a", "b"], n_rows)})
    score = 2 * X["x"] + (X["g"] == "b") + 0.4 * rng.normal(size=n_rows)
    if task == "regression":
        return X, 2 * score + 1
    if task == "binary":
        return X, np.where(score > 1.5, "yes", "no")
    return X, np.select([score < 1, score > 2], ["low", "high"], "mid")


def model_of(task, **parameters):
    """Return an unfitted model, which is charged to a ledger of its own."""
    settings = {
        **{"schema": dp.Schema(FEATURES, target=TARGETS[task]), "epsilon": 20.0, "n_jobs": 1},
        **{"ledger": dp.PrivacyLedger.in_memory(), "dataset": "d"},
    }
    return type(machine(settings["schema"]))(**settings | parameters)


def machine(schema, **parameters):
    """Return an unfitted model of what a schema declares as the target."""
    is_number = isinstance(schema.target, dp.Continuous)
    kind = dp.DPExplainableBoostingRegressor if is_number else dp.DPExplainableBoostingClassifier
    return kind(schema=schema, **parameters)
