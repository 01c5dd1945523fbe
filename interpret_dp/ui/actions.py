"""Buttons of the editor, their effect on a session, and metrics as texts, for both editors.

The card of the dashboard and the notebook's widgets show the same buttons and call the same
actions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from interpret_dp._validate import enumerated
from interpret_dp.editor.bins import TermView, codes_text, select_codes
from interpret_dp.editor.recipes import KINDS
from interpret_dp.editor.state import MOVES, effect_text
from interpret_dp.explanation.markup import TextTable
from interpret_dp.explanation.plots.heat import CellPlaces
from interpret_dp.explanation.plots.parts import row_noun
from interpret_dp.released import AdditiveModel, EditRecord
from interpret_dp.ui.figure import EditedTerm, range_of

if TYPE_CHECKING:
    from interpret_dp.editor import EarlierEdits, EditSession, Preview, Suggestion


# Metrics on public rows, and correlated features, as texts for both editors.

_MOST_CORRELATED = 5
_METRICS = {"log_loss": "log loss", "auroc": "AUROC", "rmse": "RMSE", "mae": "MAE", "r2": "R²"}


def metrics_tables(term: EditedTerm, bins: Sequence[int] | None) -> list[TextTable]:
    """Return metrics on all public rows, and on those of the selection.

    Parameters
    ----------
    term : EditedTerm
    bins : sequence of int or None
        The selected bins.

    Returns
    -------
    list of TextTable
        Heads are the metric and the versions of the model. Empty if the session has no public
        rows.
    """
    session = term.session
    if session.public_rows is None:
        return []
    parts: dict[str, dict[str, Any]] = {"All public rows": {}}
    # The whole curve is all rows.
    if bins and set(bins) < set(term.places.whole()):
        codes = sorted({int(code) for code in bins})
        subject = session.base.subject(session.base.terms[term.index])
        title = f"Selection {codes_text(subject, codes)} of {subject.name!r}"
        parts[title] = {subject.name: {"bins": codes}}
    return [_metrics_table(term, title, where) for title, where in parts.items()]


def _metrics_table(term: EditedTerm, title: str, where: Mapping[str, Any]) -> TextTable:
    session = term.session
    figures = session.metrics(where=where, preview=term.preview)
    names = {"original": "loaded" if session.base.edits else "released", "current": "now"}
    n_rows = int(figures.pop("n_rows").iloc[0])
    return TextTable(
        title=f"{title} ({n_rows:,})",
        head=("", *(names.get(version, version) for version in figures.index)),
        rows=tuple(
            (_METRICS.get(metric, metric), *map(_figure_text, figures[metric]))
            for metric in figures.columns
        ),
    )


def _figure_text(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:#.4g}"


def correlated_text(term: EditedTerm) -> str:
    """Return the features that a term's feature is correlated with, in a sentence.

    Empty if the model holds no correlations of it.
    """
    known = term.session.correlated(term.index).head(_MOST_CORRELATED)
    names = [f"{name} ({value:g})" for name, value in known.items()]
    return f"Most correlated features, as released: {enumerated(names)}." if names else ""


@dataclass(frozen=True)
class Tool:
    """A button that edits the selected bins.

    Attributes
    ----------
    label, hint : str
        Text of the button, and the longer one under the mouse.
    kind : str
        Name of the session's method.
    arguments : mapping
        Fixed arguments of the method.
    number : str
        Name of the argument that takes the typed number; empty if none does.
    """

    label: str
    hint: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    number: str = ""

    def suits(self, kind_of_term: str) -> bool:
        """Whether a term of this kind can be edited so."""
        # Of the three ways to align, the buttons have the two that need an order.
        needs = "order" if self.kind == "align" else KINDS[self.kind].needs
        if kind_of_term == "interaction":
            return needs == "nothing" or self.kind == "smooth"
        return {
            "nothing": True,
            "order": kind_of_term != "nominal",
            "distance": kind_of_term == "continuous",
        }[needs]


# fmt: off
SHAPE_TOOLS: Mapping[str, Tool] = MappingProxyType({
    "increasing": Tool(
        "Increasing", "The nearest curve that never falls (isotonic regression)",
        "make_monotone", {"increasing": True},
    ),
    "decreasing": Tool(
        "Decreasing", "The nearest curve that never rises (isotonic regression)",
        "make_monotone", {"increasing": False},
    ),
    "monotone": Tool(
        "Monotone", "Increasing or decreasing, whichever is nearer",
        "make_monotone", {"increasing": "auto"},
    ),
    "smooth": Tool("Smooth", "Smooth according to the known size of the noise", "smooth"),
    "convex": Tool("Convex", "The nearest curve that bends upwards", "make_convex"),
    "concave": Tool("Concave", "The nearest curve that bends downwards", "make_concave"),
    "line": Tool(
        "Connect ends", "A straight line from the first to the last selected bin",
        "interpolate", {"method": "ends"},
    ),
    "fit": Tool(
        "Fit a line", "The straight line nearest to the selected bins",
        "interpolate", {"method": "fit"},
    ),
})
LEVEL_TOOLS: Mapping[str, Tool] = MappingProxyType({
    "flatten": Tool(
        "Flatten", "Give every selected bin their mean, weighted by the noisy counts", "flatten"
    ),
    "remove": Tool(
        "Remove effect", "Score 0: with the whole curve selected, the feature no longer counts",
        "remove_effect",
    ),
    "left": Tool(
        "Align left", "Give every selected bin the score of the first of them",
        "align", {"to": "left"},
    ),
    "right": Tool(
        "Align right", "Give every selected bin the score of the last of them",
        "align", {"to": "right"},
    ),
})
NUMBER_TOOLS: Mapping[str, Tool] = MappingProxyType({
    "shift": Tool("Shift by", "Add the number", "shift", number="by"),
    "scale": Tool("Scale by", "Multiply by the number", "scale", number="factor"),
    "set": Tool("Set to", "Set the score", "set_scores", number="scores"),
    "cap": Tool(
        "Cap at", "No score above the number, none below minus the number",
        "cap", number="magnitude",
    ),
    "steps": Tool(
        "In steps", "So many equal steps from the first to the last selected bin",
        "interpolate", {"method": "ends"}, number="steps",
    ),
})
# fmt: on
TOOLS: Mapping[str, Tool] = MappingProxyType({**SHAPE_TOOLS, **LEVEL_TOOLS, **NUMBER_TOOLS})
"""All tools, by the name of the button."""

SESSION_BUTTONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "undo": ("Undo", "Take the last edit back"),
        "redo": ("Redo", "Bring back the edit that was undone last"),
        "reset": ("Reset to released", "Back to the scores as they were released, as a new edit"),
        "total": (
            "Keep the total",
            "Shift the intercept so that the mean prediction is what it was before these edits",
        ),
        "commit": ("Commit", "Write the message on all edits that have none"),
        "cancel": ("Cancel", "Take back all edits that were not committed"),
    }
)
"""Label and hint of the buttons for the history, by name."""

_SHAPES: Mapping[str, str] = MappingProxyType(
    {
        "monotone": "monotone, either way",
        "increasing": "increasing",
        "decreasing": "decreasing",
        "flat": "flat: no effect at all",
    }
)


def suiting(tools: Mapping[str, Tool], kind_of_term: str) -> dict[str, Tool]:
    """Return the tools that a term of this kind can be edited with."""
    return {name: tool for name, tool in tools.items() if tool.suits(kind_of_term)}


def shapes_for(kind_of_term: str) -> dict[str, str]:
    """Return the shapes that a term of this kind can be tested for, with their texts."""
    has_order = kind_of_term not in ("nominal", "interaction")
    return {name: text for name, text in _SHAPES.items() if has_order or name == "flat"}


def disabled_buttons(session: EditSession, view: TermView | None = None) -> dict[str, bool]:
    """Return for each of ``SESSION_BUTTONS`` whether there is nothing that it could do.

    ``view`` is of the term that would be reset.
    """
    has_pending = bool(session.pending)
    return {
        "undo": not session.history,
        "redo": not session.undone,
        "reset": view is None or not view.is_edited,
        "total": not session.total_change,
        "commit": not has_pending,
        "cancel": not has_pending,
    }


# -------------------------------------------------------------------------------------- texts


def counted(count: int, noun: str = "edit") -> str:
    """Return a number of things, such as "1 edit" or "2 edits"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def status_text(session: EditSession, term: str | None = None) -> str:
    """Return the number of edits in words, those that the model was loaded with included.

    Parameters
    ----------
    session : EditSession
    term : str, default=None
        Name of the only term that counts; all by default.
    """
    earlier, edits, pending = (
        sum(term is None or record.term == term for record in records)
        for records in (session.base.edits, session.history, session.pending)
    )
    texts = [f"{counted(earlier)} in the loaded model"] if earlier else []
    if edits:
        state = f"{pending} not committed" if pending else "all committed"
        texts.append(f"{counted(edits)}, {state}")
    if term is None and (change := session.total_change):
        texts.append(f"{'it moves' if edits == 1 else 'together they move'} {change}")
    return "; ".join(texts) or "no edits yet"


