"""What notebooks show of a ledger."""

from __future__ import annotations

import pytest

from interpret_dp import PrivacyLedger
from tests.ledger.requests import reserve_epsilon


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")


def test_a_ledger_is_a_table_of_budgets(ledger):
    ledger.create_budget("<b>ward", 4, 1e-6)
    ledger.create_budget("other", 2, 1e-6)
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "<b>ward"))
    page = ledger._repr_html_()
    assert page.count("<tr>") == 3
    assert "&lt;b&gt;ward" in page
    assert "<b>ward" not in page
    assert "epsilon 4 at delta 1e-06, of which 1e-07 for selections" in page
    assert ">epsilon 1<" in page
    assert ">epsilon 3.798; delta 1e-07 left for selections<" in page
    assert ledger.head in page


def test_a_ledger_without_a_limit_says_so():
    ledger = PrivacyLedger.in_memory()
    assert "Nothing was declared or spent yet" in ledger._repr_html_()
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "ward"))
    page = ledger._repr_html_()
    assert "no limit declared" in page
    assert "mu " in page


def test_an_expired_budget_has_nothing_left(ledger, monkeypatch):
    ledger.create_budget("ward", 4, 1e-6, expires="2999-12-31")
    monkeypatch.setattr("interpret_dp.ledger.core.account.Budget.has_expired", True)
    assert "nothing: expired" in ledger._repr_html_()


def test_a_ledger_that_cannot_be_read_says_so(ledger, tmp_path):
    import pickle

    ledger.create_budget("ward", 4, 1e-6)
    moved = pickle.loads(pickle.dumps(ledger))
    (tmp_path / "privacy.db").unlink()
    assert "cannot be read now" in moved._repr_html_()
