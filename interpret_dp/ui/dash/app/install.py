"""Our callbacks, styles and cards, put into an app that interpret has made."""

from __future__ import annotations

import atexit
import time
from importlib.resources import files
from typing import Any

import dash
from dash import html
from dash.development.base_component import Component

from interpret_dp.explanation.objects import register_live_view
from interpret_dp.ui.dash.app import privacy_tab
from interpret_dp.ui.dash.app.guard import refuse_foreign_requests
from interpret_dp.ui.dash.app.host import in_interprets_callback, runners
from interpret_dp.ui.dash.components import (
    error_message,
    figure_component,
    new_uid,
    panel_children,
    panel_id,
)
from interpret_dp.ui.dash.editor import callbacks
from interpret_dp.ui.dash.editor.layout import term_editor

__all__ = ["set_up", "stop_interprets_server"]

_PATIENCE = 3.0  # seconds: a script may end before its server has begun to listen
_PAUSE = 0.05


def set_up(app: dash.Dash) -> None:
    """Add everything to one of interpret's apps while it is being made.

    Parameters
    ----------
    app : dash.Dash
        Of interpret's own class: others are none of our business.
    """
    # First: without it nothing of ours is served.
    refuse_foreign_requests(app)
    # Registered again, so that it runs once, and before what was registered earlier.
    atexit.unregister(stop_interprets_server)
    atexit.register(stop_interprets_server)
    folder = files("interpret_dp.ui.dash")
    style = (folder / "app" / "style.css").read_text("utf-8")
    gestures = (folder / "editor" / "gestures.js").read_text("utf-8")
    head = f"<style>{style}</style><script>{gestures}</script></head>"
    app.index_string = app.index_string.replace("</head>", head)
    privacy_tab.register(app)
    callbacks.register(app)
    register_live_view(_live_card)


def stop_interprets_server() -> None:
    """Stop the server behind ``interpret.show``, if there is one.

    With its thread alive the process would crash when it ends.
    """
    deadline = time.monotonic() + _PATIENCE
    for runner in runners():
        while not runner.stop() and time.monotonic() < deadline:
            time.sleep(_PAUSE)


# -------------------------------------------------------------------------------------- cards


def _live_card(explanation: Any, key: int | None) -> Component | None:
    """Return the figure of one part of an explanation, above its privacy panel.

    None outside interpret's own callbacks. ``key`` is a row of the selector; None is the overview.
    """
    if not in_interprets_callback():
        return None
    uid = new_uid(explanation)
    # Each half by itself: an error in one must not take the other away.
    parts = [_figure(explanation, key, uid), _note(explanation), _panel(explanation, key, uid)]
    return html.Div([part for part in parts if part is not None], className="idp")


def _figure(explanation: Any, key: int | None, uid: str) -> Component:
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
