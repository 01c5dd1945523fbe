"""The guarantee under scikit-learn's diagram."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from interpret_dp import DPExplainableBoostingRegressor
from interpret_dp.accounting import Guarantee, mu_of_budget
from interpret_dp.explanation.guarantee_card import guarantee_card

GUARANTEE = Guarantee(
    epsilon=1.0, delta=1e-5, mu=mu_of_budget(1.0, 1e-5), mechanism="noise", dataset="<b>&x"
)


class Balance(HTMLParser):
    """Collects text, and fails on tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def text_of(page: str) -> str:
    parser = Balance()
    parser.feed(page)
    parser.close()
    assert not parser.open
    return " ".join(parser.words)


def test_card_holds_sentence_and_assumptions_and_escapes_names():
    shown = text_of(guarantee_card(GUARANTEE))
    assert GUARANTEE.sentence in shown
    assert all(clause in shown for clause in GUARANTEE.assumptions)
    assert "<b>&x" in shown


def test_a_voided_promise_looks_different():
    voided = dataclasses.replace(GUARANTEE, tests_only=True)
    assert "nothing is promised" in text_of(guarantee_card(voided))
    edges = {card.split("solid ")[1][:7] for card in map(guarantee_card, (GUARANTEE, voided))}
    assert len(edges) == 2


@pytest.fixture(scope="module")
def fitted(cost_cohort):
    return DPExplainableBoostingRegressor(schema=cost_cohort.schema).fit(
        cost_cohort.X, cost_cohort.y
    )


def test_notebooks_show_diagram_and_guarantee_once_fitted(fitted):
    bundle = fitted._repr_mimebundle_()
    for page in (fitted._repr_html_(), bundle["text/html"]):
        assert page.count(fitted.guarantee_.sentence) == 2
        assert "sk-top-container" in page
    assert bundle["text/plain"] == repr(fitted)


def test_before_the_fit_there_is_the_diagram_alone():
    page = DPExplainableBoostingRegressor()._repr_html_()
    assert "sk-top-container" in page
    assert "Privacy guarantee" not in page


def test_scikit_learns_display_setting_is_kept(fitted):
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}


def test_a_pipelines_diagram_still_works(fitted):
    assert "DPExplainableBoostingRegressor" in make_pipeline(fitted)._repr_html_()
