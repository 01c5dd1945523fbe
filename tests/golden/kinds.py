"""Tables, models and declarations that the golden files were made from.

Version 0.1 wrote the files, once: the history of this folder has the script. A later version of the
package must read them and predict the same, so they are never written again.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, PrivacyUnit, Schema
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.ebm.tasks import machine

FILES = Path(__file__).parent / "files"
FEATURES = {
    "age": Continuous(0, 100),
    "dose": Continuous(0, 1000, scale="log"),
    "stage": Categorical(["early", "late", "last"], ordered=True),
    "city": Categorical(["Bonn", "Lyon", 3]),
}
QUICK = {"epsilon": 20.0, "delta": 1e-6, "max_rounds": 6, "max_bins": 8}


def rows(n_rows=800, seed=0):
    """Return rows of the four features, some cells missing and some undeclared."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 100, n_rows).round(1)
    age[rng.uniform(size=n_rows) < 0.05] = np.nan
    stages, cities = ["early", "late", "last", None], ["Bonn", "Lyon", 3, "Oslo"]
    return pd.DataFrame(
        {
            "age": age,
            "dose": np.exp(rng.uniform(0, 6, n_rows)).round(2),
            "stage": pd.Series(rng.choice(np.array(stages, dtype=object), n_rows), dtype=object),
            "city": pd.Series([cities[at] for at in rng.integers(4, size=n_rows)], dtype=object),
        }
    )


def score(X, seed=1):
    """Return a score of each row, with noise."""
    late = (X["stage"] == "late").to_numpy()
    age = X["age"].fillna(50).to_numpy() / 50
    noise = np.random.default_rng(seed).normal(scale=0.3, size=len(X))
    return age - 1 + late * (age - 0.5) + 0.2 * np.log(X["dose"].to_numpy()) - 0.6 + noise


def additive(kind):
    """Fit an additive model of a kind, with frozen noise."""
    X = rows()
    latent = score(X)
    targets = {
        "pairs": ([0, 1], (latent > 0).astype(int), {"interactions": [("age", "stage")]}),
        "classes": ([1, 2, 3], np.digitize(latent, [-0.3, 0.6]) + 1, {}),
        "monotone": (None, latent, {"monotone_constraints": [1, 0, 0, 0]}),
        "poisson": (None, np.floor(np.exp(latent)), {"objective": "poisson_deviance"}),
        "gamma": (None, np.exp(latent) + 0.1, {"objective": "gamma_deviance"}),
    }
    levels, y, options = targets[kind]
    if levels:
        target = Categorical(levels)
    else:
        target = Continuous(*{"poisson": (0, 20), "gamma": (0.1, 20)}.get(kind, (-4, 6)))
    model = machine(Schema(FEATURES, target=target), **QUICK, **options)
    with use_randomness(SeededRandomness(7)):
        return model.fit(X, y)


def maps(kind):
    """Fit locally linear maps of a table or of images, with frozen noise."""
    rng = np.random.default_rng(3)
    common = {"epsilon": 8.0, "delta": 1e-5, "epochs": 3}
    if kind == "images":
        images = rng.integers(0, 256, size=(300, 8, 8))
        labels = (images[:, :4].mean(axis=(1, 2)) > 127).astype(int)
        schema = Schema(default=Continuous(0, 255), target=Categorical([0, 1]))
        model = DPLocallyLinearClassifier(schema=schema, projection_dim=10, n_maps=2, **common)
        table = images
    else:
        table = rows()
        labels = np.digitize(score(table), [-0.3, 0.6])
        schema = Schema(FEATURES, target=Categorical([0, 1, 2]))
        model = DPLocallyLinearClassifier(schema=schema, n_maps=2, **common)
    with use_randomness(SeededRandomness(8)):
        return model.fit(table, labels)


def predictions(model, X):
    """Return what a model says of rows."""
    found = {"predict": model.predict(X).tolist()}
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(X).tolist()
    return found


def asked(name):
    """Return the rows whose predictions are stored beside a model."""
    if name == "maps_images":
        return np.random.default_rng(4).integers(0, 256, size=(12, 8, 8))
    return rows(40, seed=5)


def schemas():
    """Return schemas that together use every kind of declaration."""
    return {
        "schema_full": Schema(
            FEATURES, target=Categorical(["no", "yes"]), unit=PrivacyUnit("patient", max_rows=4)
        ),
        "schema_default": Schema(default=Continuous(-1, 1), target=Continuous(-5, 5)),
    }
