"""The editor's card: plot, tools, message line, history and files, as components of Dash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from interpret_dp.dashboard.editor_actions import Outcome, whole_label
from interpret_dp.dashboard.editor_buttons import Ids, action_button, data_attributes
from interpret_dp.dashboard.editor_parts import (
    history_list,
    message,
    selection_text,
    status_text,
)
from interpret_dp.dashboard.editor_sidebar import tools
from interpret_dp.editor import EditSession, TermView
from interpret_dp.editor.figure import EditedTerm
from interpret_dp.explanation.plots.axes import Places
from interpret_dp.explanation.plots.heat import CellPlaces

__all__ = ["ALL_CLASSES", "term_editor"]

ALL_CLASSES = "all"
_POLL = 1_000  # milliseconds between two looks at whether somebody else edited the model
_MODEBAR = ("select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d")


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
    view, places, figure = term.view, term.places, term.figure(gestures=ids.gestures)
    return html.Div(
        [
            _header(ids, session, view),
            _selection_bar(ids, session, view, places),
            html.Div(
                [
                    html.Div(_graph(ids, figure), className="idp-editor-plot"),
                    html.Div(tools(ids, view), className="idp-editor-side"),
                ],
                className="idp-editor-body",
            ),
            html.Div(
                message(Outcome(_CELLS_TIP if isinstance(places, CellPlaces) else _TIP, "note")),
                id=ids("message"),
                className="idp-editor-line",
            ),
            _commit_bar(ids, session),
            _folded(f"History ({_SHARED})", html.Div(history_list(session), id=ids("history"))),
            _folded("Download, load, and use in Python", _files(ids)),
            dcc.Store(id=ids("selection"), data=[]),
            dcc.Store(id=ids("click")),
            dcc.Store(id=ids("drag")),
            dcc.Store(id=ids("refresh")),
            dcc.Store(
                id=ids("seen"), data={"version": view.version, "edits": len(session.history)}
            ),
            dcc.Download(id=ids("download")),
            dcc.Interval(id=ids("clock"), interval=_POLL),
        ],
        className="idp-editor",
        tabIndex="-1",
    )


_TIP = (
    "Select bins, then choose a tool; or take the selected part of the curve and drag it up or "
    "down."
)
_CELLS_TIP = "Drag a rectangle over cells, then choose a tool. Pale cells are within the noise."
_SHARED = "shared by all views of this model"


def _header(ids: Ids, session: EditSession, view: TermView) -> Component:
    return html.Div(
        [
            html.Div(
                [
                    html.Span(view.name, className="idp-editor-name"),
                    html.Span(view.kind, className="idp-muted"),
                    html.Span(
                        status_text(session), id=ids("status"), className="idp-editor-status"
                    ),
                ],
                className="idp-editor-title",
            ),
            html.Div(
                [
                    action_button(
                        ids,
                        "undo",
                        "Undo",
                        "Take the last edit back (Ctrl+Z)",
                        disabled=not session.can_undo,
                    ),
                    action_button(
                        ids,
                        "redo",
                        "Redo",
                        "Bring it back (Ctrl+Shift+Z)",
                        disabled=not session.can_redo,
                    ),
                    action_button(
                        ids,
                        "reset",
                        "Reset term",
                        "Back to the scores as they were released",
                        disabled=not view.is_edited,
                    ),
                ],
                className="idp-editor-row",
            ),
        ],
        className="idp-editor-header",
    )


def _selection_bar(
    ids: Ids, session: EditSession, view: TermView, places: Places | CellPlaces
) -> Component:
    modes = {"select": "Select", "drag": "Drag up and down"}
    if isinstance(places, CellPlaces):
        del modes["drag"]
    return html.Div(
        [
            html.Div(
                [
                    _segments(ids("mode"), modes, "select"),
                    html.Span(
                        selection_text(view, places, ()),
                        id=ids("selected"),
                        className="idp-editor-selected",
                    ),
                    html.Span(
                        [
                            html.Button(
                                label,
                                id=ids.selector(action),
                                className="idp-editor-link",
                                n_clicks=0,
                                **data_attributes(action=f"select-{action}"),
                            )
                            for action, label in (("all", whole_label(places)), ("none", "Clear"))
                        ],
                        className="idp-editor-links",
                    ),
                ],
                className="idp-editor-row",
            ),
            html.Div(
                [
                    _class_chooser(ids, session),
                    _segments(
                        ids("scale"), {"own": "Own scale", "common": "Scale of all terms"}, "own"
                    ),
                ],
                className="idp-editor-row",
            ),
        ],
        className="idp-editor-bar",
    )


def _class_chooser(ids: Ids, session: EditSession) -> Component:
    labels = {str(column): str(label) for column, label in enumerate(session.class_labels)}
    chooser = dcc.Dropdown(
        id=ids("class"),
        options=[
            {"label": "All classes", "value": ALL_CLASSES},
            *({"label": label, "value": column} for column, label in labels.items()),
        ],
        value=ALL_CLASSES,
        clearable=False,
        searchable=False,
        className="idp-editor-class",
    )
    hidden = {} if labels else {"display": "none"}
    return html.Div([html.Span("Class"), chooser], className="idp-editor-row", style=hidden)


def _segments(identity: Any, options: Mapping[str, str], value: str) -> Component:
    return dcc.RadioItems(
        id=identity,
        options=[{"label": label, "value": name} for name, label in options.items()],
        value=value,
        inline=True,
        className="idp-editor-segments",
    )


def _graph(ids: Ids, figure: Any) -> Component:
    return dcc.Graph(
        id=ids("plot"),
        figure=figure,
        config={
            "displayModeBar": "hover",
            "displaylogo": False,
            "responsive": True,
            "modeBarButtonsToRemove": list(_MODEBAR),
        },
        style={"height": f"{figure.layout.height}px"},
    )


# ------------------------------------------------------------------------- what is below them


def _commit_bar(ids: Ids, session: EditSession) -> Component:
    return html.Div(
        [
            dcc.Input(
                id=ids("why"),
                type="text",
                placeholder="Why? The message that goes with these edits",
                className="idp-editor-why-field",
                maxLength=2_000,
            ),
            action_button(
                ids,
                "commit",
                "Commit",
                "Write the message on all edits that have none",
                disabled=not session.pending,
                strong=True,
            ),
            action_button(
                ids,
                "cancel",
                "Cancel",
                "Take back all edits that were not committed",
                disabled=not session.pending,
            ),
            html.Span(
                "Edits use released figures only: they cost no privacy, and the guarantee stays.",
                className="idp-muted",
            ),
        ],
        className="idp-editor-commit",
        **data_attributes(enter="commit"),
    )


def _folded(title: str, content: Component) -> Component:
    return html.Details([html.Summary(title), content], className="idp-editor-folded")


def _files(ids: Ids) -> Component:
    return html.Div(
        [
            html.Div(
                [
                    action_button(ids, "download", "Download", "Hand the file to the browser"),
                    dcc.Upload(
                        "Load a file",
                        id=ids("upload"),
                        accept=".json,application/json",
                        className="idp-editor-button idp-editor-upload",
                        style={},
                        style_active={},
                    ),
                ],
                className="idp-editor-row",
            ),
            html.Div(
                "The file holds every edit with who, when and why, and not one row of the data. It "
                "fits this model only.",
                className="idp-muted",
            ),
            html.Div(
                [
                    "In Python, ",
                    html.Code("explanation.edit_session.model"),
                    " is the estimator with these edits: it predicts, explains and saves like any "
                    "other. The file is written by ",
                    html.Code("explanation.edit_session.save(path)"),
                    " and read by ",
                    html.Code("EditSession.load(path, model).model"),
                    ".",
                ]
            ),
        ]
    )
