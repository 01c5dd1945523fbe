"""Our callbacks, styles, page parts and cards, put into an app that interpret has made."""

from __future__ import annotations

import atexit
import copy
import hashlib
import ipaddress
import os
import time
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import dash
import flask
from dash import ALL, ctx, dcc, html
from dash.dependencies import Input, Output
from dash.development.base_component import Component
from interpret.visual.dashboard import DispatcherApp

from interpret_dp.editor import EarlierEdits, EditSession
from interpret_dp.editor.autosave import may_have_edits
from interpret_dp.editor.state import base_digest
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.objects import register_live_view
from interpret_dp.ui.actions import Outcome, answer_offer, counted
from interpret_dp.ui.dash import callbacks, layout, privacy_tab, terms
from interpret_dp.ui.dash.components import (
    CLOCK,
    CurrentTables,
    explanations_of,
    filled_container,
    is_editable,
    message_on_error,
    new_uid,
    open_session,
    or_error,
    panel_children,
    panel_id,
    privacy_line,
    runners,
    shows_ours,
    version_of,
)
from interpret_dp.ui.dash.layout import PLACE_OF_BARS
from interpret_dp.ui.dash.parts import Ids, message
from interpret_dp.ui.dash.terms import term_browser

# Refusal of requests to our dashboards that pages of other sites send.

# More host names that our dashboards answer to, separated by commas.
_HOSTS_VARIABLE = "INTERPRET_DP_ALLOWED_HOSTS"


def _refusal(request: flask.Request) -> flask.Response | None:
    """Return the answer to a request that a page of another site sends; None for others."""
    foreign = _foreign_header(request)
    if foreign is None:
        return None
    return flask.Response(
        f"This dashboard refuses the header {foreign!r}. As Host it takes localhost, an IP address "
        "or the host that its server was given, and as Origin the same address as Host. If this is "
        "the address of your own proxy, set "
        f"the environment variable {_HOSTS_VARIABLE} to its host name (several are separated by "
        "commas) in the process that shows the dashboard, and reload.\n",
        status=403,
        mimetype="text/plain",
    )


class GuardedServer(DispatcherApp):  # type: ignore[misc]
    """interpret's server with its own pages guarded too: the list of dashboards, the shutdown.

    The address of a page has the digest of its model, so that a link outlives the process.
    """

    @classmethod
    def use_in(cls, runner: Any) -> None:
        """Let one of interpret's runners serve by this server, and name its pages alike."""
        runner.app = cls()
        runner._obj_id = runner.app.obj_id

    def obj_id(self, shown: Any) -> str:
        """Return the last part of the address of what is shown: an explanation, or several."""
        texts = []
        for one in shown if isinstance(shown, list) else [shown]:
            model = getattr(one, "model", None) or getattr(one, "released", None)
            # What is shown of rows has no name by which a later process could find it.
            is_whole = hasattr(model, "digest") and one.explanation_type == "global"
            texts.append(f"{base_digest(model)} {one.name}" if is_whole else str(id(one)))
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer a request of WSGI, unless a page of another site sent it."""
        request = flask.Request(environ)
        answer = _refusal(request)
        # A page of another site can ask for an image without saying who asks.
        if request.path == self.shutdown_path and request.method != "POST":
            answer = flask.Response("The server is stopped by POST.", 405, {"Allow": "POST"})
        return (answer or super().__call__)(environ, start_response)


def _foreign_header(request: flask.Request) -> str | None:
    """Return the header of a request that names another site, or None."""
    host = request.headers.get("Host", "")
    origin = request.headers.get("Origin")
    entries = os.environ.get(_HOSTS_VARIABLE, "").split(",")
    allowed = {_name(entry.strip()) for entry in entries} - {""}
    served = {"localhost"} | {runner.ip.lower() for runner in runners()}
    name = _name(host)
    # An IP address cannot be rebound: no name server is asked for it.
    if not _is_address(name) and name not in served | allowed:
        return f"Host: {host}"
    # The scheme may differ: a proxy may speak HTTPS to the browser and HTTP to us.
    if origin is None or origin.partition("://")[2].lower() == host.lower():
        return None
    return None if _name(origin) in allowed else f"Origin: {origin}"


def _name(address: str) -> str:
    """Return the host name in a header or setting, without its port; empty if there is none."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


