"""The callbacks of the editor: select, act, notice other views' edits, draw.

One callback draws and the others tell it to, so that what is on the page is always one state of
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

from interpret_dp.dashboard.editor_actions import Outcome, Request, file_name, load, perform
from interpret_dp.dashboard.editor_buttons import BUTTON, SELECTOR, Ids
from interpret_dp.dashboard.editor_layout import ALL_CLASSES
from interpret_dp.dashboard.editor_parts import (
    history_list,
    message,
    selection_text,
    status_text,
)
from interpret_dp.dashboard.errors import message_on_error
from interpret_dp.dashboard.panel import panel_children, panel_id
from interpret_dp.dashboard.state import explanation_of
from interpret_dp.editor import EditSession
from interpret_dp.editor.figure import EditedTerm

__all__ = ["register"]

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


def _told(error: Exception) -> Any:
    return message(Outcome(str(error), "error"))


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
        term = EditedTerm.of(_session(trigger), int(trigger["key"]))
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
        # Buttons that have just appeared are told as well.
        if not ctx.triggered[0]["value"]:
            raise PreventUpdate
        request = Request(
            term=int(trigger["key"]),
            bins=tuple(bins or ()),
            column=_column(column),
            number=number or "",
            why=why or "",
            shape=shape,
        )
        action = trigger["action"] if trigger["type"] == BUTTON else trigger["type"]
        try:
            session = _session(trigger)
            outcome = _outcome(session, action, request, drag, contents)
        except (TypeError, ValueError, OSError) as error:
            # Drawn anew all the same: a drag that was refused must not stay on the page.
            return _told(error), time.time(), no_update, no_update
        document: Any = no_update
        if outcome.document is not None:
            text = json.dumps(outcome.document, indent=1, allow_nan=False)
            document = {"content": text, "filename": file_name(session)}
        shown_why = "" if action == "commit" else no_update
        return message(outcome), time.time(), document, shown_why


def _outcome(
    session: EditSession, action: str, request: Request, drag: Any, contents: Any
) -> Outcome:
    if action == _CARD("upload")["type"]:
        _, _, encoded = contents.partition(",")
        return load(session, base64.b64decode(encoded))
    if action == _CARD("drag")["type"]:
        bins = tuple(int(code) for code in drag["bins"])
        request = dataclasses.replace(request, bins=bins, moved_by=float(drag["by"]))
        action = "drag"
    places = EditedTerm.of(session, request.term).places
    return perform(session, places, action, request)


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
        Output(_CARD.button("undo"), "disabled"),
        Output(_CARD.button("redo"), "disabled"),
        Output(_CARD.button("reset"), "disabled"),
        Output(_CARD.button("commit"), "disabled"),
        Output(_CARD.button("cancel"), "disabled"),
        Output(_CARD("seen"), "data"),
        Input(_CARD("refresh"), "data"),
        Input(_CARD("selection"), "data"),
        Input(_CARD("class"), "value"),
        Input(_CARD("mode"), "value"),
        Input(_CARD("scale"), "value"),
        State(_CARD("seen"), "data"),
        prevent_initial_call=True,
    )
    @message_on_error(12)
    def draw(
        _refresh: Any, bins: list[int], column: Any, mode: str, scale: str, before: Any
    ) -> Any:
        trigger = ctx.triggered_id
        session = _session(trigger)
        term = EditedTerm.of(session, int(trigger["key"]))
        figure = term.figure(
            column=_column(column),
            selected=bins or (),
            drags=mode == "drag",
            on_common_scale=scale == "common",
            gestures=Ids(trigger["uid"], trigger["key"]).gestures,
        )
        seen = {"version": term.view.version, "edits": len(session.history)}
        return (
            no_update,
            figure,
            selection_text(term.view, term.places, bins or ()),
            not bins,
            status_text(session),
            history_list(session),
            not session.can_undo,
            not session.can_redo,
            not term.view.is_edited,
            not session.pending,
            not session.pending,
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
        # A card that appears is told too: the model may have been edited before.
        explanation = explanation_of(ctx.outputs_list["id"]["uid"])
        if explanation is None:
            raise PreventUpdate
        spend = explanation.privacy
        return panel_children(dataclasses.replace(spend, edits=spend.edits + seen["edits"]))
