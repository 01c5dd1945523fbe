"""What the notebook editor says in words, as HTML in which every text is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpret_dp._figures import ceil_text
from interpret_dp.accounting import Guarantee
from interpret_dp.explanation.markup import Element, element, to_html
from interpret_dp.released import EditRecord
from interpret_dp.released.edits import edits_text

if TYPE_CHECKING:
    from interpret_dp.editor.session import EditSession

__all__ = ["error_html", "history_html", "note_html", "privacy_text", "session_html"]

# Notebooks are light or dark: no colour of text here, and edges that show on both.
_SMALL = "font-size: 13px; line-height: 1.4; overflow-wrap: anywhere"
_FAINT = "opacity: 0.65"
_ERROR_BOX = f"border-left: 4px solid #d55e00; padding: 2px 10px; {_SMALL}"
_NOTE_BOX = f"border-left: 4px solid #0072b2; padding: 2px 10px; {_SMALL}"


def privacy_text(guarantee: Guarantee, edits: int) -> str:
    """Return why editing is free, and what the model's guarantee is."""
    if guarantee.tests_only:
        return "Editing costs no privacy, but this model has no promise to keep: for tests only."
    text = (
        "Editing costs no privacy: it works on released numbers alone. The model keeps its "
        f"guarantee, epsilon {ceil_text(guarantee.epsilon)} at delta {ceil_text(guarantee.delta)}"
    )
    return f"{text} · {edits_text(edits)}" if edits else f"{text}."


def note_html(text: str) -> str:
    """Return a line that tells something; nothing for an empty text."""
    return to_html(element("div", text, style=_NOTE_BOX)) if text else ""


def error_html(text: str) -> str:
    """Return a line that says what went wrong; nothing for an empty text."""
    return to_html(element("div", text, style=_ERROR_BOX, role="alert")) if text else ""


def history_html(done: tuple[EditRecord, ...], undone: tuple[EditRecord, ...]) -> str:
    """Return the edits as a list, latest first, above it what redo would bring back."""
    if not done and not undone:
        return to_html(element("div", "No edit so far.", style=f"{_SMALL}; {_FAINT}"))
    rows = [_entry(record, is_undone=True) for record in reversed(undone)]
    rows += [_entry(record, is_undone=False) for record in reversed(done)]
    return to_html(
        element(
            "div",
            *rows,
            style=f"{_SMALL}; max-height: 190px; overflow-y: auto",
            css_class="interpret-dp-history",
        )
    )


def _entry(record: EditRecord, *, is_undone: bool) -> Element:
    state = "undone" if is_undone else record.why or "pending"
    when = record.when.replace("T", " ").removesuffix("Z") + " UTC"
    what = f"{record.term}: {record.what}"
    return element(
        "div",
        element("s", what) if is_undone else element("b", what),
        element("span", f" · {state} · {record.who}, {when}", style=_FAINT),
        style=f"padding: 1px 0; {_FAINT if is_undone else ''}",
    )


def session_html(session: EditSession, hint: str) -> str:
    """Return a session as a static piece of HTML, for where there is no live editor."""
    edits = session.history
    return to_html(
        element(
            "div",
            element("b", f"Editing session over {len(session.terms)} terms"),
            element("div", privacy_text(session.base.guarantee, len(edits))),
            *(_entry(record, is_undone=False) for record in reversed(edits)),
            element("div", hint, style=_FAINT),
            style=_NOTE_BOX,
        )
    )
