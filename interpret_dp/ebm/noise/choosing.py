"""Which curves show more than their noise: a test of each, from released numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins

__all__ = ["excess", "terms_that_stand_out"]

FloatArray = NDArray[np.float64]

# In standard deviations of what noise alone would give. A term that is nothing passes in a sixth of
# the cases, and then has the rounds that it would have had anyway.
_LEAST_EXCESS = 1.0


def terms_that_stand_out(
    scores: Sequence[FloatArray],
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
) -> set[int]:
    """Return the terms whose curves are larger than noise alone would make them.

    A term whose noise is not known well enough is among them: one that is kept monotone, and an
    ordered one of so many bins that no covariance is kept.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        Centred on the weights, in the units of ``noise``.
    noise : sequence of TermNoise
    bins : sequence of Bins
    is_ordered : sequence of bool
    """
    return {
        k
        for k, (curves, spread, b) in enumerate(zip(scores, noise, bins, strict=True))
        if (spread.covariance is None and is_ordered[k])
        or any(
            excess(curve, _of_score(spread, index), b.weights) > _LEAST_EXCESS
            for index, curve in enumerate(curves.T)
        )
    }


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
        Infinite for a curve without noise that is not zero.
    """
    if noise.ndim == 1:
        mean, square = weights @ noise, float(np.sum((weights * noise) ** 2))
    else:
        weighted = weights[:, np.newaxis] * noise
        mean, square = np.trace(weighted), float(np.sum(weighted * weighted.T))
    above = float(weights @ curve**2 - mean)
    if square > 0:
        return above / float(np.sqrt(2 * square))
    return np.inf if above > 0 else -np.inf


def _of_score(noise: TermNoise, index: int) -> FloatArray:
    """Return the noise of one score: its covariance where there is one, else its variances."""
    if noise.covariance is not None:
        return noise.covariance if noise.covariance.ndim == 2 else noise.covariance[index]
    columns = np.atleast_2d(noise.diagonal.T)
    found: FloatArray = columns[index]
    return found
