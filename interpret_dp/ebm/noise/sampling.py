"""How much the luck of the sample has in the bins of a curve, from released numbers alone.

A fit without noise would still follow its rows: the score at which a bin's residuals vanish
differs from a smooth curve, since few rows are in a bin. Generalised linear models say by how much
(McCullagh and Nelder, 1989, "Generalized Linear Models", section 2.5): with a residual variance of
dispersion times curvature per row, its variance is the dispersion over the bin's rows times their
curvature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins

__all__ = ["explained_variance", "noise_variance", "sampling_variances"]

FloatArray = NDArray[np.float64]


def sampling_variances(
    weights: FloatArray, curvatures: FloatArray, dispersion: float
) -> FloatArray:
    """Return the variance of each bin's score that the luck of its rows explains.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    curvatures : ndarray of float64, shape (n_codes, n_scores)
        Expected second derivative of the loss per row.
    dispersion : float
        Variance of a row's residual over its curvature; 1 for the log loss.

    Returns
    -------
    ndarray of float64, shape (n_codes, n_scores)
        In units of score squared.
    """
    n_scores = curvatures.shape[1]
    # Taking away what the classes have in common takes away that part of it.
    shared = 1.0 if n_scores == 1 else 1.0 - 1.0 / n_scores
    # A count may be drowned in noise: a bin that moves is believed to have a row.
    rows = np.maximum(weights, 1.0)[:, np.newaxis]
    found: FloatArray = shared * dispersion / np.maximum(rows * curvatures, 1e-12)
    return found


def explained_variance(
    scores: Sequence[FloatArray], noise: Sequence[TermNoise], bins: Sequence[Bins]
) -> float:
    """Return the variance of the predictions over the rows, less what noise has in it.

    Terms are taken as independent of one another.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes,) or (n_codes, n_classes) each
        Before they are denoised.
    noise : sequence of TermNoise
    bins : sequence of Bins
    """
    total = 0.0
    for score, spread, b in zip(scores, noise, bins, strict=True):
        part = b.weights @ (score**2 - spread.diagonal) / max(float(b.weights.sum()), 1e-300)
        total += max(float(np.sum(part)), 0.0)
    return total


def noise_variance(noise: Sequence[TermNoise], bins: Sequence[Bins]) -> float:
    """Return the variance of the predictions over the rows that the added noise has in them.

    Parameters
    ----------
    noise : sequence of TermNoise
    bins : sequence of Bins
    """
    means = [
        b.weights @ spread.diagonal / max(float(b.weights.sum()), 1e-300)
        for spread, b in zip(noise, bins, strict=True)
    ]
    return float(np.sum(means))
