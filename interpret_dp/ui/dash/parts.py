"""Parts of the editor's card: ids, buttons, metrics, and what changes with the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import dash
from dash import MATCH, dcc, html, no_update
from dash.dependencies import Input, Output
from dash.development.base_component import Component

from interpret_dp.editor import EditSession, Preview
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.released import EditRecord
from interpret_dp.ui.actions import (
    MetricsTable,
    Outcome,
    correlated_text,
    metrics_tables,
    selection_text,
    time_text,
)
from interpret_dp.ui.dash.components import error_message, explanation_of
from interpret_dp.ui.figure import EditedTerm

# Parts of the editor's card: ids, buttons, and what changes with the session.

_MAX_ENTRIES = 100
_STRONG = ("commit", "accept")
_PATHS = {
    "increasing": "M2 14h4v-4h4V6h4V2",
    "decreasing": "M2 2v4h4v4h4v4h4",
    "monotone": "M2 5h4v3h4v3h4M11 2l3 3-3 3",
    "smooth": "M2 11c3-9 5-9 6-3s3 6 6-3",
    "convex": "M2 3c1 13 11 13 12 0",
    "concave": "M2 13C3 0 13 0 14 13",
    "line": "M3 12L13 4M3 12m-1.2 0a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 1 0-2.4 0"
    "M13 4m-1.2 0a1.2 1.2 0 1 0 2.4 0 1.2 1.2 0 1 0-2.4 0",
    "fit": "M2 13L14 4M4 8v.1M7 12v.1M9 4.5v.1M12 8.5v.1",
    "flatten": "M2 8h12M4 4v.1M8 12v.1M12 4v.1",
    "remove": "M3 3l10 10M13 3L3 13",
    "left": "M2 5h12M2 2v6M5 11h9",
    "right": "M2 11h12M14 8v6M2 5h9",
    "undo": "M6 3L2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 0 7H7",
    "redo": "M10 3l3.500 3.500L10 10M13 6.500H6.500a3.500 3.500 0 0 0 0 7H9",
    "reset": "M3 8a5 5 0 1 0 1.500-3.600M3 2v3h3",
}


@dataclass(frozen=True)
class Ids:
    """Ids of one rendering of a term's card, or of a model's bar.

    ``dash.MATCH`` may stand for the first two fields.
    """

    uid: Any
    key: Any
    kind: str = "editor"

    def __call__(self, part: str) -> dict[str, Any]:
        """Return the id of a part of the card."""
        return {"type": f"idp-{self.kind}-{part}", "uid": self.uid, "key": self.key}

    @property
    def gestures(self) -> dict[str, Any]:
        """Ids of the stores that gestures and buttons report to."""
        return {name: self(name) for name in ("select", "act")}


def action_button(
    ids: Ids, action: str, label: str, hint: str, *, disabled: bool = False
) -> Component:
    """Return a button that acts on the session; the page reports its action when it is pressed."""
    return html.Button(
        label,
        id=ids(f"button-{action}"),
        title=hint,
        disabled=disabled,
        className="idp-editor-button" + (" idp-editor-strong" if action in _STRONG else ""),
        **data_attributes(action=action),
    )


def link_button(action: str, label: str, hint: str = "", **properties: Any) -> Component:
    """Return a button that looks like a link; it selects if its action begins with "select-"."""
    return html.Button(
        label,
        title=hint,
        className="idp-editor-link",
        **data_attributes(action=action),
        **properties,
    )


def named_field(name: str, field: Component) -> Component:
    """Return a field with a name that is not on the screen."""
    return html.Label([html.Span(name, className="idp-unseen"), field], className="idp-field")


def data_attributes(**values: str) -> Any:
    """Return attributes that the page's gestures read."""
    return {f"data-{name}": value for name, value in values.items()}


def icon_styles() -> str:
    """Return style rules that draw the buttons' icons: a component for each would cost time."""
    rules = []
    for action, path in _PATHS.items():
        drawing = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="15" height="15" viewBox="0 0 16 16" '
            'fill="none" stroke="#24323f" stroke-width="1.7" stroke-linecap="round" '
            f'stroke-linejoin="round"><path d="{path}"/></svg>'
        )
        icon = f'content:url("data:image/svg+xml,{quote(drawing)}")'
        rules.append(f".idp-editor [data-action={action}]::before{{{icon};line-height:0}}")
    return "".join(rules)


