"""Fit times until a readmission: hazard ratios, curves of survival, and figures by ward.

``python survival_of_patients.py`` takes some seconds.
"""

import numpy as np
import pandas as pd

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
    private_metrics,
)

rng = np.random.default_rng(0)  # simulated patients
patients = pd.DataFrame(
    {
        "age": np.round(40 + 50 * rng.beta(2, 2, 20_000)),
        "creatinine": np.round(rng.lognormal(0.1, 0.3, 20_000), 2).clip(0.3, 5),
        "ward": rng.choice(["north", "south", "west"], 20_000, p=[0.6, 0.3, 0.1]),
    }
)
hazard = np.exp(0.03 * (patients.age - 65) + 0.9 * (patients.creatinine > 1.5))
readmitted = 400 * rng.weibull(1.3, 20_000) / hazard ** (1 / 1.3)  # days; hazards rise
seen = rng.uniform(30, 365, 20_000)  # until the study ended
times = pd.Series(np.where(readmitted <= seen, readmitted, -seen))  # negative: not readmitted

schema = Schema(
    {
        "age": Continuous(18, 100),
        "creatinine": Continuous(0.2, 6, scale="log"),
        "ward": Categorical(["north", "south", "west"]),
    },
    target=Continuous(-365, 365),
)
ledger = PrivacyLedger.in_memory()
ledger.create_budget("readmissions", epsilon=2, delta=1e-6)
account = {"ledger": ledger, "dataset": "readmissions"}
model = DPExplainableBoostingRegressor(
    objective="survival_cox", epsilon=1.0, delta=1e-6, schema=schema, **account
).fit(patients, times)
print(model.summary())

someone = pd.DataFrame({"age": [50, 80], "creatinine": [1.0, 2.0], "ward": ["north", "south"]})
curves = model.predict_survival(someone, times=[90, 180, 365])
print("hazard ratios:", model.predict(someone).round(2).tolist())
print("not readmitted by day 90, 180, 365:", curves.survival.round(2).tolist())

metrics = private_metrics(
    {"hazards": model}, patients, times, epsilon=0.8, delta=1e-7, by="ward", **account
)
print(metrics.table.round(3).to_string())
print(metrics.by_group[["group", "n_rows", "event_share"]].round(3).to_string(index=False))
print(f"epsilon left: {ledger.remaining('readmissions'):.2f}")
