"""Fit counts with a rising curve, and a classifier with a pair of features that is chosen.

``python counts_and_constraints.py`` takes some seconds; counts_and_constraints.ipynb measures
what each of them gains.
"""

import numpy as np
import pandas as pd

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Integer,
    Schema,
)

rng = np.random.default_rng(0)  # simulated drivers
drivers = pd.DataFrame(
    {
        "age": np.round(18 + 60 * rng.beta(2, 2.5, 20_000)),
        "power": np.clip(np.round(40 + rng.gamma(3, 25, 20_000)), 40, 300),
        "mileage": np.round(rng.gamma(2, 8, 20_000), 1),
    }
)
together = (40 - drivers.age) / 20 * (drivers.power - 115) / 60
rate = np.exp(-1.9 + 0.35 * np.log1p(drivers.mileage) + 0.8 * together.clip(-1, 1))
claims = pd.Series(rng.poisson(rate))

features = {
    "age": Integer(18, 80),
    "power": Integer(40, 300),
    "mileage": Continuous(0, 100, scale="log"),
}
counts = DPExplainableBoostingRegressor(
    epsilon=1.0,
    delta=1e-6,
    schema=Schema(features, target=Integer(0, 8)),  # more claims in a year count as 8
    objective="poisson_deviance",
    monotone_constraints={"mileage": 1},
).fit(drivers, claims)
print("claims a year:", counts.predict(drivers[:3]).round(3), "true:", rate[:3].round(3).tolist())
mileage = counts.to_tables()["mileage"]
print(mileage[["lower", "upper", "score", "standard_deviation"]].round(3).to_string(index=False))

classifier = DPExplainableBoostingClassifier(
    epsilon=1.0,
    delta=1e-6,
    schema=Schema(features, target=Categorical(["none", "some"])),
    interactions=1,  # one pair, chosen out of the same budget
).fit(drivers, claims.gt(0).map({False: "none", True: "some"}))
print("terms:", ", ".join(classifier.term_names_))
