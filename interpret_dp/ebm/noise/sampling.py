"""Sampling variance of each bin's score, from released numbers alone.

A fit without noise would still follow its rows: the score at which a bin's residuals vanish
differs from a smooth curve, by sampling error. Generalised linear models say by how much
(McCullagh and Nelder, 1989, "Generalized Linear Models", section 2.5): with a residual variance of
dispersion times curvature per row, its variance is the dispersion over the bin's rows times their
curvature. The noise that was added to other terms is in the scores of these rows, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.uncertainty import MOST_SAMPLING, TermNoise
from interpret_dp.ebm.trainer.binning import Bins

__all__ = [
    "explained_variance",
    "noise_variance",
    "sampling_variances",
    "with_noise_of_others",
]

FloatArray = NDArray[np.float64]

# Where noise grows from round to round, its variance may be beyond any number.
_LARGEST_VARIANCE = 1e200


def sampling_variances(
    weights: FloatArray, curvatures: FloatArray, dispersion: float
) -> FloatArray:
    """Return the variance of each bin's score that sampling error explains.

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
    # A count may be smaller than its noise: a bin that moves is believed to have a row.
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
    return float(np.sum([_mean_over_rows(one, b) for one, b in zip(noise, bins, strict=True)]))


def with_noise_of_others(
    noise: Sequence[TermNoise], bins: Sequence[Bins], pruned: Collection[int] = ()
) -> list[TermNoise]:
    """Add to the noise of each term what reaches it from the noise of independent others.

    Parameters
    ----------
    noise : sequence of TermNoise
        That of each term by itself.
    bins : sequence of Bins
    pruned : collection of int
        Terms of which nothing is in the scores of the rows.

    Notes
    -----
    The noise of a term has mean zero over all rows. Over the n rows that share a bin of another,
    independent term its mean has the variance of the noise over n, and that term follows it as it
    follows residuals. Where terms are correlated it is more
    (:mod:`interpret_dp.ebm.noise.coupling`).
    """
    means = [
        (k not in pruned) * np.minimum(_mean_over_rows(one, b), _LARGEST_VARIANCE)
        for k, (one, b) in enumerate(zip(noise, bins, strict=True))
    ]
    total = np.sum(means, axis=0)
    return [
        _with_variances(one, (total - own) / np.maximum(b.weights, 1.0)[:, np.newaxis])
        for one, own, b in zip(noise, means, bins, strict=True)
    ]


def _mean_over_rows(noise: TermNoise, bins: Bins) -> FloatArray:
    """Return the mean variance of a term's noise over the rows, shape (n_scores,)."""
    variances = noise.diagonal.reshape(bins.n_codes, -1)
    means: FloatArray = bins.weights @ variances / max(float(bins.weights.sum()), 1e-300)
    return means


def _with_variances(noise: TermNoise, added: FloatArray) -> TermNoise:
    """Add variances of what the bins' residuals vanish at, shape (n_codes, n_scores)."""
    variances = noise.diagonal
    largest = MOST_SAMPLING * variances.max(initial=0.0)
    if not 0 < largest < _LARGEST_VARIANCE:
        return noise
    added = np.minimum(added, largest)
    if noise.covariance is None or noise.response is None:
        of_others = np.where(variances > 0, added.reshape(variances.shape), 0.0)
        return replace(noise, variances=variances + of_others)
    columns = added.T if noise.covariance.ndim == 3 else added[:, 0]
    through = noise.response * columns[..., np.newaxis, :]
    return replace(noise, covariance=noise.covariance + through @ noise.response.swapaxes(-1, -2))
