"""The history of a session: operations, undo, redo, listeners, and metrics on public rows."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.editor.bins import BinSelection, select_codes
from interpret_dp.editor.operations import Operation, Preview, plan
from interpret_dp.editor.state import (
    KEEP_TOTAL,
    RESET,
    RESTORE,
    State,
    Step,
    find_term,
    movement_text,
    operation_in_words,
    steps_of,
    whole_term,
    write_document,
)
from interpret_dp.exceptions import warn_caller
from interpret_dp.released import AdditiveModel, AdditiveTerm, EditRecord
from interpret_dp.released.additive_model import login_name
from interpret_dp.released.survival import concordance

if TYPE_CHECKING:
    import pandas as pd


# Rows that a user declares public, and exact metrics of models on them.
#
# They stay in the memory of this process. No file, no edit and no model holds one of them.
# Estimators that a session builds read them: nothing here encodes a row.

Subset = tuple[tuple[int, tuple[int, ...]], ...]
"""Numbers of terms, each with bins; a row belongs to it if it is in these bins of all of them."""


class PublicRows:
    """Rows with their targets, and metrics of a session's models on them.

    Parameters
    ----------
    base : AdditiveModel
        The model of the session.
    build : callable
        Makes a fitted estimator of a released model.
    X : DataFrame, pyarrow.Table, array or list of rows, shape (n_rows, n_features)
    y : array-like, shape (n_rows,)
        Class labels, or numbers.
    public : bool
        Must be True: metrics are exact, and exact figures of private rows are a leak.

    Attributes
    ----------
    n_rows : int
    figures : callable
        Returns the metrics of a State or an AdditiveModel on a Subset, which is empty for all rows.
        Figures of a part without a row are NaN.

    Raises
    ------
    ValueError
        If ``public`` is not True, there is no row, there are not as many targets as rows, or a
        target is no class or no number.
    SchemaError
        If the rows lack features of the model.
    """

    def __init__(
        self,
        base: AdditiveModel,
        build: Callable[[AdditiveModel], Any],
        X: Any,
        y: Any,
        *,
        public: bool,
    ) -> None:
        if public is not True:
            raise ValueError(
                f"public is {public!r}; metrics are exact, and an exact figure of private rows "
                "leaks information about them. Pass public rows (simulated, published, your own) "
                "with public=True. For private rows use "
                "interpret_dp.private_metrics({'original': model, 'current': session.model}, X, "
                "y, epsilon=..., delta=...), which adds noise and charges the ledger."
            )
        self._base, self._build, self._X = base, build, X
        # States and models are immutable. Cards show the same ones again and again.
        self._predicted = lru_cache(maxsize=8)(self._predict)
        self.figures = lru_cache(maxsize=64)(self._compute)
        self._mask = lru_cache(maxsize=16)(self._find)
        self.n_rows = len(self._predicted(base))
        self._truth = _classes_of(y, base.classes) if base.classes is not None else _numbers_of(y)
        if not self.n_rows or len(self._truth) != self.n_rows:
            raise ValueError(
                f"X has {self.n_rows} rows and y has {len(self._truth)} targets; there must be "
                "as many of them, and one at least."
            )

    def _predict(self, version: State | AdditiveModel) -> NDArray[np.float64]:
        """Return probabilities, shape (n_rows, n_classes), or predictions, shape (n_rows,)."""
        model, base = version, self._base
        if isinstance(model, State):
            state = model
            model = dataclasses.replace(base, terms=state.terms, intercept=state.intercept(base))
        estimator = self._build(model)
        method = estimator.predict if base.classes is None else estimator.predict_proba
        return np.asarray(method(self._X), dtype=np.float64)

    def _compute(self, version: State | AdditiveModel, subset: Subset) -> dict[str, float]:
        rows = self._mask(subset)
        truth, predicted = self._truth[rows], self._predicted(version)[rows]
        classes = self._base.classes
        if self._base.baseline is not None:
            figures = {"concordance": concordance(np.asarray(truth, dtype=np.float64), predicted)}
        elif classes is None:
            figures = _regression(truth, predicted)
        else:
            figures = _classification(truth, predicted, len(classes))
        return {**figures, "n_rows": int(rows.sum())}

    def _find(self, subset: Subset) -> NDArray[np.bool_]:
        """Return which rows belong to a subset, shape (n_rows,)."""
        inside = np.ones(self.n_rows, dtype=np.bool_)
        for index, bins in subset:
            inside &= np.isin(self._codes(index), bins)
        return inside

    def _codes(self, index: int) -> NDArray[np.float64]:
        """Return the bin or cell of each row, shape (n_rows,).

        The estimator of a model that scores each bin with its number says them.
        """
        term = self._base.terms[index].as_released
        numbers = np.arange(len(term.weights), dtype=np.float64)
        scores = np.broadcast_to(
            numbers.reshape(-1, *[1] * (term.scores.ndim - 1)), term.scores.shape
        )
        probe = AdditiveTerm(term.feature, scores, term.weights, None, partner=term.partner)
        estimator = self._build(dataclasses.replace(self._base, terms=(probe,), edits=()))
        codes = np.asarray(estimator.eval_terms(self._X), dtype=np.float64)
        return np.rint(codes.reshape(self.n_rows, -1)[:, 0])


def _classes_of(y: Any, classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the number of each label's class; the text "1" is not the number 1."""
    numbers = {(isinstance(label, str), label): place for place, label in enumerate(classes)}
    labels = np.asarray(y, dtype=object).ravel().tolist()
    codes = np.array([numbers.get((isinstance(label, str), label), -1) for label in labels])
    n_unknown = int((codes < 0).sum())
    if n_unknown:
        raise ValueError(
            f"y has {n_unknown} values that are no class of the model; its classes are "
            f"{', '.join(map(repr, classes))}. Leave these rows out, or mend their labels."
        )
    return codes


