"""States of a model's terms between two edits, the mean that edits keep, and the file of edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import SEAL, check_keys, open_document, reading_parts
from interpret_dp._validate import check_int, did_you_mean
from interpret_dp.editor.operations import (
    Operation,
    edited_term,
    even_normals,
    operation_text,
    recorded,
    recorded_rows,
)
from interpret_dp.released import AdditiveModel, AdditiveTerm, EditRecord
from interpret_dp.released.arrays import frozen

# The mean prediction of an edited model, and the shift of the intercept that keeps it.
#
# Released numbers alone. A regression without a link has its mean prediction over the released
# weights of the bins. Other means need features together: they are taken over public draws of bins,
# with the released weights and, between ordered features, the released correlations.

FloatArray = NDArray[np.float64]

N_DRAWS = 8_192
_SEQUENCE = b"interpret_dp editor: order of draws, version 1, feature "
_MIN_SHARE = 5e-4  # of the mean prediction; what moves it by less is not mentioned
_ROUNDING = 1e-9
_SMALL = 1e-6  # share of the largest change that is taken as none
_MAX_STEPS = 1_000


@lru_cache(maxsize=2)
def _drawn_codes(base: AdditiveModel) -> tuple[NDArray[np.int32], ...]:
    """Return the bins of public draws, shape (N_DRAWS,), of each term.

    The draws of a feature are spread evenly over its rows. A pair follows its first feature.
    """
    values, vectors = np.linalg.eigh(_correlations(base))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    even = even_normals(N_DRAWS, len(base.features), _SEQUENCE)
    normals = factor @ (vectors.T @ even)
    ranks = np.argsort(np.argsort(normals, axis=1), axis=1)
    codes = []
    for term in base.terms:
        weights = term.weights if term.weights.any() else np.ones(len(term.weights))
        below = np.cumsum(weights)
        rows = (ranks[term.feature] + 0.5) / N_DRAWS * below[-1]
        codes.append(np.searchsorted(below, rows, side="right").astype(np.int32))
    return tuple(codes)


def _correlations(base: AdditiveModel) -> FloatArray:
    """Return the released correlations of normal scores; those of nominal features have no sign."""
    matrix = np.eye(len(base.features))
    places = {f.name: k for k, f in enumerate(base.features) if f.kind != "nominal"}
    for first, second, value in base.correlations:
        if first in places and second in places:
            cell = places[first], places[second]
            matrix[cell] = matrix[cell[::-1]] = value
    return matrix


def _scores(
    base: AdditiveModel, terms: Sequence[AdditiveTerm], intercept: FloatArray
) -> FloatArray:
    """Return the scores of the draws, shape (N_DRAWS, n_scores)."""
    total = np.tile(intercept, (N_DRAWS, 1))
    for term, codes in zip(terms, _drawn_codes(base), strict=True):
        total += term.scores.reshape(len(term.scores), -1)[codes]
    return total


def _log_outcomes(base: AdditiveModel, scores: FloatArray) -> FloatArray:
    """Return scores themselves, or the logarithm of each class' probability."""
    if base.classes is None:
        return scores
    if len(base.classes) == 2:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))


def _log_means(base: AdditiveModel, scores: FloatArray) -> FloatArray:
    """Return logarithms of the mean of exponentials, or of each class' probability."""
    scores = _log_outcomes(base, scores)
    largest = scores.max(axis=0)
    return np.asarray(largest + np.log(np.exp(scores - largest).mean(axis=0)))


def _is_exact(base: AdditiveModel) -> bool:
    return base.classes is None and not base.has_log_link


def _rounding(base: AdditiveModel, state: State) -> float:
    """Return what is a rounding error of an exact mean, which may be near zero."""
    if not _is_exact(base):
        return 0.0
    return _ROUNDING * max(float(np.abs(term.scores).max()) for term in state.terms)


@lru_cache(maxsize=8)
def mean_outcomes(base: AdditiveModel, state: State) -> FloatArray:
    """Return the mean prediction, shape (1,), or the mean probabilities, shape (n_classes,)."""
    if not _is_exact(base):
        with np.errstate(over="ignore"):
            return np.exp(_log_means(base, _scores(base, state.terms, state.intercept(base))))
    model = dataclasses.replace(base, terms=state.terms, intercept=state.intercept(base))
    return np.array([model.mean_prediction])


