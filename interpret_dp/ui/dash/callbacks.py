"""The callbacks of the editor: select, act, notice other views' edits, draw.

One callback draws and the others trigger it, so that what is on the page is always one state of
the session. All of them answer from released figures in memory.
"""

from __future__ import annotations

import dataclasses
import json
import time
from typing import TYPE_CHECKING, Any

import dash
from dash import MATCH, ctx, no_update
from dash.dependencies import Input, Output, State
from dash.exceptions import PreventUpdate

from interpret_dp.ui.actions import (
    EditorInput,
    Outcome,
    go_back,
    offered,
    perform,
    status_text,
    typed_bins,
    with_planned,
)
from interpret_dp.ui.dash.components import (
    message_on_error,
)
from interpret_dp.ui.dash.layout import ALL_CLASSES, own_history
from interpret_dp.ui.dash.parts import (
    Ids,
    message,
    metrics_children,
    notes,
    offer_message,
    selection_line,
    session_of,
)
from interpret_dp.ui.figure import EditedTerm, axis_height

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_TIP_OF_LOOK = (
    "The dotted line shows this entry. 'Hide' takes it away, 'Go back' makes it the curve."
)
_CARD = Ids(MATCH, MATCH)
_TEXTS = ("selected", "status", "note", "history", "metrics")
_NEW_AXES = tuple(_CARD(part)["type"] for part in ("class", "scale"))
# Ranges of axes that a user has zoomed or moved to. Resetting an axis resets its spikes as well.
_VIEW = """
(change, _class, _scale, view) => {
    if (window.dash_clientside.callback_context.triggered_id.type !== PLOT) return {};
    view = { ...view };
    for (const [key, value] of Object.entries(change || {})) {
        const [axis, part] = key.split(".");
        if (part === "showspikes" || part === "autorange") view[axis] = null;
        else if (part === "range") view[axis] = value;
        else if (part === "range[0]") view[axis] = [value, change[`${axis}.range[1]`]];
    }
    return view;
}
""".replace("PLOT", json.dumps(_CARD("plot")["type"]))


def register(app: dash.Dash) -> None:
    """Add the callbacks to one of interpret's apps."""
    for add in (_add_selecting, _add_acting, _add_drawing):
        add(app)
    _add_memory(app)


def _column(value: Any) -> int | None:
    return None if value in (None, ALL_CLASSES) else int(value)


def _term(identity: Any, entry: int | None = None) -> EditedTerm:
    return EditedTerm.of(session_of(identity), int(identity["key"]), entry=entry)


# ---------------------------------------------------------------------------------- selecting


def _add_selecting(app: dash.Dash) -> None:
    @app.callback(
        Output(_CARD("message"), "children", allow_duplicate=True),
        Output(_CARD("preview"), "data", allow_duplicate=True),
        Output(_CARD("selection"), "data"),
        Input(_CARD("plot"), "selectedData"),
        Input(_CARD("select"), "data"),
        State(_CARD("selection"), "data"),
        *(State(_CARD(name), "value") for name in ("from", "to", "levels")),
        prevent_initial_call=True,
    )
    @message_on_error(3)
    def select(box: Any, made: Any, before: list[int], *typed: Any) -> Any:
        trigger = ctx.triggered_id
        term = _term(trigger)
        if trigger["type"] == _CARD("select")["type"]:
            if "action" in made:
                return _chosen(term, made["action"], *typed)
            return None, None, _clicked(term, made, before or [])
        # plotly reports "nothing" whenever a figure is drawn anew: that is no choice.
        ranges = (box or {}).get("range") or {}
        if not ranges.get("x"):
            raise PreventUpdate
        bins = term.places.within(ranges)
        if not bins:
            raise PreventUpdate
        # A preview is of the selection that it was made for.
        return None, None, bins


def _chosen(term: EditedTerm, action: str, *typed: Any) -> Any:
    """Return message, preview and selection of a button: everything, nothing, or what is typed."""
    if action != "select-typed":
        return None, None, term.places.whole() if action == "select-all" else []
    try:
        return None, None, typed_bins(term, *typed)
    except (TypeError, ValueError) as error:
        return message(Outcome(str(error), "error")), no_update, no_update


def _clicked(term: EditedTerm, click: Any, before: list[int]) -> list[int]:
    """Return the selection after a click: one bin of a curve; levels come and go.

    The arrow keys name all bins.
    """
    if "bins" in click:
        return sorted({int(code) for code in click["bins"]} & set(term.places.codes))
    code = int(click["bin"])
    if not term.places.n_steps:
        return sorted(set(before) ^ {code})
    # The shift key takes everything from what is selected to here.
    return term.places.reaching(before, code) if click["extends"] else [code]


# ------------------------------------------------------------------------------------- acting


