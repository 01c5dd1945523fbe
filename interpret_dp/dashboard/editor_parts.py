"""The parts of the editor's card that change with the session: history, status, messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from interpret_dp.dashboard.editor_actions import Outcome
from interpret_dp.editor import EditSession, TermView
from interpret_dp.explanation.plots.axes import Places
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.explanation.plots.parts import number_text
from interpret_dp.released import EditRecord
from interpret_dp.schema.declarations import integers_text

__all__ = ["history_list", "message", "selection_text", "status_text"]

_MOST_ENTRIES = 100


def message(outcome: Outcome) -> Component:
    """Return what the message line says."""
    role = "alert" if outcome.level == "error" else "status"
    return html.Div(
        outcome.text, className=f"idp-editor-message idp-editor-{outcome.level}", role=role
    )


def status_text(session: EditSession) -> str:
    """Return how many edits there are, in words."""
    count, pending = len(session.history), len(session.pending)
    if not count:
        return "no edits yet"
    edits = f"{count} edit{'' if count == 1 else 's'}"
    return f"{edits}, {pending} not committed" if pending else f"{edits}, all committed"


def selection_text(view: TermView, places: Places | CellPlaces, bins: Sequence[int]) -> list[Any]:
    """Return what is selected, or how to select."""
    if not bins:
        gesture = "drag across the plot" if places.n_steps else "click bars, or drag across them"
        if isinstance(places, CellPlaces):
            gesture = "drag a rectangle over cells"
        return [html.B("Nothing selected: "), f"{gesture}."]
    return [html.B("Selected: "), _named(view, places, bins)]


def _named(view: TermView, places: Places | CellPlaces, bins: Sequence[int]) -> str:
    count = len(bins)
    if set(bins) == set(places.whole()):
        noun = "cells" if isinstance(places, CellPlaces) else "levels"
        return "the whole curve" if places.n_steps else f"all {count} {noun}"
    steps = [code for code in bins if code in places.codes[: places.n_steps]]
    special = (0, len(view.labels) - 1)
    names = [
        view.labels[code] if code in special else f"'{view.labels[code]}'"
        for code in bins
        if code not in steps
    ]
    if view.edges is not None and steps:
        first, last = min(steps), max(steps)
        reach = _range_text(view, first, last)
        bins_of_it = f"{len(steps)} bin{'' if len(steps) == 1 else 's'}"
        names.insert(0, f"{reach} ({bins_of_it})")
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def _range_text(view: TermView, first: int, last: int) -> str:
    """Return the range of regular bins of a number, from one to another."""
    if view.integers is not None:
        return integers_text(view.integers[first - 1][0], view.integers[last - 1][1])
    edges: Any = view.edges
    return f"{number_text(edges[first - 1])} to {number_text(edges[last])}"


def history_list(session: EditSession) -> Component:
    """Return all edits of the model, the newest first, with what redo would bring back on top."""
    earlier = session.base.edits
    done = session.history
    entries = [
        *(_entry(record, "undone") for record in reversed(session.undone)),
        *(_entry(record, "" if record.why else "pending") for record in reversed(done)),
        *(_entry(record, "") for record in reversed(earlier)),
    ]
    if not entries:
        return html.Div(
            "What you change is listed here, with who did it, when and why.", className="idp-muted"
        )
    shown = entries[:_MOST_ENTRIES]
    cut = len(entries) - len(shown)
    if cut:
        shown.append(html.Li(f"and {cut} earlier edits", className="idp-muted"))
    return html.Ol(shown, className="idp-editor-history")


def _entry(record: EditRecord, state: str) -> Component:
    when = record.when.replace("T", " ").removesuffix("Z")[:16]
    words = {"undone": "undone", "pending": "not committed", "": ""}[state]
    return html.Li(
        [
            html.Span(f"{when} UTC · {record.who}", className="idp-editor-when"),
            html.Span([html.B(record.term), f" {record.what}"], className="idp-editor-what"),
            html.Span(words or f"“{record.why}”", className="idp-editor-why"),
        ],
        className=f"idp-editor-entry idp-editor-{state or 'committed'}",
    )
