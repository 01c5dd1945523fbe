"""Two names for the same people share one budget, what was spent before included."""

import pytest

from interpret_dp import LedgerError
from tests.ledger.requests import budgeted, reserve, unchanged


@pytest.fixture
def ledger():
    """Return two accounts of mu 0.1 and 0.2, and a budget that is too small for neither."""
    ledger = budgeted("ward", 2.0, 1e-6, delta_x=0.0)
    ledger.create_budget("clinic", 3.0, 1e-6, delta_x=1e-7)
    ledger.commit(reserve(ledger, "ward", mu=0.1))
    ledger.commit(reserve(ledger, "clinic", mu=0.2))
    return ledger


def test_the_act_is_in_both_accounts_and_the_chain(ledger):
    ledger.link("clinic", to="ward", reason="same people")
    first, second = ledger.entries()[-2:]
    assert (first["dataset"], first["context"]["to"]) == ("clinic", "ward")
    assert (second["dataset"], second["context"]["with"]) == ("ward", "clinic")
    assert ledger.verify() == ledger.head
    (account,) = ledger.to_dict()["datasets"]
    assert (account["dataset"], account["names"]) == ("ward", ["ward", "clinic"])
    assert [request["dataset"] for request in account["requests"]] == ["ward", "clinic"]
    assert ledger.datasets() == ["clinic", "ward"]
    assert sorted(ledger.report("clinic")["dataset"]) == ["clinic", "ward"]


def test_promises_of_different_kinds_cannot_be_linked(ledger):
    ledger.create_budget("people", 1.0, 1e-6, unit="patient_id")
    for pair in (("people", "ward"), ("ward", "people")):
        with (
            unchanged(ledger),
            pytest.raises(LedgerError, match=r"cannot be linked.*do not add up"),
        ):
            ledger.link(pair[0], to=pair[1], reason="same people", accept_overspent=True)


def test_odd_links_are_refused(ledger):
    with pytest.raises(LedgerError, match="share an account already"):
        ledger.link("ward", to="ward", reason="x")
    with pytest.raises(LedgerError, match="no budget for data set 'unknown'"):
        ledger.link("ward", to="unknown", reason="x")
    with pytest.raises(ValueError, match="reason is ''"):
        ledger.link("clinic", to="ward", reason="")
    ledger.link("clinic", to="ward", reason="x")
    for pair in (("clinic", "ward"), ("ward", "clinic")):
        with pytest.raises(LedgerError, match="share an account already"):
            ledger.link(pair[0], to=pair[1], reason="x")
    ledger.raise_budget("clinic", 4.0, 1e-6, reason="more")
    assert ledger.budget("ward") == ledger.budget("clinic")
    with pytest.raises(LedgerError, match="has another budget already"):
        ledger.create_budget("clinic", 1.0, 1e-6)
