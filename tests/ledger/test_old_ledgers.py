"""A ledger of the first version opens, verifies and goes on: `old_ledger.sql` is a dump of one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import reserve

HEAD = "65d1b2f3ce5349652683c852bd4482afd5d0863bc04a47e41fde12055183ba24"
PATIENTS = "add_or_remove_one: one 'patient_id'"


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    dump = Path(__file__).with_name("old_ledger.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "privacy.db")) as connection:
        connection.executescript(dump)
    return PrivacyLedger(f"sqlite:///{tmp_path}/privacy.db")


def test_it_verifies_to_the_head_that_it_had(ledger: PrivacyLedger) -> None:
    assert ledger.verify(HEAD) == ledger.head == HEAD


def test_it_says_what_it_said(ledger: PrivacyLedger) -> None:
    spent = ledger.spent("ward")
    assert (spent.mu, spent.epsilon) == (0.18708286933869708, 0.7763619696888928)
    assert (spent.open_reservations, spent.n_requests) == (1, 3)
    budget = ledger.budget("ward")
    assert budget is not None
    assert (budget.epsilon, budget.purpose, budget.protected) == (3.0, "more", PATIENTS)
    assert (budget.expires, ledger.roles().officers) == (None, ())
    report = ledger.report("ward")
    assert report["state"].tolist() == ["committed", "cancelled", "committed", "open"]
    assert set(report["user"]) == {""}


def test_it_goes_on(ledger: PrivacyLedger) -> None:
    ledger.commit(reserve(ledger, "ward", protected=PATIENTS))
    ledger.link("ward since May", to="ward", reason="renamed")
    ledger.renew_budget("clinic", reason="x", expires="2099-12-31")
    assert ledger.verify(HEAD) == ledger.head
    assert ledger.spent("ward since May").n_requests == 4