def whole_label(term: EditedTerm) -> str:
    """Return the label of the button that selects everything."""
    if isinstance(term.places, CellPlaces):
        return "All cells"
    return "Whole curve" if term.places.n_steps else "All levels"


def typed_bins(
    term: EditedTerm, low: Any = "", high: Any = "", levels: Sequence[Any] | None = None
) -> list[int]:
    """Return the bins that fields say: those that overlap a range, or the chosen levels.

    Parameters
    ----------
    term : EditedTerm
    low, high : str or None
        Ends of the range as they were typed; an empty one is open.
    levels : sequence, default=None
        Numbers of bins.

    Raises
    ------
    ValueError
        If an end is no number, or there is no bin in the range.
    """
    if term.view.edges is None:
        return sorted(int(code) for code in levels or ())
    ends = []
    for name, typed, default in (("from", low, -math.inf), ("to", high, math.inf)):
        text = str(typed or "").strip()
        try:
            ends.append(float(text) if text else default)
        except ValueError:
            raise ValueError(
                f"'{name}' is {text!r}; it must be a number such as 40, or empty."
            ) from None
    base = term.session.base
    return list(select_codes(base.subject(base.terms[term.index]), between=tuple(ends)))


def selection_text(term: EditedTerm, bins: tuple[int, ...]) -> str:
    """Return a selection in words, such as "between 40 and 60 (about 900 patients, noisy count)".

    The count has three digits. A single bin is given with its score.
    """
    released = term.session.base.terms[term.index]
    subject = term.session.base.subject(released)
    n_rows = float(f"{max(0.0, released.weights[list(bins)].sum()):.3g}")
    rows = f"about {n_rows:,.0f} {row_noun(term.session.base)}, noisy count"
    if len(bins) == 1 and term.view.current.ndim == 1:
        rows += f"; score {term.view.current[bins[0]]:.4g}"
    text = codes_text(subject, bins)
    if set(bins) == set(term.places.whole()):
        noun = "cells" if isinstance(term.places, CellPlaces) else "levels"
        text = "the whole curve" if term.places.n_steps else f"all {len(bins)} {noun}"
    return f"{text} ({rows})"


