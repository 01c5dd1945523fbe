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
from dash import ALL, MATCH, ctx, dcc, html, no_update
from dash.dependencies import Input, Output, State
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from interpret_dp._documents import parse_json, sealed
from interpret_dp.editor import EditSession
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.actions import (
    LEVEL_TOOLS,
    NUMBER_TOOLS,
    SESSION_BUTTONS,
    SHAPE_TOOLS,
    Outcome,
    Tool,
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
    explanation_of,
    figure_component,
    from_html,
    message_on_error,
    new_uid,
)
from interpret_dp.ui.dash.parts import (
    Ids,
    action_button,
    chooser,
    data_attributes,
    folded,
    history_list,
    link_button,
    message,
    metrics_section,
    model_name,
    named_field,
    notes,
    options_of,
    selection_line,
    session_of,
)
from interpret_dp.ui.figure import EditedTerm

# The editor's card: plot, tools, message line, history and files, as components of Dash.

ALL_CLASSES = "all"
_HIDDEN = {"display": "none"}
_MODEBAR = ("select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d")
_TIP = "Select bins, then choose a tool; or choose 'Drag up and down' and drag bins."
_KEYS_OF_PLOT = (
    "Left and right move the selection, with Shift they extend it; with 'Drag up and down' chosen, "
    "up and down move the selected bins."
)
_CELLS_TIP = "Drag a rectangle over cells, then choose a tool. Pale cells are within the noise."


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
    tip = _CELLS_TIP if isinstance(term.places, CellPlaces) else _TIP
    plot = figure_component(
        term.figure(gestures=ids.gestures), ids("plot"), _MODEBAR, tabIndex="0", title=_KEYS_OF_PLOT
    )
    history = html.Div(own_history(term), id=ids("history"))
    seen = {"version": term.view.version, "edits": len(session.history)}
    return html.Div(
        [
            _header(ids, term),
            _selection_bar(ids, term),
            _div(
                "body",
                _div(
                    "plot", plot, html.Div(notes(term, ()), id=ids("note"), className="idp-muted")
                ),
                _div("side", *_tools(ids, term.view.kind)),
            ),
            _div("line", message(Outcome(tip, "note")), id=ids("message")),
            metrics_section(ids, term),
            folded("History of this term", history),
            dcc.Store(id=ids("selection"), data=[]),
            *(dcc.Store(id=ids(n)) for n in ("looked", "preview", "select", "act")),
            *(dcc.Store(id=ids(n)) for n in ("refresh", "memory", "view")),
            dcc.Store(id=ids("seen"), data=seen),
        ],
        id=ids("card"),
        className="idp-editor",
        tabIndex="-1",
        role="group",
        **data_attributes(model=model_name(session)),
        **_named(f"Editor of {term.view.name}"),
    )


def own_history(term: EditedTerm) -> Component:
    """Return the edits of a card's term, each with buttons to look at it and to go back to it."""
    return history_list(term.session, term.view.name, term.entry)


def _div(css_class: str, *children: Any, **properties: Any) -> Component:
    return html.Div(list(children), className=f"idp-editor-{css_class}", **properties)


def _named(name: str) -> Any:
    """Return the attribute that names an element for those who do not see it."""
    return {"aria-label": name}


def _header(ids: Ids, term: EditedTerm) -> Component:
    text = status_text(term.session, term.view.name)
    status = html.Span(text, id=ids("status"), className="idp-editor-status")
    name = html.Span(term.view.name, className="idp-editor-name")
    kind = html.Span(term.view.kind, className="idp-muted")
    label, hint = SESSION_BUTTONS["reset"]
    reset = action_button(ids, "reset", label, hint, disabled=not term.view.is_edited)
    return _div("header", _div("title", name, kind, status), reset)


def _selection_bar(ids: Ids, term: EditedTerm) -> Component:
    modes = {"select": "Select", "drag": "Drag up and down"}
    if isinstance(term.places, CellPlaces):
        del modes["drag"]
    selectors = [link_button("select-all", whole_label(term)), link_button("select-none", "Clear")]
    spoken: Any = {"aria-live": "polite"}
    selected = selection_line(term, ())
    line = html.Span(selected, id=ids("selected"), className="idp-editor-selected", **spoken)
    links = html.Span(selectors, className="idp-editor-links")
    scales = {"own": "Own scale", "common": "Scale of all terms"}
    released = term.session.base.terms[term.index]
    if released.partner is None and released.noise_deviations is not None:
        scales["draws"] = "Plausible curves"
    return _div(
        "bar",
        _div(
            "row",
            *(_segments(ids("mode"), "Gesture", modes, "select"), line, links, _typed(ids, term)),
        ),
        _div(
            "row",
            _class_chooser(ids, term.session),
            _segments(ids("scale"), "Scale", scales, "own"),
            _segments(
                ids("edits"), "Edits", {"once": "Edit at once", "preview": "Preview first"}, "once"
            ),
        ),
    )


