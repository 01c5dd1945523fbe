"""The figures of an explanation, and their panel: plain words, and names that break nothing."""

import dataclasses
import html
import json
import re
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp import LedgerError, PrivacyLedger, PrivacySpend
from interpret_dp.accounting import GdpPair, Guarantee, ReleaseShare, mu_of_budget
from interpret_dp.explanation.budget import BudgetState
from interpret_dp.explanation.markup import render, share_text
from interpret_dp.explanation.panel import meaning_text, panel_html, share_of_others
from interpret_dp.ledger.account import (
    Account,
    Request,
    admits,
    fix_budget,
    largest_epsilon,
    remaining_mu,
)
from tests.explanation.influences import background_spend, budget_state
from tests.ledger.requests import budgeted, reserve_epsilon

MU = mu_of_budget(1.0, 1e-6)


def spend(guarantee=None, **changes):
    fields = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": MU,
        "mechanism": "noise & sums",
        "dataset": "trial",
        "releases": (ReleaseShare("bins", 0.6 * MU, 3), ReleaseShare("boosting", 0.8 * MU, 40)),
    }
    return PrivacySpend(guarantee=Guarantee(**(fields | (guarantee or {}))), **changes)


def text(spend_):
    return text_of(panel_html(json.loads(json.dumps(spend_.to_dict(), allow_nan=False))))


def text_of(page):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_a_panel_says_all_that_was_asked_of_it():
    shown = text(spend(budget=budget_state(), ledger="PrivacyLedger('x')"))
    for part in (
        "Looking at this explanation costs no privacy",
        "Nothing new was read from the data.",
        "The model epsilon 1 at delta 1e-06",
        "Everything on 'trial' so far epsilon 1.28 of 4, at delta 1e-05",
        "Left for one more release epsilon 3.5 at delta 1e-05",
        "Budget of data set 'trial': epsilon 4 at delta 1e-05",
        "The model cost epsilon 1 at delta 1e-06, paid once.",
        "Left for data set 'trial': room for 13 more like this model.",
        "With everything that was ever released about 'trial', the probability is at most 9.6 %",
        "once the whole budget is spent, at most 24 %.",
        "Protected unit one row",
        "Neighbouring tables two tables that differ by adding or removing one row",
        "Mechanism noise & sums",
        "Gaussian releases compose exactly",
        "40 releases, 64 % of the spend",
        "Ledger PrivacyLedger('x')",
        spend().guarantee.sentence,
        *spend().guarantee.assumptions,
    ):
        assert part in shown, part


def test_what_it_means_is_said_in_terms_of_an_attacker():
    words = meaning_text(spend(budget=budget_state()).to_dict())
    # Phi(0.2367 - 1.645) for the model, with sqrt(2) for two of them, with B for the budget.
    assert "wrongly accuses 5 of 100 rows that are not in the data, would spot a row" in words
    assert "a row that is in the data with probability at most 8 %; guessing gives 5 %." in words
    # A person each: those whom guessing spots, those whom the release adds, and all others.
    page = spend()._repr_html_()
    assert [page.count(icon) - 1 for icon in "●◉○"] == [5, 3, 92]
    assert page.count("○" * 10) == 9
    assert 'title="Of 100 rows in the data at most 8 are spotted"' in page


PEOPLE = "all rows of one 'id'"


AIMS = [
    ("add_or_remove_one", "one row", "would spot a row that is in the data with probability"),
    ("add_or_remove_one", PEOPLE, "would spot a person who is in the data with probability"),
    ("replace_one", "one row", "would spot a row with the other with probability"),
    ("replace_one", PEOPLE, "would spot a person with the other with probability"),
]


@pytest.mark.parametrize(("relation", "unit", "aim"), AIMS)
def test_nobody_is_said_to_be_protected_whom_the_promise_leaves_out(relation, unit, aim):
    words = meaning_text(spend({"neighboring": relation, "unit": unit}).to_dict())
    assert aim in words
    assert ("several rows is protected less" in words) == (unit == "one row")


