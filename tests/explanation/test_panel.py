"""The figures of an explanation, and their panel: plain words, and names that break nothing."""

import dataclasses
import html
import json
import re
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings, strategies as st

from interpret_dp import LedgerError, PrivacyLedger, PrivacySpend
from interpret_dp._validate import percent_texts
from interpret_dp.accounting import GdpPair, Guarantee, ReleaseShare, mu_of_budget
from interpret_dp.exceptions import ApprovalNeededError, BudgetExceededError
from interpret_dp.explanation.budget import BudgetState, account_rows, request_texts
from interpret_dp.explanation.panel import meaning_text, panel_html
from tests.explanation.influences import background_spend, budget_state
from tests.ledger.requests import budgeted, reserve, reserve_epsilon

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
        "Budget : epsilon 4 at delta 1e-05",
        "this model 6.6 % other requests 6.5 % left 86.9 %",
        "The model cost epsilon 1 at delta 1e-06, paid once.",
        "Of the budget of data set 'trial', used: 13.1 %, by 2 requests.",
        "One more like this model: yes, up to 13.",
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


def percents(text):
    """Return the percent in a text, in tenths; less than one is none."""
    found = re.findall(r"(?<![\d.])(?<!< )([\d.]+) %", html.unescape(text))
    return [round(10 * float(one)) for one in found]


@given(shares=st.lists(st.floats(0, 1), max_size=9), used=st.floats(0, 1))
@example(shares=[1.0] * 3, used=1.0)
@example(shares=[1.0], used=1e-12)
def test_percents_add_up_as_printed_and_are_a_tenth_from_the_truth(shares, used):
    scale = used / sum(shares) if sum(shares) > 0 else 0.0
    shares = [share * scale for share in shares]
    texts = percent_texts([*shares, max(0.0, 1.0 - sum(shares))])
    assert sum(percents(" ".join(texts))) == 1000
    assert "100 %" not in texts[:-1] or sum(shares) > 1 - 1e-8
    for share, text in zip(shares, texts, strict=False):
        assert abs(1000 * share - sum(percents(text))) <= 1 + 1e-5
        assert text != "0 %" or share == 0


def test_a_model_of_another_ledger_takes_no_more_than_what_was_spent():
    state = budget_state(spent_mu=0.1 * MU, n_requests=1)
    assert spend(budget=state).model_share == state.spent_share


def test_documents_are_json_whatever_was_spent():
    # So much was spent beside the Gaussian part that no epsilon says it at the budget's delta.
    state = budget_state(delta_x=5e-6, spent_delta=2e-5)
    document = json.loads(json.dumps(spend(budget=state).to_dict(), allow_nan=False))
    assert document["budget"]["spent_epsilon"] is None
    assert "100 % of the delta for selections" in text_of(panel_html(document))
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
    start = "Privacy cost of this explanation: 0 · of the model: epsilon 1 at delta 1e-06 · budget"
    assert of_model.line.startswith(start)
    # One delta a line: the budget's is not in it.
    assert of_model.line.count("delta") - of_model.line.count("delta for selections") == 1


def test_a_panel_says_of_when_its_account_is(ledger):
    made = PrivacySpend.of_model(spend().guarantee, ledger)
    ledger.commit(reserve_epsilon(ledger, 0.1, 1e-6, "trial"))
    day = datetime.now(UTC).date().isoformat()
    assert "by 1 request. One more like this model: yes, up to 3. " in text(made)
    assert f"The budget is as of {day}." in text(made)
    assert "by 2 requests. One more" in text(made.as_of_now())
    assert "as of" not in text(spend(budget=budget_state()))


def test_without_a_limit_or_a_ledger_that_can_be_read_nothing_is_claimed(ledger, monkeypatch):
    in_memory = PrivacyLedger.in_memory()
    reserve(in_memory, "trial")
    unlimited = PrivacySpend.of_model(spend().guarantee, in_memory)
    assert unlimited.remaining_epsilon is None
    assert "no limit declared" in unlimited.ledger
    assert "used" not in unlimited.line
    monkeypatch.setattr(ledger, "to_dict", Mock(side_effect=LedgerError("It is locked.")))
    unknown = PrivacySpend.of_model(spend().guarantee, ledger)
    assert unknown.total_epsilon is None
    assert unknown.ledger == "not readable now: It is locked."


