"""Simulated rows with an interaction that curves cannot show."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from interpret_dp import Categorical, Continuous, Schema

FEATURES = {
    "age": Continuous(0, 100),
    "bmi": Continuous(10, 50),
    "dose": Continuous(0, 1),
    "site": Categorical(["a", "b", "c"]),
    "grade": Categorical([1, 2, 3], ordered=True),
}
LABELS = Schema(FEATURES, target=Categorical(["no", "yes"]))
COSTS = Schema(FEATURES, target=Continuous(-6, 6))


def problem(n_rows, seed=0):
    """Return rows in which age and bmi interact, and dose with site; both targets, and scores."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n_rows),
            "bmi": rng.uniform(10, 50, n_rows),
            "dose": rng.uniform(0, 1, n_rows),
            "site": rng.choice(["a", "b", "c"], n_rows),
            "grade": rng.choice([1, 2, 3], n_rows),
        }
    )
    scores = interaction(X["age"], X["bmi"]) + (X["dose"] - 0.5)
    scores += np.where(X["site"] == "a", 1.0, -0.5) * np.sign(X["dose"] - 0.5) * 0.4
    scores = scores.to_numpy()
    labels = np.where(rng.uniform(size=n_rows) < 1 / (1 + np.exp(-scores)), "yes", "no")
    costs = scores + rng.normal(0, 0.5, n_rows)
    return SimpleNamespace(X=X, labels=labels, costs=costs, scores=scores)


def interaction(age, bmi):
    """Return the true effect of age and bmi together, without a main effect of either."""
    return 8.0 * (age / 100 - 0.5) * ((bmi - 10) / 40 - 0.5)
