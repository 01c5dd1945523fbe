"""The figures that go with every explanation."""

from __future__ import annotations

import json

import pytest

from interpret_dp import LedgerError, PrivacyLedger, PrivacySpend
from interpret_dp.accounting import Guarantee, gaussian_events_json, mu_of_budget


def guarantee(**changes) -> Guarantee:
    fields = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": mu_of_budget(1.0, 1e-6),
        "mechanism": "discrete <Gaussian>",
        "dataset": "trial",
    }
    return Guarantee(**(fields | changes))


@pytest.fixture
def ledger(tmp_path) -> PrivacyLedger:
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("trial", epsilon=2, delta=1e-5)
    mu = mu_of_budget(1.0, 1e-6)
    reservation = ledger.reserve(
        "trial",
        mu=mu,
        delta=0.0,
        event=gaussian_events_json([(mu, 1)]),
        epsilon=1.0,
        epsilon_delta=1e-6,
        explainer="test",
    )
    ledger.commit(reservation)
    return ledger


def test_figures_come_from_the_ledger_at_the_models_delta(ledger):
    spend = PrivacySpend.of_model(guarantee(), ledger)
    assert spend.explanation_epsilon == 0.0
    assert spend.total_epsilon == pytest.approx(1.0, rel=1e-6)
    assert spend.remaining_epsilon == pytest.approx(ledger.remaining("trial", 1e-6))
    assert spend.line.startswith("Privacy cost of this explanation: 0 · of the model: epsilon 1 ·")
    assert "left: 1." in spend.line
    assert "delta 0.000001" in spend.line or "delta 1e-06" in spend.line


def test_costs_are_rounded_up_and_what_is_left_down():
    spend = PrivacySpend(guarantee=guarantee(), total_epsilon=1.00001, remaining_epsilon=0.99999)
    assert "of all on this data set: 1.01" in spend.line
    assert "left: 0.999" in spend.line


def test_without_a_limit_nothing_is_claimed():
    ledger = PrivacyLedger.in_memory()
    spend = PrivacySpend.of_model(guarantee(), ledger)
    assert spend.remaining_epsilon is None
    assert "no limit declared" in spend.ledger
    assert "left" not in spend.line


def test_an_unreadable_ledger_does_not_stop_an_explanation(ledger, monkeypatch):
    def locked(dataset):
        raise LedgerError(f"The ledger of {dataset} is locked.")

    monkeypatch.setattr(ledger, "budget", locked)
    spend = PrivacySpend.of_model(guarantee(), ledger)
    assert spend.total_epsilon is None
    assert spend.ledger == "not readable now: The ledger of trial is locked."


def test_seeded_fits_say_that_they_promise_nothing():
    spend = PrivacySpend(guarantee=guarantee(tests_only=True))
    assert "no privacy promise" in spend.line


def test_documents_and_html_are_safe():
    spend = PrivacySpend(guarantee=guarantee(), ledger="<script>")
    assert json.loads(json.dumps(spend.to_dict()))["explanation_epsilon"] == 0.0
    page = spend._repr_html_()
    assert "<script>" not in page
    assert "discrete <Gaussian>" not in page
