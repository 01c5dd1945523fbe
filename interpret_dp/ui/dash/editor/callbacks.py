"""The callbacks of the editor: select, act, notice other views' edits, draw.

One callback draws and the others trigger it, so that what is on the page is always one state of
the session. All of them answer from released figures in memory.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import time
from typing import Any

import dash
from dash import ALL, MATCH, ctx, no_update
from dash.dependencies import Input, Output, State
from dash.exceptions import PreventUpdate

from interpret_dp._documents import parse_json, sealed
from interpret_dp.editor import EditSession
from interpret_dp.ui.actions import (
    SESSION_BUTTONS,
    Outcome,
    Request,
    disabled_buttons,
    load,
    perform,
)
from interpret_dp.ui.dash.components import (
    explanation_of,
    message_on_error,
    panel_children,
    panel_id,
)
from interpret_dp.ui.dash.editor.layout import ALL_CLASSES
from interpret_dp.ui.dash.editor.parts import (
    BUTTON,
    SELECTOR,
    Ids,
    history_list,
    message,
    selection_line,
    status_text,
)
from interpret_dp.ui.figure import EditedTerm

__all__ = ["register"]

_MAX_FILE_SIZE = 50_000_000  # bytes
_CARD = Ids(MATCH, MATCH)


def register(app: dash.Dash) -> None:
    """Add the callbacks to one of interpret's apps."""
    for add in (_add_selecting, _add_acting, _add_noticing, _add_drawing, _add_panel):
        add(app)


def _session(identity: Any) -> EditSession:
    explanation = explanation_of(identity["uid"])
    if explanation is None:
        raise ValueError(
            "This page belongs to a dashboard that has ended. Show the explanation again, and "
            "reload the page."
        )
    session: EditSession = explanation.edit_session
    return session


def _column(value: Any) -> int | None:
    return None if value in (None, ALL_CLASSES) else int(value)


def _term(identity: Any) -> EditedTerm:
    return EditedTerm.of(_session(identity), int(identity["key"]))


# ---------------------------------------------------------------------------------- selecting


def _add_selecting(app: dash.Dash) -> None:
    @app.callback(
        Output(_CARD("message"), "children", allow_duplicate=True),
        Output(_CARD("selection"), "data"),
        Input(_CARD("plot"), "selectedData"),
        Input(_CARD("click"), "data"),
        Input(_CARD.selector(ALL), "n_clicks"),
        State(_CARD("selection"), "data"),
        prevent_initial_call=True,
    )
    @message_on_error(2)
    def select(box: Any, click: Any, _clicks: Any, before: list[int]) -> Any:
        trigger = ctx.triggered_id
        term = _term(trigger)
        if trigger["type"] == SELECTOR:
            if not ctx.triggered[0]["value"]:
                raise PreventUpdate
            return None, term.places.whole() if trigger["action"] == "all" else []
        if trigger["type"] == _CARD("click")["type"]:
            return None, _clicked(term, click, before or [])
        # plotly reports "nothing" whenever a figure is drawn anew: that is no choice.
        ranges = (box or {}).get("range") or {}
        if not ranges.get("x"):
            raise PreventUpdate
        bins = term.places.within(ranges)
        if not bins:
            raise PreventUpdate
        return None, bins


def _clicked(term: EditedTerm, click: Any, before: list[int]) -> list[int]:
    """Return the selection after a click: one bin of a curve; levels come and go."""
    code = int(click["bin"])
    if not term.places.n_steps:
        return sorted(set(before) ^ {code})
    # The shift key takes everything from what is selected to here.
    return term.places.reaching(before, code) if click["extends"] else [code]


# ------------------------------------------------------------------------------------- acting


