"""The intercept that released curves need: as high a mean prediction as the noisy curves had.

Rows were scored with noisy curves while the intercept was trained. The logistic function bends, so
noise in the scores moves the mean probability towards one half: an intercept for noisy scores is
too low for those of a rare class once noise has left the curves. Terms are taken as independent,
before and after, so that most of what is wrong with that cancels. Two classes have one sum of
terms, whose distribution is tabulated; several have as many, and are averaged over made-up rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["balanced_level", "balanced_levels", "mean_probability"]

FloatArray = NDArray[np.float64]

# Distance of the points at which a sum of terms is tabulated, and how many there are at most.
_STEP = 1.0 / 64.0
_MOST_POINTS = 2**16
# By how much a level may be moved, and the steps of a bisection that finds it to 1e-9.
_LARGEST_SHIFT = 16.0
_HALVINGS = 34
# Rows that several classes are averaged over, and the steps in which their levels are found.
_ROWS = 2**14
_STEPS = 30
# Beyond it a probability is 0 or 1 to the last digit.
_LARGEST_SCORE = 500.0


def balanced_level(
    before: Sequence[FloatArray],
    level: float,
    after: Sequence[FloatArray],
    weights: Sequence[FloatArray],
) -> float:
    """Return the level at which curves have the mean probability that others had at theirs.

    Parameters
    ----------
    before, after : sequence of ndarray of float64, shape (n_codes,) each
        Curves of two classes, in units of score.
    level : float
        Intercept of ``before``.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    """
    wanted = mean_probability(level, *_sums(before, weights))
    sums = _sums(after, weights)
    low, high = level - _LARGEST_SHIFT, level + _LARGEST_SHIFT
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if mean_probability(middle, *sums) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def balanced_levels(
    before: Sequence[FloatArray],
    levels: FloatArray,
    after: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the levels at which curves of several classes have the mean probabilities of others.

    Parameters
    ----------
    before, after : sequence of ndarray of float64, shape (n_codes, n_classes) each
        Curves, in units of score.
    levels : ndarray of float64, shape (n_classes,)
        Intercepts of ``before``.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    rng : numpy.random.Generator
        For public choices.

    Notes
    -----
    Means are over made-up rows, the same before and after. Each term has as many of them in a bin
    as its weight says, and terms meet by chance.
    """
    noisy, found = np.tile(levels, (_ROWS, 1)), np.zeros((_ROWS, len(levels)))
    for old, new, w in zip(before, after, weights, strict=True):
        if w.any():
            borders = np.cumsum(w) / w.sum()
            codes = np.searchsorted(borders, (rng.permutation(_ROWS) + 0.5) / _ROWS)
            codes = np.minimum(codes, len(w) - 1)
            noisy += old[codes]
            found += new[codes]
    wanted = np.log(_softmax(noisy).mean(axis=0))
    balanced = levels.copy()
    for _ in range(_STEPS):
        balanced += wanted - np.log(_softmax(balanced + found).mean(axis=0))
    centred: FloatArray = balanced - balanced.mean()
    return centred


def _softmax(scores: FloatArray) -> FloatArray:
    shifted = np.exp(np.maximum(scores - scores.max(axis=1, keepdims=True), -_LARGEST_SCORE))
    probabilities: FloatArray = shifted / shifted.sum(axis=1, keepdims=True)
    return probabilities


def mean_probability(level: float, sums: FloatArray, shares: FloatArray) -> float:
    """Return the mean of the logistic function over scores ``level + sums``.

    Parameters
    ----------
    level : float
    sums, shares : ndarray of float64, shape (n_points,)
        Sums of the terms, and how common they are.
    """
    scores = np.clip(level + sums, -_LARGEST_SCORE, _LARGEST_SCORE)
    return float(shares @ (1.0 / (1.0 + np.exp(-scores))))


def _sums(
    scores: Sequence[FloatArray], weights: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the distribution of the sum of independent terms: places and probabilities."""
    parts = [
        (score[w > 0], w[w > 0] / w.sum())
        for score, w in zip(scores, weights, strict=True)
        if w.any() and score.any()
    ]
    low = float(sum(score.min() for score, _ in parts))
    width = float(sum(np.ptp(score) for score, _ in parts))
    # Each term may take one point more than its width.
    step = max(_STEP, width / max(_MOST_POINTS - len(parts) - 1, 1))
    n_points = 2 ** int(np.ceil(np.log2(width / step + len(parts) + 1)))
    product = np.ones(n_points // 2 + 1, dtype=np.complex128)
    for score, share in parts:
        product *= np.fft.rfft(_tabulated((score - score.min()) / step, share, n_points))
    shares = np.maximum(np.fft.irfft(product, n_points), 0.0)
    return low + step * np.arange(n_points), shares


def _tabulated(places: FloatArray, shares: FloatArray, n_points: int) -> FloatArray:
    """Return how common whole places are; a share between two goes to both, as near as they are."""
    below = np.floor(places).astype(np.int64)
    beyond = places - below
    found = np.zeros(n_points)
    np.add.at(found, below, shares * (1.0 - beyond))
    # What is exactly at the last place has no share in the next.
    np.add.at(found, np.minimum(below + 1, n_points - 1), shares * beyond)
    return found