def _numbers_of(y: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(y, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise ValueError("y has values that are no finite numbers. Leave these rows out.")
    return numbers


def _classification(
    truth: NDArray[Any], probabilities: NDArray[np.float64], n_classes: int
) -> dict[str, float]:
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

    labels = range(n_classes)
    has_rows = len(truth) > 0
    figures = {}
    if n_classes > 1:
        figures["log_loss"] = log_loss(truth, probabilities, labels=labels) if has_rows else np.nan
    predicted = probabilities.argmax(axis=1)
    figures["accuracy"] = accuracy_score(truth, predicted) if has_rows else np.nan
    if n_classes == 2:
        # The area is not defined where all rows are of one class.
        has_both = len(np.unique(truth)) == 2
        figures["auroc"] = roc_auc_score(truth == 1, probabilities[:, 1]) if has_both else np.nan
    return {name: float(figure) for name, figure in figures.items()}


def _regression(truth: NDArray[Any], predicted: NDArray[np.float64]) -> dict[str, float]:
    if not len(truth):
        return dict.fromkeys(("rmse", "mae", "r2"), np.nan)
    errors = predicted - truth
    total = float(((truth - truth.mean()) ** 2).sum())
    return {
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
        "r2": 1.0 - float((errors**2).sum()) / total if total > 0 else np.nan,
    }


class EditHistory:
    """The done and the undone edits over an immutable base model, behind one lock.

    A committed edit is never erased: an edit that is made while some are undone follows them, and
    entries in between take them back.

    Each operation returns the record that it wrote into the history, or None if nothing changed.

    Attributes
    ----------
    base : AdditiveModel
        The model that the session started from.
    author : str
        Who is written into the history.
    version : int
        Grows by one at every change, so that a view can tell that it is stale.
    """

    def __init__(
        self, base: AdditiveModel, build: Callable[[AdditiveModel], Any], author: str | None
    ) -> None:
        name = login_name() if author is None else author
        if not isinstance(name, str):
            raise TypeError(f"author is {author!r} ({type(author).__name__}); it must be a text.")
        if not name.strip():
            raise ValueError(f"author is {author!r}; it must not be empty.")
        self.base, self._build, self.author = base, build, name
        self._public_rows: PublicRows | None = None
        self._start = State.of_model(base)
        self._steps: list[Step] = []
        self._undone: list[Step] = []
        self.version = 0
        self._lock = threading.RLock()
        self._subscribers: list[Callable[[Any], object]] = []

    @property
    def _state(self) -> State:
        return self._steps[-1].state if self._steps else self._start

    @property
    def _n_public_rows(self) -> int:
        """Number of rows whose metrics the author can see; each edit from then on says so."""
        return self._public_rows.n_rows if self._public_rows is not None else 0

    @property
    def _state_before_last(self) -> State:
        return self._steps[-2].state if len(self._steps) > 1 else self._start

    def _perform(
        self, kind: str, term: str | int, arguments: Mapping[str, Any]
    ) -> EditRecord | None:
        with self._lock:
            state = self._state
            operation = self._planned(kind, term, arguments)
            after = state.after(self.base, operation)
            if after.same_scores(state):
                return None
            step = Step(operation, self._record(operation, after), after)
            self._end_undoing()
            self._steps.append(step)
            self.version += 1
        self._notify()
        return step.record

    def _planned(self, kind: str, term: str | int, arguments: Mapping[str, Any]) -> Operation:
        base, index = self.base, find_term(self.base, term)
        if kind not in (RESET, KEEP_TOTAL):
            current = dataclasses.replace(base, terms=self._state.terms)
            operation = plan(current, kind, index, arguments)
        elif arguments:
            name = next(iter(arguments))
            raise TypeError(f"{kind} has no argument {name!r}; it takes a whole term.")
        else:
            operation = whole_term(base, kind, index)
        return dataclasses.replace(operation, n_public_rows=self._n_public_rows)

    def _end_undoing(self) -> None:
        """Forget undone edits; committed ones stay, followed by entries that take them back."""
        n_done = len(self._steps)
        self._keep_committed()
        self._restore(n_done, range(len(self.base.terms)))

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
                    whole_term(self.base, RESTORE, index, entry=entry),
                    n_public_rows=self._n_public_rows,
                )
                self._steps.append(Step(operation, self._record(operation, after), after))
                records.append(self._steps[-1].record)
        return records

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
            chosen = range(len(self.base.terms))
            if term is not None:
                chosen = range(index := find_term(self.base, term), index + 1)
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
            self.version += 1
        self._notify()
        return tuple(records)

    def _record(self, operation: Operation, after: State) -> EditRecord:
        what = operation_in_words(self.base, operation, self._state, after)
        return EditRecord.of_now(operation.term, what, self.author)

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
    def total_change(self) -> str:
        """How far all edits together move the mean prediction, in words; empty below 0.05 %."""
        with self._lock:
            return movement_text(self.base, self._start, self._state)

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
            self.version += 1
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
            self.version += 1
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
            self.version += 1
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
            self.version += 1
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
        self, term: str | int, *, increasing: bool | str = "auto", **selection: Unpack[BinSelection]
    ) -> EditRecord | None:
        """Replace scores by the nearest monotone curve (isotonic regression).

        Nearest in squared distance weighted by the released bin weights, which is optimal among
        all monotone curves. The missing and undeclared bins keep their scores. A continuous or an
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

    def make_convex(self, term: str | int, **selection: Unpack[BinSelection]) -> EditRecord | None:
        """Replace scores by the nearest convex curve over the bins' centres, as above.

        A continuous term is needed.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("make_convex", term, selection)

    def make_concave(self, term: str | int, **selection: Unpack[BinSelection]) -> EditRecord | None:
        """Replace scores by the nearest concave curve over the bins' centres, as above.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("make_concave", term, selection)

    def smooth(
        self, term: str | int, *, length: float | None = None, **selection: Unpack[BinSelection]
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
        **selection: Unpack[BinSelection],
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

    def flatten(self, term: str | int, **selection: Unpack[BinSelection]) -> EditRecord | None:
        """Give every selected bin the weighted mean of the selection.

        Parameters
        ----------
        term : str or int
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("flatten", term, selection)

    def align(
        self, term: str | int, *, to: str, **selection: Unpack[BinSelection]
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
        self, term: str | int, scores: Any, **selection: Unpack[BinSelection]
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
        self, term: str | int, by: float, **selection: Unpack[BinSelection]
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
        self, term: str | int, factor: float, **selection: Unpack[BinSelection]
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
        self, term: str | int, magnitude: float, **selection: Unpack[BinSelection]
    ) -> EditRecord | None:
        """Clip scores into [-magnitude, magnitude], by default of all bins.

        Parameters
        ----------
        term : str or int
        magnitude : float
            In units of score, not negative.
        between, levels, bins, classes, recentre
            As in :meth:`preview`.
        """
        return self._perform("cap", term, {"magnitude": magnitude, **selection})

    def remove_effect(
        self, term: str | int, **selection: Unpack[BinSelection]
    ) -> EditRecord | None:
        """Set scores to 0, by default of all bins.

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

    # ----------------------------------------------------------------- metrics on public rows

    @property
    def public_rows(self) -> PublicRows | None:
        """Rows that :meth:`use_public_rows` took; None before."""
        return self._public_rows

    def use_public_rows(self, X: Any, y: Any, *, public: bool = False) -> None:
        """Take rows for :meth:`metrics`, and show metrics in every view of the session.

        The rows stay in the memory of this process: no file, edit or model holds one. Each edit
        from now on says in the history that its author saw metrics, and on how many rows.

        Parameters
        ----------
        X : DataFrame, array or list of rows, shape (n_rows, n_features)
        y : array-like, shape (n_rows,)
            Of a model with exposures per unit of exposure, as it predicts.
        public : bool, default=False
            Must be True. The guarantee does not cover edits that follow from rows that are not
            public.

        Raises
        ------
        ValueError
            If ``public`` is not True, there is no row, there are not as many targets as rows, or a
            target is no class or no number.
        SchemaError
            If the rows lack features of the model.
        """
        rows = PublicRows(self.base, self._build, X, y, public=public)
        with self._lock:
            self._public_rows = rows
            self.version += 1
        self._notify()

    def metrics(
        self,
        *,
        where: Mapping[str, Mapping[str, Any]] | None = None,
        preview: Preview | None = None,
    ) -> pd.DataFrame:
        """Return metrics before and after editing, on the rows of :meth:`use_public_rows`.

        Parameters
        ----------
        where : mapping, default=None
            The part of the rows that counts, all by default: terms by name, each with its
            selection in the words of :meth:`preview`, such as ``{"age": {"between": (40, 60)},
            "site": {"levels": ["north"]}}``. A row must be in all of them.
        preview : Preview, default=None
            An edit that was not made, which gets a row of its own.

        Returns
        -------
        DataFrame
            Rows ``original``, ``committed`` (after the last edit that has a message), ``current``
            and, if one was given, ``preview``. Columns ``log_loss``, ``accuracy`` and, with two
            classes, ``auroc``, or ``rmse``, ``mae`` and ``r2``, or ``concordance``; then
            ``n_rows``, the number of rows that count. Without any, figures are NaN.

        Raises
        ------
        TypeError, ValueError
            If there are no public rows, or ``where`` is no selection.
        """
        import pandas as pd

        with self._lock:
            rows = self._public_rows
            committed = [self._start, *(step.state for step in self._steps if step.record.why)]
            versions: dict[str, Any] = {
                "original": self._start,
                "committed": committed[-1],
                "current": self._state,
            }
        if rows is None:
            raise ValueError(
                "The session has no public rows. Call session.use_public_rows(X, y, public=True) "
                "first."
            )
        subset = self._subset(where or {})
        if preview is not None:
            versions["preview"] = preview.released
        figures = {name: rows.figures(version, subset) for name, version in versions.items()}
        return pd.DataFrame.from_dict(figures, orient="index")

    def _subset(self, where: Mapping[str, Mapping[str, Any]]) -> Subset:
        selectors = {"between", "levels", "bins"}
        if not isinstance(where, Mapping) or not all(
            isinstance(part, Mapping) and part and set(part) <= selectors for part in where.values()
        ):
            raise TypeError(
                f"where is {where!r}; it must be a mapping of terms to selections by one of "
                "between, levels and bins, such as {'age': {'between': (40, 60)}}."
            )
        indices = [find_term(self.base, term) for term in where]
        parts = zip(indices, where.values(), strict=True)
        return tuple((index, self._codes(index, **part)) for index, part in parts)

    def _codes(
        self, index: int, *, between: Any = None, levels: Any = None, bins: Any = None
    ) -> tuple[int, ...]:
        subject = self.base.subject(self.base.terms[index])
        return select_codes(subject, between=between, levels=levels, bins=bins)

    # ------------------------------------------------------------------------------ the document

    def to_dict(self) -> dict[str, Any]:
        """Return the session as plain JSON values, with no row, for ``EditSession.from_dict``."""
        with self._lock:
            return write_document(self.base, self._steps)

    def continue_from(self, document: Mapping[str, Any]) -> int:
        """Bring this session to where a document is that begins with the same edits.

        Views of the session see the edits appear; what was undone before is forgotten.

        Parameters
        ----------
        document : mapping
            What :meth:`to_dict` returned.

        Returns
        -------
        int
            How many edits were added.

        Raises
        ------
        ValueError
            If the document does not hold every edit of this session, which would be lost; or for
            any reason of :meth:`from_dict`.
        """
        with self._lock:
            steps = steps_of(document, self.base, self._start)
            edits = self.to_dict()["edits"]
            read = write_document(self.base, steps)["edits"]
            if not all(map(_is_same_edit, edits, read)) or len(edits) > len(read):
                raise ValueError(
                    f"The document does not begin with the {len(edits)} edits of this session, "
                    "which would be lost. Save them and undo them first; or read the document into "
                    "a session of its own with EditSession.from_dict."
                )
            if edits == read:
                return 0
            self._steps = steps
            self._undone.clear()
            self.version += 1
        self._notify()
        return len(read) - len(edits)


def _is_same_edit(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Return whether two entries of a document are one edit, which may have got a message since."""
    return earlier["why"] in ("", later["why"]) and {**earlier, "why": ""} == {**later, "why": ""}
