"""The tab "Privacy": what the ledgers say, for all data sets of a dashboard."""

import pickle
from types import SimpleNamespace

import pandas as pd
import pytest
from interpret.glassbox import ExplainableBoostingClassifier

from interpret_dp import Guarantee, PrivacyLedger, PrivacySpend
from interpret_dp.accounting import mu_of_budget
from interpret_dp.explanation.plots.spending import timeline_figure
from interpret_dp.ui.dash.privacy_tab import collect_accounts
from tests.ledger.requests import budgeted, reserve, reserve_epsilon
from tests.ui.dash.client import components, text_of


def tab_names(client):
    (tabs,) = [c for c in components(client.layout()) if c["type"] == "Tabs"]
    return [tab["props"]["label"] for tab in tabs["props"]["children"]]


def explanation_of_charge(ledger, dataset, epsilon=1.0, name="a model", **changes):
    """Charge a data set and return an explanation that is nothing but its name and its cost."""
    mu = mu_of_budget(epsilon, 1e-6)
    head = ledger.commit(reserve_epsilon(ledger, epsilon, 1e-6, dataset, purpose="trial <1>"))
    guarantee = Guarantee(
        epsilon=epsilon, delta=1e-6, mu=mu, mechanism="noise", dataset=dataset, ledger_head=head,
        **changes,
    )  # fmt: skip
    # Nothing else is there to be shown: the tab must do with what is public by its nature.
    return SimpleNamespace(
        name=name,
        explanation_type="global",
        selector=pd.DataFrame({"Name": ["a"]}),
        privacy=PrivacySpend.of_model(guarantee, ledger),
    )


@pytest.fixture
def ledger(tmp_path):
    return budgeted("trial", epsilon=3, delta=1e-5, url=f"sqlite:///{tmp_path / 'privacy.db'}")


def test_dashboards_without_our_explanations_have_no_tab(shown, open_app, cohort):
    theirs = ExplainableBoostingClassifier(outer_bags=1, max_rounds=5, interactions=0)
    complete = cohort.X.dropna().head(300)
    theirs.fit(complete, cohort.y[complete.index])
    explanation = theirs.explain_global()
    assert "Privacy" not in tab_names(open_app([explanation]))
    assert "Privacy" in tab_names(open_app([explanation, shown.total]))
    small = open_app(shown.total).layout()
    assert not [c for c in components(small) if c["type"] == "Tabs"]


def test_the_tab_is_read_anew_and_needs_nothing_but_the_ledger(ledger, open_app):
    explanations = [explanation_of_charge(ledger, "trial", name="first")]
    client = open_app(explanations)
    before = text_of(client.privacy_tab())
    assert "by 1 request" in before
    assert "trial <1>" in before
    explanation_of_charge(ledger, "trial")
    after = text_of(client.privacy_tab())
    assert "by 2 requests" in after
    assert f"head {ledger.head}" in after
    reserve(ledger, "trial", explainer="crashed")
    with_open = text_of(client.privacy_tab())
    assert "1 of them run or crashed; they count in full" in with_open
    assert "crashed" in with_open


def test_a_ledger_that_cannot_be_read_is_said_and_the_others_stay(ledger, open_app, tmp_path):
    other = budgeted("lost", epsilon=3, delta=1e-5, url=f"sqlite:///{tmp_path / 'other.db'}")
    explanations = [
        explanation_of_charge(other, "lost", name="lost model"),
        explanation_of_charge(ledger, "trial"),
    ]
    (tmp_path / "other.db").write_bytes(b"damaged")
    # A ledger that was open already still reads its file; one out of a pickle opens it anew.
    explanations[0].privacy = pickle.loads(pickle.dumps(explanations[0].privacy))
    text = text_of(open_app(explanations).privacy_tab())
    assert "The ledger cannot be read now" in text
    assert "'lost model': epsilon 1" in text
    assert "One more like the latest request: yes" in " ".join(text.split())


def test_a_data_set_that_the_ledger_does_not_know_is_said(ledger, open_app):
    explanation = explanation_of_charge(ledger, "trial")
    guarantee = explanation.privacy.guarantee
    empty = PrivacyLedger.in_memory()
    explanation.privacy = PrivacySpend.of_model(guarantee, empty)
    assert "has no entry of data set 'trial'" in text_of(open_app([explanation]).privacy_tab())
    explanation.privacy = PrivacySpend(guarantee=guarantee)
    assert "carry no ledger" in text_of(open_app([explanation]).privacy_tab())


def test_the_figure_adds_up_and_marks_what_is_shown(ledger):
    explanation_of_charge(ledger, "trial")
    explanation = explanation_of_charge(ledger, "trial", epsilon=0.5)
    (account,) = collect_accounts([explanation])
    steps, ours, others, limit = timeline_figure(account.document, {account.models[0].request}).data
    report = ledger.report("trial")
    used = list(100 * report["total_mu"] ** 2 / account.budget.mu**2)
    assert list(steps.y) == pytest.approx([0, *used, used[-1]])
    assert set(limit.y) == {100}
    assert [*others.y, *ours.y] == pytest.approx(used)
    assert "trial &lt;1&gt;" in ours.customdata[0]


def test_without_a_limit_the_requests_are_still_listed(open_app):
    explanation = explanation_of_charge(PrivacyLedger.in_memory(), "anything")
    text = text_of(open_app([explanation]).privacy_tab())
    assert "No limit declared" in text
    assert "Requests (1)" in text
    assert "One more" not in text
