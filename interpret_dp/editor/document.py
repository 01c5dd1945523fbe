"""The file of an editing session: every edit with its parameters and its result, and no row.

Results are kept beside the parameters so that a replay gives the same model bit for bit on every
machine, whatever its linear algebra rounds to; parameters are replayed all the same, so that a
file cannot say one thing and do another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import SEAL, check_keys, open_document, reading_parts
from interpret_dp._validate import check_int
from interpret_dp.editor.operations import Operation, recorded, recorded_rows
from interpret_dp.editor.state import (
    KEEP_TOTAL,
    RESET,
    RESTORE,
    State,
    Step,
    find_term,
    operation_in_words,
    whole_term,
)
from interpret_dp.released import AdditiveModel, EditRecord
from interpret_dp.released.arrays import frozen

FloatArray = NDArray[np.float64]

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
