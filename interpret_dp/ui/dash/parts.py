"""Parts of the editor's card: ids, buttons, metrics, and what changes with the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from interpret_dp.editor import EditSession
from interpret_dp.explanation.markup import render
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.ui.actions import (
    Outcome,
    correlated_text,
    metrics_tables,
    selection_text,
)
from interpret_dp.ui.dash.components import explanation_of, from_html, or_error
from interpret_dp.ui.figure import EditedTerm

# Parts of the editor's card: ids, buttons, and what changes with the session.

_MAX_ENTRIES = 100


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


def offer_message(ids: Ids, offer: Outcome, action: str) -> Component:
    """Return what an edit would do, with the buttons that make it or drop it."""
    return from_html(render("editor_preview.html", offer=offer, action=action), ids=ids)


def selection_line(term: EditedTerm, bins: tuple[int, ...]) -> list[Any]:
    """Return the selection in words, or how to select."""
    if bins:
        return [html.B("Selected: "), selection_text(term, bins)]
    gesture = "drag across the plot" if term.places.n_steps else "click bars, or drag across them"
    if isinstance(term.places, CellPlaces):
        gesture = "drag a rectangle over cells"
    return [html.B("Nothing selected: "), f"{gesture}."]


def notes(term: EditedTerm) -> list[Component]:
    """Return what the plot cannot show, and the correlated features."""
    return [html.Div(text) for text in (term.note, correlated_text(term)) if text]


def history_list(
    session: EditSession, term: str | None = None, looked: int | None = None
) -> Component:
    """Return the edits of the model, the newest first, with what redo would bring back on top.

    Parameters
    ----------
    session : EditSession
    term : str, default=None
        Name of the only term that is listed, whose entries can be looked at too.
    looked : int, default=None
        The entry that is looked at.
    """
    n_loaded, done = len(session.base.edits), session.history
    edits = [
        (number, number - n_loaded, record)
        for number, record in enumerate([*session.base.edits, *done, *session.undone], start=1)
        if term in (None, record.term)
    ]
    page = render(
        "history.html",
        edits=edits[::-1],
        n_own=sum(entry > 0 for _, entry, _ in edits),
        n_done=len(done),
        is_loaded=n_loaded > 0,
        of_term=term is not None,
        looked=looked,
        most=_MAX_ENTRIES,
    )
    return from_html(page)


def metrics_children(term: EditedTerm, bins: Sequence[int]) -> list[Component]:
    """Return the tables; without public rows the ways to load some."""
    tables = or_error(metrics_tables, term, bins)
    is_error = isinstance(tables, Component)
    return [tables if is_error else from_html(render("metrics.html", tables=tables))]


def chooser(identity: Any, name: str, options: Mapping[Any, Any], **properties: Any) -> Component:
    """Return a list with a name, which Dash cannot give it."""
    label: Any = {"aria-label": name}
    field = dcc.Dropdown(id=identity, options=options_of(options), **properties)
    return html.Div(field, role="group", **label)


def options_of(labels: Mapping[Any, Any]) -> list[dict[str, str]]:
    """Return the options of a list or of radio buttons, from their labels by value."""
    return [{"label": str(label), "value": str(value)} for value, label in labels.items()]
