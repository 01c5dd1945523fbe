"""The editor's card and the bar above all cards, as components of Dash.

A page has one for each model that it shows. Cards have what belongs to their own term.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

import dash
from dash import ALL, MATCH, ctx, dcc, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from interpret_dp._documents import parse_json, sealed
from interpret_dp.editor import EditSession
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.actions import (
    SESSION_BUTTONS,
    TOOLS,
    Outcome,
    disabled_buttons,
    go_back,
    load,
    perform_on_model,
    shapes_for,
    status_text,
    suiting,
    whole_label,
)
from interpret_dp.ui.dash.components import (
    CLOCK,
    bars_html,
    explanation_of,
    figure_component,
    from_html,
    is_editable,
    message_on_error,
    new_uid,
    open_session,
    outdated,
    panel_children,
    panel_id,
    version_of,
)
from interpret_dp.ui.dash.parts import (
    Ids,
    chooser,
    history_list,
    message,
    metrics_children,
    model_name,
    notes,
    options_of,
    selection_line,
    session_of,
)
from interpret_dp.ui.figure import EditedTerm

# The editor's card: plot, tools, message line, history and files, as components of Dash.

ALL_CLASSES = "all"
_MODEBAR = ("select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d")
_KEYS_OF_PLOT = (
    "Left and right move the selection, with Shift they extend it; with 'Drag up and down' chosen, "
    "up and down move the selected bins."
)


def term_editor(session: EditSession, index: int, uid: str) -> Component:
    """Return the card of one term.

    The state is the session in Python. A page holds what it selected and which version of the
    session it drew last, and nothing else.

    Parameters
    ----------
    session : EditSession
        Of the explanation.
    index : int
        Number of the term.
    uid : str
        Name of this rendering: fresh at each, so that two panes never share an id.
    """
    ids, term = Ids(uid, str(index)), EditedTerm.of(session, index)
    view, is_pair = term.view, isinstance(term.places, CellPlaces)
    is_number = view.edges is not None
    levels = {} if is_number or is_pair else {code: view.labels[code] for code in term.places.every}
    page = render(
        "editor.html",
        term=view,
        model=model_name(session),
        status=status_text(session, view.name),
        reset=SESSION_BUTTONS["reset"],
        whole=whole_label(term),
        is_number=is_number,
        levels=levels,
        has_classes=bool(session.class_labels),
        has_rows=session.public_rows is not None,
        shapes=shapes_for(view.kind),
        tools=suiting(TOOLS, view.kind),
    )
    plot = figure_component(
        term.figure(gestures=ids.gestures), ids("plot"), _MODEBAR, tabIndex="0", title=_KEYS_OF_PLOT
    )
    parts: dict[str, Any] = {
        "plot": plot,
        "selected": selection_line(term, ()),
        "note": notes(term),
        "metrics": metrics_children(term, ()),
        "history": own_history(term),
    }
    card = from_html(page, parts | _radios(ids, term) | _fields(ids, term, levels), ids)
    stores = ("looked", "preview", "select", "act", "refresh", "memory", "view")
    card.children += [
        dcc.Store(id=ids("selection"), data=[]),
        dcc.Store(id=ids("seen"), data=view.version),
        *(dcc.Store(id=ids(name)) for name in stores),
    ]
    return card


def own_history(term: EditedTerm) -> Component:
    """Return the edits of a card's term, each with buttons to look at it and to go back to it."""
    return history_list(term.session, term.view.name, term.entry)


def _radios(ids: Ids, term: EditedTerm) -> dict[str, Component]:
    """Return the choices of a card by their slots, the first of each chosen."""
    modes = {"select": "Select", "drag": "Drag up and down"}
    if isinstance(term.places, CellPlaces):
        del modes["drag"]
    scales = {"own": "Own scale", "common": "Scale of all terms"}
    released = term.session.base.terms[term.index]
    if released.partner is None and released.noise_deviations is not None:
        scales["draws"] = "Plausible curves"
    edits = {"once": "Edit at once", "preview": "Preview first"}
    return {
        name: dcc.RadioItems(
            id=ids(name),
            options=options_of(options),
            value=next(iter(options)),
            inline=True,
            className="idp-editor-segments",
        )
        for name, options in (("mode", modes), ("scale", scales), ("edits", edits))
    }


