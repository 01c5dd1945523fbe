"""The history of a session: operations, undo, redo, messages and listeners."""

from __future__ import annotations

import dataclasses
import getpass
import threading
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Unpack

from interpret_dp.editor.bins import Selection
from interpret_dp.editor.operations import Operation
from interpret_dp.editor.state import RESET, State, Step, operation_in_words, plan_operation
from interpret_dp.released import AdditiveModel, EditRecord

__all__ = ["EditHistory"]


class EditHistory:
    """The done and the undone edits over an immutable base model, behind one lock.

    Each operation returns the record that it wrote into the history, or None if nothing changed.
    """

    def __init__(self, base: AdditiveModel, author: str | None) -> None:
        name = _login_name() if author is None else author
        if not isinstance(name, str):
            raise TypeError(f"author is {author!r} ({type(author).__name__}); it must be a text.")
        if not name.strip():
            raise ValueError(f"author is {author!r}; it must not be empty.")
        self._base = base
        self._author = name
        self._start = State.of_model(base)
        self._steps: list[Step] = []
        self._undone: list[Step] = []
        self._version = 0
        self._lock = threading.RLock()
        self._subscribers: list[Callable[[Any], object]] = []

    @property
    def base(self) -> AdditiveModel:
        """The model that the session started from."""
        return self._base

    @property
    def author(self) -> str:
        """Who is written into the history."""
        return self._author

    @property
    def version(self) -> int:
        """Number that grows by one at every change, so that a view can tell that it is stale."""
        return self._version

    @property
    def _state(self) -> State:
        return self._steps[-1].state if self._steps else self._start

    @property
    def _state_before_last(self) -> State:
        return self._steps[-2].state if len(self._steps) > 1 else self._start

    def _perform(
        self, kind: str, term: str | int, arguments: Mapping[str, Any]
    ) -> EditRecord | None:
        with self._lock:
            state = self._state
            operation = plan_operation(self._base, state, kind, term, arguments)
            after = state.after(self._base, operation)
            if after.same_scores(state):
                return None
            step = Step(operation, self._record(operation), after)
            self._steps.append(step)
            self._undone.clear()
            self._version += 1
        self._notify()
        return step.record

    def _record(self, operation: Operation) -> EditRecord:
        return EditRecord(
            term=operation.term,
            what=operation_in_words(self._base, operation),
            who=self._author,
            when=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    @property
    def history(self) -> tuple[EditRecord, ...]:
        """Records of the edits, oldest first, without those that were undone."""
        with self._lock:
            return tuple(step.record for step in self._steps)

    @property
    def undone(self) -> tuple[EditRecord, ...]:
        """Records of the edits that :meth:`redo` would bring back, next first."""
        with self._lock:
            return tuple(step.record for step in reversed(self._undone))

    @property
    def pending(self) -> tuple[EditRecord, ...]:
        """Edits that no commit has given a message yet."""
        return tuple(record for record in self.history if not record.why)

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._steps)

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone edit."""
        return bool(self._undone)

    def undo(self) -> EditRecord:
        """Take back the latest edit, committed or not.

        Raises
        ------
        ValueError
            If there is none.
        """
        with self._lock:
            if not self._steps:
                raise ValueError("There is no edit to undo: the model is as it was released.")
            step = self._steps.pop()
            self._undone.append(step)
            self._version += 1
        self._notify()
        return step.record

    def redo(self) -> EditRecord:
        """Bring back the edit that was undone last, with its message if it had one.

        Raises
        ------
        ValueError
            If there is none: nothing was undone, or another edit was made since.
        """
        with self._lock:
            if not self._undone:
                raise ValueError(
                    "There is no edit to redo: nothing was undone, or another edit was made since."
                )
            step = self._undone.pop()
            self._steps.append(step)
            self._version += 1
        self._notify()
        return step.record

    def commit(self, message: str) -> int:
        """Write a message on every pending edit; predictions do not change.

        Parameters
        ----------
        message : str
            Why the edits were made. It becomes a public part of the model: no patient in it.

        Returns
        -------
        int
            How many edits it belongs to.

        Raises
        ------
        TypeError, ValueError
            If the message is no text, blank or too long, or no edit is pending.
        """
        if not isinstance(message, str):
            raise TypeError(f"message is {message!r}; it must be a text that says why.")
        if not message.strip():
            raise ValueError(
                f"message is {message!r}; it must say why the edits were made, such as 'risk does "
                "not fall with age'."
            )
        with self._lock:
            pending = [position for position, s in enumerate(self._steps) if not s.record.why]
            if not pending:
                raise ValueError(
                    "There is nothing to commit: no edit is pending. Edit a term first."
                )
            steps = list(self._steps)
            for position in pending:
                record = dataclasses.replace(steps[position].record, why=message)
                steps[position] = dataclasses.replace(steps[position], record=record)
            self._steps = steps
            self._version += 1
        self._notify()
        return len(pending)

    def cancel(self) -> int:
        """Undo every edit after the last commit, and return how many; redo brings them back."""
        with self._lock:
            count = 0
            while self._steps and not self._steps[-1].record.why:
                self._undone.append(self._steps.pop())
                count += 1
            if not count:
                return 0
            self._version += 1
        self._notify()
        return count

    def subscribe(self, callback: Callable[[Any], object]) -> Callable[[], None]:
        """Have a function called after every change, and return one that ends it.

        It is called in the thread that made the change, after the session's lock was given back.
        An exception in it becomes a RuntimeWarning: the change stands.

        Parameters
        ----------
        callback : callable
            Called with the session.
        """
        if not callable(callback):
            raise TypeError(f"callback is {callback!r}; it must be a function of the session.")
        with self._lock:
            self._subscribers = [*self._subscribers, callback]

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = [c for c in self._subscribers if c is not callback]

        return unsubscribe

    def _notify(self) -> None:
        for callback in self._subscribers:
            try:
                callback(self)
            except Exception as error:
                warnings.warn(
                    f"A view of the editing session failed ({type(error).__name__}: {error}); the "
                    "change of the model stands.",
                    RuntimeWarning,
                    stacklevel=3,
                )

    # ----------------------------------------------------------------------------- operations

    def make_monotone(
        self, term: str | int, *, increasing: bool | str = "auto", **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Replace scores by the nearest monotone curve (isotonic regression).

        Nearest in squared distance weighted by the released bin weights, which is optimal among
        all monotone curves. The missing and unseen bins keep their scores. A continuous or an
        ordered categorical term is needed.

        Parameters
        ----------
        term : str or int
            Name or number of the term.
        increasing : bool or "auto", default="auto"
            The direction; "auto" takes the nearer one, for each class on its own.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.

        Returns
        -------
        EditRecord or None
            None if nothing changed.
        """
        return self._perform("make_monotone", term, {"increasing": increasing, **selection})

    def make_convex(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Replace scores by the nearest convex curve over the bins' centres, as above.

        A continuous term is needed.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("make_convex", term, selection)

    def make_concave(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Replace scores by the nearest concave curve over the bins' centres, as above.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("make_concave", term, selection)

    def smooth(
        self, term: str | int, *, length: float | None = None, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Smooth by the known noise: the posterior mean of a Gaussian process.

        The noise has the term's released covariance; where that is not known, variances inversely
        proportional to the bin weights, of a size chosen by marginal likelihood.

        Parameters
        ----------
        term : str or int
        length : float, default=None
            Length scale as a share of the feature's range on its declared scale; chosen by
            marginal likelihood if None.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("smooth", term, {"length": length, **selection})

    def interpolate(
        self, term: str | int, *, method: str = "ends", **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Replace scores by a straight line over the bins' centres.

        Parameters
        ----------
        term : str or int
        method : {"ends", "fit"}, default="ends"
            Through the first and the last selected bin, or by weighted least squares.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("interpolate", term, {"method": method, **selection})

    def flatten(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Give every selected bin the weighted mean of the selection.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("flatten", term, selection)

    def align(
        self, term: str | int, *, to: str, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Give every selected bin the score of the first, of the last, or their weighted mean.

        Parameters
        ----------
        term : str or int
        to : {"left", "right", "mean"}
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("align", term, {"to": to, **selection})

    def set_scores(
        self, term: str | int, scores: Any, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Give the selected bins the given scores.

        Parameters
        ----------
        term : str or int
        scores : float or array-like, shape (n_selected,) or (n_selected, n_selected_classes)
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("set_scores", term, {"scores": scores, **selection})

    def shift(
        self, term: str | int, by: float, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Add a number to the selected bins.

        Parameters
        ----------
        term : str or int
        by : float
            In units of score.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("shift", term, {"by": by, **selection})

    def scale(
        self, term: str | int, factor: float, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Multiply the selected bins by a number, and their noise with them.

        Parameters
        ----------
        term : str or int
        factor : float
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("scale", term, {"factor": factor, **selection})

    def cap(
        self, term: str | int, magnitude: float, **selection: Unpack[Selection]
    ) -> EditRecord | None:
        """Clip scores into [-magnitude, magnitude]; by default also the missing and unseen bins.

        Parameters
        ----------
        term : str or int
        magnitude : float
            In units of score, not negative.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("cap", term, {"magnitude": magnitude, **selection})

    def remove_effect(self, term: str | int, **selection: Unpack[Selection]) -> EditRecord | None:
        """Set scores to 0; by default also the missing and unseen bins.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("remove_effect", term, selection)

    def reset(self, term: str | int) -> EditRecord | None:
        """Give a term back its original scores, and the intercept what the term had moved into it.

        An edit like any other: it can be undone.

        Parameters
        ----------
        term : str or int
        """
        return self._perform(RESET, term, {})


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