def session_of(identity: Any) -> EditSession:
    """Return the session of a card or a bar.

    Raises
    ------
    ValueError
        If it belongs to a process that has ended, or to an explanation that is gone.
    """
    explanation = explanation_of(identity["uid"])
    if explanation is None:
        raise ValueError(
            "This page belongs to a dashboard that has ended. Show the explanation again, and "
            "reload the page."
        )
    session: EditSession = explanation.edit_session
    return session


def model_name(session: EditSession) -> str:
    """Return what the cards and the bar of one session have in common on a page."""
    return str(id(session))


# --------------------------------------------------------------- what changes with the session


def message(outcome: Outcome) -> Component:
    """Return the content of the message line."""
    role = "alert" if outcome.level == "error" else "status"
    return html.Div(
        outcome.text, className=f"idp-editor-message idp-editor-{outcome.level}", role=role
    )


def preview_message(ids: Ids, preview: Preview, action: str) -> Component:
    """Return what a previewed edit would do, with the buttons that make it or drop it."""
    record = preview.record
    accept = action_button(ids, "accept", "Accept", "Make this edit (Enter)")
    discard = action_button(ids, "discard", "Cancel", "Leave the curve as it is (Escape)")
    return html.Div(
        [f"Preview: {record.term} {record.what}.", accept, discard],
        className="idp-editor-message idp-editor-note idp-editor-row",
        role="status",
        **data_attributes(preview=action),
    )


def selection_line(term: EditedTerm, bins: tuple[int, ...]) -> list[Any]:
    """Return the selection in words, or how to select."""
    if bins:
        return [html.B("Selected: "), selection_text(term, bins)]
    gesture = "drag across the plot" if term.places.n_steps else "click bars, or drag across them"
    if isinstance(term.places, CellPlaces):
        gesture = "drag a rectangle over cells"
    return [html.B("Nothing selected: "), f"{gesture}."]


def notes(term: EditedTerm, bins: Sequence[int]) -> list[Component]:
    """Return what the plot cannot show, and the correlated features."""
    return [html.Div(text) for text in (term.note, correlated_text(term, bins)) if text]


def history_list(
    session: EditSession,
    term: str | None = None,
    button: Callable[[str, str, str], Component] = link_button,
) -> Component:
    """Return the edits of the model, the newest first, with what redo would bring back on top.

    Parameters
    ----------
    session : EditSession
    term : str, default=None
        Name of the only term that is listed, whose entries can be looked at too.
    button : callable, default=link_button
        Makes a button of its action, label and hint.
    """

    def buttons(entry: int) -> list[Component]:
        back = button(f"back-{entry}", "Go back", "Back to this entry; the history goes on")
        if term is None:
            return [back]
        return [button(f"look-{entry}", "Show", "Draw the curve as it was then"), back]

    n_done, n_loaded = len(session.history), len(session.base.edits)
    records = [*session.history, *session.undone]
    entries = [
        _entry(
            record,
            "undone" if number > n_done else "" if record.why else "pending",
            buttons(number) if term is None or number <= n_done else [],
            n_loaded + number,
        )
        for number, record in enumerate(records, start=1)
        if term in (None, record.term)
    ]
    entries.reverse()
    loaded = [
        _entry(record, "", [], number)
        for number, record in enumerate(session.base.edits, start=1)
        if term in (None, record.term)
    ]
    if entries:
        name = "As it was loaded" if session.base.edits else "As it was released"
        entries.append(html.Li([html.Span(name), html.Span(), html.Span(), _div_of(buttons(0))],
                               className="idp-editor-entry"))  # fmt: skip
    entries += reversed(loaded)
    if not entries:
        return html.Div(
            "What you change is listed here, with who did it, when and why.", className="idp-muted"
        )
    shown = entries[:_MAX_ENTRIES]
    if len(entries) > len(shown):
        more = f"and {len(entries) - len(shown)} earlier edits"
        shown.append(html.Li(more, className="idp-muted"))
    return html.Ol(shown, className="idp-editor-history")


def _div_of(buttons: list[Component]) -> Component:
    return html.Span(buttons, className="idp-editor-links")


def _entry(record: EditRecord, state: str, buttons: list[Component], number: int) -> Component:
    words = {"undone": "undone", "pending": "not committed"}.get(state, f"“{record.why}”")
    return html.Li(
        [
            html.Span(
                f"{number} · {time_text(record)} · {record.who}", className="idp-editor-when"
            ),
            html.Span([html.B(record.term), f" {record.what}"], className="idp-editor-what"),
            html.Span(words, className="idp-editor-why"),
            _div_of(buttons),
        ],
        className=f"idp-editor-entry idp-editor-{state or 'committed'}",
    )


