"""The figures of an explanation, and their panel: plain words, and names that break nothing."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from interpret_dp import LedgerError, PrivacyLedger, PrivacySpend
from interpret_dp.accounting import Guarantee, ReleaseShare, mu_of_budget
from interpret_dp.explanation.markup import element, to_html
from interpret_dp.explanation.panel import budget_bar, meaning_text, privacy_panel, share_text
from tests.explanation.budgets import budget_state
from tests.ledger.requests import reserve_epsilon

MU = mu_of_budget(1.0, 1e-6)


def spend(guarantee=None, **changes) -> PrivacySpend:
    fields = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mu": MU,
        "mechanism": "noise & sums",
        "dataset": "trial",
        "releases": (ReleaseShare("bins", 0.6 * MU, 3), ReleaseShare("boosting", 0.8 * MU, 40)),
    }
    return PrivacySpend(guarantee=Guarantee(**(fields | (guarantee or {}))), **changes)


def text(spend_: PrivacySpend) -> str:
    return privacy_panel(json.loads(json.dumps(spend_.to_dict()))).text


def test_a_panel_says_all_that_was_asked_of_it():
    shown = text(spend(budget=budget_state(), ledger="PrivacyLedger('x')"))
    for part in (
        "Looking at this explanation costs no privacy",
        "Post-processing",
        "The model epsilon 1 at delta 1e-06",
        "Everything on 'trial' so far epsilon 1.28 of 4, at delta 1e-05",
        "Left for one more release epsilon 3.5 at delta 1e-05",
        "Budget of data set 'trial': epsilon 4 at delta 1e-05",
        "Room for 13 more like this model.",
        "Protected unit one row",
        "Neighbouring tables two tables that differ by adding or removing one row",
        "Mechanism noise & sums",
        "Gaussian releases compose exactly",
        "40 releases, 64 % of the spend",
        "Ledger PrivacyLedger('x')",
        spend().guarantee.sentence,
        *spend().assumptions,
    ):
        assert part in shown, part


def test_what_it_means_is_said_in_terms_of_an_attacker():
    words = meaning_text(spend(budget=budget_state()).to_dict())
    # Phi(0.2367 - 1.645) for the model, with sqrt(2) for two of them, with B for the budget.
    assert "At 5 % false alarms an attacker" in words
    assert "detects the presence of a given row with probability at most 7.96 %" in words
    assert "released about 'trial': at most 9.51 %" in words
    assert "once the whole budget is spent: at most 23.6 %" in words
    assert "trial" not in meaning_text(spend().to_dict())


@pytest.mark.parametrize(
    ("relation", "unit", "aim"),
    [
        ("add_or_remove_one", "one row", "detects the presence of a given row with"),
        ("add_or_remove_one", "all rows of one 'id'", "detects a person's presence with"),
        ("replace_one", "one row", "tells which of two given contents a row has with"),
        ("replace_one", "all rows of one 'id'", "contents a person's rows have with"),
    ],
)
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


@pytest.mark.parametrize(("edits", "words"), [(1, "edited: 1 change"), (3, "edited: 3 changes")])
def test_edits_are_said_and_cost_nothing(edits, words):
    edited = spend(edits=edits)
    assert words in text(edited)
    assert edited.line.endswith(words)
    assert "edited" not in text(spend()) + spend().line
    assert edited.to_dict()["guarantee"] == spend().to_dict()["guarantee"]


def test_where_an_explanation_comes_from_is_said():
    assert "Reused: an earlier explanation" in text(spend(origin="reused"))
    paid = text(spend(origin="released", explanation_epsilon=0.25))
    assert "This explanation cost epsilon 0.25" in paid
    assert "paid for" in paid


def test_seeded_noise_promises_nothing_and_shows_no_figures():
    voided = spend({"tests_only": True}, budget=budget_state())
    shown = text(voided)
    assert "No privacy promise: for tests only" in shown
    assert "Nothing is protected" in shown
    assert "Left for one more" not in shown
    assert "no privacy promise" in voided.line
    assert voided.guarantee.brief == "for tests only, nothing promised"
    assert spend({"dataset": None, "epsilon": 2.00001}).guarantee.brief == (
        "epsilon 2.01 at delta 1e-06"
    )
    edges = {re.search(r"border-left: [^;]*", v._repr_html_())[0] for v in (voided, spend())}
    assert len(edges) == 2


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


def test_bar_is_as_long_as_what_was_spent():
    bar = budget_bar([("this model", 0.25, "#000001"), ("others", 0.5, "#000002")])
    assert "this model 25 %" in bar.text
    assert "left 25 %" in bar.text
    page = to_html(bar)
    assert "width: 25.0000%" in page
    assert "width: 50.0000%" in page
    assert "left 100 %" in budget_bar([("this model", 0.0, "#000001")]).text


def test_costs_are_rounded_up_and_what_is_left_down():
    line = spend(total_epsilon=1.00001, remaining_epsilon=0.99999).line
    assert "of all on this data set: 1.01" in line
    assert "left: 0.999" in line
    assert share_text(0.123401) == "12.4 %"
    assert share_text(0.123499, down=True) == "12.3 %"


def test_a_model_of_another_ledger_takes_no_more_than_what_was_spent():
    state = budget_state(spent_mu=0.1 * MU, n_requests=1)
    shared = spend(budget=state)
    assert shared.model_share == state.spent_share


def test_elements_keep_their_attributes():
    node = element("span", "a & b", None, style="color: red; width: 1px", title='"x"', role="img")
    assert to_html(node) == (
        '<span title="&quot;x&quot;" role="img" style="color: red; width: 1px">a &amp; b</span>'
    )


def test_documents_are_json_whatever_was_spent():
    # So much was spent beside the Gaussian part that no epsilon says it at the budget's delta.
    state = budget_state(delta_x=5e-6, spent_delta=2e-5)
    document = json.loads(json.dumps(spend(budget=state).to_dict(), allow_nan=False))
    assert document["budget"]["spent_epsilon"] is None
    assert "more than can be stated" in privacy_panel(document).text
    assert dataclasses.replace(state, n_requests=0).spent_epsilon == 0.0


# ----------------------------------------------------------------------------- with a ledger


@pytest.fixture
def ledger() -> PrivacyLedger:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("trial", epsilon=2, delta=1e-5)
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "trial"))
    return ledger


def test_figures_come_from_the_ledger_at_the_models_delta(ledger):
    of_model = PrivacySpend.of_model(spend().guarantee, ledger)
    assert of_model.explanation_epsilon == 0.0
    assert of_model.total_epsilon == pytest.approx(1.0, rel=1e-6)
    assert of_model.remaining_epsilon == pytest.approx(ledger.remaining("trial", 1e-6))
    assert str(of_model) == of_model.line
    start = "Privacy cost of this explanation: 0 · of the model: epsilon 1 ·"
    assert of_model.line.startswith(start)
    assert "left: 1." in of_model.line
    assert "delta 1e-06" in of_model.line


def test_without_a_limit_nothing_is_claimed():
    of_model = PrivacySpend.of_model(spend().guarantee, PrivacyLedger.in_memory())
    assert of_model.remaining_epsilon is None
    assert "no limit declared" in of_model.ledger
    assert "left" not in of_model.line


def test_an_unreadable_ledger_does_not_stop_an_explanation(ledger, monkeypatch):
    def locked(dataset):
        raise LedgerError(f"The ledger of {dataset} is locked.")

    monkeypatch.setattr(ledger, "budget", locked)
    of_model = PrivacySpend.of_model(spend().guarantee, ledger)
    assert of_model.total_epsilon is None
    assert of_model.ledger == "not readable now: The ledger of trial is locked."
