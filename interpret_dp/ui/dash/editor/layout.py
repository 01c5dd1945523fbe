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
    disabled_buttons,
    shapes_for,
    suiting,
    whole_label,
)
from interpret_dp.ui.dash.components import figure_component
from interpret_dp.ui.dash.editor.parts import (
    Ids,
    action_button,
    data_attributes,
    history_list,
    message,
    selection_line,
    status_text,
)
from interpret_dp.ui.figure import EditedTerm

__all__ = ["ALL_CLASSES", "term_editor"]

ALL_CLASSES = "all"
_POLL = 1_000  # milliseconds between two looks at whether somebody else edited the model
_MODEBAR = ("select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d")
_KEYS = {"undo": " (Ctrl+Z)", "redo": " (Ctrl+Shift+Z)"}
_TIP = (
    "Select bins, then choose a tool; or take the selected part of the curve and drag it up or "
    "down."
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
    plot = figure_component(term.figure(gestures=ids.gestures), ids("plot"), _MODEBAR)
    history = html.Div(history_list(session), id=ids("history"))
    seen = {"version": term.view.version, "edits": len(session.history)}
    return html.Div(
        [
            _header(ids, term),
            _selection_bar(ids, term),
            _div("body", _div("plot", plot), _div("side", *_tools(ids, term.view.kind))),
            _div("line", message(Outcome(tip, "note")), id=ids("message")),
            _commit_bar(ids, term),
            _folded("History (shared by all views of this model)", history),
            _folded("Download, load, and use in Python", _files(ids)),
            dcc.Store(id=ids("selection"), data=[]),
            *(dcc.Store(id=ids(name)) for name in ("click", "drag", "refresh")),
            dcc.Store(id=ids("seen"), data=seen),
            dcc.Download(id=ids("download")),
            dcc.Interval(id=ids("clock"), interval=_POLL),
        ],
        className="idp-editor",
        tabIndex="-1",
    )


def _div(css_class: str, *children: Any, **properties: Any) -> Component:
    return html.Div(list(children), className=f"idp-editor-{css_class}", **properties)


def _muted(text: str) -> Component:
    return html.Span(text, className="idp-muted")


def _session_buttons(ids: Ids, term: EditedTerm, *names: str) -> list[Component]:
    disabled = disabled_buttons(term.session, term.view)
    buttons = []
    for name in names:
        label, hint = SESSION_BUTTONS[name]
        hint += _KEYS.get(name, "")
        buttons.append(action_button(ids, name, label, hint, disabled=disabled[name]))
    return buttons


def _header(ids: Ids, term: EditedTerm) -> Component:
    status = html.Span(status_text(term.session), id=ids("status"), className="idp-editor-status")
    name = html.Span(term.view.name, className="idp-editor-name")
    buttons = _session_buttons(ids, term, "undo", "redo", "reset")
    return _div(
        "header", _div("title", name, _muted(term.view.kind), status), _div("row", *buttons)
    )


def _selection_bar(ids: Ids, term: EditedTerm) -> Component:
    modes = {"select": "Select", "drag": "Drag up and down"}
    if isinstance(term.places, CellPlaces):
        del modes["drag"]
    selectors = [
        html.Button(
            label,
            id=ids.selector(action),
            className="idp-editor-link",
            n_clicks=0,
            **data_attributes(action=f"select-{action}"),
        )
        for action, label in (("all", whole_label(term)), ("none", "Clear"))
    ]
    line = html.Span(selection_line(term, ()), id=ids("selected"), className="idp-editor-selected")
    links = html.Span(selectors, className="idp-editor-links")
    scales = {"own": "Own scale", "common": "Scale of all terms"}
    released = term.session.base.terms[term.index]
    if released.partner is None and released.noise_deviations is not None:
        scales["draws"] = "Plausible curves"
    return _div(
        "bar",
        _div("row", _segments(ids("mode"), modes, "select"), line, links),
        _div("row", _class_chooser(ids, term.session), _segments(ids("scale"), scales, "own")),
    )


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
    return _div("row", html.Span("Class"), chooser, style={} if labels else {"display": "none"})


def _segments(identity: Any, options: Mapping[str, str], value: str) -> Component:
    return dcc.RadioItems(
        id=identity,
        options=_options(options),
        value=value,
        inline=True,
        className="idp-editor-segments",
    )


def _options(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"label": label, "value": value} for value, label in labels.items()]


# -------------------------------------------------------------------------------------- tools


def _tools(ids: Ids, kind_of_term: str) -> list[Component]:
    """Return the tools beside the plot that make sense for a term."""
    shapes = suiting(SHAPE_TOOLS, kind_of_term)
    levels = suiting(LEVEL_TOOLS, kind_of_term)
    number = dcc.Input(
        id=ids("number"), type="text", placeholder="0.1", className="idp-editor-number"
    )
    groups = [
        _group("Level of the selection", _div("grid", *_buttons(ids, levels))),
        _group("By number", _div("numbers", number, *_buttons(ids, NUMBER_TOOLS))),
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
    return _div("test", question, chooser, _div("grid", test, repair))


def _group(title: str, content: Component, css_class: str = "") -> Component:
    return html.Div([_div("heading", title), content], className=css_class)


def _buttons(ids: Ids, tools: Mapping[str, Tool]) -> list[Component]:
    return [action_button(ids, name, tool.label, tool.hint) for name, tool in tools.items()]


# ------------------------------------------------------------------------------ below the plot


def _commit_bar(ids: Ids, term: EditedTerm) -> Component:
    why = dcc.Input(
        id=ids("why"),
        type="text",
        placeholder="Why? The message that goes with these edits",
        className="idp-editor-why-field",
        maxLength=2_000,
    )
    note = "Edits use released figures only: they cost no privacy, and the guarantee stays."
    buttons = _session_buttons(ids, term, "commit", "cancel")
    return _div("commit", why, *buttons, _muted(note), **data_attributes(enter="commit"))


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
        "this model only."
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
            _div("row", download, upload),
            html.Div(content, className="idp-muted"),
            html.Div(in_python),
        ]
    )