_CARD = Ids(MATCH, MATCH)
_GUARANTEE = (
    "Edits from now on say in the history that their author saw these metrics. The guarantee does "
    "not cover edits that are chosen by looking at rows that are not public."
)


def metrics_section(ids: Ids, term: EditedTerm) -> Component:
    """Return the part of a card that has the metrics, open if there are any."""
    session = term.session
    names = {
        index: name
        for index, name in enumerate(session.terms)
        if session.base.terms[index].partner is None
    }
    style: Any = {"className": "idp-editor-levels"}
    slices = html.Div(
        [
            html.Span("Slice", className="idp-muted"),
            chooser(ids("slice"), "Feature of the slice", names, placeholder="feature", **style),
            chooser(
                *(ids("slice-bins"), "Values of the slice", {}),
                multi=True,
                placeholder="values",
                **style,
            ),
        ],
        id=ids("slices"),
        className="idp-editor-row",
        style=slices_style(session),
    )
    metrics = html.Div(metrics_children(term, ()), id=ids("metrics"))
    is_open = session.public_rows is not None
    return folded("Metrics on public rows", html.Div([metrics, slices]), open=is_open)


def metrics_children(
    term: EditedTerm,
    bins: Sequence[int],
    slice_term: str | None = None,
    slice_bins: Sequence[str] | None = None,
) -> list[Component]:
    """Return the tables; without public rows the ways to load some."""
    try:
        sliced = None if slice_term is None else int(slice_term)
        tables = metrics_tables(term, bins, sliced, [int(code) for code in slice_bins or ()])
    except Exception as error:
        return [error_message(error)]
    if not tables:
        return [_hint()]
    return [
        html.Div([_table(table) for table in tables], className="idp-editor-metrics"),
        html.Div(_GUARANTEE, className="idp-muted"),
    ]


def slices_style(session: EditSession) -> dict[str, str]:
    """Return the style of the slice's fields, which need rows."""
    return {"display": "none"} if session.public_rows is None else {}


def _table(table: MetricsTable) -> Component:
    head = [html.Th(name, scope="col") for name in table.head]
    body = [
        html.Tr([html.Th(name, scope="row"), *map(html.Td, figures)])
        for name, *figures in table.rows
    ]
    return html.Table([html.Caption(table.title), html.Thead(html.Tr(head)), html.Tbody(body)])


def _hint() -> Component:
    return html.Div(
        [
            "No public rows are loaded. In Python load them by ",
            html.Code("explanation.edit_session.use_public_rows(X, y, public=True)"),
            "; or start the dashboard by ",
            html.Code("interpret-dp show MODEL --public-rows FILE --target COLUMN"),
            ". The rows stay in that process and never go through this page. The guarantee does "
            "not cover edits that are chosen by looking at rows that are not public.",
        ],
        className="idp-muted",
    )


def chooser(identity: Any, name: str, options: Mapping[Any, Any], **properties: Any) -> Component:
    """Return a list with a name, which Dash cannot give it."""
    label: Any = {"aria-label": name}
    field = dcc.Dropdown(id=identity, options=options_of(options), **properties)
    return html.Div(field, role="group", **label)


def options_of(labels: Mapping[Any, Any]) -> list[dict[str, str]]:
    """Return the options of a list or of radio buttons, from their labels by value."""
    return [{"label": str(label), "value": str(value)} for value, label in labels.items()]


def folded(title: str, content: Component, **properties: Any) -> Component:
    """Return a part of a card that is opened by its title."""
    css_class = "idp-editor-folded"
    return html.Details([html.Summary(title), content], className=css_class, **properties)


def register(app: dash.Dash) -> None:
    """Add the callback that lists the values of the feature of a slice."""

    @app.callback(
        Output(_CARD("slice-bins"), "options"),
        Output(_CARD("slice-bins"), "value"),
        Input(_CARD("slice"), "value"),
        prevent_initial_call=True,
    )
    def list_values(chosen: str | None) -> Any:
        if chosen is None:
            return [], []
        try:
            term = EditedTerm.of(session_of(dash.ctx.triggered_id), int(chosen))
        except ValueError:
            # The page belongs to a dashboard that has ended; drawing says so.
            return no_update, no_update
        if isinstance(term.places, CellPlaces):
            return [], []
        return options_of({code: term.view.labels[code] for code in term.places.codes}), []
