"""A model's terms as bars that lead to their cards, in interpret's dashboards.

Bars and the line on privacy follow the current model; see ``layout.register_bar``. A page may list
thousands of terms, so that its own script draws the bars from HTML.
"""

from __future__ import annotations

from typing import Any

import dash
import numpy as np
from dash import MATCH, ctx, dcc, html
from dash.dependencies import Input, Output
from dash.development.base_component import Component

from interpret_dp.explanation.plots.bars import SIGNAL_TO_NOISE
from interpret_dp.ui.dash.components import (
    bars_html,
    explanation_of,
    message_on_error,
    new_uid,
    or_error,
    panel_children,
    panel_id,
)
from interpret_dp.ui.dash.layout import term_editor
from interpret_dp.ui.dash.parts import Ids, session_of

_TERMS = Ids(MATCH, "", "terms")


def term_browser(explanation: Any, key: int | None) -> Component:
    """Return the bars of a model's terms beside the card of one: by default the most important."""
    session, uid = explanation.edit_session, new_uid(explanation)
    session.autosave.start()
    ids, version, model = Ids(uid, "", "terms"), session.version, session.released
    if key is None:
        key = int(np.argmax([term.size for term in model.terms]))
    name: Any = {"aria-label": "Terms, the most important first"}
    shown: Any = {"data-shown": key}
    panel: Any = {"data-version": version}
    search = dcc.Input(type="search", placeholder=f"search {len(model.terms):,} terms")
    bars = [
        html.Div([html.Label([html.Span("Search terms", className="idp-unseen"), search])]),
        html.Div("importance · signal to noise", className="idp-muted idp-terms-head"),
        html.Div(id=ids("list"), role="group", className="idp-terms-list", **name, **shown),
        html.Div(f"Importance is a root mean square. {SIGNAL_TO_NOISE}", className="idp-muted"),
    ]
    card = html.Div(or_error(term_editor, session, key, uid), id=ids("card"))
    parts = [
        html.Div([html.Div(bars, className="idp-terms"), card], className="idp-terms-and-card"),
        html.Div(panel_children(explanation, ""), id=panel_id(uid, ""), **panel),
        dcc.Store(id=ids("chosen")),
        dcc.Store(id=ids("bars"), data=bars_html(model)),
    ]
    return html.Div(parts, className="idp idp-browser")


def register(app: dash.Dash) -> None:
    """Add the callbacks to one of interpret's apps."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        dash.ClientsideFunction("interpret_dp", "drawTerms"),
        Output(_TERMS("list"), "data-drawn"),
        Input(_TERMS("bars"), "data"),
    )

    @app.callback(
        Output(_TERMS("card"), "children"),
        Input(_TERMS("chosen"), "data"),
        prevent_initial_call=True,
    )
    @message_on_error()
    def choose(key: int) -> Any:
        session = session_of(ctx.triggered_id)
        return term_editor(session, key, new_uid(explanation_of(ctx.triggered_id["uid"])))
