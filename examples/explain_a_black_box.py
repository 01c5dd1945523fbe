"""Explain single predictions of a random forest, with noise that hides the patients behind them.

``python explain_a_black_box.py`` takes some seconds; explain_a_black_box.ipynb shows the figures.
"""

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from interpret_dp import DPLimeTabular, PrivacyLedger
from interpret_dp.datasets import make_cohort

past, patients = make_cohort(6_000, seed=1), make_cohort(20_000)  # simulated
words = make_column_selector(dtype_exclude="number")
black_box = make_pipeline(
    make_column_transformer((OneHotEncoder(), words), remainder="passthrough"),
    RandomForestClassifier(100, max_depth=8, random_state=0),
).fit(past.X, past.y)

ledger = PrivacyLedger("sqlite:///privacy.db")
ledger.create_budget("patients", epsilon=3, delta=1e-6)
explainer = DPLimeTabular(
    black_box,
    patients.X,
    schema=patients.schema,
    epsilon=0.1,
    delta=1e-6,
    ledger=ledger,
    dataset="patients",
    trained_on_same_people=False,
)
print(explainer.guarantee_.sentence)
explanation = explainer.explain_local(make_cohort(2, seed=7).X)  # free, as all after it
row = explanation.data(0)
for name, effect, error in zip(row["names"], row["scores"], row["standard_errors"], strict=True):
    print(f"{name}: {effect:+.3f} ± {error:.3f}")
print(explanation.privacy.line)