# Parts of a page beside its cards: offers of earlier sessions' edits, and where edits are kept.
#
# The page's script adds a notice when the page has lost its server.

_OFFERS, _PLACES = "idp-page-offers", "idp-page-places"
_TAKE, _DISCARD = "idp-page-take", "idp-page-discard"


def register_page(app: dash.Dash) -> None:
    """Add the callback that fills the parts to one of interpret's apps."""

    @app.callback(
        Output(_OFFERS, "children"),
        Output(_PLACES, "children"),
        Input({"type": _TAKE, "digest": ALL}, "n_clicks"),
        Input({"type": _DISCARD, "digest": ALL}, "submit_n_clicks"),
        # A card that appears, or is drawn after an edit.
        Input(Ids(ALL, ALL)("seen"), "data"),
        prevent_initial_call=True,
    )
    @message_on_error(2)
    def fill(_takes: Any, _discards: Any, _seen: Any) -> Any:
        sessions, outcome = _sessions(app), None
        trigger = ctx.triggered_id or {}
        # Buttons that have just appeared trigger this as well.
        if trigger.get("type") in (_TAKE, _DISCARD) and ctx.triggered[0]["value"]:
            try:
                outcome = _answer(sessions, trigger["type"], trigger["digest"])
            except (ValueError, OSError) as error:
                outcome = Outcome(str(error), "error")
        said = [] if outcome is None else [message(outcome)]
        found = [_offer(session, e) for session in sessions for e in session.autosave.earlier]
        return [*said, *_banner(found)], _places(sessions)


def _sessions(app: Any) -> list[EditSession]:
    """Return the sessions of the models that are shown, each once.

    A session is opened for the page alone only where an earlier one may have left edits: a large
    model takes a while to hash.
    """
    shown = filter(is_editable, explanations_of(app))
    sessions = [e.edit_session for e in shown if open_session(e) or may_have_edits(e.model)]
    return list({id(session): session for session in sessions}.values())


def _answer(sessions: list[EditSession], action: str, digest: str) -> Outcome:
    for session in sessions:
        for earlier in session.autosave.earlier:
            if earlier.digest == digest:
                return answer_offer(session, earlier, takes=action == _TAKE)
    raise ValueError(
        "The file was changed or is gone: another session took it, or goes on with its edits."
    )


def _banner(offers: list[Component]) -> list[Component]:
    """Return one banner for all offers: the first in sight, the others folded."""
    first, others = offers[:1], offers[1:]
    if others:
        summary = html.Summary(f"{counted(len(others), 'more file')} of earlier edits")
        first.append(html.Details([summary, *others]))
    return [html.Div(first, className="idp-page-banner")] if first else []


def _offer(session: EditSession, earlier: EarlierEdits) -> Component:
    if earlier.problem:
        return message(Outcome(f"Edits of an earlier session: {earlier}", "note"))
    dataset = session.base.guarantee.dataset
    of_model = f" of the model of {dataset!r}" if dataset else ""
    take = html.Button(
        "Take them",
        id={"type": _TAKE, "digest": earlier.digest},
        n_clicks=0,
        title="Go on where the earlier session ended",
        className="idp-page-strong",
    )
    discard = dcc.ConfirmDialogProvider(
        html.Button("Discard", title="Delete the file"),
        id={"type": _DISCARD, "digest": earlier.digest},
        message=f"Delete {counted(earlier.count)} in {earlier.path}? This cannot be undone.",
    )
    title = html.B(f"An earlier session left {counted(earlier.count)}{of_model}.")
    text = f"The last is by {earlier.who}, {earlier.time}, in {earlier.path}."
    parts = [html.Div([title, html.Div(text)]), html.Div([take, discard])]
    return html.Div(parts, className="idp-page-offer")


