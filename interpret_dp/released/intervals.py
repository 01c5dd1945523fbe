"""Intervals that hold a noisy value's truth equally often, wherever it is.

A posterior mean with its posterior deviation is right on average over a curve: where the curve is
as expected the interval nearly always holds, where it has a spike hardly ever. An interval around
the value with its noise is right everywhere, and wide. Between them stands Pratt's: a test of each
candidate value, at the full level, whose two tails are of different size. It rejects sooner on the
side away from what is expected. As each test has the level, each value is held equally often,
however wrong the expectation; as far as that is right, the interval is short.

Sources: Pratt (1963), "Shorter confidence intervals for the mean of a normal distribution with
known variance"; Yu and Hoff (2018), "Adaptive multigroup confidence intervals with constant
coverage", Biometrika 105, section 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# A tail of a test has at least so much of its level: an expectation that is far off would have the
# interval reach out to it. The level holds with any bound.
_LEAST_TAIL = 0.01
# Points between which a tail's share is interpolated, and by how many deviations ends are then
# rounded outwards: more than they are off.
_GRID = np.linspace(_LEAST_TAIL, 1.0 - _LEAST_TAIL, 2**14 + 1)
_ROUNDING = 5e-7


class Band(NamedTuple):
    """Lower and upper ends, of the shape of the scores; NaN where nothing is known of a term.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> released = model.fit(patients.X, patients.y).released_
    >>> band = released.terms[0].band(0.95)
    >>> band.lower.shape == band.upper.shape == released.terms[0].scores.shape
    True
    """

    lower: FloatArray
    upper: FloatArray

    def of_class(self, column: int) -> Band:
        """Return the band of one class, each end of shape (n_codes,)."""
        return Band(*(end.reshape(len(end), -1)[:, column] for end in self))

    def at(self, codes: Any) -> Band:
        """Return the band of some bins."""
        return Band(*(end[codes] for end in self))

    def drawn_around(self, scores: FloatArray) -> Band:
        """Return the band to draw, which has no width where nothing is known."""
        return Band(*(np.where(np.isnan(end), scores, end) for end in self))


def assisted_interval(
    noisy: FloatArray,
    deviations: FloatArray,
    mean: FloatArray,
    variances: FloatArray,
    level: float,
) -> Band:
    """Return intervals that hold the noiseless values with probability ``level``, each of them.

    Parameters
    ----------
    noisy : ndarray of float64
        Values with normal noise.
    deviations : ndarray of float64, same shape
        Of the noise; a value without noise is its own interval.
    mean, variances : ndarray of float64, same shape
        Posterior mean and variance of each noiseless value. Variances of the noise or more are
        taken for no expectation, which gives the usual interval.
    level : float
        From 0.5, below 1.

    Returns
    -------
    Band

    Notes
    -----
    What is expected of a value must not depend on its own noise. So the value's likelihood is taken
    out of its posterior, which leaves a normal expectation with mean e and variance t: with
    ``q = variances / deviations**2``, ``t = variances / (1 - q)`` and ``noisy - e = (noisy - mean)
    / (1 - q)``. The test of a value v that gives the shortest interval on average over that
    expectation gives a share w(v) of its level to rejecting for too large an observation, where
    ``ndtri(a w) - ndtri(a (1 - w)) = 2 deviations (v - e) / t`` and a is one minus ``level``. The
    ends of the interval are where v is just not rejected; with q multiplied out, each is the root
    of an increasing function of w.
    """
    from scipy.special import ndtri

    alpha = 1.0 - level
    noisy, deviations = np.asarray(noisy, float), np.asarray(deviations, float)
    moves = deviations > 0
    safe = np.where(moves, deviations, 1.0)
    with np.errstate(over="ignore"):
        share = np.where(moves, np.square(np.sqrt(np.maximum(variances, 0.0)) / safe), 1.0)
        share = np.where(np.isfinite(share) & np.isfinite(mean), np.minimum(share, 1.0), 1.0)
        surprise = np.where(share < 1.0, 2.0 * (noisy - mean) / safe, 0.0)

    def above(tail: FloatArray) -> FloatArray:
        return np.asarray(ndtri(alpha * tail))

    tilt = above(_GRID) - above(1.0 - _GRID)

    def end(sign: float) -> FloatArray:
        """Return how many deviations the upper (1) or lower (-1) end lies above the value."""
        own = above(_GRID) if sign > 0 else -above(1.0 - _GRID)
        tail = _root(tilt, own, share, surprise)
        return -above(tail) if sign > 0 else above(1.0 - tail)

    reach, out = np.where(moves, deviations, 0.0), np.where(share < 1.0, _ROUNDING, 0.0)
    return Band(noisy + reach * (end(-1.0) - out), noisy + reach * (end(1.0) + out))


def _root(tilt: FloatArray, own: FloatArray, share: FloatArray, goal: FloatArray) -> FloatArray:
    """Return where ``share * tilt + 2 (1 - share) * own``, increasing on the grid, is ``goal``."""

    def at(places: Any) -> FloatArray:
        return np.asarray(share * tilt[places] + 2.0 * (1.0 - share) * own[places])

    low = np.zeros(share.shape, dtype=np.int64)
    step = len(_GRID) - 1
    while step > 1:
        step //= 2
        low = np.where(at(low + step) > goal, low, low + step)
    before, after = at(low), at(low + 1)
    part = np.clip((goal - before) / (after - before), 0.0, 1.0)
    return np.asarray(_GRID[low] + part * (_GRID[low + 1] - _GRID[low]))