def _add_acting(app: dash.Dash) -> None:
    @app.callback(
        Output(_CARD("message"), "children"),
        Output(_CARD("refresh"), "data"),
        Output(_CARD("download"), "data"),
        Output(_CARD("why"), "value"),
        Input(_CARD.button(ALL), "n_clicks"),
        Input(_CARD("drag"), "data"),
        Input(_CARD("upload"), "contents"),
        State(_CARD("selection"), "data"),
        State(_CARD("class"), "value"),
        State(_CARD("number"), "value"),
        State(_CARD("why"), "value"),
        State(_CARD("shape"), "value"),
        prevent_initial_call=True,
    )
    @message_on_error(4)
    def act(
        _clicks: Any,
        drag: Any,
        contents: Any,
        bins: list[int],
        column: Any,
        number: str | None,
        why: str | None,
        shape: str,
    ) -> Any:
        trigger = ctx.triggered_id
        # Buttons that have just appeared trigger this as well.
        if not ctx.triggered[0]["value"]:
            raise PreventUpdate
        request = Request(
            bins=tuple(bins or ()),
            column=_column(column),
            number=number or "",
            why=why or "",
            shape=shape,
        )
        action = trigger["action"] if trigger["type"] == BUTTON else trigger["type"]
        document: Any = no_update
        try:
            if action == "download":
                document = _file(_session(trigger))
                outcome = Outcome("The session was handed to the browser as a file.")
            elif action == _CARD("upload")["type"]:
                outcome = load(_session(trigger), _uploaded(contents))
            elif action == _CARD("drag")["type"]:
                bins = [int(code) for code in drag["bins"]]
                request = dataclasses.replace(request, bins=tuple(bins), moved_by=float(drag["by"]))
                outcome = perform(_term(trigger), "drag", request)
            else:
                outcome = perform(_term(trigger), action, request)
        except (TypeError, ValueError, OSError) as error:
            # Drawn anew all the same: a drag that was refused must not stay on the page.
            outcome, action = Outcome(str(error), "error"), ""
        emptied_why = "" if action == "commit" else no_update
        return message(outcome), time.time(), document, emptied_why


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


# ------------------------------------------------------------------------- noticing and drawing


def _add_noticing(app: dash.Dash) -> None:
    @app.callback(
        Output(_CARD("refresh"), "data", allow_duplicate=True),
        Input(_CARD("clock"), "n_intervals"),
        State(_CARD("seen"), "data"),
        prevent_initial_call=True,
    )
    def notice(_ticks: int, seen: Any) -> Any:
        explanation = explanation_of(ctx.triggered_id["uid"])
        if explanation is None or explanation.edit_session.version == seen["version"]:
            raise PreventUpdate
        return time.time()


def _add_drawing(app: dash.Dash) -> None:
    @app.callback(
        Output(_CARD("message"), "children", allow_duplicate=True),
        Output(_CARD("plot"), "figure"),
        Output(_CARD("selected"), "children"),
        Output(_CARD("tools"), "disabled"),
        Output(_CARD("status"), "children"),
        Output(_CARD("history"), "children"),
        *(Output(_CARD.button(name), "disabled") for name in SESSION_BUTTONS),
        Output(_CARD("seen"), "data"),
        Input(_CARD("refresh"), "data"),
        Input(_CARD("selection"), "data"),
        Input(_CARD("class"), "value"),
        Input(_CARD("mode"), "value"),
        Input(_CARD("scale"), "value"),
        State(_CARD("seen"), "data"),
        prevent_initial_call=True,
    )
    @message_on_error(7 + len(SESSION_BUTTONS))
    def draw(
        _refresh: Any, bins: list[int], column: Any, mode: str, scale: str, before: Any
    ) -> Any:
        trigger = ctx.triggered_id
        term = _term(trigger)
        session = term.session
        figure = term.figure(
            column=_column(column),
            selected=bins or (),
            drags=mode == "drag",
            on_common_scale=scale == "common",
            draws=scale == "draws",
            gestures=Ids(trigger["uid"], trigger["key"]).gestures,
        )
        seen = {"version": term.view.version, "edits": len(session.history)}
        return (
            no_update,
            figure,
            selection_line(term, tuple(bins or ())),
            not bins,
            status_text(session),
            history_list(session),
            *disabled_buttons(session, term.view).values(),
            # Left alone unless it changed: the privacy panel follows it.
            no_update if seen == before else seen,
        )


def _add_panel(app: dash.Dash) -> None:
    @app.callback(
        Output(panel_id(MATCH, MATCH), "children"),
        Input(_CARD("seen"), "data"),
    )
    @message_on_error()
    def count(seen: Any) -> Any:
        # A card that appears triggers this too: the model may have been edited before.
        explanation = explanation_of(ctx.outputs_list["id"]["uid"])
        if explanation is None:
            raise PreventUpdate
        spend = explanation.privacy
        return panel_children(dataclasses.replace(spend, edits=spend.edits + seen["edits"]))
