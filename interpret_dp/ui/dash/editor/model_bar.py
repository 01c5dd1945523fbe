"""The bar above all cards: undo, redo, history, message and files of a model's edits.

A page has one for each model that it shows. Cards have what belongs to their own term.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable
from typing import Any

import dash
from dash import ALL, MATCH, ctx, dcc, html, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from interpret_dp._documents import parse_json, sealed
from interpret_dp.editor import EditSession
from interpret_dp.ui.actions import (
    MODEL_ACTIONS,
    SESSION_BUTTONS,
    Outcome,
    Request,
    disabled_buttons,
    go_back,
    load,
    status_text,
)
from interpret_dp.ui.dash.components import CLOCK, explanation_of, message_on_error, new_uid
from interpret_dp.ui.dash.editor.parts import (
    Ids,
    action_button,
    data_attributes,
    history_list,
    message,
    model_name,
    named_field,
    session_of,
)

_KIND, _PLACE = "model", "idp-model-bars"
_BAR, _BARS = Ids(MATCH, _KIND, _KIND), Ids(ALL, _KIND, _KIND)
ACTED = _BARS("acted")
"""Ids of the stores that change when a bar has changed a model."""

_MAX_FILE_SIZE = 50_000_000  # bytes
_KEYS = {"undo": " (Ctrl+Z)", "redo": " (Ctrl+Shift+Z)"}


def place_of_bars() -> Component:
    """Return where the bars of a page are put, once there is a card to edit."""
    return html.Div(id=_PLACE)


def _bar(session: EditSession, explanation: Any) -> Component:
    ids = Ids(new_uid(explanation), _KIND, _KIND)
    why = dcc.Input(
        id=ids("why"),
        type="text",
        placeholder="Why? The message that goes with the edits that have none",
        className="idp-editor-why-field",
        maxLength=2_000,
    )
    status = html.Span(status_text(session), id=ids("status"), className="idp-editor-status")
    return html.Div(
        [
            html.Div(
                [
                    *(html.B(f"Edits of {explanation.name}"), status),
                    *_buttons(ids, session, "undo", "redo", "total"),
                    named_field("Message", why),
                    *_buttons(ids, session, "commit", "cancel"),
                ],
                className="idp-editor-commit",
                **data_attributes(enter="commit"),
            ),
            html.Div(id=ids("message")),
            _folded("History", html.Div(history_list(session), id=ids("history"))),
            _folded("Download, load, and use in Python", _files(ids)),
            *(dcc.Store(id=ids(part)) for part in ("act", "acted", "seen")),
            dcc.Download(id=ids("download")),
        ],
        id=ids("card"),
        className="idp-editor idp-editor-model",
        **data_attributes(model=model_name(session)),
    )


def _buttons(ids: Ids, session: EditSession, *names: str) -> list[Component]:
    disabled = disabled_buttons(session)
    return [
        action_button(
            ids,
            name,
            SESSION_BUTTONS[name][0],
            SESSION_BUTTONS[name][1] + _KEYS.get(name, ""),
            disabled=disabled[name],
        )
        for name in names
    ]


def _folded(title: str, content: Component) -> Component:
    return html.Details([html.Summary(title), content], className="idp-editor-folded")


def _files(ids: Ids) -> Component:
    upload = dcc.Upload(
        "Load a file",
        id=ids("upload"),
        accept=".json,application/json",
        className="idp-editor-button idp-editor-upload",
        style={},
        style_active={},
    )
    download = action_button(ids, "download", "Download", "Hand the file to the browser")
    content = (
        "The file holds every edit with who, when and why, and not one row of the data. It fits "
        "this model only. Edits use released figures only: they cost no privacy, and the guarantee "
        "stays."
    )
    in_python: list[Any] = [
        "In Python, ",
        html.Code("explanation.edit_session.model"),
        " is the estimator with these edits: it predicts, explains and saves like any other. The "
        "file is written by ",
        html.Code("explanation.edit_session.save(path)"),
        " and read by ",
        html.Code("EditSession.load(path, model).model"),
        ".",
    ]
    return html.Div(
        [
            html.Div([download, upload], className="idp-editor-row"),
            html.Div(content, className="idp-muted"),
            html.Div(in_python),
        ]
    )


# ---------------------------------------------------------------------------------- callbacks


def register(app: dash.Dash) -> None:
    """Add the callbacks to one of interpret's apps."""
    _add_bars(app)
    _add_acting(app)
    _add_showing(app)


def _explanations(identities: Iterable[Any]) -> list[Any]:
    """Return the explanations of cards or bars that are not gone."""
    found = [explanation_of(identity["uid"]) for identity in identities]
    return [explanation for explanation in found if explanation is not None]