def keeping_shift(base: AdditiveModel, start: State, state: State) -> FloatArray:
    """Return by how much the intercept must grow for the mean prediction of the start.

    Returns
    -------
    ndarray of float64, shape (n_scores,)
        Zeros if the mean prediction did not move.

    Raises
    ------
    ValueError
        If no shift is found, as for scores without bound.
    """
    if _is_exact(base):
        old, new = mean_outcomes(base, start), mean_outcomes(base, state)
        return np.where(np.abs(new - old) > _rounding(base, state), old - new, 0.0)
    before, scores = (_scores(base, s.terms, s.intercept(base)) for s in (start, state))
    target = _log_means(base, before)
    shift = np.zeros(scores.shape[1])
    for _ in range(_MAX_STEPS):
        gap = target - _log_means(base, scores + shift)
        if np.abs(gap).max() <= _ROUNDING:
            return shift
        shift += gap[1:] - gap[0] if len(gap) == 2 else gap
    raise ValueError(
        "No intercept was found that keeps the mean prediction: some scores are too large. Undo "
        "the edit, or use smaller numbers."
    )


def movement_text(base: AdditiveModel, before: State, after: State) -> str:
    """Return how far an edit moves the mean prediction, in words; empty below 0.05 % of it."""
    if before is after:
        return ""  # a page that is opened must not wait for the draws
    old, new = mean_outcomes(base, before), mean_outcomes(base, after)
    if not np.isfinite(old).all():
        return ""  # scores of a log link, of which no number is the exponential
    # Of two classes the last is the outcome; of more, the one whose mean moves most.
    column = 1 if len(old) == 2 else int(np.argmax(np.abs(new - old)))
    mean, change = float(old[column]), float(new[column] - old[column])
    if not abs(change) > max(_MIN_SHARE * abs(mean), _rounding(base, after)):
        return ""
    what = "prediction" if base.classes is None else "predicted probability"
    whose = _name_of(base, column)
    about = "" if _is_exact(base) else "about "
    share = f" ({_two_digits(100 * change / abs(mean))} %)" if abs(change) < 10 * abs(mean) else ""
    of = "" if whose is None else f" of {whose}"
    return f"the mean {what}{of} by {about}{_two_digits(change)}{share}"


def _name_of(base: AdditiveModel, column: int) -> str | None:
    """Return the class, of more than two, or the outcome that a column predicts."""
    classes = base.classes or ()
    return repr(classes[column]) if len(classes) > 2 else base.outcome


def effect_text(base: AdditiveModel, before: AdditiveModel, after: AdditiveModel) -> str:
    """Return by how much the predictions of rows differ between two versions, in words.

    Over the public draws of bins, with the released weights. Empty if no score differs.
    """
    pairs = [(a.scores, b.scores) for a, b in zip(before.terms, after.terms, strict=True)]
    if all(np.array_equal(*pair) for pair in (*pairs, (before.intercept, after.intercept))):
        return ""
    with np.errstate(over="ignore", invalid="ignore"):
        old, new = (
            _log_outcomes(base, _scores(base, model.terms, model.intercept))
            for model in (before, after)
        )
        changes = new - old if _is_exact(base) else np.exp(new) - np.exp(old)
    if not np.isfinite(changes).all():
        return "Some predictions have no bound."
    sizes = np.abs(changes)
    # Of two classes the last is the outcome; of more, the one that moves most.
    column = 1 if sizes.shape[1] == 2 else int(sizes.max(axis=0).argmax())
    change, size = changes[:, column], sizes[:, column]
    mean, largest = float(change.mean()), float(change[size.argmax()])
    if abs(largest) <= _ROUNDING * float(np.abs(old).max()):
        return "By the released counts, no prediction of a row moves."
    mean *= abs(mean) > _SMALL * abs(largest)
    share = _two_digits(100 * float((size >= abs(largest) / 10).mean())).lstrip("+")
    factor, unit = (1, "") if base.classes is None else (100, " percentage points")
    whose = f" of {whose}" if (whose := _name_of(base, column)) else ""
    return (
        f"Predictions{whose}: about {_two_digits(factor * mean)}{unit} on average, "
        f"{_two_digits(factor * largest)} at most; {share} % of rows move by a tenth of that or "
        "more."
    )


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):+,g}"


MOVES = ", which moves "
"""What joins an edit in words with how far it moves the mean prediction."""

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
        words += f"{MOVES}{movement}"
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


# The file of an editing session: every edit with its parameters and its result, and no row.
#
# Results are kept beside the parameters so that a replay gives the same model bit for bit on every
# machine, whatever its linear algebra rounds to; parameters are replayed all the same, so that a
# file cannot say one thing and do another.

_FORMAT = "interpret_dp.edit_session"
_VERSION = 1
_MEND = "Restore the file, or make the edits again."
# Replayed and recorded scores may differ by this share of the largest of them: rounding, and the
# seven digits with which a model's file keeps the covariance of the noise.
_TOLERANCE = 1e-4