def test_without_a_mu_the_attacker_is_bounded_by_epsilon_and_delta():
    plain = spend({"mu": None, "releases": (), "epsilon": 0.5, "delta": 1e-3})
    assert plain.detection == pytest.approx(0.05 * 2.718281828**0.5 + 1e-3, rel=1e-6)
    assert spend().detection < spend({"mu": None, "releases": ()}).detection
    huge = spend({"mu": None, "releases": (), "epsilon": 5000.0})
    assert huge.detection == pytest.approx(1.0)
    # Near 1 the second bound is the sharper one: 1 - e^-4 (1 - 0.05).
    large = spend({"mu": None, "releases": (), "epsilon": 4.0, "delta": 0.0})
    assert large.detection == pytest.approx(1 - 0.95 * 2.718281828**-4, rel=1e-6)


def test_names_are_text_and_nothing_else():
    hostile = "</div><script>alert(1)</script>"
    named = spend(
        {"dataset": hostile, "mechanism": hostile, "assumptions": (hostile,), "unit": hostile},
        budget=budget_state(dataset=hostile),
        ledger=hostile,
    )
    page = named._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 6
    assert page.count("<div") == page.count("</div>")


def test_what_rounding_leaves_is_no_request():
    assert share_of_others(0.1 + 0.2, 0.3) == 0.0
    assert share_of_others(0.3, 0.1) == pytest.approx(0.2)


def test_bar_is_as_long_as_what_was_spent():
    page = render("bar.html", parts=[("this model", 0.25, "#000001"), ("others", 0.5, "#000002")])
    assert "this model 25 % others 50 % left 25 %" in text_of(page)
    assert "width: 25.0000%" in page
    assert "width: 50.0000%" in page
    # The bar behind its parts, and the legend of what is left.
    assert page.count("background: #e4e9ee") == 2
    assert "left 100 %" in text_of(render("bar.html", parts=[("this model", 0.0, "#000001")]))


def test_costs_are_rounded_up_and_what_is_left_down():
    line = spend(total_epsilon=1.00001, remaining_epsilon=0.99999).line
    assert "of all on this data set: 1.01" in line
    assert "left: 0.999" in line
    assert share_text(0.123401) == "12.4 %"
    assert share_text(0.123499, down=True) == "12.3 %"
    # A model of another ledger takes no more than what was spent.
    state = budget_state(spent_mu=0.1 * MU, n_requests=1)
    assert spend(budget=state).model_share == state.spent_share


def test_documents_are_json_whatever_was_spent():
    # So much was spent beside the Gaussian part that no epsilon says it at the budget's delta.
    state = budget_state(delta_x=5e-6, spent_delta=2e-5)
    document = json.loads(json.dumps(spend(budget=state).to_dict(), allow_nan=False))
    assert document["budget"]["spent_epsilon"] is None
    assert "more than can be stated" in text_of(panel_html(document))
    assert dataclasses.replace(state, n_requests=0).spent_epsilon == 0.0


# ----------------------------------------------------------------------------- with a ledger


@pytest.fixture
def ledger():
    ledger = budgeted("trial", epsilon=2, delta=1e-5)
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "trial"))
    return ledger


def test_figures_come_from_the_ledger_at_the_budgets_delta(ledger):
    """At the model's smaller delta more than the budget's epsilon could be left."""
    of_model = PrivacySpend.of_model(spend().guarantee, ledger)
    assert of_model.explanation_epsilon == 0.0
    total = ledger.spent("trial").ever.epsilon_at(1e-5)
    assert of_model.total_epsilon == total < 0.9
    assert of_model.remaining_epsilon == ledger.remaining("trial") < 2.0
    assert str(of_model) == of_model.line
    start = "Privacy cost of this explanation: 0 · of the model: epsilon 1 (at delta 1e-06) ·"
    assert of_model.line.startswith(start)
    assert "left: 1." in of_model.line
    assert of_model.line.endswith("(at the budget's delta 1e-05)")


def test_a_panel_says_of_when_its_account_is(ledger):
    made = PrivacySpend.of_model(spend().guarantee, ledger)
    ledger.commit(reserve_epsilon(ledger, 0.1, 1e-6, "trial"))
    day = datetime.now(UTC).date().isoformat()
    assert f"What is left is as of {day}, after 1 request on 'trial'." in text(made)
    assert "after 2 requests on 'trial'" in text(made.as_of_now())
    assert "as of" not in text(spend(budget=budget_state()))


