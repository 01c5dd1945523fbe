"""Buttons, fields and offers of earlier edits in the notebook editor, as ipywidgets.

Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from interpret_dp._optional import import_optional
from interpret_dp._validate import notebook_table
from interpret_dp.accounting.guarantee import DOES_NOT_HOLD
from interpret_dp.explanation.markup import TextTable, render
from interpret_dp.released.additive_model import edits_text
from interpret_dp.ui.actions import (
    LEVEL_TOOLS,
    NUMBER_TOOLS,
    SESSION_BUTTONS,
    SHAPE_TOOLS,
    TOOLS,
    answer_offer,
    shapes_for,
)

if TYPE_CHECKING:
    from interpret_dp.accounting import Guarantee
    from interpret_dp.editor import EarlierEdits, EditSession
    from interpret_dp.released import EditRecord


ALL_CLASSES = "all"


class Controls:
    """Every field and button of one editor; widgets of ipywidgets.

    ``tools`` and ``history_buttons`` are those of ``actions.TOOLS`` and ``SESSION_BUTTONS``, by
    name.

    Parameters
    ----------
    session : EditSession
    term : int
        Number of the term that is shown.
    """

    def __init__(self, session: EditSession, term: int) -> None:
        widgets = ipywidgets()
        labels = session.class_labels
        self.term = widgets.Dropdown(
            options=[(name, index) for index, name in enumerate(session.terms)],
            value=term,
            description="Term",
            layout={"width": "280px"},
        )
        self.class_label = widgets.Dropdown(
            options=[("All classes", ALL_CLASSES), *((str(c), k) for k, c in enumerate(labels))],
            description="Class",
            layout={"width": "220px"} | ({} if labels else {"display": "none"}),
        )
        # In which one figure takes the place of another.
        self.figure = widgets.VBox(layout={"width": "100%"})
        self.figure_note = widgets.HTML()
        self.low, self.high = _text("from", "80px"), _text("to", "80px")
        self.levels = widgets.SelectMultiple(rows=4, layout={"width": "220px"})
        self.whole_curve = _button("", "Select everything", "110px")
        self.clear = _button("Clear", "Select nothing", "80px")
        self.selected = widgets.HTML()
        self.says = widgets.HTML()
        self.tools = {name: _button(tool.label, tool.hint) for name, tool in TOOLS.items()}
        self.number = widgets.FloatText(value=0.1, step=0.1, layout={"width": "90px"})
        self.preview_first = widgets.Checkbox(
            description="preview first", indent=False, layout={"width": "auto"}
        )
        self.accept = _button("Accept", "Make the edit that is previewed", "80px")
        self.discard = _button("Drop", "Leave the curve as it is", "80px")
        self.metrics = widgets.HTML()
        self.history_buttons = {
            name: _button(label, hint) for name, (label, hint) in SESSION_BUTTONS.items()
        }
        self.entry = widgets.Dropdown(layout={"width": "330px"})
        self.back = _button("Go back", "Back to this entry; the history goes on", "90px")
        self.shape = widgets.Dropdown(
            options=tuple(shapes_for("continuous")),
            description="Is it noise?",
            layout={"width": "220px"},
        )
        self.verdict = widgets.HTML()
        self.message = _text("why these edits were made (public: name no patient)", "380px")
        self.error = widgets.HTML()
        self.note = widgets.HTML()
        self.history = widgets.HTML()
        self.privacy = widgets.HTML()

    def arrange(self) -> Any:
        """Return everything in one box, the figure in its middle."""
        rows = {
            label: [self.tools[name] for name in tools]
            for label, tools in (
                ("Shape", SHAPE_TOOLS),
                ("Level", LEVEL_TOOLS),
                ("By number", NUMBER_TOOLS),
            )
        }
        rows["By number"].insert(0, self.number)
        undo, redo, reset, total, commit, cancel = self.history_buttons.values()
        return ipywidgets().VBox(
            [
                _row(self.privacy),
                _row(self.term, self.class_label),
                self.figure,
                self.says,
                self.figure_note,
                _row(self.low, self.high, self.levels, self.whole_curve, self.clear),
                self.selected,
                *(_row(_label(name), *row) for name, row in rows.items()),
                _row(self.preview_first, self.accept, self.discard),
                _row(_label("History"), undo, redo, reset, total, self.entry, self.back),
                self.error,
                self.note,
                self.metrics,
                _row(self.shape, self.verdict),
                _row(self.message, commit, cancel),
                self.history,
            ],
            layout={"width": "100%", "max_width": "1100px"},
        )


def ipywidgets() -> Any:
    """Import ipywidgets, or say how to install it."""
    return import_optional("ipywidgets", extra="notebook", purpose="The notebook editor")


def _button(label: str, hint: str, width: str = "auto") -> Any:
    return ipywidgets().Button(description=label, tooltip=hint, layout={"width": width})


def _text(placeholder: str, width: str, **properties: str) -> Any:
    return ipywidgets().Text(
        placeholder=placeholder, continuous_update=False, layout={"width": width}, **properties
    )


def _label(text: str) -> Any:
    return ipywidgets().Label(value=text, layout={"width": "76px"})


def _row(*parts: Any) -> Any:
    layout = {"flex_flow": "row wrap", "align_items": "center", "overflow": "visible"}
    return ipywidgets().HBox(list(parts), layout=layout)


# -------------------------------------------------------------------------------------- texts


def privacy_text(guarantee: Guarantee, edits: int) -> str:
    """Return why editing is free, and the model's guarantee."""
    if guarantee.state == DOES_NOT_HOLD:
        return f"Editing costs no privacy, but this model promises nothing. {guarantee.sentence}"
    text = (
        "Editing costs no privacy: it works on released numbers alone. The model keeps its "
        f"guarantee, {guarantee.promised}"
    )
    text = f"{text} · {edits_text(edits)}" if edits else f"{text}."
    return f"{guarantee.state_sentence} {text}".strip()