def _add_acting(app: dash.Dash) -> None:
    @app.callback(
        Output(_CARD("message"), "children"),
        Output(_CARD("looked"), "data"),
        Output(_CARD("preview"), "data"),
        Output(_CARD("refresh"), "data"),
        Input(_CARD("act"), "data"),
        State(_CARD("selection"), "data"),
        State(_CARD("class"), "value"),
        State(_CARD("number"), "value"),
        State(_CARD("shape"), "value"),
        State(_CARD("looked"), "data"),
        State(_CARD("edits"), "value"),
        State(_CARD("preview"), "data"),
        State(_CARD("scale"), "value"),
        State(_CARD("view"), "data"),
        prevent_initial_call=True,
        running=[(Output(_CARD("card"), "aria-busy"), "true", "false")],
    )
    @message_on_error(4)
    def act(
        made: Any,
        bins: list[int],
        column: Any,
        number: str | None,
        shape: str,
        looked: int | None,
        edits: str,
        held: Any,
        scale: str,
        view: Any,
    ) -> Any:
        trigger = ctx.triggered_id
        # A drag says itself which bins it shifts, and by how much.
        request = EditorInput(
            bins=tuple(made.get("bins", bins) or ()),
            column=_column(column),
            number=made.get("by", number or ""),
            shape=shape,
        )
        action = made["action"]
        kind, _, entry = action.partition("-")
        shown = plan = None
        try:
            session = session_of(trigger)
            before = session.released
            if kind == "look":
                shown = None if int(entry) == looked else int(entry)
                outcome = Outcome(_TIP_OF_LOOK if shown is not None else "", "note")
            elif kind == "back":
                outcome = go_back(session, int(entry), int(trigger["key"]))
            elif action == "discard":
                outcome = Outcome("")
            elif action == "accept":
                if (planned := _planned(held)) is None:
                    raise ValueError("There is no preview to accept. Press a tool first.")
                outcome = perform(_term(trigger), *planned)
            else:
                term = _term(trigger)
                figure = term.figure(column=request.column, on_common_scale=scale == "common")
                plotted = axis_height(_as_seen(figure, view))
                offer = offered(term, action, request, plotted, is_wanted=edits == "preview")
                if offer is not None:
                    plan = {"action": action, "request": dataclasses.asdict(request)}
                    ids = Ids(trigger["uid"], trigger["key"])
                    return offer_message(ids, offer, action), None, plan, time.time()
                outcome = perform(term, action, request)
            outcome = outcome.since(session, before)
        except (TypeError, ValueError, OSError) as error:
            # Drawn anew all the same: a drag that was refused must not stay on the page.
            outcome = Outcome(str(error), "error")
        return message(outcome) if outcome.text else None, shown, plan, time.time()


def _planned(held: Any) -> tuple[str, EditorInput] | None:
    """Return the action and the request of the preview that a page holds."""
    if held is None:
        return None
    request = held["request"]
    return held["action"], EditorInput(**{**request, "bins": tuple(request["bins"])})


# ------------------------------------------------------------------------------------ drawing


def _add_drawing(app: dash.Dash) -> None:
    follow_axes: Any = app.clientside_callback
    follow_axes(
        _VIEW,
        Output(_CARD("view"), "data"),
        Input(_CARD("plot"), "relayoutData"),
        Input(_CARD("class"), "value"),
        Input(_CARD("scale"), "value"),
        State(_CARD("view"), "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(_CARD("message"), "children", allow_duplicate=True),
        Output(_CARD("plot"), "figure"),
        Output(_CARD("tools"), "disabled"),
        Output(_CARD("button-reset"), "disabled"),
        *(Output(_CARD(part), "children") for part in _TEXTS),
        Output(_CARD("seen"), "data"),
        Input(_CARD("refresh"), "data"),
        Input(_CARD("selection"), "data"),
        *(Input(_CARD(field), "value") for field in ("class", "mode", "scale")),
        State(_CARD("view"), "data"),
        State(_CARD("looked"), "data"),
        State(_CARD("preview"), "data"),
        State(_CARD("seen"), "data"),
        prevent_initial_call=True,
    )
    @message_on_error(10)
    def draw(
        _refresh: Any,
        bins: list[int],
        column: Any,
        mode: str,
        scale: str,
        view: Any,
        entry: Any,
        held: Any,
        before: Any,
    ) -> Any:
        trigger = ctx.triggered_id
        term = with_planned(_term(trigger, entry), _planned(held))
        session, ids = term.session, Ids(trigger["uid"], trigger["key"])
        figure = term.figure(
            column=_column(column),
            selected=bins or (),
            drags=mode == "drag",
            on_common_scale=scale == "common",
            draws=scale == "draws",
            gestures=ids.gestures,
        )
        # Other classes and another scale have ranges of their own.
        figure = _as_seen(figure, None if trigger["type"] in _NEW_AXES else view)
        return (
            no_update,
            figure,
            not bins,
            not term.view.is_edited,
            selection_line(term, tuple(bins or ())),
            status_text(session, term.view.name),
            notes(term),
            own_history(term),
            metrics_children(term, bins or ()),
            # Left alone unless it changed: what shows the whole model follows it.
            no_update if term.view.version == before else term.view.version,
        )


def _as_seen(figure: Figure, view: Any) -> Figure:
    """Return a figure with the ranges of axes that a person has zoomed or moved to."""
    for axis in ("xaxis", "xaxis2", "yaxis"):
        if view and view.get(axis):
            figure.layout[axis].range = view[axis]
    return figure


def _add_memory(app: dash.Dash) -> None:
    """Give a card that is drawn anew what a person had in it; the page itself remembers."""
    fields = ("class", "mode", "scale", "edits", "number", "from", "to", "shape")
    app.clientside_callback(  # type: ignore[no-untyped-call]
        dash.ClientsideFunction("interpret_dp", "remember"),
        Output(_CARD("memory"), "data"),
        Input(_CARD("selection"), "data"),
        *(Input(_CARD(name), "value") for name in fields),
    )