def _places(sessions: list[EditSession]) -> list[Component]:
    """Return where the edits of each model are kept, or why they are not."""
    lines = []
    for session in sessions:
        autosave = session.autosave
        if autosave.problem:
            lines.append(message(Outcome(autosave.problem, "error")))
        elif autosave.path is not None:
            lines.append(html.Div(f"Edits are kept as they are made, in {autosave.path}."))
    return lines


_POLL = 1_000  # milliseconds between two looks at whether somebody else edited the model
_PATIENCE = 3.0  # seconds: a script may end before its server has begun to listen
_PAUSE = 0.05


def set_up(app: dash.Dash) -> None:
    """Add everything to one of interpret's apps while it is being made.

    Parameters
    ----------
    app : dash.Dash
        Of interpret's own class: others are none of our business.
    """
    # First: without it nothing of ours is served. The answer is returned and not raised: interpret
    # turns every exception into an error 500. Apps that show nothing of ours answer as before.
    app.server.before_request(lambda: _refusal(flask.request) if shows_ours(app) else None)
    # Registered again, so that it runs once, and before what was registered earlier.
    atexit.unregister(stop_interprets_server)
    atexit.register(stop_interprets_server)
    folder = files("interpret_dp.ui.dash") / "assets"
    styles = ("style.css", "icons.css", "page.css", "terms.css", "dark.css")
    scripts = ("gestures.js", "cards.js", "page.js")
    head = [f"<style>{(folder / name).read_text('utf-8')}</style>" for name in styles]
    head.append(f"<style>{render('dark.css')}</style>")
    head += [f"<script>{(folder / name).read_text('utf-8')}</script>" for name in scripts]
    index = app.index_string.replace("<html>", '<html lang="en">')
    app.index_string = index.replace("</head>", "".join(head) + "</head>")
    privacy_tab.register(app)
    terms.register(app)
    for tab in ("data", "perf", "global", "local"):
        drop = f"{tab}-model-drop"
        choose = dash.ClientsideFunction("interpret_dp", "chooseFirst")
        value, options = Output(drop, "value"), Input(drop, "options")
        app.clientside_callback(choose, value, options)  # type: ignore[no-untyped-call]
    register_page(app)
    callbacks.register(app)
    layout.register_bar(app)
    register_live_view(_live_card)


def lay_out(layout: Any, app: Any) -> Any:
    """Return interpret's layout with our tab, parts and clock; that of others' work as it is.

    Parameters
    ----------
    layout : Component
        The app's own object, which is served again and again.
    app : dash.Dash
        Of interpret's own class.
    """
    if not shows_ours(app):
        return layout
    if app.ctx is not None:
        app.ctx = CurrentTables(app.ctx)
    layout = copy.copy(privacy_tab.with_tab(layout, app))
    clock = dcc.Interval(id=CLOCK, interval=_POLL)
    # Below the banner of the full dashboard; the small one has none.
    head, body = layout.children[: app.ctx is not None], layout.children[app.ctx is not None :]
    layout.children = [*head, html.Div(id=PLACE_OF_BARS), *body, clock]
    if any(map(is_editable, explanations_of(app))):
        offers = html.Div(id=_OFFERS, className="idp-page")
        places = html.Div(id=_PLACES, className="idp-page idp-page-places")
        layout.children = [offers, *layout.children, places]
    return layout


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
    """Return what interpret's dashboards show; None outside interpret's own callbacks.

    ``key`` is a row of the selector; None is the overview.
    """
    container = filled_container()
    if container is None:
        return None
    if is_editable(explanation):
        return term_browser(explanation, key)
    uid, part = new_uid(explanation), "" if key is None else str(key)
    version: Any = {"data-version": version_of(explanation)}
    parts = [html.Div(panel_children(explanation, part), id=panel_id(uid, part), **version)]
    if explanation.explanation_type == "local":
        text = (
            "The rows that are explained here are your own: the page shows them as they are, and "
            "no noise protects them."
        )
        parts.append(html.Div(text, className="idp-note"))
    if "-plots-" not in container:
        # The overview of a pane counts for all parts.
        parts.append(or_error(privacy_line, explanation.privacy))
    return html.Div(parts, className="idp")
