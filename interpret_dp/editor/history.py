"""Undo, redo, messages and listeners: the history of a session."""

from __future__ import annotations

import dataclasses
import getpass
import threading
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from interpret_dp.editor.actions import TermActions
from interpret_dp.editor.operations import Operation
from interpret_dp.editor.state import State, Step, operation_in_words, plan_operation
from interpret_dp.released import AdditiveModel, EditRecord

__all__ = ["EditHistory"]


class EditHistory(TermActions):
    """The done and the undone edits over an immutable base model, behind one lock."""

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
        """What was done, oldest first; without what was undone."""
        with self._lock:
            return tuple(step.record for step in self._steps)

    @property
    def undone(self) -> tuple[EditRecord, ...]:
        """What :meth:`redo` would bring back, next first."""
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
                self._subscribers = [known for known in self._subscribers if known is not callback]

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


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
