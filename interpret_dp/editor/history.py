"""The history of a session: operations, undo, redo, messages and listeners."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from interpret_dp._validate import check_int
from interpret_dp.editor.bins import Selection
from interpret_dp.editor.operations import Operation
from interpret_dp.editor.state import (
    KEEP_TOTAL,
    RESET,
    RESTORE,
    State,
    Step,
    find_term,
    operation_in_words,
    plan_operation,
    whole_term,
)
from interpret_dp.editor.totals import movement_text
from interpret_dp.exceptions import warn_caller
from interpret_dp.released import AdditiveModel, EditRecord
from interpret_dp.released.edits import login_name


class EditHistory:
    """The done and the undone edits over an immutable base model, behind one lock.

    A committed edit is never erased: an edit that is made while some are undone follows them, and
    entries in between take them back.

    Each operation returns the record that it wrote into the history, or None if nothing changed.
    """

    def __init__(self, base: AdditiveModel, author: str | None) -> None:
        name = login_name() if author is None else author
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
        # Of the public rows whose metrics were computed last; each edit from then on says so.
        self._n_public_rows = 0
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
            operation = self._planned(kind, term, arguments)
            after = state.after(self._base, operation)
            if after.same_scores(state):
                return None
            step = Step(operation, self._record(operation, after), after)
            self._end_undoing()
            self._steps.append(step)
            self._version += 1
        self._notify()
        return step.record

    def _planned(self, kind: str, term: str | int, arguments: Mapping[str, Any]) -> Operation:
        operation = plan_operation(self._base, self._state, kind, term, arguments)
        return dataclasses.replace(operation, n_public_rows=self._n_public_rows)

    def _end_undoing(self) -> None:
        """Forget undone edits; committed ones stay, followed by entries that take them back."""
        n_done = len(self._steps)
        self._keep_committed()
        self._restore(n_done, range(len(self._base.terms)))

    def _keep_committed(self) -> None:
        """Put undone edits back up to the last committed one, and forget the others."""
        undone = list(reversed(self._undone))
        self._undone.clear()
        while undone and not undone[-1].record.why:
            undone.pop()
        self._steps += undone

    def _restore(self, entry: int, indices: Iterable[int]) -> list[EditRecord]:
        """Append an entry for each of these terms that differs from what it was at an entry."""
        records, target = [], self._state_at(entry)
        for index in indices:
            after = self._state.with_term_of(target, index)
            if not after.same_scores(self._state):
                operation = dataclasses.replace(
                    whole_term(self._base, RESTORE, index, entry=entry),
                    n_public_rows=self._n_public_rows,
                )
                self._steps.append(Step(operation, self._record(operation, after), after))
                records.append(self._steps[-1].record)
        return records

    @property
    def _state_at_commit(self) -> State:
        """The state after the last edit that has a message."""
        committed = [step.state for step in self._steps if step.record.why]
        return committed[-1] if committed else self._start

    def _state_at(self, entry: int) -> State:
        """Return the state after so many edits, those that were undone included."""
        steps = [*self._steps, *reversed(self._undone)]
        entry = check_int("entry", entry, low=0, high=len(steps))
        return steps[entry - 1].state if entry else self._start

    def go_back(self, entry: int, term: str | int | None = None) -> tuple[EditRecord, ...]:
        """Bring the model, or one term of it, back to what it was after so many edits.

        The history goes on: each term that changes gets an entry of its own, which can be undone.
        An entry that was undone is redone instead, with all before it.

        Parameters
        ----------
        entry : int
            Number of an edit of this session, counted from 1, oldest first, undone ones last; 0 is
            the model before all of them.
        term : str or int, default=None
            Name or number of the only term to bring back; all terms by default.

        Returns
        -------
        tuple of EditRecord
            The new entries, or those that were redone; empty if nothing changed.

        Raises
        ------
        TypeError, ValueError
            If there is no such entry or term.
        """
        with self._lock:
            self._state_at(entry)
            chosen = range(len(self._base.terms))
            if term is not None:
                chosen = range(index := find_term(self._base, term), index + 1)
            n_done = len(self._steps)
            if entry > n_done and term is None:
                redone = [self._undone.pop() for _ in range(entry - n_done)]
                self._steps += redone
                records = [step.record for step in redone]
            else:
                if self._state.same_scores(self._state_at(entry)):
                    return ()
                if term is None:
                    self._keep_committed()
                else:
                    self._end_undoing()
                records = self._restore(entry, chosen)
            self._version += 1
        self._notify()
        return tuple(records)

    def _record(self, operation: Operation, after: State) -> EditRecord:
        what = operation_in_words(self._base, operation, self._state, after)
        return EditRecord.of_now(operation.term, what, self._author)

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

    @property
    def total_change(self) -> str:
        """How far all edits together move the mean prediction, in words; empty below 0.05 %."""
        with self._lock:
            return movement_text(self._base, self._start, self._state)

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
                    "There is nothing to commit: no edit is pending. An edit that changes nothing, "
                    "such as making a rising curve rise, returns None and is not kept."
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
                warn_caller(
                    f"A view of the editing session failed ({type(error).__name__}: {error}); the "
                    "change of the model stands.",
                    RuntimeWarning,
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
        self,
        term: str | int,
        *,
        method: str = "ends",
        steps: int | None = None,
        **selection: Unpack[Selection],
    ) -> EditRecord | None:
        """Replace scores by a straight line over the bins' centres.

        Parameters
        ----------
        term : str or int
        method : {"ends", "fit"}, default="ends"
            Through the first and the last selected bin, or by weighted least squares.
        steps : int, default=None
            With ``method="ends"`` so many steps instead of a line, of equal width and height; at
            least 2, and at most as many as bins are selected. Bins belong to the release: a step
            holds those whose centres are in it.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        parameters = {"method": method, "steps": steps}
        return self._perform("interpolate", term, {**parameters, **selection})

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
        """Give a term back its released scores, and the intercept what the term had moved into it.

        Edits that the model was loaded with go, too. An edit like any other: it can be undone.

        Parameters
        ----------
        term : str or int
        """
        return self._perform(RESET, term, {})

    def keep_total(self) -> EditRecord | None:
        """Shift the intercept so that the mean prediction is what it was before these edits.

        An edit like any other, of the term that was edited last: a reset of the term takes the
        shift back, too. Of several classes each keeps its mean predicted probability.

        Returns
        -------
        EditRecord or None
            None if the mean prediction did not move.

        Raises
        ------
        ValueError
            If there is no edit, or no shift is found, as for scores without bound.
        """
        with self._lock:
            if not self._steps:
                raise ValueError("There is no edit that has moved the total. Edit a term first.")
            return self._perform(KEEP_TOTAL, self._steps[-1].operation.term, {})
