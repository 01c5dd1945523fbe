"""Results of `visualize` inside interpret's callbacks, and everywhere else."""

import copy
from unittest.mock import Mock

import pytest

from interpret_dp.ui.dash.components import explanation_of
from tests.explanation.influences import adult_explanation, background_spend, guarantee
from tests.ledger.requests import budgeted, reserve
from tests.ui.dash.client import components, ids, text_of


def graphs(tree):
    return [c["props"]["figure"] for c in components(tree) if c["type"] == "Graph"]


@pytest.mark.parametrize("kind", ["total", "local"])
@pytest.mark.parametrize("key", [None, 0, 2])
def test_interprets_callbacks_get_figure_and_panel(shown, open_app, kind, key):
    explanation = getattr(shown, kind)
    part = open_app(explanation).part(key)
    assert len(graphs(part)) == 1
    (panel,) = [i for i in ids(part) if isinstance(i, dict) and i["type"] == "idp-panel"]
    assert panel["key"] == ("" if key is None or kind == "total" else str(key))
    assert explanation_of(panel["uid"]) is explanation
    shown_text = text_of(part)
    assert explanation.privacy.guarantee.sentence in shown_text
    assert "What does this mean?" in shown_text
    assert ("no noise protects them" in shown_text) is (kind == "local")


def test_an_error_in_the_figure_appears_in_the_card(shown, open_app, monkeypatch):
    broken = Mock(side_effect=ValueError("no such <term>"))
    explanation = copy.copy(shown.total)
    client = open_app(explanation)
    monkeypatch.setattr(type(explanation), "figure", broken)
    monkeypatch.setattr("interpret_dp.ui.dash.terms.term_editor", broken)
    for key in (None, 1):
        part = client.part(key)
        assert "This part could not be shown." in text_of(part)
        assert "ValueError: no such <term>" in text_of(part)
        assert explanation.privacy.guarantee.sentence in text_of(part)


def test_the_panel_shows_the_ledger_as_of_now(shown, open_app, tmp_path):
    from interpret_dp import load_model

    ledger = budgeted("cohort", epsilon=4, delta=1e-5, url=f"sqlite:///{tmp_path / 'privacy.db'}")
    shown.model.save(tmp_path / "model.json")
    app = open_app(load_model(tmp_path / "model.json", ledger=ledger).explain_global())
    assert "used: nothing." in text_of(app.part())
    ledger.commit(reserve(ledger, "cohort", mu=0.3))
    after = text_of(app.part())
    assert "used: nothing." not in after
    assert "other requests" in after


# -------------------------------------------------------------------------------------- backgrounds


def test_models_and_backgrounds_share_the_full_dashboard(shown, open_app):
    client = open_app([shown.total, adult_explanation(), shown.local])
    rows = client.ask("local-plots-container-0", local_model_drop=[1], local_instance_idx_0=[2, 0])
    assert "costs no privacy" not in text_of(rows), "the panel of the overview counts for all rows"
    overall = client.ask("local-overall-plot-container-0", local_model_drop=[1])
    assert "for any number of rows" in text_of(overall)
    assert "Data set: loans" in text_of(client.privacy_tab())


def test_the_request_of_a_background_is_found_in_its_account(open_app, tmp_path):
    ledger = budgeted("loans", epsilon=2, delta=1e-5, url=f"sqlite:///{tmp_path / 'privacy.db'}")
    reservation = reserve(ledger, "loans", mu=0.05, explainer="PaperLimeTabular")
    promise = guarantee(ledger_head=ledger.commit(reservation))
    spend = background_spend(guarantee=promise, account=ledger).as_of_now()
    client = open_app([adult_explanation(privacy=spend)])
    tab = text_of(client.privacy_tab())
    # An explainer of an earlier version, which is gone, keeps its charge and its name.
    assert "PaperLimeTabular" in tab
    assert "models of this dashboard" in tab
