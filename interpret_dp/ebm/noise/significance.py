"""Significance of curves: a test of each against its noise, from released numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.tuning import TUNING

FloatArray = NDArray[np.float64]

# Bins of so small a share of the largest variance never move but for rounding.
_NEVER_MOVES = 1e-6


def significant_terms(
    scores: Sequence[FloatArray],
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
) -> set[int]:
    """Return the terms whose curves are larger than noise alone would make them.

    That is as a whole or in a single bin: a rare level may be all that matters in a term. A term
    whose noise is not known well enough is among them: one that is kept monotone, and an ordered
    one of so many bins that no covariance is kept. Where no other term is significant, all are.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        Centred on the weights, in the units of ``noise``.
    noise : sequence of TermNoise
    bins : sequence of Bins
    is_ordered : sequence of bool
    """
    significant, unknown, most = set(), set(), TUNING.significance
    for k, (curves, spread, b) in enumerate(zip(scores, noise, bins, strict=True)):
        if spread.covariance is None and is_ordered[k]:
            unknown.add(k)
            continue
        # A term without effect passes the first test in a sixth of the cases, and then has the
        # rounds that it would have had anyway; of 66 bins without effect one passes the second in
        # 0.7 %.
        for index, curve in enumerate(curves.T):
            own = spread.of_score(index)[0]
            if excess(curve, own, b.weights) > most or peak_excess(curve, own) > most:
                significant.add(k)
    return significant | unknown if significant else set(range(len(bins)))


def peak_excess(curve: FloatArray, noise: FloatArray) -> float:
    """Return the excess of the largest deviation over the largest of as many normal draws.

    Parameters
    ----------
    curve : ndarray of float64, shape (n_codes,)
    noise : ndarray of float64, shape (n_codes, n_codes) or (n_codes,)

    Returns
    -------
    float
        In standard deviations of that bin; negative infinity without a bin that has noise.
    """
    variances = np.diagonal(noise) if noise.ndim == 2 else noise
    noisy = variances > _NEVER_MOVES * variances.max(initial=0.0)
    if not noisy.any():
        return -np.inf
    deviations = np.abs(curve[noisy]) / np.sqrt(variances[noisy])
    return float(deviations.max() - np.sqrt(2 * np.log(np.count_nonzero(noisy))))


def excess(curve: FloatArray, noise: FloatArray, weights: FloatArray) -> float:
    """Return by how many standard deviations a curve's size is above what noise alone gives.

    The size is the mean square over the rows; of normal noise of covariance C its mean is tr(WC)
    and its variance 2 tr(WCWC), W being the weights.

    Parameters
    ----------
    curve : ndarray of float64, shape (n_codes,)
    noise : ndarray of float64, shape (n_codes, n_codes) or (n_codes,)
        Covariance, or variances of independent noise.
    weights : ndarray of float64, shape (n_codes,)

    Returns
    -------
    float
        Infinite for a curve without noise that is not zero, and where noise is not finite.
    """
    # Targets may be as large as 1e100.
    with np.errstate(over="ignore", invalid="ignore"):
        if noise.ndim == 1:
            mean, square = weights @ noise, float(np.sum((weights * noise) ** 2))
        else:
            weighted = weights[:, np.newaxis] * noise
            mean, square = np.trace(weighted), float(np.sum(weighted * weighted.T))
        above = float(weights @ curve**2 - mean)
    if not (np.isfinite(above) and np.isfinite(square)):
        return np.inf
    if square > 0:
        return above / float(np.sqrt(2 * square))
    return np.inf if above > 0 else -np.inf
