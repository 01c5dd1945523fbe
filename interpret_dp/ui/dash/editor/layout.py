"""The editor's card: plot, tools, message line, history and files, as components of Dash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from interpret_dp.editor import EditSession
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.actions import (
    LEVEL_TOOLS,
    NUMBER_TOOLS,
    SESSION_BUTTONS,
    SHAPE_TOOLS,
    Outcome,
    Tool,
    shapes_for,
    status_text,
    suiting,
    whole_label,
)
from interpret_dp.ui.dash.components import figure_component
from interpret_dp.ui.dash.editor.metrics import metrics_section
from interpret_dp.ui.dash.editor.parts import (
    Ids,
    action_button,
    data_attributes,
    history_list,
    link_button,
    message,
    model_name,
    named_field,
    notes,
    selection_line,
)
from interpret_dp.ui.figure import EditedTerm

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
            html.Details(
                [html.Summary("History of this term"), history], className="idp-editor-folded"
            ),
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

    def button(action: str, label: str, hint: str) -> Component:
        is_shown = action == f"look-{term.entry}"
        return link_button(action, "Hide" if is_shown else label, hint)

    return history_list(term.session, term.view.name, button)


def _div(css_class: str, *children: Any, **properties: Any) -> Component:
    return html.Div(list(children), className=f"idp-editor-{css_class}", **properties)


def _named(name: str) -> Any:
    """Return the attribute that names an element for those who do not see it."""
    return {"aria-label": name}


def _muted(text: str) -> Component:
    return html.Span(text, className="idp-muted")


def _header(ids: Ids, term: EditedTerm) -> Component:
    text = status_text(term.session, term.view.name)
    status = html.Span(text, id=ids("status"), className="idp-editor-status")
    name = html.Span(term.view.name, className="idp-editor-name")
    label, hint = SESSION_BUTTONS["reset"]
    reset = action_button(ids, "reset", label, hint, disabled=not term.view.is_edited)
    return _div("header", _div("title", name, _muted(term.view.kind), status), reset)


def _selection_bar(ids: Ids, term: EditedTerm) -> Component:
    modes = {"select": "Select", "drag": "Drag up and down"}
    if isinstance(term.places, CellPlaces):
        del modes["drag"]
    selectors = [
        link_button("select-all", whole_label(term)),
        link_button("select-none", "Clear"),
    ]
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
    chooser = dcc.Dropdown(
        id=ids("levels"),
        options=_options({str(code): str(term.view.labels[code]) for code in levels}),
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
    parts = [*ends, _group_of(chooser, "Levels"), button]
    return html.Span(parts, className="idp-editor-typed", **data_attributes(enter="select-typed"))


def _class_chooser(ids: Ids, session: EditSession) -> Component:
    labels = {str(column): str(label) for column, label in enumerate(session.class_labels)}
    chooser = dcc.Dropdown(
        id=ids("class"),
        options=_options({ALL_CLASSES: "All classes", **labels}),
        value=ALL_CLASSES,
        clearable=False,
        searchable=False,
        className="idp-editor-class",
    )
    style = {} if labels else _HIDDEN
    return _div("row", html.Span("Class"), _group_of(chooser, "Class"), style=style)


def _segments(identity: Any, name: str, options: Mapping[str, str], value: str) -> Component:
    items = dcc.RadioItems(
        id=identity,
        options=_options(options),
        value=value,
        inline=True,
        className="idp-editor-segments",
    )
    return html.Div(items, role="radiogroup", **_named(name))


def _group_of(field: Component, name: str) -> Component:
    """Return a list with a name, which Dash cannot give it."""
    return html.Div(field, role="group", **_named(name))


def _options(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"label": label, "value": value} for value, label in labels.items()]


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
    chooser = dcc.Dropdown(
        id=ids("shape"),
        options=_options(shapes),
        value=next(iter(shapes)),
        clearable=False,
        searchable=False,
    )
    question = html.Div(f"Apart from the noise, is the {what}", className="idp-muted")
    field = _group_of(chooser, "Shape to test for")
    return _div("test", question, field, _div("grid", test, repair))


def _group(title: str, content: Component, css_class: str = "") -> Component:
    return html.Div([_div("heading", title), content], className=css_class)


def _buttons(ids: Ids, tools: Mapping[str, Tool]) -> list[Component]:
    return [action_button(ids, name, tool.label, tool.hint) for name, tool in tools.items()]
