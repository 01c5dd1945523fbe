"""The offer of earlier sessions' edits in the notebook editor, and where edits are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from interpret_dp.ui.actions import counted
from interpret_dp.ui.notebook.controls import error_html, ipywidgets, note_html

if TYPE_CHECKING:
    from interpret_dp.editor import EarlierEdits, EditSession


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
            for part in (*row.children, row):
                part.close()
        self.refresh()

    def refresh(self) -> None:
        """Show where this session's edits are kept, or why they are not."""
        autosave = self._session.autosave
        text = error_html(autosave.problem)
        if autosave.path is not None and not autosave.problem:
            text = note_html(f"Edits are kept as they are made, in {autosave.path}.")
        self.place.value = text

    def close(self) -> None:
        """Close every widget."""
        for row in self.offers.children:
            for part in (*row.children, row):
                part.close()
        self.offers.close()
        self.place.close()

    def _row(self, earlier: EarlierEdits) -> Any:
        widgets = ipywidgets()
        text = f"Edits of an earlier session: {earlier}"
        parts = [widgets.HTML(value=note_html(text), layout={"flex": "1 1 420px"})]
        if not earlier.problem:
            hints = {"Take them": "Go on where it ended", "Discard": "Delete the file"}
            for (label, hint), act in zip(hints.items(), (self._take, self._discard), strict=True):
                button = widgets.Button(description=label, tooltip=hint, layout={"width": "auto"})
                button.on_click(partial(self._press, act, earlier))
                parts.append(button)
        return widgets.HBox(parts, layout={"flex_flow": "row wrap", "align_items": "center"})

    def _press(self, act: Callable[[EarlierEdits], str], earlier: EarlierEdits, _: Any) -> None:
        self._run(partial(act, earlier))
        self.look()

    def _take(self, earlier: EarlierEdits) -> str:
        return f"Took {counted(self._session.autosave.take(earlier))}."

    def _discard(self, earlier: EarlierEdits) -> str:
        self._session.autosave.discard(earlier)
        return f"Discarded {counted(earlier.count)}."
