"""Officers decide on budgets, analysts spend, and the log says who did what."""

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger, RoleError
from tests.ledger.requests import reserve, unchanged
from tests.ledger.team import acting_as


@pytest.fixture
def ledger():
    """Return a ledger with a budget, an officer anna and nobody else."""
    ledger = PrivacyLedger.in_memory()
    with acting_as("anna"):
        ledger.create_budget("ward", 2.0, 1e-6)
        ledger.appoint("anna", "officer", reason="board, 3 May")
    return ledger


ACTS = {
    "declare a budget": lambda ledger: ledger.create_budget("clinic", 1.0, 1e-6),
    "raise a budget": lambda ledger: ledger.raise_budget("ward", 3.0, 1e-6, reason="x"),
    "renew a budget": lambda ledger: ledger.renew_budget("ward", reason="x"),
    "link data sets": lambda ledger: ledger.link("copy", to="ward", reason="x"),
    "decide which requests": lambda ledger: ledger.require_approval("ward", reason="x"),
    "appoint anybody": lambda ledger: ledger.appoint("ben", "officer"),
    "dismiss anybody": lambda ledger: ledger.dismiss("anna"),
}


@pytest.mark.parametrize("act", ACTS)
def test_only_officers_decide(ledger, act):
    with (
        unchanged(ledger),
        acting_as("ben"),
        pytest.raises(RoleError, match="officers are 'anna'") as refused,
    ):
        ACTS[act](ledger)
    assert act in str(refused.value)
    assert (refused.value.user, refused.value.allowed) == ("ben", ("anna",))


def test_when_the_last_analyst_leaves_spending_is_not_open_again(ledger):
    with acting_as("anna"):
        ledger.appoint("carla", "analyst")
        ledger.dismiss("carla", reason="left")
    with acting_as("carla"), pytest.raises(RoleError, match="nobody now"):
        reserve(ledger, "ward")


def test_the_last_officer_stays(ledger):
    with acting_as("anna"):
        for leave in (lambda: ledger.dismiss("anna"), lambda: ledger.appoint("anna", "analyst")):
            with pytest.raises(LedgerError, match="the only officer"):
                leave()
        ledger.appoint("ben", "officer")
        ledger.dismiss("anna")
    assert ledger.roles().officers == ("ben",)


def test_odd_appointments_are_refused(ledger):
    with acting_as("anna"):
        with pytest.raises(LedgerError, match="'anna' is officer already"):
            ledger.appoint("anna", "officer")
        with pytest.raises(LedgerError, match=r"'dora' has no role\. Officers: 'anna'"):
            ledger.dismiss("dora")
        with pytest.raises(ValueError, match="role is 'king'"):
            ledger.appoint("dora", "king")
        with pytest.raises(ValueError, match="user is ''"):
            ledger.appoint("", "officer")
    with pytest.raises(LedgerError, match="no officer who could appoint analysts"):
        PrivacyLedger.in_memory().appoint("carla", "analyst")
