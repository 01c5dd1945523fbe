"""Parts of the editor's card: ids, buttons, and what changes with the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from interpret_dp.editor import EditSession
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.released import EditRecord
from interpret_dp.ui.actions import Outcome, counted, selection_text, time_text
from interpret_dp.ui.figure import EditedTerm

__all__ = ["BUTTON", "SELECTOR", "Ids", "action_button", "data_attributes", "history_list"]
__all__ += ["message", "selection_line", "status_text"]

BUTTON, SELECTOR = "idp-editor-button", "idp-editor-selector"
"""Types of the ids of buttons that act, and of buttons that select."""

_MAX_ENTRIES = 100
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
    """Ids of one rendering of one term's card; ``dash.MATCH`` may stand for either part."""

    uid: Any
    key: Any

    def __call__(self, part: str) -> dict[str, Any]:
        """Return the id of a part of the card."""
        return {"type": f"idp-editor-{part}", "uid": self.uid, "key": self.key}

    @property
    def gestures(self) -> dict[str, Any]:
        """Ids of the stores that the page's gestures report to."""
        return {name: self(name) for name in ("click", "drag")}

    def button(self, action: Any) -> dict[str, Any]:
        """Return the id of a button that acts on the session; ``dash.ALL`` for all of them."""
        return {"type": BUTTON, "uid": self.uid, "key": self.key, "action": action}

    def selector(self, action: Any) -> dict[str, Any]:
        """Return the id of a button that selects."""
        return {"type": SELECTOR, "uid": self.uid, "key": self.key, "action": action}


def action_button(
    ids: Ids, action: str, label: str, hint: str, *, disabled: bool = False
) -> Component:
    """Return a button that acts on the session."""
    drawing = _icon(action)
    return html.Button(
        [label] if drawing is None else [drawing, html.Span(label)],
        id=ids.button(action),
        title=hint,
        disabled=disabled,
        n_clicks=0,
        className="idp-editor-button" + (" idp-editor-strong" if action == "commit" else ""),
        **data_attributes(action=action),
    )


def data_attributes(**values: str) -> Any:
    """Return attributes that the page's gestures read."""
    return {f"data-{name}": value for name, value in values.items()}


def _icon(name: str) -> Component | None:
    """Return the drawing of a button; None if it has none."""
    path = _PATHS.get(name)
    if path is None:
        return None
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" '
        'fill="none" stroke="#24323f" stroke-width="1.7" stroke-linecap="round" '
        f'stroke-linejoin="round"><path d="{path}"/></svg>'
    )
    return html.Img(src=f"data:image/svg+xml,{quote(drawing)}", alt="", className="idp-editor-icon")


# --------------------------------------------------------------- what changes with the session


def message(outcome: Outcome) -> Component:
    """Return the content of the message line."""
    role = "alert" if outcome.level == "error" else "status"
    return html.Div(
        outcome.text, className=f"idp-editor-message idp-editor-{outcome.level}", role=role
    )


def status_text(session: EditSession) -> str:
    """Return the number of edits in words, those that the model was loaded with included."""
    count, pending = len(session.history), len(session.pending)
    earlier = len(session.base.edits)
    texts = [f"{counted(earlier)} in the loaded model"] if earlier else []
    if count:
        state = f"{pending} not committed" if pending else "all committed"
        texts.append(f"{counted(count)}, {state}")
    return "; ".join(texts) or "no edits yet"


def selection_line(term: EditedTerm, bins: tuple[int, ...]) -> list[Any]:
    """Return the selection in words, or how to select."""
    if bins:
        return [html.B("Selected: "), selection_text(term, bins)]
    gesture = "drag across the plot" if term.places.n_steps else "click bars, or drag across them"
    if isinstance(term.places, CellPlaces):
        gesture = "drag a rectangle over cells"
    return [html.B("Nothing selected: "), f"{gesture}."]


def history_list(session: EditSession) -> Component:
    """Return all edits of the model, the newest first, with what redo would bring back on top."""
    entries = [
        *(_entry(record, "undone") for record in reversed(session.undone)),
        *(_entry(record, "" if record.why else "pending") for record in reversed(session.history)),
        *(_entry(record, "") for record in reversed(session.base.edits)),
    ]
    if not entries:
        return html.Div(
            "What you change is listed here, with who did it, when and why.", className="idp-muted"
        )
    shown = entries[:_MAX_ENTRIES]
    if len(entries) > len(shown):
        more = f"and {len(entries) - len(shown)} earlier edits"
        shown.append(html.Li(more, className="idp-muted"))
    return html.Ol(shown, className="idp-editor-history")


def _entry(record: EditRecord, state: str) -> Component:
    words = {"undone": "undone", "pending": "not committed"}.get(state, f"“{record.why}”")
    return html.Li(
        [
            html.Span(f"{time_text(record)} · {record.who}", className="idp-editor-when"),
            html.Span([html.B(record.term), f" {record.what}"], className="idp-editor-what"),
            html.Span(words, className="idp-editor-why"),
        ],
        className=f"idp-editor-entry idp-editor-{state or 'committed'}",
    )