def _fields(ids: Ids, term: EditedTerm, levels: Mapping[int, str]) -> dict[str, Component]:
    """Return the fields and lists of a card by their slots."""
    session, shapes = term.session, shapes_for(term.view.kind)
    classes: dict[Any, Any] = {ALL_CLASSES: "All classes"} | dict(enumerate(session.class_labels))
    fixed: Any = {"clearable": False, "searchable": False}
    of_class: Any = {"value": ALL_CLASSES, "className": "idp-editor-class"}
    of_levels: Any = {"placeholder": "levels", "className": "idp-editor-levels", "multi": True}
    # A list that has nothing to choose takes its time all the same, and the callbacks read a value.
    fields: dict[str, Component] = {
        name: dcc.Input(id=ids(name), type="hidden", value=value)
        for name, value in (("from", ""), ("to", ""), ("levels", None), ("class", ALL_CLASSES))
    }
    if term.view.edges is not None:
        style = "idp-editor-end"
        for name in ("from", "to"):
            fields[name] = dcc.Input(id=ids(name), type="text", placeholder=name, className=style)
    if levels:
        fields["levels"] = chooser(ids("levels"), "Levels", levels, **of_levels)
    if session.class_labels:
        fields["class"] = chooser(ids("class"), "Class", classes, **of_class, **fixed)
    number = dcc.Input(
        id=ids("number"), type="text", placeholder="0.1", className="idp-editor-number"
    )
    first = next(iter(shapes))
    return fields | {
        "number": number,
        "shape": chooser(ids("shape"), "Shape to test for", shapes, value=first, **fixed),
    }


_KIND = "model"
_BAR, _BARS = Ids(MATCH, _KIND, _KIND), Ids(ALL, _KIND, _KIND)
ACTED = _BARS("acted")
"""Ids of the stores that change when a bar has changed a model."""

PLACE_OF_BARS = "idp-model-bars"
"""Id of where the bars of a page are put, once there is a card to edit."""

_PANELS = panel_id(ALL, ALL)
_MAX_FILE_SIZE = 50_000_000  # bytes


def _bar(session: EditSession, explanation: Any) -> Component:
    ids = Ids(new_uid(explanation), _KIND, _KIND)
    why = dcc.Input(
        id=ids("why"),
        type="text",
        placeholder="Why? The message that goes with the edits that have none",
        className="idp-editor-why-field",
        maxLength=2_000,
    )
    upload = dcc.Upload(
        "Load a file",
        id=ids("upload"),
        accept=".json,application/json",
        className="idp-editor-button idp-editor-upload",
        style={},
        style_active={},
    )
    page = render(
        "editor_bar.html",
        name=explanation.name,
        model=model_name(session),
        status=status_text(session),
        session_buttons=SESSION_BUTTONS,
        disabled=disabled_buttons(session),
    )
    bar = from_html(page, {"why": why, "upload": upload, "history": history_list(session)}, ids)
    bar.children += [
        *(dcc.Store(id=ids(part)) for part in ("act", "acted", "seen")),
        dcc.Download(id=ids("download")),
    ]
    return bar


# ---------------------------------------------------------------------------------- callbacks


