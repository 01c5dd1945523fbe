"""What the buttons of the editor do to a session, and what they say afterwards; without Dash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from interpret_dp._documents import parse_json, sealed
from interpret_dp.dashboard.editor_tools import TOOLS, Tool
from interpret_dp.editor import EditSession
from interpret_dp.explanation.plots.axes import Places
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.released import EditRecord

__all__ = ["ACTIONS", "Outcome", "Request", "file_name", "load", "perform", "whole_label"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a card asks for.

    Attributes
    ----------
    term : int
    bins : tuple of int
        The selected ones.
    column : int or None
        The class whose scores are meant; None for all.
    number, why : str
        What was typed as number and message.
    shape : str
        The shape that is asked about.
    moved_by : float
        How far bins were dragged.
    """

    term: int
    bins: tuple[int, ...] = ()
    column: int | None = None
    number: str = ""
    why: str = ""
    shape: str = "monotone"
    moved_by: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes
    ----------
    text : str
        For the message line.
    level : {"done", "note", "error"}
    document : dict or None
        To be handed to the browser as a file.
    """

    text: str
    level: str = "done"
    document: dict[str, Any] | None = None


def perform(
    session: EditSession, places: Places | CellPlaces, action: str, request: Request
) -> Outcome:
    """Do what a button says.

    Parameters
    ----------
    session : EditSession
    places : Places or CellPlaces
        Of the request's term.
    action : str
        A key of ``ACTIONS`` or of ``TOOLS``.
    request : Request

    Raises
    ------
    TypeError, ValueError, OSError
        With what is wrong and how to mend it.
    """
    if action in TOOLS:
        return _use(session, places, TOOLS[action], request)
    return ACTIONS[action](session, request)


def _use(
    session: EditSession, places: Places | CellPlaces, tool: Tool, request: Request
) -> Outcome:
    if not request.bins:
        raise ValueError(
            "Nothing is selected. Drag across the plot to select a range, or press "
            f"'{whole_label(places)}'."
        )
    arguments = dict(tool.arguments) | _classes(session, request)
    if tool.number:
        arguments[tool.number] = _number(tool, request.number)
    if not (tool.takes_all and set(request.bins) >= set(places.whole())):
        arguments["bins"] = request.bins
    return _told(getattr(session, tool.kind)(request.term, **arguments))


def whole_label(places: Places | CellPlaces) -> str:
    """Return what the button says that selects everything."""
    if isinstance(places, CellPlaces):
        return "All cells"
    return "Whole curve" if places.n_steps else "All levels"


def _move(session: EditSession, request: Request) -> Outcome:
    """Shift the bins that were dragged."""
    arguments = _classes(session, request)
    record = session.shift(request.term, request.moved_by, bins=request.bins, **arguments)
    return _told(record)


def _number(tool: Tool, typed: str) -> float:
    try:
        return float(typed)
    except ValueError:
        shown = f"{typed!r} is none" if typed.strip() else "the field is empty"
        raise ValueError(f"'{tool.label}' needs a number, such as 0.1; {shown}.") from None


def _classes(session: EditSession, request: Request) -> dict[str, Any]:
    if request.column is None or not session.class_labels:
        return {}
    return {"classes": [session.class_labels[request.column]]}


def _told(record: EditRecord | None) -> Outcome:
    if record is None:
        return Outcome("Nothing changed: the selected bins are so already.", "note")
    return Outcome(f"{record.term}: {record.what}.")


# ---------------------------------------------------------------------------------- history


def _undo(session: EditSession, request: Request) -> Outcome:
    record = session.undo()
    return Outcome(f"Undone: {record.term} {record.what}.")


def _redo(session: EditSession, request: Request) -> Outcome:
    record = session.redo()
    return Outcome(f"Redone: {record.term} {record.what}.")


def _reset(session: EditSession, request: Request) -> Outcome:
    return _told(session.reset(request.term))


def _commit(session: EditSession, request: Request) -> Outcome:
    count = session.commit(request.why)
    return Outcome(f"Committed {_counted(count, 'edit')}.")


def _cancel(session: EditSession, request: Request) -> Outcome:
    count = session.cancel()
    return Outcome(f"Cancelled {_counted(count, 'edit')}; redo brings them back.")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


# --------------------------------------------------------------------------- signal or noise


def _judge(session: EditSession, request: Request) -> Outcome:
    verdict = session.verdict(request.term, request.shape, class_label=_label(session, request))
    return Outcome(verdict.text, "note")


def _repair(session: EditSession, request: Request) -> Outcome:
    label = _label(session, request)
    shape = request.shape
    if shape not in ("increasing", "decreasing"):
        raise ValueError(
            "A repair needs the direction that you know the curve to have: choose 'increasing' or "
            "'decreasing'."
        )
    sign = "+" if shape == "increasing" else "-"
    name = session.terms[request.term]
    direction: Any = sign if label is None else {label: sign}
    found = session.suggest_repairs({name: direction})
    if not found:
        text = session.verdict(request.term, shape, class_label=label).text
        return Outcome(f"There is nothing to repair. {text}", "note")
    session.apply(found)
    return Outcome(f"Repaired what noise explains. {found[0].text}")


def _label(session: EditSession, request: Request) -> Any:
    if not session.class_labels:
        return None
    if request.column is None:
        raise ValueError("Each class has a curve of its own: choose one class first.")
    return session.class_labels[request.column]


# ------------------------------------------------------------------------------------- files

_LARGEST_FILE = 50_000_000  # bytes


def file_name(session: EditSession) -> str:
    """Return what a downloaded session is called."""
    return f"edits-{session.base.digest[:12]}.json"


def _download(session: EditSession, request: Request) -> Outcome:
    return Outcome(
        "The session was handed to the browser as a file.", document=sealed(session.to_dict())
    )


def load(session: EditSession, content: bytes) -> Outcome:
    """Add the edits of a saved session.

    Parameters
    ----------
    session : EditSession
    content : bytes
        What the file holds.

    Raises
    ------
    ValueError
        If it is no file of this model's session, or lacks edits that the session has.
    """
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"The file has {len(content):,} bytes; at most {_LARGEST_FILE:,} fit.")
    added = session.continue_from(parse_json(content, "The file"))
    if not added:
        return Outcome("The file holds the edits that are here already.", "note")
    return Outcome(f"Loaded {_counted(added, 'edit')}.")


ACTIONS: Mapping[str, Callable[[EditSession, Request], Outcome]] = MappingProxyType(
    {
        "undo": _undo,
        "redo": _redo,
        "reset": _reset,
        "commit": _commit,
        "cancel": _cancel,
        "verdict": _judge,
        "repair": _repair,
        "download": _download,
        "drag": _move,
    }
)
"""What the other buttons do, by name; ``drag`` is the gesture."""
