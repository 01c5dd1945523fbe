"""States of a model's terms between two edits, and the steps from one to the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import did_you_mean
from interpret_dp.editor.operations import Operation, edited_term, operation_text, plan
from interpret_dp.editor.totals import keeping_shift, movement_text
from interpret_dp.released import AdditiveModel, AdditiveTerm, EditRecord

FloatArray = NDArray[np.float64]

RESET, RESTORE, KEEP_TOTAL = "reset", "restore", "keep_total"
"""Kinds of whole terms: back to the release, back to an earlier entry of the history, and a shift
of the intercept to the mean prediction before all entries, which counts as moved by the term."""


@dataclass(frozen=True, eq=False)
class State:
    """All terms, and what each of them has moved into the intercept.

    Keeping the moved amounts by term, instead of the intercept, lets a reset give back exactly
    what its term took.

    Attributes
    ----------
    terms : tuple of AdditiveTerm
    moved : ndarray of float64, shape (n_terms, n_scores)
        Sums of the changes of each term's weighted mean, which the intercept takes up.
    """

    terms: tuple[AdditiveTerm, ...]
    moved: FloatArray

    @classmethod
    def of_model(cls, model: AdditiveModel) -> State:
        """Return the state before any edit."""
        moved = np.zeros((len(model.terms), len(model.intercept)))
        moved.setflags(write=False)
        return cls(model.terms, moved)

    def intercept(self, base: AdditiveModel) -> FloatArray:
        """Return the intercept, shape (n_scores,)."""
        return np.asarray(base.intercept - self.moved.sum(axis=0))

    def model(self, base: AdditiveModel, records: Sequence[EditRecord]) -> AdditiveModel:
        """Return the released model of this state."""
        if not records:
            return base
        edited = {record.term for record in records}
        return dataclasses.replace(
            base,
            terms=tuple(
                self._with_released(base, index) if name in edited else self.terms[index]
                for index, name in enumerate(base.term_names)
            ),
            intercept=self.intercept(base),
            edits=(*base.edits, *records),
        )

    def _with_released(self, base: AdditiveModel, index: int) -> AdditiveTerm:
        """Return a term beside what it was before all edits, those of the base included."""
        before, moved = base.terms[index], self.moved[index]
        if not is_release_known(before):
            return self.terms[index]
        if before.moved is not None:
            moved = before.moved + moved
        return dataclasses.replace(self.terms[index], released=before.as_released, moved=moved)

    def same_scores(self, other: State) -> bool:
        """Return whether both predict alike, bit for bit."""
        return np.array_equal(self.moved, other.moved) and all(
            term is another or np.array_equal(term.scores, another.scores)
            for term, another in zip(self.terms, other.terms, strict=True)
        )

    def after(self, base: AdditiveModel, operation: Operation) -> State:
        """Return the state that an operation leads to."""
        index = base.term_names.index(operation.term)
        term = self.terms[index]
        if operation.kind == RESET:
            moved = base.terms[index].moved
            back = np.zeros(self.moved.shape[1]) if moved is None else -moved
            return self._with(index, base.terms[index].as_released, back)
        if operation.kind == KEEP_TOTAL:
            shift = keeping_shift(base, State.of_model(base), self)
            return self._with(index, term, self.moved[index] - shift)
        if term is base.terms[index]:
            term = as_in_file(base, index)
        moved = self.moved[index]
        total = float(term.weights.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            edited = edited_term(base.subject(term), term, operation)
            if operation.recentre and total > 0:
                change = (edited.scores - term.scores).reshape(len(term.weights), -1)
                moved = moved + term.weights / total @ change
            after = self._with(index, edited, moved)
            is_finite = np.isfinite(after.intercept(base)).all()
        if not is_finite:
            raise ValueError(
                f"{operation.kind} makes the intercept larger than a float can be. Use smaller "
                "numbers."
            )
        return after

    def with_term_of(self, other: State, index: int) -> State:
        """Return this state with one term as another state has it."""
        return self._with(index, other.terms[index], other.moved[index])

    def with_result(self, base: AdditiveModel, name: str, scores: Any, moved: Any) -> State:
        """Return this state with the given scores of one term: those that a file recorded."""
        index = base.term_names.index(name)
        term = self.terms[index]
        if not np.array_equal(term.scores, scores):
            term = dataclasses.replace(term, scores=scores)
        return self._with(index, term, moved)

    def _with(self, index: int, term: AdditiveTerm, moved: FloatArray) -> State:
        rows = self.moved.copy()
        rows[index] = moved
        rows.setflags(write=False)
        return State((*self.terms[:index], term, *self.terms[index + 1 :]), rows)


@dataclass(frozen=True)
class Step:
    """One done edit: the operation, its record, and the state that it led to."""

    operation: Operation
    record: EditRecord
    state: State


@lru_cache(maxsize=64)
def as_in_file(base: AdditiveModel, index: int) -> AdditiveTerm:
    """Return a term as it would come back from the model's file.

    A file rounds the covariance of the noise. Edits start from the rounded one, so that they give
    the same model, bit for bit, on the model as fitted and on the one that was read back.
    """
    if base.terms[index].as_released.covariance is None:
        return base.terms[index]
    document = dataclasses.replace(base, terms=(base.terms[index],)).to_dict()
    return AdditiveModel.from_dict(document).terms[0]


def is_release_known(term: AdditiveTerm) -> bool:
    """Return whether a term holds its released scores; edited ones of older files do not."""
    return term.released is not None or not term.is_edited


def find_term(model: AdditiveModel, term: Any) -> int:
    """Return the number of a term given by name or number.

    Raises
    ------
    TypeError, ValueError
        If there is no such term.
    """
    names = model.term_names
    shown = ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    if isinstance(term, str):
        if term in names:
            return names.index(term)
        raise ValueError(
            f"There is no term {term!r}; the terms are {shown}.{did_you_mean(term, names)}"
        )
    if isinstance(term, bool) or not isinstance(term, int | np.integer):
        raise TypeError(f"term is {term!r}; it must be the name of a term or its number.")
    if not 0 <= term < len(names):
        raise ValueError(f"term is {term}; the terms have the numbers 0 to {len(names) - 1}.")
    return int(term)


def plan_operation(
    base: AdditiveModel, state: State, kind: str, term: Any, arguments: Mapping[str, Any]
) -> Operation:
    """Return the checked operation of a request, with what it leaves open resolved."""
    index = find_term(base, term)
    if kind not in (RESET, KEEP_TOTAL):
        current = dataclasses.replace(base, terms=state.terms)
        return plan(current, kind, index, arguments)
    if arguments:
        raise TypeError(f"{kind} has no argument {next(iter(arguments))!r}; it takes a whole term.")
    return whole_term(base, kind, index)


def whole_term(base: AdditiveModel, kind: str, index: int, **parameters: Any) -> Operation:
    """Return an operation on all bins and classes of a term."""
    feature = base.subject(base.terms[index])
    bins, classes = tuple(range(feature.n_codes)), tuple(range(len(base.intercept)))
    return Operation(kind, feature.name, bins, classes, parameters)


def operation_in_words(
    base: AdditiveModel, operation: Operation, before: State, after: State
) -> str:
    """Return an operation in words, such as "made increasing between 40 and 60".

    If it moves the mean prediction, they say by how much.
    """
    words = _effect_in_words(base, operation)
    if movement := movement_text(base, before, after):
        words += f", which moves {movement}"
    if operation.n_public_rows:
        words += f", with metrics on {operation.n_public_rows:,} public rows"
    return words


def _effect_in_words(base: AdditiveModel, operation: Operation) -> str:
    if operation.kind == RESET:
        is_known = is_release_known(base.terms[find_term(base, operation.term)])
        return f"reset to the scores {'of the release' if is_known else 'of the loaded model'}"
    if operation.kind == KEEP_TOTAL:
        return "intercept shifted to keep the total"
    if operation.kind == RESTORE:
        entry = operation.parameters["entry"]
        # A reader of the model counts the edits that it was loaded with, too.
        number = len(base.edits) + entry
        return f"set back to edit {number}" if entry else "set back to before these edits"
    feature = base.subject(base.terms[find_term(base, operation.term)])
    labels = base.classes if base.classes is not None and len(base.intercept) > 1 else ()
    return operation_text(feature, operation, labels)
