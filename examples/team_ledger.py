"""One ledger for a team: a budget, purposes, an approval, a refusal, two names, and a check.

``python team_ledger.py`` uses a file. With a PostgreSQL server, each acts under a login:

    python team_ledger.py --officer postgresql://anna@host/privacy \
        --analyst postgresql://ben@host/privacy

docs/ledger_team.md explains each step.
"""

import argparse
import datetime

from interpret_dp import BudgetExceededError, DPExplainableBoostingClassifier, PrivacyLedger
from interpret_dp.datasets import make_cohort
from interpret_dp.ledger import ApprovalNeededError

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--officer", default="sqlite:///privacy.db", help="URL of the ledger")
parser.add_argument("--analyst", default="sqlite:///privacy.db", help="URL of the same ledger")
arguments = parser.parse_args()
officer, analyst = PrivacyLedger(arguments.officer), PrivacyLedger(arguments.analyst)
patients = make_cohort(4_000)  # simulated


def fit(purpose, epsilon, dataset="patients"):
    """Fit a model as the analyst does, for a purpose; say what it cost."""
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=1e-6,
        schema=patients.schema,
        ledger=analyst.for_purpose(purpose),
        dataset=dataset,
    ).fit(patients.X, patients.y)
    print(f"{purpose}: epsilon {epsilon:g} spent, {analyst.remaining(dataset):.3f} left")
    return model


# The officer decides.
in_a_year = datetime.date.today() + datetime.timedelta(days=365)
officer.create_budget("patients", epsilon=2.5, delta=1e-6, expires=in_a_year.isoformat())
officer.require_approval("patients", above=1.5, reason="board: large requests are looked at")
officer.link("patients-copy", to="patients", reason="the same patients under another name")

# The analyst spends.
model = fit("risk model", 1.0)
try:
    fit("annual report", 2.0)
except ApprovalNeededError as error:
    print(error)
    officer.approve(error.number)
fit("annual report", 2.0)
try:
    fit("one more look", 1.5, dataset="patients-copy")
except BudgetExceededError as error:
    print(error)

# Anybody checks.
officer.verify(head=model.guarantee_.ledger_head)
print("The log is intact, and holds the charge of the first model.")
print(officer.report()[["dataset", "user", "purpose", "asked_epsilon", "state"]].to_string())
