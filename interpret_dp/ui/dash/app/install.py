"""Our callbacks, styles and cards, put into an app that interpret has made."""

from __future__ import annotations

import atexit
import copy
import time
from importlib.resources import files
from typing import Any

import dash
from dash import html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from interpret_dp.explanation.objects import register_live_view
from interpret_dp.ui.dash.app import page, panes, privacy_tab
from interpret_dp.ui.dash.app.guard import refuse_foreign_requests
from interpret_dp.ui.dash.app.host import filled_container, runners, shows_ours
from interpret_dp.ui.dash.components import (
    clock,
    edit_count,
    error_message,
    figure_component,
    new_uid,
    panel_children,
    panel_id,
)
from interpret_dp.ui.dash.editor import callbacks, model_bar
from interpret_dp.ui.dash.editor.layout import term_editor
from interpret_dp.ui.dash.editor.model_bar import place_of_bars
from interpret_dp.ui.dash.editor.parts import icon_styles

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
    styles = ("app/style.css", "app/page.css")
    scripts = ("editor/gestures.js", "editor/cards.js", "app/page.js")
    head = [f"<style>{(folder / name).read_text('utf-8')}</style>" for name in styles]
    head.append(f"<style>{icon_styles()}</style>")
    head += [f"<script>{(folder / name).read_text('utf-8')}</script>" for name in scripts]
    app.index_string = app.index_string.replace("</head>", "".join(head) + "</head>")
    privacy_tab.register(app)
    panes.register(app, _pane_content)
    page.register(app)
    callbacks.register(app)
    model_bar.register(app)
    register_live_view(_live_card)


def lay_out(layout: Any, app: Any) -> Any:
    """Return interpret's layout with our tab and our clock; that of others' explanations as it is.

    Parameters
    ----------
    layout : Component
        The app's own object, which is served again and again.
    app : dash.Dash
        Of interpret's own class.
    """
    if not shows_ours(app):
        return layout
    layout = copy.copy(privacy_tab.with_tab(layout, app))
    # Below the banner of the full dashboard; the small one has none.
    head, body = layout.children[: app.ctx is not None], layout.children[app.ctx is not None :]
    layout.children = [*head, place_of_bars(), *body, clock()]
    return page.with_page_parts(layout, app)


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
    """Return what interpret's small dashboard shows; None outside interpret's own callbacks.

    ``key`` is a row of the selector; None is the overview.
    """
    container = filled_container()
    if container is None:
        return None
    if container != "viz-container":
        # In a pane of the full dashboard, which `panes` fills.
        raise PreventUpdate
    return _content(explanation, key)


def _content(explanation: Any, key: int | None) -> Component:
    """Return the figure of one part of an explanation, above its privacy panel."""
    uid = new_uid(explanation)
    parts = [_figure(explanation, key, uid), _note(explanation), _panel(explanation, key, uid)]
    return html.Div([part for part in parts if part is not None], className="idp")


def _pane_content(explanation: Any, key: int | None) -> Component:
    """Return the content of a card in a pane, where the overview's panel counts for all parts."""
    if key is None or explanation.spend_of(key) is not explanation.privacy:
        return _content(explanation, key)
    uid = new_uid(explanation)
    parts = [_figure(explanation, key, uid), _note(explanation)]
    return html.Div([part for part in parts if part is not None], className="idp")


def _figure(explanation: Any, key: int | None, uid: str) -> Component:
    try:
        has_terms = getattr(explanation, "model", None) is not None
        if key is not None and explanation.explanation_type == "global" and has_terms:
            explanation.edit_session.autosave.start()
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
    edits: Any = {"data-edits": edit_count(explanation)}
    identity = panel_id(uid, "overview" if key is None else str(key))
    return html.Div(panel_children(explanation, key), id=identity, **edits)
