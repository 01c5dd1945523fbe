"""The editor in a notebook: plotly's FigureWidget and ipywidgets over an editing session.

It talks to the kernel through the notebook's own connection and opens no port, so that it works
where a browser cannot reach the machine of the kernel (JupyterHub, VS Code, Colab).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from interpret_dp._optional import import_optional
from interpret_dp.editor.state import find_term
from interpret_dp.ui.actions import (
    TOOLS,
    EditorInput,
    Outcome,
    correlated_text,
    disabled_buttons,
    go_back,
    metrics_tables,
    offered,
    perform,
    selection_text,
    shapes_for,
    typed_bins,
    verdict_text,
    whole_label,
    with_planned,
)
from interpret_dp.ui.figure import BINS, EditedTerm, axis_height
from interpret_dp.ui.notebook.controls import (
    ALL_CLASSES,
    Controls,
    EarlierRows,
    close_all,
    history_html,
    metrics_html,
    note_html,
    privacy_text,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from interpret_dp.editor import EditSession


class NotebookEditor:
    """A live editor of one session; shown when it is the last value of a cell.

    Several editors may show one session: each notices what the others do.

    Parameters
    ----------
    session : EditSession
    term : str or int, default=0
        The term that is shown first.

    Attributes
    ----------
    session : EditSession
    box : ipywidgets.VBox
        Everything, to be put into a layout of one's own.
    figure : plotly.graph_objects.FigureWidget
        Of the term that is shown. A rectangle that is drawn on it selects bins or cells.
    controls : Controls
        Every button and field.
    earlier : EarlierRows
        The offer of edits that earlier sessions left, and where edits are kept.
    selected : tuple of int
        Selected bins, as indices into the term's scores; empty at first.
    is_open : bool
        Whether the editor still follows the session.

    Raises
    ------
    ModuleNotFoundError
        If the extra ``notebook`` is not installed.
    TypeError, ValueError
        If there is no such term.
    """

    def __init__(self, session: EditSession, term: str | int = 0) -> None:
        # anywidget imports ipywidgets itself, and then fails without our hint.
        for name in ("ipywidgets", "anywidget"):
            import_optional(name, extra="notebook", purpose="The notebook editor")
        self.session = session
        self._lock = threading.RLock()
        self._is_quiet = False
        self.selected: tuple[int, ...] = ()
        # The button and the request of an edit that is previewed.
        self._planned: tuple[str, EditorInput] | None = None
        self.controls = Controls(session, find_term(session.base, term))
        self.figure: Any = None
        self._drawn = (-1, 0)
        self.earlier = EarlierRows(session, self._run)
        self.box = self.controls.arrange()
        self.box.children = (self.earlier.offers, *self.box.children, self.earlier.place)
        self._connect()
        self._show_term()
        self._unsubscribe = session.subscribe(lambda session: self.refresh())
        # Also when the notebook closes all widgets at once.
        self.is_open = True
        self.box.observe(lambda change: self.close(), names="comm")

    def __repr__(self) -> str:
        """Name the session."""
        return f"NotebookEditor({self.session!r})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Show the widgets in a notebook."""
        return self.box._repr_mimebundle_(**kwargs)

    def close(self) -> None:
        """Take the editor off the page and stop following the session."""
        if not self.is_open:
            return
        self.is_open = False
        self._unsubscribe()
        close_all(self.box)

    # ---------------------------------------------------------------------------------- the view

    @property
    def term(self) -> int:
        """Number of the term that is shown."""
        return int(self.controls.term.value)

    @property
    def _column(self) -> int | None:
        chosen = self.controls.class_label.value
        return None if chosen == ALL_CLASSES else int(chosen)

    def _draw(self) -> None:
        """Show the term as it is now: its curve, or its heat map."""
        term = EditedTerm.of(self.session, self.term, self.selected, self.controls.entry.value)
        self._edited = with_planned(term, self._planned)
        figure = self._edited.figure(column=self._column, selected=self.selected)
        # The same term has the same traces, unless other bins are drawn.
        drawn = (self.term, len(figure.data))
        if drawn == self._drawn:
            _redraw(self.figure, figure)
        else:
            self._put(figure)
            self._drawn = drawn

    def _put(self, figure: Figure) -> None:
        """Show a figure in the place of the one before."""
        from plotly.graph_objects import FigureWidget

        before, self.figure = self.figure, FigureWidget(figure)
        # Fit the page's width when it changes; plotly has no public way to say so.
        self.figure._config = {**self.figure._config, "responsive": True, "displaylogo": False}
        bins = next(trace for trace in self.figure.data if trace.meta == BINS)
        bins.on_selection(self._brush)
        bins.on_deselect(lambda trace, points: self.select(()))
        self.figure.layout.on_change(self._clear_rectangle, "selections")
        self.controls.figure.children = (self.figure,)
        if before is not None:
            before.close()

    def refresh(self) -> None:
        """Show the session as it is now."""
        with self._lock:
            session, controls = self.session, self.controls
            self._list_entries()
            self._draw()
            text = "nothing; draw across the plot, or use the fields"
            if self.selected:
                text = selection_text(self._edited, self.selected)
            correlated = correlated_text(self._edited)
            controls.figure_note.value = note_html(f"{self._edited.note} {correlated}".strip())
            controls.selected.value = note_html(f"Selected: {text}")
            controls.says.value = note_html(self.figure.layout.meta["alternative"])
            change = session.total_change
            total = note_html(f"Moved by all edits: {change}.") if change else ""
            controls.history.value = total + history_html(session.history, session.undone)
            edits = len(session.released.edits)
            controls.privacy.value = note_html(privacy_text(session.base.guarantee, edits))
            for name, tool in TOOLS.items():
                is_suiting = tool.suits(self._edited.view.kind)
                controls.tools[name].disabled = not (self.selected and is_suiting)
            controls.back.disabled = controls.entry.value is None
            controls.accept.disabled = controls.discard.disabled = self._planned is None
            controls.metrics.value = metrics_html(metrics_tables(self._edited, self.selected))
            self.earlier.refresh()
            for name, is_disabled in disabled_buttons(session, self._edited.view).items():
                controls.history_buttons[name].disabled = is_disabled

    def _list_entries(self) -> None:
        """List the entries of the history that can be looked at and gone back to."""
        session, chosen = self.session, self.controls.entry
        loaded = len(session.base.edits)
        entries: list[tuple[str, int | None]] = [("Look at an earlier entry ...", None)]
        if session.history:
            entries.append(("as it was loaded" if loaded else "as it was released", 0))
        entries += [
            (f"{loaded + number}: {record.term} {record.what}", number)
            for number, record in enumerate(session.history, start=1)
        ]
        if tuple(entries) != tuple(chosen.options):
            with self._quietly():
                chosen.options = entries
                chosen.value = None

    def _show_term(self) -> None:
        """Fit the fields to the chosen term, with nothing selected."""
        controls, term = self.controls, EditedTerm.of(self.session, self.term)
        is_number = term.view.edges is not None
        codes = () if is_number or term.view.kind == "interaction" else term.places.every
        self._planned = None
        with self._quietly():
            self.selected = ()
            controls.shape.options = tuple(shapes_for(term.view.kind))
            for end in (controls.low, controls.high):
                end.value = ""
                end.layout.display = None if is_number else "none"
            controls.whole_curve.description = whole_label(term)
            controls.levels.options = tuple((term.view.labels[code], code) for code in codes)
            controls.levels.layout.display = None if codes else "none"
        self._say("")
        self.refresh()
        self._show_verdict()

    def _show_verdict(self) -> None:
        """Say whether noise explains the selected part of the released curve."""
        shape = self.controls.shape.value
        request = EditorInput(bins=self.selected, column=self._column, shape=shape)
        try:
            text = verdict_text(self._edited, request)
        except ValueError as error:
            text = str(error)
        self.controls.verdict.value = note_html(text)

    def _say(self, note: str, error: str = "") -> None:
        self.controls.note.value = note_html(note)
        self.controls.error.value = note_html(error, is_error=True)

    # ----------------------------------------------------------------------------- the selection

    def select(self, bins: tuple[int, ...] | list[int]) -> None:
        """Select bins of the term that is shown; nothing selects nothing.

        Parameters
        ----------
        bins : sequence of int
            Indices into the term's scores.
        """
        with self._lock:
            self.selected = tuple(sorted(set(bins)))
            self._planned = None
            with self._quietly():
                known = {code for _, code in self.controls.levels.options}
                self.controls.levels.value = tuple(c for c in self.selected if c in known)
            self.refresh()
            self._show_verdict()

    def _type(self, change: Any) -> None:
        """Take over the ends that were typed, or the levels that were picked."""
        if self._is_quiet:
            return
        controls = self.controls
        ends = controls.low.value, controls.high.value
        if self._edited.view.edges is not None and not any(end.strip() for end in ends):
            return
        try:
            self.select(typed_bins(self._edited, *ends, controls.levels.value))
        except (TypeError, ValueError) as error:
            self._say("", str(error))
        else:
            self._say("")

    def _brush(self, trace: Any, points: Any, selector: Any) -> None:
        """Take over a range or a rectangle that was drawn on the figure."""
        if selector is not None and getattr(selector, "xrange", None):
            ranges = {"x": selector.xrange, "y": selector.yrange}
            # A rectangle beside all bins is a slip, and must not mean everything.
            if chosen := self._edited.places.within(ranges):
                self.select(chosen)
            else:
                self.refresh()

    def _clear_rectangle(self, layout: Any, selections: Any) -> None:
        """Take away the browser's rectangle: our own mark snaps to bins."""
        if layout.to_plotly_json().get("selections"):
            self.figure.plotly_relayout({"selections": []})

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Change fields without acting on it."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False

    # ------------------------------------------------------------------------------- the buttons

    def _connect(self) -> None:
        controls = self.controls
        for name, button in {**controls.tools, **controls.history_buttons}.items():
            button.on_click(partial(self._run, partial(self._perform, name)))
        for button, act in (
            (controls.whole_curve, lambda: self.select(self._edited.places.whole())),
            (controls.clear, lambda: self.select(())),
            (controls.back, lambda: go_back(self.session, int(controls.entry.value)).text),
            (controls.accept, self._accept),
            (controls.discard, self._drop),
        ):
            button.on_click(partial(self._run, act))
        for name in ("low", "high", "levels"):
            getattr(controls, name).observe(self._type, names="value")
        controls.term.observe(lambda change: self._show_term(), names="value")
        for name in ("class_label", "shape", "entry"):
            getattr(controls, name).observe(self._show_choice, names="value")

    def _show_choice(self, change: Any) -> None:
        """Take over another class, shape or entry of the history."""
        if not self._is_quiet:
            self._show_verdict()
            self.refresh()

    def _run(self, act: Callable[[], str | None], button: Any = None) -> None:
        """Do what a button says; an error is shown, not thrown away by the notebook."""
        before = self.session.released
        try:
            note = Outcome(act() or "").since(self.session, before).text
        except (TypeError, ValueError, OSError) as error:
            self._say("", str(error))
        except Exception as error:
            self._say("", f"{type(error).__name__}: {error}")
            raise
        else:
            self._say(note)

    def _perform(self, action: str) -> str:
        controls = self.controls
        request = EditorInput(
            bins=self.selected,
            column=self._column,
            number=controls.number.value,
            why=controls.message.value,
        )
        self._planned = None
        is_wanted, plotted = bool(controls.preview_first.value), axis_height(self.figure)
        offer = offered(self._edited, action, request, plotted, is_wanted=is_wanted)
        if offer is not None:
            self._planned = action, request
            self.refresh()
            return f"{offer.text} Accept it or drop it."
        text = perform(self._edited, action, request).text
        if action == "commit":
            controls.message.value = ""
        return text

    def _accept(self) -> str | None:
        planned, self._planned = self._planned, None
        return None if planned is None else perform(self._edited, *planned).text

    def _drop(self) -> None:
        self._planned = None
        self.refresh()


