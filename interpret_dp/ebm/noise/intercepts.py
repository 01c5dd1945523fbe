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

FloatArray = NDArray[np.float64]

# Distance of the points at which a sum of terms is tabulated, and how many there are at most.
_STEP = 1.0 / 64.0
_MOST_POINTS = 2**16
# By how much an intercept may be moved, and the steps of a bisection that finds it to 1e-9.
_LARGEST_SHIFT = 16.0
_HALVINGS = 34
# Rows that several classes are averaged over, and the steps in which their intercepts are found,
# to so much. Steps are slow where every row is certain.
_ROWS = 2**14
_MOST_STEPS = 300
_TOLERANCE = 1e-6


def balanced_intercept(
    before: Sequence[FloatArray],
    intercept: float,
    after: Sequence[FloatArray],
    weights: Sequence[FloatArray],
) -> float:
    """Return the intercept at which curves have the mean probability that others had at theirs.

    Parameters
    ----------
    before, after : sequence of ndarray of float64, shape (n_codes,) each
        Curves of two classes, in units of score.
    intercept : float
        Of ``before``.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    """
    target = mean_probability(intercept, *_sums(before, weights))
    sums = _sums(after, weights)
    low, high = intercept - _LARGEST_SHIFT, intercept + _LARGEST_SHIFT
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if mean_probability(middle, *sums) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def balanced_intercepts(
    before: Sequence[FloatArray],
    intercepts: FloatArray,
    after: Sequence[FloatArray],
    weights: Sequence[FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the intercepts at which several classes have the mean probabilities of other curves.

    Parameters
    ----------
    before, after : sequence of ndarray of float64, shape (n_codes, n_classes) each
        Curves, in units of score.
    intercepts : ndarray of float64, shape (n_classes,)
        Of ``before``.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    rng : numpy.random.Generator
        For public choices.

    Notes
    -----
    Means are over made-up rows, the same before and after. Each term has as many of them in a bin
    as its weight says, and terms meet by chance.
    """
    noisy, denoised = np.tile(intercepts, (_ROWS, 1)), np.zeros((_ROWS, len(intercepts)))
    for old, new, w in zip(before, after, weights, strict=True):
        if w.any():
            borders = np.cumsum(w) / w.sum()
            codes = np.searchsorted(borders, (rng.permutation(_ROWS) + 0.5) / _ROWS)
            codes = np.minimum(codes, len(w) - 1)
            noisy += old[codes]
            denoised += new[codes]
    target = _log_means(noisy)
    balanced = intercepts.copy()
    for _ in range(_MOST_STEPS):
        change = target - _log_means(balanced + denoised)
        balanced += change
        if np.abs(change).max() < _TOLERANCE:
            break
    return np.asarray(balanced - balanced.mean())


def _log_means(scores: FloatArray) -> FloatArray:
    """Return the logarithm of each class's mean probability over the rows."""
    from scipy.special import log_softmax, logsumexp

    return np.asarray(logsumexp(log_softmax(scores, axis=1), axis=0) - np.log(len(scores)))


def mean_probability(intercept: float, sums: FloatArray, shares: FloatArray) -> float:
    """Return the mean of the logistic function over scores ``intercept + sums``.

    Parameters
    ----------
    intercept : float
    sums, shares : ndarray of float64, shape (n_points,)
        Sums of the terms, and how common they are.
    """
    from scipy.special import expit

    return float(shares @ expit(intercept + sums))


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
    """Return the probability of each grid point; one between two points is split linearly."""
    below = np.floor(places).astype(np.int64)
    beyond = places - below
    table = np.zeros(n_points)
    np.add.at(table, below, shares * (1.0 - beyond))
    # What is exactly at the last place has no share in the next.
    np.add.at(table, np.minimum(below + 1, n_points - 1), shares * beyond)
    return table
