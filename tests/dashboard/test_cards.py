"""What `visualize` returns inside interpret's callbacks, and everywhere else."""

from __future__ import annotations

import copy
import gc
import pickle

import dash
import plotly.graph_objects as go
import pytest
from dash import Input, Output, html

from interpret_dp.dashboard import registry
from interpret_dp.dashboard.state import explanation_of, new_uid
from interpret_dp.explanation.registry import live_view
from tests.dashboard.client import AppClient, components, ids, text_of


def panels(tree):
    return [i for i in ids(tree) if isinstance(i, dict) and i["type"] == "idp-panel"]


def graphs(tree):
    return [c["props"]["figure"] for c in components(tree) if c["type"] == "Graph"]


@pytest.mark.parametrize("kind", ["total", "local"])
@pytest.mark.parametrize("key", [None, 0, 2])
def test_interprets_callbacks_get_figure_and_panel(shown, open_app, kind, key):
    explanation = getattr(shown, kind)
    part = open_app(explanation).part(key)
    assert len(graphs(part)) == 1
    (panel,) = panels(part)
    assert panel["key"] == ("overview" if key is None else str(key))
    assert explanation_of(panel["uid"]) is explanation
    shown_text = text_of(part)
    assert explanation.privacy.guarantee.sentence in shown_text
    assert "What does this mean?" in shown_text
    assert ("no noise protects them" in shown_text) is (kind == "local")


def test_everybody_else_gets_a_figure(shown):
    AppClient(shown.total).part()
    for explanation in (shown.total, shown.local):
        for key in (None, 0):
            figure = explanation.visualize(key)
            assert isinstance(figure, go.Figure)
            assert any("Privacy cost" in note.text for note in figure.layout.annotations)
            assert live_view(explanation, key) is None


def test_callbacks_of_other_apps_get_a_figure(shown):
    AppClient(shown.total).part()
    app = dash.Dash("foreign")
    app.layout = html.Div([html.Div(id="choice"), html.Div(id="mine")])

    @app.callback(Output("mine", "children"), Input("choice", "value"))
    def show(_):
        return type(shown.total.visualize(0)).__name__

    assert AppClient(app).ask("mine", choice="any") == "Figure"


def test_panes_of_the_full_dashboard_get_components(shown, open_app):
    app = open_app([shown.total, shown.local, shown.earlier])
    overall = app.ask("global-overall-plot-container-1", global_model_drop=[0, 2])
    (panel,) = panels(overall)
    assert explanation_of(panel["uid"]) is shown.earlier
    chosen = {"local_model_drop": [1], "local_instance_idx_0": [3, 1]}
    rows = panels(app.ask("local-plots-container-0", **chosen))
    assert [panel["key"] for panel in rows] == ["1", "3"]


def test_two_renderings_share_no_id(shown, open_app):
    first, second = open_app(shown.total), open_app([shown.total])
    everything = [
        *panels(first.part(0)),
        *panels(first.part(0)),
        *panels(second.ask("global-overall-plot-container-0", global_model_drop=[0])),
        *panels(second.ask("global-overall-plot-container-1", global_model_drop=[0, 0])),
    ]
    assert len({panel["uid"] for panel in everything}) == len(everything) == 4


def test_a_rendering_knows_its_explanation_as_long_as_that_lives(shown):
    explanation = copy.copy(shown.total)
    uid = new_uid(explanation)
    assert explanation_of(uid) is explanation
    assert explanation_of("of another process") is None
    del explanation
    gc.collect()
    assert explanation_of(uid) is None


def test_an_error_in_the_figure_appears_in_the_card(shown, open_app, monkeypatch):
    def broken(*_, **__):
        raise ValueError("no such <term>")

    explanation = copy.copy(shown.total)
    client = open_app(explanation)
    monkeypatch.setattr(type(explanation), "figure", broken)
    monkeypatch.setattr(type(registry.term_slot()), "build", broken)
    for key in (None, 1):
        part = client.part(key)
        assert "This part could not be shown." in text_of(part)
        assert "ValueError: no such <term>" in text_of(part)
        assert explanation.privacy.guarantee.sentence in text_of(part)


def test_an_error_in_the_panel_leaves_the_figure(shown, open_app, monkeypatch):
    def broken(*_, **__):
        raise ValueError("no figures today")

    monkeypatch.setattr("interpret_dp.dashboard.cards.panel_children", broken)
    part = open_app(shown.total).part(1)
    assert "ValueError: no figures today" in text_of(part)
    assert graphs(part)


def test_the_panel_shows_the_ledger_as_of_now(shown, open_app, tmp_path):
    from interpret_dp import PrivacyLedger, load_model
    from interpret_dp.accounting import gaussian_events_json

    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("cohort", epsilon=4, delta=1e-5)
    shown.model.save(tmp_path / "model.json")
    app = open_app(load_model(tmp_path / "model.json", ledger=ledger).explain_global())
    assert "epsilon 0 of 4" in text_of(app.part())
    reservation = ledger.reserve(
        "cohort", mu=0.3, delta=0.0, event=gaussian_events_json([(0.3, 1)]), epsilon=1.0,
        epsilon_delta=1e-6, explainer="test",
    )  # fmt: skip
    ledger.commit(reservation)
    after = text_of(app.part())
    assert "epsilon 0 of 4" not in after
    assert "other requests" in after


def test_explanations_with_a_panel_can_be_pickled(shown):
    AppClient(shown.total).part()
    again = pickle.loads(pickle.dumps(shown.total))
    assert again.visualize(0).to_dict() == shown.total.visualize(0).to_dict()


def test_what_shows_the_terms_can_be_replaced(shown, monkeypatch):
    class Slot:
        def __init__(self):
            self.apps = []

        def build(self, card):
            name = card.model.features[card.model.terms[card.term].feature].name
            identity = {"type": "idp-test", "uid": card.uid, "key": str(card.term)}
            return html.Div(f"editor of {name}", id=identity)

        def register(self, app):
            self.apps.append(app)

    # The first app of a process brings the slot that is usual.
    AppClient(shown.total)
    slot = Slot()
    monkeypatch.setattr(registry, "_slot", slot)
    client = AppClient(shown.total)
    assert slot.apps == [client.app]
    part = client.part(1)
    assert "editor of systolic_bp" in text_of(part)
    assert "idp-test" in [i["type"] for i in ids(part) if isinstance(i, dict)]
    assert graphs(client.part()), "the overview stays a figure"
