"""An account that protected rows by mistake protects people from an officer's act on."""

import math

import pytest

from interpret_dp.exceptions import BudgetExceededError, LedgerError
from interpret_dp.explanation.pages import render_ledger_page
from interpret_dp.ledger.chain import read_archive
from interpret_dp.ledger.folding import fold_all
from tests.ledger.requests import budgeted, reserve, unchanged

PERSON = "add_or_remove_one: one 'patient_id'"
CHANGE = {"unit": "patient_id", "reason": "one visit a month, for a year"}


def spend(ledger, dataset="ward", **changes):
    ledger.commit(reserve(ledger, dataset, **changes))


def test_earlier_charges_are_those_of_a_group_and_later_ones_add_up(ledger, tmp_path):
    ledger.create_budget("ward", epsilon=30, delta=1e-6, neighboring="add_or_remove_one")
    spend(ledger)
    open_one = reserve(ledger, "ward", mu=0.2)
    with pytest.raises(LedgerError, match=r"change_unit\('ward', unit=\.\.\., at_most=\.\.\."):
        reserve(ledger, "ward", protected=PERSON)
    spent = ledger.change_unit("ward", at_most=12, **CHANGE)
    assert spent.mu == pytest.approx(12 * math.hypot(0.1, 0.2), rel=1e-12)
    assert spent.mu >= 12 * math.hypot(0.1, 0.2)
    # What was running is closed in its own unit.
    ledger.commit(open_one, charged_mu=0.1)
    spend(ledger, protected=PERSON, mu=0.5)
    (account,) = ledger.to_dict("ward")["datasets"]
    read_anew = fold_all(read_archive(ledger.export(tmp_path / "ward.jsonl")))["ward"]
    assert read_anew.spent.mu == account["spent"]["mu"]
    assert account["spent"]["mu"] == pytest.approx(math.hypot(1.2, 1.2, 0.5), rel=1e-12)
    assert account["protected"] == ledger.budget("ward").protected == PERSON
    with pytest.raises(LedgerError, match="Losses of different promises do not add up"):
        reserve(ledger, "ward")
    first, second, last = account["requests"]
    assert first["conditions"] == second["conditions"]
    assert "did more than 12 units of (add_or_remove_one: one row)" in first["conditions"][0]
    assert not last["conditions"]


def test_without_a_bound_earlier_promises_do_not_hold(ledger):
    ledger.create_budget("ward", epsilon=3, delta=1e-6)
    spend(ledger, mu=0.3)
    assert ledger.change_unit("ward", **CHANGE).mu == pytest.approx(0.3)
    (account,) = ledger.to_dict("ward")["datasets"]
    assert account["requests"][0]["failures"]


def test_a_delta_of_selections_has_no_multiple(ledger):
    ledger.create_budget("ward", epsilon=3, delta=1e-6)
    spend(ledger, delta=1e-8)
    with unchanged(ledger), pytest.raises(LedgerError, match="no multiple of it is known"):
        ledger.change_unit("ward", at_most=2, **CHANGE)
    ledger.change_unit("ward", **CHANGE)


def test_what_is_overspent_in_the_new_unit_is_refused_unless_accepted(ledger):
    ledger.create_budget("ward", epsilon=1, delta=1e-6)
    spend(ledger, mu=0.2)
    with unchanged(ledger), pytest.raises(LedgerError, match="Raise the budget first"):
        ledger.change_unit("ward", at_most=12, **CHANGE)
    assert ledger.spent("ward").mu == pytest.approx(0.2)
    ledger.change_unit("ward", at_most=12, accept_overspent=True, **CHANGE)
    page = render_ledger_page(ledger.oversight("ward"))
    assert "protects (add_or_remove_one: one &#39;patient_id&#39;) from here on; at most 12" in page
    with pytest.raises(BudgetExceededError):
        reserve(ledger, "ward", protected=PERSON, mu=0.001)


NO_CHANGES = [
    (None, {}, LedgerError, "Nothing fixes yet"),
    (PERSON, {}, LedgerError, "already"),
    ("replace_one: one row", {}, LedgerError, "fixes the number of rows"),
    ("add_or_remove_one: one row", {"at_most": 0}, ValueError, "at_most is 0"),
    ("add_or_remove_one: one row", {"reason": ""}, ValueError, "reason is ''"),
]


@pytest.mark.parametrize(("protected", "changes", "error", "words"), NO_CHANGES)
def test_what_cannot_be_changed_is_refused(protected, changes, error, words):
    ledger = budgeted("ward", epsilon=3, delta=1e-6)
    if protected is not None:
        spend(ledger, protected=protected)
    with pytest.raises(error, match=words):
        ledger.change_unit("ward", **(CHANGE | changes))