# ------------------------------------------------------------------------------------ actions


@dataclass(frozen=True, kw_only=True)
class EditorInput:
    """Selection and fields of an editor when a button is pressed.

    Attributes
    ----------
    bins : tuple of int or None
        The selected bins; None for those that an operation works on by default.
    column : int or None
        The class whose scores are meant; None for all.
    number : float or str
        What was typed as number.
    why : str
        The message.
    shape : str
        The shape to test for.
    """

    bins: tuple[int, ...] | None = ()
    column: int | None = None
    number: float | str = ""
    why: str = ""
    shape: str = "monotone"


@dataclass(frozen=True)
class Outcome:
    """Result of an action.

    Attributes
    ----------
    text : str
        For the message line.
    level : {"done", "note", "error"}
    """

    text: str
    level: str = "done"

    def since(self, session: EditSession, before: AdditiveModel) -> Outcome:
        """Return it with what was done since a version of the model to the predictions."""
        effect = effect_text(session.base, before, session.released)
        return replace(self, text=f"{self.text} {effect}".strip())


def perform(term: EditedTerm, action: str, request: EditorInput) -> Outcome:
    """Do what a button says.

    Parameters
    ----------
    term : EditedTerm
    action : str
        A key of ``TOOLS`` or ``SESSION_BUTTONS``, "verdict" or "repair". A drag is a shift.
    request : EditorInput

    Raises
    ------
    TypeError, ValueError
        With what is wrong and how to mend it.
    """
    if action in TOOLS:
        arguments = _arguments(term, TOOLS[action], request)
        return _edited(getattr(term.session, TOOLS[action].kind)(term.index, **arguments))
    match action:
        case "reset":
            return _edited(term.session.reset(term.index))
        case "verdict":
            return Outcome(verdict_text(term, request), "note")
        case "repair":
            return _repair(term, request)
    return perform_on_model(term.session, action, request.why)


