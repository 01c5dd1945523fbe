"""A promise says what it rests on where nothing else would show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpret_dp import (
    DPExplainableBoostingClassifier,
    DPLimeTabular,
    PrivacyLedger,
    private_metrics,
)
from interpret_dp.datasets import make_cohort

FORGOTTEN = "charged to the memory of a process"


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_charge_that_is_kept_nowhere_is_an_assumption(tmp_path: Path, is_stored: bool) -> None:
    patients = make_cohort(200)
    ledger = PrivacyLedger(f"sqlite:///{tmp_path}/privacy.db") if is_stored else None
    if ledger is not None:
        ledger.create_budget("patients", 10, 1e-5)
    account = {"ledger": ledger, "dataset": "patients"}
    model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=1, **account)
    model.fit(patients.X, patients.y)
    metrics = private_metrics(
        {"model": model}, patients.X, patients.y, epsilon=1, delta=1e-6, **account
    )
    explainer = DPLimeTabular(
        lambda X: X["age"].to_numpy() / 100,
        patients.X,
        schema=patients.schema,
        output_bounds=(0, 1),
        trained_on_same_people=False,
        **account,
    )
    for guarantee in (model.guarantee_, metrics.guarantee, explainer.guarantee_):
        assert (FORGOTTEN in str(guarantee)) is not is_stored
        assert "learned nothing from these rows" in str(guarantee)