def _add_bars(app: dash.Dash) -> None:
    @app.callback(
        Output(_PLACE, "children"),
        Input(Ids(ALL, ALL)("seen"), "data"),
        State(_BARS("card"), "id"),
        State(_PLACE, "children"),
    )
    def add(_cards: Any, bars: list[Any], shown: list[Any] | None) -> Any:
        """Put a bar above the first card of each model."""
        shown_already = {id(e.edit_session) for e in _explanations(bars)}
        fresh = []
        for explanation in _explanations(card["id"] for card in ctx.inputs_list[0]):
            session = explanation.edit_session
            if id(session) not in shown_already:
                shown_already.add(id(session))
                fresh.append(_bar(session, explanation))
        if not fresh:
            raise PreventUpdate
        return [*(shown or []), *fresh]


def _add_acting(app: dash.Dash) -> None:
    @app.callback(
        Output(_BAR("message"), "children"),
        Output(_BAR("acted"), "data"),
        Output(_BAR("download"), "data"),
        Output(_BAR("why"), "value"),
        Output(_BAR("upload"), "contents"),
        Input(_BAR("act"), "data"),
        Input(_BAR("upload"), "contents"),
        State(_BAR("why"), "value"),
        prevent_initial_call=True,
        running=[(Output(_BAR("card"), "aria-busy"), "true", "false")],
    )
    @message_on_error(5)
    def act(pressed: Any, contents: Any, why: str | None) -> Any:
        trigger = ctx.triggered_id
        is_file = trigger["type"] == _BAR("upload")["type"]
        action = "load" if is_file else pressed["action"]
        document: Any = no_update
        try:
            session = session_of(trigger)
            if action == "download":
                document = _file(session)
                outcome = Outcome("The edits were handed to the browser as a file.")
            elif action == "load":
                outcome = load(session, _uploaded(contents))
            elif action.startswith("back-"):
                outcome = go_back(session, int(action.removeprefix("back-")))
            else:
                outcome = MODEL_ACTIONS[action](session, Request(why=why or ""))
        except (TypeError, ValueError, OSError) as error:
            return message(Outcome(str(error), "error")), *[no_update] * 3, None
        emptied_why = "" if action == "commit" else no_update
        acted = {"version": session.version, "at": time.time()}
        # Emptied, so that the same file can be loaded again.
        return message(outcome), acted, document, emptied_why, None


def _file(session: EditSession) -> dict[str, str]:
    """Return a session as Dash hands it to the browser."""
    text = json.dumps(sealed(session.to_dict()), indent=1, allow_nan=False)
    return {"content": text, "filename": f"edits-{session.base.digest[:12]}.json"}


def _uploaded(contents: str) -> Any:
    """Return the document in a file that the browser sent."""
    content = base64.b64decode(contents.partition(",")[2])
    if len(content) > _MAX_FILE_SIZE:
        raise ValueError(f"The file has {len(content):,} bytes; at most {_MAX_FILE_SIZE:,} fit.")
    return parse_json(content, "The file")


def _add_showing(app: dash.Dash) -> None:
    """Show in every bar what its session holds, whoever edited it."""
    buttons = ("undo", "redo", "total", "commit", "cancel")

    @app.callback(
        Output(_BARS("message"), "children", allow_duplicate=True),
        Output(_BARS("status"), "children"),
        Output(_BARS("history"), "children"),
        *(Output(_BARS(f"button-{name}"), "disabled") for name in buttons),
        Output(_BARS("seen"), "data"),
        Input(CLOCK, "n_intervals"),
        Input(ACTED, "data"),
        Input(Ids(ALL, ALL)("seen"), "data"),
        State(_BARS("seen"), "data"),
        prevent_initial_call="initial_duplicate",
    )
    def show(_ticks: Any, acted: list[Any], _cards: Any, _seen: Any) -> Any:
        bars = ctx.states_list[0]
        shown = [_shown(bar, own) for bar, own in zip(bars, acted, strict=True)]
        if all(one is None for one in shown):
            raise PreventUpdate
        unchanged = [no_update] * (4 + len(buttons))
        return [list(column) for column in zip(*(one or unchanged for one in shown), strict=True)]

    def _shown(bar: Any, acted: Any) -> list[Any] | None:
        """Return all that a bar shows; None if it is up to date, or its session is gone."""
        try:
            session = session_of(bar["id"])
        except ValueError:
            return None
        if session.version == bar.get("value"):
            return None
        disabled = disabled_buttons(session)
        # What a bar said is old news once somebody else has edited.
        is_own = bool(acted) and acted["version"] == session.version
        return [
            no_update if is_own else None,
            status_text(session),
            history_list(session),
            *(disabled[name] for name in buttons),
            session.version,
        ]