def metrics_html(tables: Sequence[TextTable]) -> str:
    """Return metrics on public rows as tables; nothing if there are none."""
    return "".join(notebook_table(table.title, table.head, table.rows) for table in tables)


def note_html(text: str, *, is_error: bool = False) -> str:
    """Return a line with a note or an error; nothing for an empty text."""
    return render("notebook.html", piece="line", text=text, is_error=is_error) if text else ""


def history_html(done: tuple[EditRecord, ...], undone: tuple[EditRecord, ...]) -> str:
    """Return the edits as a list, latest first, above it what redo would bring back."""
    return render("notebook.html", piece="history", done=done, undone=undone)


# The offer of earlier sessions' edits in the notebook editor, and where edits are kept.


class EarlierRows:
    """A row for each autosave file of an earlier session, and a line with this session's file.

    Parameters
    ----------
    session : EditSession
    run : callable
        Runs what a button does, and shows its text or its error; it is given an action.
    """

    def __init__(self, session: EditSession, run: Callable[[Callable[[], str]], None]) -> None:
        self._session = session
        self._run = run
        widgets = ipywidgets()
        self.offers = widgets.VBox()
        self.place = widgets.HTML()
        session.autosave.start()
        self.look()

    def look(self) -> None:
        """Read which files there are now."""
        before = self.offers.children
        self.offers.children = [self._row(entry) for entry in self._session.autosave.earlier]
        for row in before:
            close_all(row)
        self.refresh()

    def refresh(self) -> None:
        """Show where this session's edits are kept, or why they are not."""
        autosave = self._session.autosave
        text = note_html(autosave.problem, is_error=True)
        if autosave.path is not None and not autosave.problem:
            text = note_html(f"Edits are kept as they are made, in {autosave.path}.")
        self.place.value = text

    def _row(self, earlier: EarlierEdits) -> Any:
        widgets = ipywidgets()
        text = f"Edits of an earlier session: {earlier}"
        parts = [widgets.HTML(value=note_html(text), layout={"flex": "1 1 420px"})]
        if not earlier.problem:
            for label, hint, takes in (
                ("Take them", "Go on where it ended", True),
                ("Discard", "Delete the file", False),
            ):
                button = _button(label, hint)
                button.on_click(partial(self._press, takes, earlier))
                parts.append(button)
        return widgets.HBox(parts, layout={"flex_flow": "row wrap", "align_items": "center"})

    def _press(self, takes: bool, earlier: EarlierEdits, _: Any) -> None:
        self._run(lambda: answer_offer(self._session, earlier, takes=takes).text)
        self.look()


def close_all(widget: Any) -> None:
    """Close a widget and all that is in it."""
    for child in getattr(widget, "children", ()):
        close_all(child)
    widget.close()
