"""Our callbacks, styles, page parts and cards, put into an app that interpret has made."""

from __future__ import annotations

import atexit
import copy
import ipaddress
import os
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import dash
import flask
from dash import ALL, ctx, dcc, html, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from interpret.visual.dashboard import DispatcherApp

from interpret_dp.editor import EarlierEdits, EditSession
from interpret_dp.editor.autosave import may_have_edits
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.objects import register_live_view
from interpret_dp.ui.actions import Outcome, answer_offer, counted
from interpret_dp.ui.dash import callbacks, layout, privacy_tab
from interpret_dp.ui.dash.components import (
    CLOCK,
    CurrentTables,
    explanations_of,
    figure_component,
    filled_container,
    is_editable,
    message_on_error,
    new_uid,
    open_session,
    or_error,
    panel_children,
    panel_id,
    runners,
    shows_ours,
    titled_card,
    version_of,
)
from interpret_dp.ui.dash.layout import PLACE_OF_BARS, term_editor
from interpret_dp.ui.dash.parts import Ids, message

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
    """interpret's server with its own pages guarded too: the list of dashboards, the shutdown."""

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
        offers = [] if outcome is None else [message(outcome)]
        offers += [_offer(session, e) for session in sessions for e in session.autosave.earlier]
        return offers, _places(sessions)


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


# Cards of interpret's full dashboard: a tick draws its own card alone, and the others stay.
#
# interpret draws every ticked part anew at each tick, and the overview too. For our explanations
# its callbacks change nothing (``install._live_card``), and those here answer the same inputs. The
# cards of a pane are a chain: each slot holds the slot of the next card above its own card. A new
# card goes into the last slot, so that no other component is updated, and stands on top as
# interpret's do.

_TABS = ("data", "global", "local")
_N_PANES = 5  # of each tab, as interpret lays them out


def register_panes(app: dash.Dash) -> None:
    """Add the callbacks to one of interpret's apps."""
    for tab in _TABS:
        for pane in range(_N_PANES):
            _add_cards(app, tab, pane)
            _add_overview(app, tab, pane)


def _inputs(tab: str, pane: int) -> tuple[Input, Input]:
    return Input(f"{tab}-model-drop", "value"), Input(f"{tab}-instance-idx-{pane}", "children")


def _part(kind: str, container: str, model: Any = ALL, number: Any = ALL, key: Any = ALL) -> Any:
    """Return the id of a part of a pane."""
    identity = {"pane": container, "model": model, "number": number, "key": key}
    return {"type": f"idp-{kind}", **identity}


def _explanation(app: Any, chosen: Sequence[int] | None, pane: int) -> tuple[int, Any]:
    """Return number and explanation of a pane, if it is one of ours."""
    if chosen and pane < len(chosen):
        explanation = explanations_of(app)[chosen[pane]]
        if hasattr(explanation, "privacy"):
            return chosen[pane], explanation
    raise PreventUpdate


def _add_cards(app: dash.Dash, tab: str, pane: int) -> None:
    container = f"{tab}-plots-container-{pane}"

    @app.callback(
        Output(container, "children", allow_duplicate=True),
        Output(_part("slot", container), "children"),
        Output(_part("holder", container), "children"),
        *_inputs(tab, pane),
        State(_part("card", container), "id"),
        prevent_initial_call="initial_duplicate",
    )
    def fill(chosen: list[int] | None, ticked: list[int] | None, cards: list[Any]) -> Any:
        model, explanation = _explanation(app, chosen, pane)
        if not ticked:
            # interpret's own callback empties the pane.
            raise PreventUpdate
        slots, holders = ([entry["id"] for entry in outputs] for outputs in ctx.outputs_list[1:])
        shown = {card["key"]: card["number"] for card in cards if card and card["model"] == model}
        fresh = [key for key in ticked if key not in shown]
        gone = {number for key, number in shown.items() if key not in ticked}
        first = max((slot["number"] for slot in slots if slot["model"] == model), default=0)

        # From the last card, which is above the others, to the first.
        chain = html.Div(id=_part("slot", container, model, first + len(fresh), ""))
        for number, key in reversed(list(enumerate(fresh, first))):
            title = f"{explanation.name} [{key}]"
            identity = _part("card", container, model, number, key)
            card = titled_card(title, [_content(explanation, key)], id=identity)
            holder = html.Div(card, id=_part("holder", container, model, number, ""))
            chain = html.Div([chain, holder], id=_part("slot", container, model, number, ""))

        if not shown:
            return chain, [no_update] * len(slots), [no_update] * len(holders)
        last = _part("slot", container, model, first, "")
        return (
            no_update,
            [chain.children if fresh and slot == last else no_update for slot in slots],
            [[] if holder["number"] in gone else no_update for holder in holders],
        )


def _add_overview(app: dash.Dash, tab: str, pane: int) -> None:
    container = f"{tab}-overall-plot-container-{pane}"

    @app.callback(
        Output(container, "children", allow_duplicate=True),
        *_inputs(tab, pane),
        State(_part("card", container), "id"),
        prevent_initial_call="initial_duplicate",
    )
    def fill(chosen: list[int] | None, _ticked: Any, cards: list[Any]) -> Any:
        model, explanation = _explanation(app, chosen, pane)
        if any(card and card["model"] == model for card in cards):
            raise PreventUpdate
        identity = _part("card", container, model, 0, "")
        # The overview's panel counts for all parts.
        parts = [_content(explanation, None, panel=container)]
        return titled_card(f"{explanation.name} (Overall)", parts, id=identity)


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
    styles = ("style.css", "icons.css", "page.css", "dark.css")
    scripts = ("gestures.js", "cards.js", "page.js")
    head = [f"<style>{(folder / name).read_text('utf-8')}</style>" for name in styles]
    head.append(f"<style>{render('dark.css')}</style>")
    head += [f"<script>{(folder / name).read_text('utf-8')}</script>" for name in scripts]
    index = app.index_string.replace("<html>", '<html lang="en">')
    app.index_string = index.replace("</head>", "".join(head) + "</head>")
    privacy_tab.register(app)
    register_panes(app)
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
    """Return what interpret's small dashboard shows; None outside interpret's own callbacks.

    ``key`` is a row of the selector; None is the overview.
    """
    container = filled_container()
    if container is None:
        return None
    if container != "viz-container":
        # In a pane of the full dashboard, which `panes` fills.
        raise PreventUpdate
    return _content(explanation, key, panel="overview" if key is None else str(key))


def _content(explanation: Any, key: int | None, *, panel: str = "") -> Component:
    """Return one part of an explanation, with the panel of a key; an overview is drawn there."""
    uid = new_uid(explanation)
    parts = [] if key is None else [or_error(_part_shown, explanation, key, uid)]
    if explanation.explanation_type == "local":
        text = (
            "The rows that are explained here are your own: the page shows them as they are, and "
            "no noise protects them."
        )
        parts.append(html.Div(text, className="idp-note"))
    if panel:
        version: Any = {"data-version": version_of(explanation)}
        children = panel_children(explanation, panel)
        parts.append(html.Div(children, id=panel_id(uid, panel), **version))
    return html.Div(parts, className="idp")


def _part_shown(explanation: Any, key: int, uid: str) -> Component:
    if is_editable(explanation):
        explanation.edit_session.autosave.start()
        return html.Div(term_editor(explanation.edit_session, key, uid))
    return html.Div(figure_component(explanation.figure(key, line="")))
