"""Repair the curves of a private model by what is known, and write down who did what and why.

``python edit_a_model.py`` takes some seconds; from_schema_to_card.ipynb has the editor.
"""

from interpret_dp import DPExplainableBoostingClassifier
from interpret_dp.datasets import make_cohort

patients = make_cohort(6_000)  # simulated
model = DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6, schema=patients.schema)
model.fit(patients.X, patients.y)

session = model.edit(author="Ada")
print(session.verdict("age", "increasing"))
session.make_monotone("age", increasing=True)
session.smooth("systolic_bp")
session.commit("Risk rises with age; blood pressure has no steps.")
session.save("edits.json")  # an audit trail without a row

edited = session.model
edited.save("model.json")
print(edited.explain_global().privacy.line)
print(session.diff())