def write_document(base: AdditiveModel, steps: Sequence[Step]) -> dict[str, Any]:
    """Return the document of a session."""
    edits = []
    for step in steps:
        index = find_term(base, step.operation.term)
        edits.append(
            {
                **step.operation.to_dict(),
                "who": step.record.who,
                "when": step.record.when,
                "why": step.record.why,
                "scores": step.state.terms[index].scores.tolist(),
                "moved": step.state.moved[index].tolist(),
            }
        )
    return {"format": _FORMAT, "version": _VERSION, "base": base_digest(base), "edits": edits}


@lru_cache(maxsize=8)
def base_digest(base: AdditiveModel) -> str:
    """Return the digest; a model is immutable, and a large one takes a while to hash."""
    return base.digest


def edits_of(document: Any, base: AdditiveModel) -> list[Any]:
    """Return the entries of a document of a model, not replayed.

    Raises
    ------
    ValueError
        If it is of another format or version, was changed since it was sealed, belongs to another
        model, or holds no list of edits.
    """
    keys, optional = {"base": "text", "edits": "list"}, {SEAL: "text"}
    writer = "session.save(path)"
    content = open_document(
        "session file", document, _FORMAT, (_VERSION,), keys, optional, writer=writer
    )
    if content["base"] != base_digest(base):
        raise ValueError(
            f"The session was made on the model {_short(content['base'])}; this model is "
            f"{_short(base_digest(base))}. Load it with the estimator that edit() was called on, "
            "or with the same model read from its own file."
        )
    edits: list[Any] = content["edits"]
    for number, entry in enumerate(edits, start=1):
        what = f"Edit {number} of the session file"
        check_keys(what, entry, _KEYS, {"n_public_rows": "integer"}, mend=_MEND)
    return edits


def steps_of(document: Any, base: AdditiveModel, start: State) -> list[Step]:
    """Replay a document.

    Raises
    ------
    ValueError
        For any reason of :func:`edits_of`, or if an edit is damaged.
    """
    steps: list[Step] = []
    for number, entry in enumerate(edits_of(document, base), start=1):
        with reading_parts(f"Edit {number} of the session file", _MEND):
            step = _replay(base, [start, *(step.state for step in steps)], entry)
        steps.append(step)
    return steps


def _short(digest: Any) -> str:
    return f"{digest[:12]}..." if isinstance(digest, str) else repr(digest)


def _replay(base: AdditiveModel, states: Sequence[State], entry: Any) -> Step:
    state = states[-1]
    operation = _operation(base, states, entry)
    index = find_term(base, operation.term)
    if operation.kind == RESTORE:
        after = state.with_term_of(states[operation.parameters["entry"]], index)
    else:
        after = state.after(base, operation)
    # An effect that was removed leaves zeros, whose rounding errors are those of the scores before.
    results = state.terms[index].scores, after.terms[index].scores, after.moved[index]
    largest = max(float(np.abs(numbers).max()) for numbers in results)
    scores = _agreeing("scores", entry["scores"], after.terms[index].scores, largest)
    moved = _agreeing("moved", entry["moved"], after.moved[index], largest)
    after = after.with_result(base, operation.term, scores, moved)
    record = EditRecord(
        term=operation.term,
        what=operation_in_words(base, operation, state, after),
        who=entry["who"],
        when=entry["when"],
        why=entry["why"],
    )
    return Step(operation, record, after)


_KEYS = {
    **dict.fromkeys(("kind", "term", "who", "when", "why"), "text"),
    **{"bins": "list of integers", "classes": "list of integers", "parameters": "object"},
    **{"recentre": "boolean", "scores": "list", "moved": "list"},
}


def _operation(base: AdditiveModel, states: Sequence[State], entry: Mapping[str, Any]) -> Operation:
    kind, index, parameters = entry["kind"], find_term(base, entry["term"]), {}
    if kind not in (RESET, RESTORE, KEEP_TOTAL):
        return recorded(base, index, entry)
    if kind == RESTORE:
        check_keys("parameters of restore", entry["parameters"], ("entry",))
        number = entry["parameters"]["entry"]
        parameters["entry"] = check_int("entry", number, low=0, high=len(states) - 1)
    operation = dataclasses.replace(
        whole_term(base, kind, index, **parameters), n_public_rows=recorded_rows(entry)
    )
    if any(entry[name] != value for name, value in operation.to_dict().items()):
        raise ValueError(f"a {kind} is of a whole term, with no other parameters")
    return operation


def _agreeing(name: str, given: Any, replayed: FloatArray, largest: float) -> FloatArray:
    """Return recorded numbers if the replay gives the same, up to rounding of the largest."""
    array = frozen(given, replayed.shape, name)
    if not (np.abs(array - replayed) <= _TOLERANCE * largest).all():
        raise ValueError(f"its {name} are not what its operation gives")
    return array
