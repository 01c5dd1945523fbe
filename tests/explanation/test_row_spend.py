"""What each answer of an explainer cost, and what the panel says of it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from interpret_dp.accounting import GdpPair
from interpret_dp.explanation.panel import meaning_text, privacy_panel
from interpret_dp.explanation.spend import PrivacySpend, QueryBudget, RowSpend
from tests.explanation.budgets import budget_state
from tests.explanation.influences import SOURCES, explainer_spend


def text(spend: PrivacySpend) -> str:
    return privacy_panel(json.loads(json.dumps(spend.to_dict(), allow_nan=False))).text


# ------------------------------------------------------------------------------- single rows


def test_a_row_says_where_it_comes_from_and_what_it_cost():
    words = [row.words for row in explainer_spend(SOURCES).rows[1:]]
    assert words == [
        "Released now for epsilon 0.1, method statistics",
        "Reused from a near query: free",
        "From the released history: free, less exact",
        "From the surrogate: free",
    ]
    assert "epsilon 0.124," in RowSpend(0.12301, "released", "enhanced", 1.0).words


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((-0.1, "released", "statistics"), ValueError),
        ((0.1, "reused", "statistics"), ValueError),
        ((0.1, "post-processed", "surrogate"), ValueError),
        ((0.0, "guessed", "statistics"), ValueError),
        ((0.1, "released", ""), TypeError),
        ((0.1, "released", "statistics", -1.0), ValueError),
    ],
)
def test_rows_that_contradict_themselves_are_refused(arguments, error):
    with pytest.raises(error, match=r"must be|costs anything"):
        RowSpend(*arguments)


def test_a_row_has_a_cost_of_its_own():
    spend = explainer_spend(SOURCES)
    first, third = spend.of_row(0), spend.of_row(2)
    assert (first.explanation_epsilon, first.origin) == (0.1, "released")
    assert first.rows == spend.rows[:1]
    assert (third.explanation_epsilon, third.origin) == (0.0, "reused")
    assert third.guarantee == spend.guarantee
    assert "explanation: 0.1 ·" in first.line
    for wrong, error in ((5, ValueError), (-1, ValueError), ("0", TypeError)):
        with pytest.raises(error, match="index is"):
            spend.of_row(wrong)
    with pytest.raises(ValueError, match="rows is empty"):
        explainer_spend([]).of_row(0)


def test_all_rows_are_a_table():
    table = explainer_spend(SOURCES).per_row
    assert list(table["epsilon"]) == [0.1, 0.1, 0.0, 0.0, 0.0]
    assert list(table["origin"]) == [origin for origin, _ in SOURCES]
    assert table.index.name == "row"
    assert list(explainer_spend([]).per_row.columns) == list(table.columns)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"origin": "reused"}, "costs something"),
        ({"origin": "post-processed", "explanation_epsilon": 0.0}, "if one of|one of its rows"),
        ({"explanation_epsilon": 0.05}, "one row cost 0.1"),
        ({"subject": "people"}, "subject is"),
        ({"rows": (), "origin": "reused"}, "costs something"),
        ({"origin": "stolen"}, "must be"),
        ({"edits": -1}, "must be"),
    ],
)
def test_rows_and_the_whole_must_agree(changes, message):
    with pytest.raises(ValueError, match=message):
        explainer_spend(SOURCES, **changes)


def test_a_release_so_cheap_that_delta_covers_it_is_still_a_release():
    rows = (RowSpend(0.0, "released", "statistics", 1.0),)
    spend = explainer_spend([], rows=rows, origin="released", explanation_epsilon=0.0)
    assert "This explanation cost epsilon 0" in text(spend)
    with pytest.raises(ValueError, match="costs something"):
        dataclasses.replace(spend, subject="model")


# ---------------------------------------------------------------------- the explainer's budget


def test_the_line_of_an_explainer_rounds_against_us():
    queries = QueryBudget(GdpPair(0.0301), 0.89999, 12)
    line = explainer_spend(SOURCES, queries=queries, explanation_epsilon=0.100001).line
    assert line.startswith(
        "Privacy cost of this explanation: 0.101 · budget of the explainer: epsilon 1 · "
    )
    assert "left for further queries: 0.8999 (" in line
    assert "model" not in line


def test_without_a_budget_at_hand_the_last_row_knows_what_was_left():
    rows = tuple(RowSpend(0.0, "reused", "statistics", left) for left in (0.7, 0.6))
    spend = explainer_spend([], queries=None, rows=rows, origin="reused")
    assert (spend.left_for_queries, spend.spent_on_queries) == (0.6, None)
    unknown = explainer_spend([], queries=None)
    assert unknown.left_for_queries is None
    assert "Left for further" not in text(unknown)
    assert unknown.to_dict()["queries"] is None


@pytest.mark.parametrize("wrong", [{"remaining_epsilon": -1.0}, {"more_queries": -1}])
def test_a_budget_of_queries_is_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        dataclasses.replace(QueryBudget(GdpPair(0.1), 1.0), **wrong)


def test_what_the_explainer_took_of_the_data_set_is_what_it_spent():
    state = budget_state(dataset="loans")
    spent = GdpPair(0.5 * state.spent_mu)
    spend = explainer_spend(SOURCES, budget=state, queries=QueryBudget(spent, 0.5))
    assert spend.model_share == pytest.approx(0.25 * state.spent_share)
    assert "this explainer" in text(spend)
    assert "more like this explainer." in text(spend)


def test_what_no_epsilon_can_state_is_not_stated():
    spend = explainer_spend(SOURCES, queries=QueryBudget(GdpPair(0.1, 0.5), 0.1))
    assert spend.to_dict()["queries"]["spent_epsilon"] is None
    assert "Spent on explanations so far" not in text(spend)


# ----------------------------------------------------------------------------------- the panel


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (0, "paid for when it was asked"),
        (2, "the released explanation of a near query"),
        (3, "is less exact"),
        (4, "the released surrogate"),
    ],
)
def test_the_panel_of_a_row_tells_its_own_cost(row, words):
    shown = text(explainer_spend(SOURCES).of_row(row))
    assert f"This explanation cost {'no privacy' if row else 'epsilon 0.1'}" in shown
    assert words in shown
    assert "Where they come from" not in shown


def test_free_rows_and_totals_say_that_they_are_free():
    assert "These 2 explanations cost no privacy" in text(explainer_spend(SOURCES[2:4]))
    assert "Looking at this explanation costs no privacy" in text(explainer_spend([]))
    one = explainer_spend(SOURCES, queries=QueryBudget(GdpPair(0.1), 0.1, 1))
    assert "about 1 more query" in text(one)


def test_an_attacker_sees_the_answers_and_not_a_model():
    words = meaning_text(explainer_spend(SOURCES).to_dict())
    assert "the explainer may answer with its whole budget" in words
    assert "7.96 %" in words


def test_costs_of_unequal_rows_are_a_range_and_names_are_text():
    rows = tuple(RowSpend(e, "released", "<script>", 0.5) for e in (0.05001, 0.2))
    spend = explainer_spend([], rows=rows, origin="released", explanation_epsilon=0.21)
    assert "0.0501 to 0.2" in text(spend)
    page = spend._repr_html_()
    assert "<script" not in page
    assert page.count("<table") == page.count("</table>") == 2