def _redraw(widget: Any, figure: Figure) -> None:
    """Make a widget show another figure of the same traces, in one message."""
    layout = figure.layout.to_plotly_json()
    del layout["template"]
    with widget.batch_update():
        for shown, new in zip(widget.data, figure.data, strict=True):
            shown.update(new.to_plotly_json())
        widget.layout.shapes = figure.layout.shapes
        widget.layout.update(layout)
    # A page that is loaded again asks for these, and plotly leaves them at the first figure. An
    # open page does not draw them.
    state = widget.to_plotly_json()
    widget._widget_data, widget._widget_layout = state["data"], state["layout"]


def session_mimebundle(session: EditSession, editor: NotebookEditor | None) -> Any:
    """Return the MIME bundle of a session for a notebook, and the live editor in it, if any.

    Parameters
    ----------
    session : EditSession
    editor : NotebookEditor or None
        The editor that was shown for it before, which is shown again.

    Returns
    -------
    dict
        By MIME type: the widgets; a text where there is no kernel to talk to, or the extra
        ``notebook`` is not installed.
    NotebookEditor or None
    """
    hint = "Open it in a notebook to edit it."
    if _has_kernel():
        try:
            shown = editor if editor is not None and editor.is_open else NotebookEditor(session)
            return shown._repr_mimebundle_(), shown
        except ModuleNotFoundError as error:
            hint = str(error)
    return {"text/plain": f"{session!r}. {hint}"}, None


def _has_kernel() -> bool:
    """Return whether this process is a notebook's kernel, which a terminal is not."""
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None