def register_bar(app: dash.Dash) -> None:
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
        Output(PLACE_OF_BARS, "children"),
        Input(Ids(ALL, ALL)("seen"), "data"),
        Input(_PANELS, "data-version"),
        State(_BARS("card"), "id"),
        State(PLACE_OF_BARS, "children"),
        prevent_initial_call=True,
    )
    def add(_cards: Any, _panels: Any, bars: list[Any], shown: list[Any] | None) -> Any:
        """Put a bar above the first part of each model that is being edited."""
        shown_already = {id(e.edit_session) for e in _explanations(bars)}
        fresh = []
        parts = (part["id"] for parts in ctx.inputs_list for part in parts)
        for explanation in _explanations(parts):
            session = open_session(explanation)
            if session is not None and id(session) not in shown_already:
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
            before = session.released
            if action == "download":
                text = json.dumps(sealed(session.to_dict()), indent=1, allow_nan=False)
                document = {"content": text, "filename": f"edits-{session.base.digest[:12]}.json"}
                outcome = Outcome("The edits were handed to the browser as a file.")
            elif action == "card":
                page, name = session.model.card().to_html(), f"card-{before.digest[:12]}.html"
                document = {"content": page, "filename": name}
                outcome = Outcome("The card was handed to the browser as a page.")
            elif action == "load":
                outcome = load(session, _uploaded(contents))
            elif action.startswith("back-"):
                outcome = go_back(session, int(action.removeprefix("back-")))
            else:
                outcome = perform_on_model(session, action, why or "")
            outcome = outcome.since(session, before)
        except (TypeError, ValueError, OSError) as error:
            return message(Outcome(str(error), "error")), *[no_update] * 3, None
        emptied_why = "" if action == "commit" else no_update
        acted = {"version": session.version, "at": time.time()}
        # Emptied, so that the same file can be loaded again.
        return message(outcome), acted, document, emptied_why, None


def _uploaded(contents: str) -> Any:
    """Return the document in a file that the browser sent."""
    content = base64.b64decode(contents.partition(",")[2])
    if len(content) > _MAX_FILE_SIZE:
        raise ValueError(f"The file has {len(content):,} bytes; at most {_MAX_FILE_SIZE:,} fit.")
    return parse_json(content, "The file")


def _add_showing(app: dash.Dash) -> None:
    """Show on the whole page what its sessions hold, whoever edited them."""

    @app.callback(
        Output(_BARS("seen"), "data"),
        Input(CLOCK, "n_intervals"),
        Input(ACTED, "data"),
        Input(Ids(ALL, ALL)("seen"), "data"),
        State(_BARS("seen"), "data"),
        State(_PANELS, "data-version"),
        # A slow server is not asked again before it has answered.
        running=[(Output(CLOCK, "disabled"), True, False)],
    )
    def show(*_values: Any) -> Any:
        acted, cards = ctx.inputs_list[1:]
        bars, panels = ctx.states_list
        # What has left the page is named without a value, and must not be drawn.
        drawn = [part for part in (*cards, *panels) if part.get("value") is not None]
        late = [part["id"] for part in (*bars, *drawn) if outdated(part) is not None]
        if not late:
            raise PreventUpdate
        said = [(bar["id"]["uid"], (bar.get("value") or {}).get("version")) for bar in acted]
        for identity in late:
            uid, key = identity["uid"], identity["key"]
            if identity["type"] == _PANELS["type"]:
                _show_whole(identity)
            elif key == _KIND:
                _show_bar(uid, said)
            else:
                dash.set_props(Ids(uid, key)("refresh"), {"data": time.time()})
        return [no_update] * len(bars)


def _show_whole(identity: Any) -> None:
    """Draw anew what follows the model."""
    explanation = explanation_of(identity["uid"])
    # Read before the model is: an edit in between is seen at the next look.
    version: Any = {"data-version": version_of(explanation)}
    children = panel_children(explanation, identity["key"])
    dash.set_props(identity, version | {"children": children})
    if is_editable(explanation):
        bars = bars_html(explanation.edit_session.released)
        dash.set_props(Ids(identity["uid"], "", "terms")("bars"), {"data": bars})


def _show_bar(uid: str, said: Any) -> None:
    """Draw a bar anew; ``said`` has the versions of which bars have said something."""
    session, ids = explanation_of(uid).edit_session, Ids(uid, _KIND, _KIND)
    version, buttons = session.version, disabled_buttons(session)
    del buttons["reset"]
    shown: dict[str, dict[str, Any]] = {
        "status": {"children": status_text(session)},
        "history": {"children": history_list(session)},
        **{f"button-{name}": {"disabled": disabled} for name, disabled in buttons.items()},
        "seen": {"data": version},
    }
    # What a bar said is old news once somebody else has edited.
    if (uid, version) not in said:
        shown["message"] = {"children": None}
    for part, properties in shown.items():
        dash.set_props(ids(part), properties)
