"""The guarantee under scikit-learn's diagram."""

import dataclasses
from xml.etree import ElementTree

import sklearn
from sklearn.pipeline import make_pipeline

from interpret_dp import DPExplainableBoostingRegressor, PrivacyUnit
from interpret_dp.accounting import Guarantee, mu_of_budget
from interpret_dp.explanation.card import guarantee_card, plan_card
from tests.editor.models import build_model

GUARANTEE = Guarantee(
    epsilon=1.0, delta=1e-5, mu=mu_of_budget(1.0, 1e-5), mechanism="noise", dataset="<b>&x"
)


def text_of(page):
    """Return the text of a card; fails on tags that are not closed in order."""
    return " ".join(ElementTree.fromstring(f"<body>{page}</body>").itertext())


def test_card_holds_sentence_and_assumptions_and_escapes_names():
    shown = text_of(guarantee_card(GUARANTEE))
    assert GUARANTEE.sentence in shown
    assert all(clause in shown for clause in GUARANTEE.assumptions)
    assert "<b>&x" in shown
    voided = guarantee_card(dataclasses.replace(GUARANTEE, tests_only=True))
    assert text_of(voided).split()[:3] == ["No", "privacy", "guarantee:"]
    conditional = guarantee_card(dataclasses.replace(GUARANTEE, conditions=("it rains",)))
    assert "The promise holds only if it rains. For any two" in text_of(conditional)
    cards = guarantee_card(GUARANTEE), conditional, voided
    assert len({card.split("solid ")[1][:7] for card in cards}) == 3


def test_notebooks_show_diagram_and_guarantee_once_fitted():
    fitted = DPExplainableBoostingRegressor.from_released(build_model(0))
    bundle = fitted._repr_mimebundle_()
    for page in (fitted._repr_html_(), bundle["text/html"]):
        assert page.count(fitted.guarantee_.sentence) == 2
        assert "sk-top-container" in page
    assert bundle["text/plain"] == repr(fitted)
    assert "DPExplainableBoostingRegressor" in make_pipeline(fitted)._repr_html_()
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert set(fitted._repr_mimebundle_()) == {"text/plain"}


def test_before_the_fit_there_is_what_it_will_promise():
    schema = dataclasses.replace(build_model(0).schema, unit=PrivacyUnit("<id>", 2))
    account = {"dataset": "<b>ward", "ledger": "postgresql://anna:secret@host/ledger"}
    model = DPExplainableBoostingRegressor(epsilon=2.0, delta=1e-6, schema=schema, **account)
    page = model._repr_html_()
    card = page[page.index('<div class="interpret-dp-plan"') :]
    assert "sk-top-container" in page
    assert "Privacy guarantee" not in page
    shown = text_of(card[: card.rindex("</div>\n</div>") + len("</div>\n</div>")])
    assert "(epsilon 2, delta 1e-06)-differential privacy" in shown
    assert "add or remove one" in shown
    assert "2 continuous, 2 categorical; the target" in shown
    assert "all rows of one '<id>'" in shown
    assert "data set '<b>ward'" in shown
    assert "postgresql://anna:***@host/ledger" in shown
    assert "secret" not in card


def test_the_plan_says_what_is_not_declared_or_not_promised():
    undeclared = text_of(plan_card(DPExplainableBoostingRegressor()))
    assert "estimated privately, from the same budget" in undeclared
    assert "ledger of this process" in undeclared
    seeded = plan_card(DPExplainableBoostingRegressor(random_state=1))
    assert "random_state is set" in text_of(seeded)
    assert "differential privacy" not in seeded
    # Settings that fit would refuse are shown all the same.
    wrong = DPExplainableBoostingRegressor(epsilon="<i>much", delta=None, schema=3, neighboring=7)
    assert "(epsilon '<i>much', delta None)" in text_of(plan_card(wrong))
