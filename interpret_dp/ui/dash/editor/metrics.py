"""Metrics on public rows in the editor's card: all rows, the selection and a slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash
from dash import MATCH, dcc, html, no_update
from dash.dependencies import Input, Output
from dash.development.base_component import Component

from interpret_dp.editor import EditSession
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.dash.components import error_message
from interpret_dp.ui.dash.editor.parts import Ids, session_of
from interpret_dp.ui.figure import EditedTerm
from interpret_dp.ui.metrics import MetricsTable, metrics_tables

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
    choosers = [
        _chooser(ids("slice"), "Feature of the slice", _options(names)),
        _chooser(ids("slice-bins"), "Values of the slice", [], multi=True),
    ]
    return html.Details(
        [
            html.Summary("Metrics on public rows"),
            html.Div(
                [
                    html.Div(metrics_children(term, ()), id=ids("metrics")),
                    html.Div(
                        [html.Span("Slice", className="idp-muted"), *choosers],
                        id=ids("slices"),
                        className="idp-editor-row",
                        style=slices_style(session),
                    ),
                ]
            ),
        ],
        open=session.public_rows is not None,
        className="idp-editor-folded",
    )


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


def _chooser(identity: Any, name: str, options: Any, *, multi: bool = False) -> Component:
    chooser = dcc.Dropdown(
        id=identity,
        options=options,
        multi=multi,
        placeholder="values" if multi else "feature",
        className="idp-editor-levels",
    )
    label: Any = {"aria-label": name}
    return html.Div(chooser, role="group", **label)


def _options(names: dict[int, str]) -> list[dict[str, str]]:
    return [{"label": name, "value": str(value)} for value, name in names.items()]


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
        return _options({code: term.view.labels[code] for code in term.places.codes}), []