def _typed(ids: Ids, term: EditedTerm) -> Component:
    """Return the fields that select by numbers or by levels, as a gesture does."""
    is_number = term.view.edges is not None
    levels = [] if is_number or isinstance(term.places, CellPlaces) else term.places.codes
    ends = [
        named_field(
            name,
            dcc.Input(
                id=ids(name),
                type="text",
                placeholder=name,
                className="idp-editor-end",
                style={} if is_number else _HIDDEN,
            ),
        )
        for name in ("from", "to")
    ]
    level_chooser = chooser(
        ids("levels"),
        "Levels",
        {code: term.view.labels[code] for code in levels},
        multi=True,
        placeholder="levels",
        className="idp-editor-levels",
        style={} if levels else _HIDDEN,
    )
    button = link_button(
        "select-typed",
        "Select",
        "Select what the fields say; an empty end is open",
        style={} if is_number or levels else _HIDDEN,
    )
    parts = [*ends, level_chooser, button]
    return html.Span(parts, className="idp-editor-typed", **data_attributes(enter="select-typed"))


def _class_chooser(ids: Ids, session: EditSession) -> Component:
    field = chooser(
        ids("class"),
        "Class",
        {ALL_CLASSES: "All classes", **dict(enumerate(session.class_labels))},
        value=ALL_CLASSES,
        clearable=False,
        searchable=False,
        className="idp-editor-class",
    )
    return _div("row", html.Span("Class"), field, style={} if session.class_labels else _HIDDEN)


def _segments(identity: Any, name: str, options: Mapping[str, str], value: str) -> Component:
    items = dcc.RadioItems(
        id=identity,
        options=options_of(options),
        value=value,
        inline=True,
        className="idp-editor-segments",
    )
    return html.Div(items, role="radiogroup", **_named(name))


# -------------------------------------------------------------------------------------- tools


def _tools(ids: Ids, kind_of_term: str) -> list[Component]:
    """Return the tools beside the plot that make sense for a term."""
    shapes = suiting(SHAPE_TOOLS, kind_of_term)
    levels = suiting(LEVEL_TOOLS, kind_of_term)
    number: Component = dcc.Input(
        id=ids("number"), type="text", placeholder="0.1", className="idp-editor-number"
    )
    number = named_field("Number", number)
    numbers = suiting(NUMBER_TOOLS, kind_of_term)
    groups = [
        _group("Level of the selection", _div("grid", *_buttons(ids, levels))),
        _group("By number", _div("numbers", number, *_buttons(ids, numbers))),
    ]
    if shapes:
        grid = _div("grid", *_buttons(ids, shapes))
        groups.insert(0, _group("Shape of the selection", grid, "idp-editor-wide"))
    return [
        html.Fieldset(groups, id=ids("tools"), disabled=True, className="idp-editor-tools"),
        _group("Signal or noise?", _test(ids, kind_of_term), "idp-editor-wide"),
    ]


def _test(ids: Ids, kind_of_term: str) -> Component:
    shapes = shapes_for(kind_of_term)
    what = "heat map" if kind_of_term == "interaction" else "curve"
    test = action_button(ids, "verdict", "Test", "Is it more than noise?")
    repair = action_button(
        ids,
        "repair",
        "Repair noise only",
        "Straighten bumps that could be noise; keep the others",
        disabled="increasing" not in shapes,
    )
    question = html.Div(f"Apart from the noise, is the {what}", className="idp-muted")
    field = chooser(
        *(ids("shape"), "Shape to test for", shapes),
        value=next(iter(shapes)),
        clearable=False,
        searchable=False,
    )
    return _div("test", question, field, _div("grid", test, repair))


def _group(title: str, content: Component, css_class: str = "") -> Component:
    return html.Div([_div("heading", title), content], className=css_class)


def _buttons(ids: Ids, tools: Mapping[str, Tool]) -> list[Component]:
    return [action_button(ids, name, tool.label, tool.hint) for name, tool in tools.items()]


_KIND = "model"
_BAR, _BARS = Ids(MATCH, _KIND, _KIND), Ids(ALL, _KIND, _KIND)
ACTED = _BARS("acted")
"""Ids of the stores that change when a bar has changed a model."""

PLACE_OF_BARS = "idp-model-bars"
"""Id of where the bars of a page are put, once there is a card to edit."""

_MAX_FILE_SIZE = 50_000_000  # bytes
_KEYS = {"undo": " (Ctrl+Z)", "redo": " (Ctrl+Shift+Z)"}


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
                    *_history_buttons(ids, session, "undo", "redo", "total"),
                    named_field("Message", why),
                    *_history_buttons(ids, session, "commit", "cancel"),
                ],
                className="idp-editor-commit",
                **data_attributes(enter="commit"),
            ),
            html.Div(id=ids("message")),
            folded("History", html.Div(history_list(session), id=ids("history"))),
            folded("Download, load, and use in Python", _files(ids)),
            *(dcc.Store(id=ids(part)) for part in ("act", "acted", "seen")),
            dcc.Download(id=ids("download")),
        ],
        id=ids("card"),
        className="idp-editor idp-editor-model",
        **data_attributes(model=model_name(session)),
    )


def _history_buttons(ids: Ids, session: EditSession, *names: str) -> list[Component]:
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
    buttons = html.Div([download, upload], className="idp-editor-row")
    return from_html(render("editor_files.html"), buttons=buttons)


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
        State(_BARS("card"), "id"),
        State(PLACE_OF_BARS, "children"),
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
                outcome = perform_on_model(session, action, why or "")
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