def test_explanations_from_a_background_are_free_for_any_number_of_rows():
    panel = text(background_spend(budget=budget_state(dataset="loans")))
    for part in (
        "Free: computed from the released background, for any number of rows.",
        "The background cost epsilon 1 at delta 1e-06, paid once.",
        "The background epsilon 1 at delta 1e-06",
        "One more like this background: yes, ",
        "this background",
    ):
        assert part in panel, part


@pytest.mark.parametrize("changes", [{"subject": "people"}, {"edits": -1}])
def test_what_is_no_cost_is_refused(changes):
    with pytest.raises(ValueError, match="must be"):
        spend(**changes)


# ------------------------------------------------------------ what is said and what is done

pairs = st.builds(GdpPair, st.floats(0.02, 0.6), st.sampled_from([0.0, 0.0, 1e-9, 3e-7, 1e-6]))


def admitted(ledger, pair):
    """Whether the ledger lets a request through, and charges it."""
    try:
        ledger.commit(reserve(ledger, "trial", mu=pair.mu, delta=pair.delta))
    except BudgetExceededError:
        return False
    return True


@settings(max_examples=15, deadline=None)
@given(
    epsilon=st.sampled_from([0.5, 1.0, 2.5]),
    costs=st.lists(pairs, max_size=8),
    last=pairs,
    parts=st.integers(1, 6),
)
def test_what_is_printed_of_a_ledger_adds_up_and_is_what_it_does(epsilon, costs, last, parts):
    """Random requests, and one of an exact part of the budget, which rounding must not refuse."""
    ledger = budgeted("trial", epsilon, 1e-5)
    exact = GdpPair(ledger.budget("trial").mu / parts**0.5)
    for cost in [*costs, exact]:
        admitted(ledger, cost)
    for pair in (exact, last, GdpPair(2.0), GdpPair(0.01, 1e-6)):
        (account,) = ledger.to_dict("trial")["datasets"]
        state = BudgetState.of(account)
        rows, table = state.rows(pair, "this"), request_texts(account)
        used = percents(rows["Used"])[0]
        assert sum(percents(" ".join(one["uses"] for one in table))) == used
        assert percents(table[-1]["total"]) == [used]
        page = panel_html(spend(budget=state).to_dict())
        assert sum(percents(re.search(r'role="img" title="([^"]*)"', page)[1])) == 1000
        drawn = sum(float(width) for width in re.findall(r"width: ([\d.]+)%", page))
        assert drawn == pytest.approx(100 * state.spent_share, abs=1e-3)
        assert drawn == pytest.approx(used / 10, abs=0.1001)
        n_more = state.more_like(pair)
        assert ("yes" if n_more else "no") in rows["One more"]
        assert n_more < 2 or rows["One more"].endswith(f", up to {n_more}")
        for _ in range(min(n_more, 9)):
            assert admitted(ledger, pair)
        assert n_more > 9 or not admitted(ledger, pair)


def test_an_answer_names_the_approval_that_the_ledger_asks_for():
    ledger = budgeted("trial", 3.0, 1e-5)
    ledger.require_approval("trial", above=1.0, reason="board")
    ledger.commit(reserve_epsilon(ledger, 0.5, 1e-5, "trial"))
    with pytest.raises(ApprovalNeededError):
        reserve_epsilon(ledger, 1.5, 1e-5, "trial")
    (account,) = ledger.to_dict()["datasets"]
    state, rows = BudgetState.of(account), account_rows(account)
    answer = state.rows(GdpPair(mu_of_budget(1.5, 1e-5)), "this")["One more"]
    assert re.fullmatch(r"like this: yes, up to \d, if an officer approves", answer)
    assert re.fullmatch(r"like the latest request: yes, up to \d+", rows["One more"])
    assert rows["Together"].startswith("epsilon 0.5 at delta 1e-05 (")
    # A total at the budget's delta beside requests at another would not read right.
    ledger.commit(reserve_epsilon(ledger, 0.5, 1e-6, "trial"))
    assert "Together" not in account_rows(ledger.to_dict()["datasets"][0])


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
