"""Cards of local linear explanations inside interpret's dashboards: figure, note and own cost."""

from __future__ import annotations

import dataclasses

import pytest

from tests.explanation.influences import SOURCES, adult_explanation, explainer_spend, guarantee
from tests.ledger.requests import reserve
from tests.ui.dash.client import text_of


def test_models_and_explainers_share_the_full_dashboard(shown, open_app):
    client = open_app([shown.total, adult_explanation(), shown.local])
    rows = client.pane("local-plots-container-0", local_model_drop=[1], local_instance_idx_0=[2, 0])
    assert "This explanation cost no privacy" in text_of(rows)
    assert "This explanation cost epsilon 0.1" in text_of(rows)
    overall = client.pane("local-overall-plot-container-0", local_model_drop=[1])
    assert "The explainer's whole budget" in text_of(overall)
    tab = text_of(client.privacy_tab())
    assert "Data set: loans" in tab
    assert "so does each new answer of PaperLimeTabular" in tab


def test_an_explainers_request_is_found_in_its_account(open_app, tmp_path):
    from interpret_dp import PrivacyLedger
    from interpret_dp.accounting import GdpPair
    from interpret_dp.explanation.spend import QueryBudget

    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("loans", epsilon=2, delta=1e-5)
    reservation = reserve(ledger, "loans", mu=0.05, explainer="DPLimeTabular")
    promise = guarantee(ledger_head=ledger.commit(reservation))
    queries = QueryBudget(GdpPair(0.05), 0.9, 50)
    spend = explainer_spend(SOURCES, guarantee=promise, account=ledger, queries=queries)
    spend = spend.as_of_now()
    # Only what was answered is charged so far, not the whole budget.
    assert spend.model_share == pytest.approx(spend.budget.spent_share)
    client = open_app([adult_explanation(privacy=spend)])
    tab = text_of(client.privacy_tab())
    assert "DPLimeTabular" in tab
    assert "models of this dashboard" in tab
    card = client.pane("local-overall-plot-container-0", local_model_drop=[0])
    assert "this explainer 100 %" not in text_of(card)
    assert "Room for about 50 more queries." in text_of(card)
    assert dataclasses.replace(spend, queries=None).model_share >= spend.model_share
