"""Declare what is public about a table of visits, and protect people who came several times.

``python declare_a_schema.py`` takes some seconds; from_schema_to_card.ipynb goes on from a
schema to a published card.
"""

import numpy as np
from sklearn.metrics import roc_auc_score

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    Integer,
    PrivacyUnit,
    Schema,
)
from interpret_dp.datasets import make_cohort

schema = Schema(
    {
        "age": Integer(18, 95),
        "systolic_bp": Integer(70, 220),
        "bmi": Continuous(12, 60),
        "length_of_stay": Integer(0, 90, scale="log"),  # many short stays, few long ones
        "creatinine": Continuous(0.2, 12, scale="log"),
        "prior_admissions": Integer(0, 20),
        "sex": Categorical(["female", "male", "diverse"]),
        "admission_type": Categorical(["elective", "urgent", "emergency"], ordered=True),
        "smoker": Categorical(["never", "former", "current"]),
        "insurance": Categorical(["public", "private", "none"]),
    },
    target=Categorical(["no", "yes"]),
    unit=PrivacyUnit("patient_id", max_rows=2),
)
schema.save("patients.toml")  # a text file, to be reviewed like code

people = make_cohort(6_000)  # simulated; each person gets one to six visits
visits_of = np.random.default_rng(0).integers(1, 7, len(people.X))
visits = people.X.loc[people.X.index.repeat(visits_of)].reset_index(names="patient_id")
came_back = people.y.loc[visits["patient_id"]].reset_index(drop=True)

print(schema.check(visits, came_back))  # exact counts: for the curator's eyes only
new = make_cohort(10_000, seed=9)
for max_rows in (1, 2, 6):  # visits of a person say nearly the same here: few are enough
    unit = PrivacyUnit("patient_id", max_rows=max_rows)
    declared = Schema(schema.features, target=schema.target, unit=unit)
    model = DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6, schema=declared)
    risk = model.fit(visits, came_back).predict_proba(new.X)[:, 1]
    print(f"{max_rows} rows a person: area under the ROC curve {roc_auc_score(new.y, risk):.4f}")
print(model.guarantee_.sentence)
