"""The mean prediction of an edited model, and the shift of the intercept that keeps it.

Released numbers alone. A regression without a link has its mean prediction over the released
weights of the bins. Other means need features together: they are taken over public draws of bins,
with the released weights and, between ordered features, the released correlations.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Hashable
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released import AdditiveModel, AdditiveTerm

FloatArray = NDArray[np.float64]

N_DRAWS = 8_192
# No source of randomness: the draws are the same for everybody, and anyone can recompute them.
_SEQUENCE = b"interpret_dp editor: order of draws, version 1, feature "
_MIN_SHARE = 5e-4  # of the mean prediction; what moves it by less is not mentioned
_ROUNDING = 1e-9
_MAX_STEPS = 1_000


class Scores(Hashable, Protocol):
    """Terms and intercept between two edits; immutable."""

    @property
    def terms(self) -> tuple[AdditiveTerm, ...]:
        """Terms of the model."""

    def intercept(self, base: AdditiveModel) -> FloatArray:
        """Return the intercept, shape (n_scores,)."""


@lru_cache(maxsize=2)
def _drawn_codes(base: AdditiveModel) -> tuple[NDArray[np.int32], ...]:
    """Return the bins of public draws, shape (N_DRAWS,), of each term.

    The draws of a feature are spread evenly over its rows (Latin hypercube sampling; Iman and
    Conover 1982). A pair follows its first feature.
    """
    from scipy.special import ndtri

    n_features = len(base.features)
    size = 8 * N_DRAWS
    words = (hashlib.shake_256(_SEQUENCE + b"%d" % k).digest(size) for k in range(n_features))
    order = np.argsort([np.frombuffer(word, dtype="<u8") for word in words], axis=1)
    values, vectors = np.linalg.eigh(_correlations(base))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    normals = factor @ (vectors.T @ ndtri((order + 0.5) / N_DRAWS))
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


def _scores(base: AdditiveModel, state: Scores) -> FloatArray:
    """Return the scores of the draws, shape (N_DRAWS, n_scores)."""
    total = np.tile(state.intercept(base), (N_DRAWS, 1))
    for term, codes in zip(state.terms, _drawn_codes(base), strict=True):
        total += term.scores.reshape(len(term.scores), -1)[codes]
    return total


def _log_means(base: AdditiveModel, scores: FloatArray) -> FloatArray:
    """Return logarithms of the mean of exponentials, or of each class' probability."""
    if base.classes is not None:
        if len(base.classes) == 2:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        scores = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    largest = scores.max(axis=0)
    return np.asarray(largest + np.log(np.exp(scores - largest).mean(axis=0)))


def _is_exact(base: AdditiveModel) -> bool:
    return base.classes is None and not base.has_log_link


def _rounding(base: AdditiveModel, state: Scores) -> float:
    """Return what is a rounding error of an exact mean, which may be near zero."""
    if not _is_exact(base):
        return 0.0
    return _ROUNDING * max(float(np.abs(term.scores).max()) for term in state.terms)


@lru_cache(maxsize=8)
def mean_outcomes(base: AdditiveModel, state: Scores) -> FloatArray:
    """Return the mean prediction, shape (1,), or the mean probabilities, shape (n_classes,)."""
    if not _is_exact(base):
        with np.errstate(over="ignore"):
            return np.exp(_log_means(base, _scores(base, state)))
    model = dataclasses.replace(base, terms=state.terms, intercept=state.intercept(base))
    return np.array([model.mean_prediction])


def keeping_shift(base: AdditiveModel, start: Scores, state: Scores) -> FloatArray:
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
    target, scores = _log_means(base, _scores(base, start)), _scores(base, state)
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


def movement_text(base: AdditiveModel, before: Scores, after: Scores) -> str:
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
    whose = repr(base.classes[column]) if len(old) > 2 and base.classes else base.outcome
    about = "" if _is_exact(base) else "about "
    share = f" ({_two_digits(100 * change / abs(mean))} %)" if abs(change) < 10 * abs(mean) else ""
    of = "" if whose is None else f" of {whose}"
    return f"the mean {what}{of} by {about}{_two_digits(change)}{share}"


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):+,g}"
