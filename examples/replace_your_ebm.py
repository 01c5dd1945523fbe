"""Replace interpret's EBM by a private one, compare both, and save the private one.

``python replace_your_ebm.py`` takes some seconds; from_schema_to_card.ipynb shows the
curves of both.
"""

import warnings

from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.metrics import roc_auc_score

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger
from interpret_dp.datasets import make_cohort

# interpret says that its figures do not show the missing bin; ours do.
warnings.filterwarnings("ignore", "Missing values detected")

patients = make_cohort(20_000)  # simulated
X, y = patients.X[:16_000], patients.y[:16_000]
X_test, y_test = patients.X[16_000:], patients.y[16_000:]

ledger = PrivacyLedger("sqlite:///privacy.db")
ledger.create_budget("patients", epsilon=4, delta=1e-6)
models = {
    "EBM, not private": ExplainableBoostingClassifier(interactions=0, outer_bags=4),
    "private, epsilon 1": DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, schema=patients.schema, ledger=ledger, dataset="patients"
    ),
}
for name, model in models.items():
    risk = model.fit(X, y).predict_proba(X_test)[:, 1]
    print(f"{name}: area under the ROC curve {roc_auc_score(y_test == 'yes', risk):.4f}")
private = models["private, epsilon 1"]
private.save("model.json")
print(private.guarantee_.sentence)
print(f"Left of the budget: epsilon {ledger.remaining('patients'):.3f}")
