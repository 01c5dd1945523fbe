"""Two names for the same people share one budget, what was spent before included."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from interpret_dp.exceptions import BudgetExceededError, LedgerError
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import reserve, reserve_epsilon


@pytest.fixture
def ledger() -> PrivacyLedger:
    """Return two accounts of mu 0.1 and 0.2, and a budget that is too small for neither."""
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("ward", 2.0, 1e-6)
    ledger.create_budget("clinic", 3.0, 1e-6, delta_x=1e-7)
    ledger.commit(reserve(ledger, "ward", mu=0.1))
    ledger.commit(reserve(ledger, "clinic", mu=0.2))
    return ledger


def test_linked_names_share_past_and_future(ledger: PrivacyLedger) -> None:
    budget = ledger.link("clinic", to="ward", reason="same people, ticket 9")
    assert budget.epsilon == 2.0
    assert budget == ledger.budget("clinic") == ledger.budget("ward")
    for name in ("ward", "clinic"):
        assert ledger.spent(name).mu == pytest.approx(math.hypot(0.1, 0.2), rel=1e-12)
        assert ledger.spent(name).dataset == name
    ledger.commit(reserve(ledger, "clinic", mu=0.2))
    ledger.commit(reserve(ledger, "ward", mu=0.1))
    expected = math.sqrt(2 * 0.1**2 + 2 * 0.2**2)
    assert ledger.spent("ward").mu == ledger.spent("clinic").mu == pytest.approx(expected)
    assert ledger.remaining("ward") == ledger.remaining("clinic")
    ledger.commit(reserve_epsilon(ledger, ledger.remaining("clinic"), 1e-6, "clinic"))
    with pytest.raises(BudgetExceededError):
        reserve_epsilon(ledger, 0.1, 1e-6, "ward")


def test_the_filter_counts_both_names_exactly(ledger: PrivacyLedger) -> None:
    budget = ledger.link("clinic", to="ward", reason="same people")
    used = Fraction(0.1) ** 2 + Fraction(0.2) ** 2
    fits = math.sqrt(Fraction(budget.mu) ** 2 - used)
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "clinic", mu=fits * (1 + 1e-9))
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "ward", mu=fits * (1 + 1e-9))
    ledger.commit(reserve(ledger, "ward", mu=fits * (1 - 1e-9)))
    assert ledger.spent("clinic").mu <= budget.mu


def test_the_act_is_in_both_accounts_and_the_chain(ledger: PrivacyLedger) -> None:
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


def test_three_names_and_later_acts(ledger: PrivacyLedger) -> None:
    ledger.link("new name", to="clinic", reason="a copy")
    ledger.link("clinic", to="ward", reason="same people")
    ledger.commit(reserve(ledger, "new name", mu=0.3))
    assert ledger.spent("ward").mu == pytest.approx(math.sqrt(0.01 + 0.04 + 0.09))
    ledger.raise_budget("new name", 4.0, 1e-6, reason="more")
    assert ledger.budget("ward") == ledger.budget("clinic")
    assert ledger.budget("ward").epsilon == 4.0  # type: ignore[union-attr]
    assert set(ledger.to_dict()["datasets"][0]["names"]) == {"ward", "clinic", "new name"}
    with pytest.raises(LedgerError, match="has a budget already"):
        ledger.create_budget("new name", 1.0, 1e-6)


def test_a_reservation_from_before_is_closed_after(ledger: PrivacyLedger) -> None:
    running = reserve(ledger, "clinic", mu=0.35)
    ledger.link("clinic", to="ward", reason="same people")
    assert ledger.spent("ward").open_reservations == 1
    ledger.commit(running, charged_mu=0.3)
    assert ledger.spent("ward").mu == pytest.approx(math.sqrt(0.01 + 0.04 + 0.09))


@pytest.mark.parametrize("what", ["mu", "delta"])
def test_what_overspends_together_is_refused(ledger: PrivacyLedger, what: str) -> None:
    if what == "mu":
        ledger.commit(reserve_epsilon(ledger, 1.8, 1e-6, "ward"))
        ledger.commit(reserve_epsilon(ledger, 2.5, 1e-6, "clinic"))
    else:
        ledger.commit(reserve(ledger, "clinic", mu=0.1, delta=5e-8))
    before = ledger.head
    with pytest.raises(LedgerError, match=r"have spent epsilon .* together.*Nothing was changed"):
        ledger.link("clinic", to="ward", reason="same people")
    assert ledger.head == before
    assert ledger.spent("ward").mu < ledger.spent("clinic").mu
    ledger.link("clinic", to="ward", reason="same people", accept_overspent=True)
    assert ledger.entries()[-1]["context"]["overspent"] is True
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "ward", mu=1e-3)
    ledger.raise_budget("ward", 9.0, 1e-6, reason="after the link", delta_x=2e-7)
    reserve(ledger, "ward", mu=1e-3)


def test_a_link_that_fits_is_not_noted_as_overspent(ledger: PrivacyLedger) -> None:
    ledger.link("clinic", to="ward", reason="same people", accept_overspent=True)
    assert "overspent" not in ledger.entries()[-1]["context"]


def test_promises_of_different_kinds_cannot_be_linked(ledger: PrivacyLedger) -> None:
    ledger.create_budget("people", 1.0, 1e-6, unit="patient_id")
    before = ledger.head
    for pair in (("people", "ward"), ("ward", "people")):
        with pytest.raises(LedgerError, match=r"cannot be linked.*do not add up"):
            ledger.link(pair[0], to=pair[1], reason="same people", accept_overspent=True)
    assert ledger.head == before


def test_whom_either_protects_stays_protected() -> None:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("people", 1.0, 1e-6, unit="patient_id")
    ledger.create_budget("ward", 1.0, 1e-6)
    ledger.link("people", to="ward", reason="same people")
    with pytest.raises(LedgerError, match="do not add up"):
        reserve(ledger, "ward")


def test_odd_links_are_refused(ledger: PrivacyLedger) -> None:
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


def test_renewed_accounts_count_what_they_counted(ledger: PrivacyLedger) -> None:
    """Words about the people of one name do not release what was spent on the other."""
    ledger.renew_budget("clinic", reason="2027", new_people="all are new")
    ledger.link("clinic", to="ward", reason="one ward since 2027")
    spent = ledger.spent("ward")
    assert spent.mu == pytest.approx(0.1)
    assert spent.ever.mu == pytest.approx(math.hypot(0.1, 0.2))


def test_approvals_of_either_are_needed_for_both(ledger: PrivacyLedger) -> None:
    ledger.require_approval("clinic", above=1.0, reason="board")
    ledger.require_approval("ward", above=1.5, reason="board")
    ledger.link("clinic", to="ward", reason="same people")
    assert ledger.to_dict("ward")["datasets"][0]["approval_above"] == 1.0