def test_without_a_limit_or_a_ledger_that_can_be_read_nothing_is_claimed(ledger, monkeypatch):
    unlimited = PrivacySpend.of_model(spend().guarantee, PrivacyLedger.in_memory())
    assert unlimited.remaining_epsilon is None
    assert "no limit declared" in unlimited.ledger
    assert "left" not in unlimited.line
    monkeypatch.setattr(ledger, "budget", Mock(side_effect=LedgerError("It is locked.")))
    unknown = PrivacySpend.of_model(spend().guarantee, ledger)
    assert unknown.total_epsilon is None
    assert unknown.ledger == "not readable now: It is locked."


def test_explanations_from_a_background_are_free_for_any_number_of_rows():
    panel = text(background_spend(budget=budget_state(dataset="loans")))
    for part in (
        "Free: computed from the released background, for any number of rows.",
        "The background cost epsilon 1 at delta 1e-06, paid once.",
        "The background epsilon 1 at delta 1e-06",
        "more like this background.",
        "this background",
    ):
        assert part in panel, part


@pytest.mark.parametrize("changes", [{"subject": "people"}, {"edits": -1}])
def test_what_is_no_cost_is_refused(changes):
    with pytest.raises(ValueError, match="must be"):
        spend(**changes)


# ----------------------------------------------------------------------- how many more requests fit


def _account(budget, pairs):
    requests = [
        Request(i, "2026-01-01T00:00:00+00:00", "test", "", 1.0, 1e-6, p.mu, p.delta, "committed")
        for i, p in enumerate(pairs)
    ]
    return Account("trial", budget, tuple(requests))


def _state(account):
    left = largest_epsilon(remaining_mu(account), account.budget.delta)
    return BudgetState.of(account.budget, account.spent, left)


pairs = st.builds(GdpPair, st.floats(0.1, 0.5), st.one_of(st.just(0.0), st.floats(1e-9, 2e-6)))


@settings(max_examples=40)
@given(spent=st.lists(pairs, max_size=6), pair=pairs)
def test_exactly_as_many_fit_as_is_said(spent, pair):
    budget = fix_budget("trial", 4.0, 1e-5, 4e-6, "")
    account = _account(budget, [])
    for each in spent:
        if admits(account, each):
            account = _account(budget, [*(GdpPair(r.mu, r.delta) for r in account.requests), each])
    done = [GdpPair(r.mu, r.delta) for r in account.requests]
    more = _state(account).more_like(pair)
    for _ in range(more):
        assert admits(account, pair)
        done.append(pair)
        account = _account(budget, done)
    assert not admits(account, pair)


def test_the_scarcer_part_of_a_budget_is_the_one_that_is_shown():
    state = budget_state(delta_x=4e-6, spent_delta=3e-6)
    assert state.spent_share == pytest.approx(0.75)
    panel = text_of(panel_html(spend(budget=state).to_dict()))
    assert "of which 4e-06 for selections" in panel
    assert "; delta 9.999e-07 left for selections" in panel
    assert f"mu squared ({share_text(state.spent_shares[0])} spent)" in panel
    assert state.share_of(GdpPair(0.1, 1e-6)) == pytest.approx(0.25)
    plain = budget_state()
    assert plain.spent_share == pytest.approx((plain.spent_mu / plain.mu) ** 2)
    assert plain.share_of(GdpPair(plain.spent_mu)) == pytest.approx(plain.spent_share)
    assert state.more_like(GdpPair(0.001, 1e-6)) == 1
    assert state.more_like(GdpPair(0.0, 1e-6)) == 1


def test_an_expired_budget_has_room_for_nothing():
    pair = GdpPair(1e-3)
    assert budget_state().more_like(pair) > 0
    assert budget_state(expired=True).more_like(pair) == 0


def test_what_was_released_before_new_people_came_is_told():
    """Detection is about everything that was ever released, the bar about what counts."""
    now = budget_state().to_dict()
    renewed = budget_state(ever=GdpPair(2.0)).to_dict()
    assert renewed["detection_spent"] > now["detection_spent"]
    assert renewed["spent_share"] == now["spent_share"]
