"""A part of an explanation in interpret's live dashboard: what it shows, above what it cost."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from interpret_dp.dashboard.editor_layout import term_editor
from interpret_dp.dashboard.errors import error_message
from interpret_dp.dashboard.host import in_interprets_callback
from interpret_dp.dashboard.panel import figure_component, panel_children, panel_id
from interpret_dp.dashboard.state import new_uid

__all__ = ["live_card"]


def live_card(explanation: Any, key: int | None) -> Component | None:
    """Return the components of one part; None outside interpret's own callbacks.

    Parameters
    ----------
    explanation : PrivateExplanation
    key : int or None
        A row of the selector; None is the overview.
    """
    if not in_interprets_callback():
        return None
    uid = new_uid(explanation)
    # Each half by itself: an error in one must not take the other away.
    parts = [_shown(explanation, key, uid), _note(explanation), _panel(explanation, key, uid)]
    return html.Div([part for part in parts if part is not None], className="idp")


def _shown(explanation: Any, key: int | None, uid: str) -> Component:
    try:
        has_terms = getattr(explanation, "model", None) is not None
        if key is not None and explanation.explanation_type == "global" and has_terms:
            return html.Div(term_editor(explanation.edit_session, key, uid))
        return html.Div(figure_component(explanation.figure(key, line="")))
    except Exception as error:
        return error_message(error)


def _note(explanation: Any) -> Component | None:
    if explanation.explanation_type != "local":
        return None
    return html.Div(
        "The rows that are explained here are your own: the page shows them as they are, and no "
        "noise protects them.",
        className="idp-note",
    )


def _panel(explanation: Any, key: int | None, uid: str) -> Component:
    try:
        children: Any = panel_children(explanation.spend_of(key))
    except Exception as error:
        children = error_message(error)
    return html.Div(children, id=panel_id(uid, "overview" if key is None else str(key)))