def perform_on_model(session: EditSession, action: str, why: str) -> Outcome:
    """Do what a button for the history of the model says; ``why`` is the message of a commit.

    Raises
    ------
    TypeError, ValueError
        As :func:`perform`.
    """
    match action:
        case "undo":
            record = session.undo()
            return Outcome(f"Undone: {record.term} {record.what}.")
        case "redo":
            record = session.redo()
            return Outcome(f"Redone: {record.term} {record.what}.")
        case "total":
            return _edited(session.keep_total())
        case "commit":
            return Outcome(f"Committed {counted(session.commit(why))}.")
        case "cancel":
            return Outcome(f"Cancelled {counted(session.cancel())}; redo brings them back.")
    raise ValueError(f"The editor has no action {action!r}. Reload the page.")


def previewed(term: EditedTerm, action: str, request: EditorInput) -> Preview | None:
    """Return what a button would do; None for one whose effect is not previewed.

    Parameters
    ----------
    term, action, request
        As :func:`perform` takes them.

    Raises
    ------
    TypeError, ValueError
        As :func:`perform`.
    """
    if action in TOOLS:
        kind, arguments = TOOLS[action].kind, _arguments(term, TOOLS[action], request)
    elif action == "repair" and (suggestions := _suggestions(term, request)):
        kind, arguments = "make_monotone", suggestions[0].arguments
    else:
        return None
    return term.session.preview(kind, term.index, **arguments)


def offered(
    term: EditedTerm, action: str, request: EditorInput, plotted: float, *, is_wanted: bool
) -> Outcome | None:
    """Return what an edit would do, if that is shown before it takes effect; None if not.

    It is if that is wanted, and if the edit moves a score by more than the height of the plotted
    axis, or of the axis of all released curves: edits cannot raise that. Then it is an "error".

    Raises
    ------
    TypeError, ValueError
        As :func:`perform`.
    """
    preview = previewed(term, action, request)
    if preview is None or not preview.changed:
        return None
    low, high = range_of(term.session.base)
    moved, most = float(np.abs(preview.after - term.view.current).max()), min(plotted, high - low)
    if moved <= most and not is_wanted:
        return None
    effect = effect_text(term.session.base, term.session.released, preview.released)
    what = f"Preview: {preview.record.term} {_words(preview.record)}."
    offer = Outcome(f"{what} {effect}", "note")
    if moved <= most:
        return offer
    asks = f"It moves scores by {moved:.3g}, and the plot is {most:.3g} high: is that meant?"
    return Outcome(f"{offer.text} {asks}", "error")


def with_planned(term: EditedTerm, planned: tuple[str, EditorInput] | None) -> EditedTerm:
    """Return a term with the edit that is previewed, an action and its request.

    Without it if it no longer suits, as after an edit in another view: accepting says why.
    """
    try:
        preview = None if planned is None else previewed(term, *planned)
    except (TypeError, ValueError):
        return term
    return term if preview is None else term.with_preview(preview)


def go_back(session: EditSession, entry: int, term: int | None = None) -> Outcome:
    """Bring the model, or one term, back to an entry of the history."""
    records = session.go_back(entry, term)
    if not records:
        return Outcome("Nothing changed: it is like that already.", "note")
    names = enumerated(list(dict.fromkeys(record.term for record in records)))
    is_redone = records[-1] == session.history[entry - 1] if entry else False
    return Outcome(f"{names}: {'redone' if is_redone else records[0].what}.")


