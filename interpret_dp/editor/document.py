"""The file of an editing session: every edit with its parameters and its result, and no row.

Results are kept beside the parameters so that a replay gives the same model bit for bit on every
machine, whatever its linear algebra rounds to; parameters are replayed all the same, so that a
file cannot say one thing and do another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._documents import SEAL, check_keys, open_document, reading_parts
from interpret_dp.editor.operations import Operation, recorded
from interpret_dp.editor.state import (
    RESET,
    State,
    Step,
    find_term,
    operation_in_words,
    plan_operation,
)
from interpret_dp.released import AdditiveModel, EditRecord

__all__ = ["steps_of", "write_document"]

FloatArray = NDArray[np.float64]

_FORMAT = "interpret_dp.edit_session"
_VERSION = 1
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
    return {"format": _FORMAT, "version": _VERSION, "base": _digest(base), "edits": edits}


@lru_cache(maxsize=8)
def _digest(base: AdditiveModel) -> str:
    """Return the digest; a model is immutable, and a large one takes a while to hash."""
    return base.digest


def steps_of(document: Any, base: AdditiveModel, start: State) -> list[Step]:
    """Replay a document.

    Raises
    ------
    ValueError
        If it is of another format or version, was changed since it was sealed, belongs to another
        model, or is damaged.
    """
    keys, writer = ("base", "edits"), "session.save(path)"
    content = open_document(
        "session file", document, _FORMAT, (_VERSION,), keys, (SEAL,), writer=writer
    )
    if content["base"] != _digest(base):
        raise ValueError(
            f"The session was made on the model {_short(content['base'])}; this model is "
            f"{_short(_digest(base))}. Load it with the estimator that edit() was called on, or "
            "with the same model read from its own file."
        )
    edits = content["edits"]
    if not isinstance(edits, list):
        raise ValueError("The session file is damaged: edits must be a list.")
    steps: list[Step] = []
    state = start
    for number, entry in enumerate(edits, start=1):
        mend = "Restore the file, or make the edits again."
        with reading_parts(f"Edit {number} of the session file", mend):
            step = _replay(base, state, entry)
        steps.append(step)
        state = step.state
    return steps


def _short(digest: Any) -> str:
    return f"{digest[:12]}..." if isinstance(digest, str) else repr(digest)


def _replay(base: AdditiveModel, state: State, entry: Any) -> Step:
    check_keys("it", entry, _KEYS)
    operation = _operation(base, state, entry)
    after = state.after(base, operation)
    index = find_term(base, operation.term)
    # An effect that was removed leaves zeros, whose rounding errors are those of the scores before.
    results = state.terms[index].scores, after.terms[index].scores, after.moved[index]
    largest = max(float(np.abs(numbers).max()) for numbers in results)
    scores = _agreeing("scores", entry["scores"], after.terms[index].scores, largest)
    moved = _agreeing("moved", entry["moved"], after.moved[index], largest)
    record = EditRecord(
        term=operation.term,
        what=operation_in_words(base, operation),
        who=entry["who"],
        when=entry["when"],
        why=entry["why"],
    )
    return Step(operation, record, after.with_result(base, operation.term, scores, moved))


_KEYS = (
    *("kind", "term", "bins", "classes", "parameters", "recentre"),
    *("who", "when", "why", "scores", "moved"),
)


def _operation(base: AdditiveModel, state: State, entry: Mapping[str, Any]) -> Operation:
    if not isinstance(entry["term"], str):
        raise TypeError(f"term is {entry['term']!r}; it must be a name")
    if entry["kind"] != RESET:
        return recorded(base, find_term(base, entry["term"]), entry)
    reset = plan_operation(base, state, RESET, entry["term"], {})
    if any(entry[name] != value for name, value in reset.to_dict().items()):
        raise ValueError("a reset is of a whole term and has no parameters")
    return reset


def _agreeing(name: str, given: Any, replayed: FloatArray, largest: float) -> FloatArray:
    """Return recorded numbers if the replay gives the same, up to rounding of the largest."""
    array = np.array(given, dtype=np.float64)
    if array.shape != replayed.shape:
        raise ValueError(f"{name} has shape {array.shape}; it must have shape {replayed.shape}")
    if not (np.abs(array - replayed) <= _TOLERANCE * largest).all():
        raise ValueError(f"its {name} are not what its operation gives")
    return array