def load(session: EditSession, document: Mapping[str, Any]) -> Outcome:
    """Add the edits of a saved session.

    Raises
    ------
    ValueError
        If it is no document of this model's session, or lacks edits that the session has.
    """
    added = session.continue_from(document)
    if not added:
        return Outcome("The file holds no new edits.", "note")
    return Outcome(f"Loaded {counted(added)}.")


def answer_offer(session: EditSession, earlier: EarlierEdits, *, takes: bool) -> Outcome:
    """Go on with the edits of an earlier session, or delete their file."""
    if takes:
        return Outcome(f"Took {counted(session.autosave.take(earlier))}.")
    session.autosave.discard(earlier)
    return Outcome(f"Discarded {counted(earlier.count)}.")


def _arguments(term: EditedTerm, tool: Tool, request: EditorInput) -> dict[str, Any]:
    """Return the arguments of a tool's method."""
    bins = request.bins
    if bins == ():
        raise ValueError(
            "Nothing is selected. Drag across the plot to select a range, or press "
            f"'{whole_label(term)}'."
        )
    arguments = {**tool.arguments, **_classes(term, request)}
    if tool.number:
        arguments[tool.number] = _number(tool, request.number)
    # With the whole curve selected some operations take the missing and undeclared bins along.
    is_default = KINDS[tool.kind].everything and set(bins or ()) >= set(term.places.whole())
    if bins is not None and not is_default:
        arguments["bins"] = bins
    return arguments


def _number(tool: Tool, typed: float | str) -> float | int:
    try:
        number = float(typed)
        return int(number) if number.is_integer() else number
    except ValueError:
        problem = f"got {typed!r}" if str(typed).strip() else "the field is empty"
        raise ValueError(f"'{tool.label}' needs a number, such as 0.1; {problem}.") from None


def _classes(term: EditedTerm, request: EditorInput) -> dict[str, Any]:
    if request.column is None or not term.session.class_labels:
        return {}
    return {"classes": [term.session.class_labels[request.column]]}


def _edited(record: EditRecord | None) -> Outcome:
    if record is None:
        return Outcome("Nothing changed: the bins are like that already.", "note")
    return Outcome(f"{record.term}: {_words(record)}.")


def _words(record: EditRecord) -> str:
    """Return an edit in words, without the mean that it moves: that goes with its effect."""
    return record.what.partition(MOVES)[0]


def verdict_text(term: EditedTerm, request: EditorInput) -> str:
    """Return the verdict on the selected part of the released curve; all of it without any."""
    label = _label(term, request)
    part: dict[str, Any] = {"bins": request.bins} if request.bins else {}
    verdict = term.session.verdict(term.index, request.shape, class_label=label, **part)
    return f"{verdict.text}{' Edits are not judged.' * term.view.is_edited}"


def _suggestions(term: EditedTerm, request: EditorInput) -> tuple[Suggestion, ...]:
    """Return what a repair would do, at most one suggestion."""
    label, session = _label(term, request), term.session
    sign = {"increasing": "+", "decreasing": "-"}.get(request.shape)
    if sign is None:
        raise ValueError(
            "A repair needs the known direction of the curve: choose 'increasing' or 'decreasing'."
        )
    direction: Any = sign if label is None else {label: sign}
    directions = {session.terms[term.index]: direction}
    return session.suggest_repairs(directions, bins=request.bins or None)


def _repair(term: EditedTerm, request: EditorInput) -> Outcome:
    suggestions = _suggestions(term, request)
    if not suggestions:
        return Outcome(f"There is nothing to repair. {verdict_text(term, request)}", "note")
    repaired = "".join(f": {record.what}" for record in term.session.apply(suggestions))
    return Outcome(f"Repaired what noise explains{repaired}. {suggestions[0].text}")


def _label(term: EditedTerm, request: EditorInput) -> Any:
    labels = term.session.class_labels
    if not labels:
        return None
    if request.column is None:
        raise ValueError("Each class has a curve of its own: choose one class first.")
    return labels[request.column]
