"""How the added noise shows in the released curves: covariance across the bins of a term.

Each update adds ``gain * (residual sum + noise)`` to a term and is centred. To first order a
deviation N of the term changes the residual sum of a leaf by ``-sum curvature * weight * N``, so
noise that entered early is partly corrected later. Both maps are linear and public, so the
covariance follows exactly from the recorded updates; the rows play no part in it.

What is left out: noise that reaches a term through other, correlated terms, and the noise of the
bin weights themselves. Tests compare the result with repeated fits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.binning import Bins
from interpret_dp.ebm.boosting import BoostingResult, TermUpdate, centred_spread

__all__ = ["bin_curvatures", "noise_covariance", "term_covariances"]

_NODES = 32


def bin_curvatures(
    result: BoostingResult, bins: Sequence[Bins], *, is_classification: bool
) -> list[NDArray[np.float64]]:
    """Return the expected second derivative of the loss in each bin, from released numbers.

    For log loss it is the mean of p (1 - p) when the other terms' scores are taken as independent
    and normal; for squared loss it is 1.

    Returns
    -------
    list of ndarray of float64, shape (n_codes, n_scores) each
    """
    if not is_classification:
        return [np.ones_like(scores) for scores in result.scores]
    spreads = np.array(
        [
            b.weights @ scores**2 / max(b.weights.sum(), 1e-300)
            for b, scores in zip(bins, result.scores, strict=True)
        ]
    )
    curvatures = []
    for scores, own in zip(result.scores, spreads, strict=True):
        others = np.sqrt(np.maximum(spreads.sum(axis=0) - own, 0.0))
        curvatures.append(_mean_curvature(result.intercept + scores, others))
    return curvatures


def _mean_curvature(
    centres: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Average p (1 - p) over normal scores around ``centres``, by Gauss-Hermite quadrature.

    With several classes the others' scores stay at their centres.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    if centres.shape[1] > 1:
        rest = np.logaddexp.reduce(centres, axis=1, keepdims=True)
        own = np.exp(np.minimum(centres - rest, -1e-12))
        centres = np.log(own) - np.log1p(-own)
    logits = centres[..., np.newaxis] + spread[:, np.newaxis] * nodes
    probabilities = 1.0 / (1.0 + np.exp(-np.clip(logits, -500, 500)))
    averaged: NDArray[np.float64] = (probabilities * (1.0 - probabilities)) @ weights
    return averaged


def noise_covariance(
    updates: Sequence[TermUpdate],
    weights: NDArray[np.float64],
    curvature: NDArray[np.float64],
    *,
    noise: float,
    averaged_rounds: int,
) -> NDArray[np.float64]:
    """Propagate the noise of every round into the averaged curve of one term.

    Parameters
    ----------
    updates : sequence of TermUpdate, shape (n_rounds,)
        Public record of the term.
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    curvature : ndarray of float64, shape (n_codes,)
        Mean second derivative of the loss in each bin.
    noise : float
        Standard deviation of the noise of one residual sum.
    averaged_rounds : int
        How many of the last rounds were averaged.

    Returns
    -------
    ndarray of float64, shape (n_codes, n_codes)
        In units of score squared.
    """
    n_codes = len(weights)
    covariance = np.zeros((n_codes, n_codes))
    if not updates:
        return covariance
    centre = np.eye(n_codes) - np.outer(np.ones(n_codes), weights / max(weights.sum(), 1e-300))
    stiffness = curvature * weights
    # Backwards in time: `onward` maps a deviation after a round to one of the averaged curve.
    onward = np.zeros((n_codes, n_codes))
    for index in range(len(updates) - 1, -1, -1):
        if index >= len(updates) - averaged_rounds:
            onward += centre / averaged_rounds
        carried = onward @ centred_spread(updates[index], weights)
        covariance += noise**2 * carried @ carried.T
        onward = onward - carried[:, updates[index].partition.leaf] * stiffness
    return covariance


def term_covariances(
    result: BoostingResult,
    bins: Sequence[Bins],
    *,
    averaged_rounds: int,
    is_classification: bool,
) -> list[NDArray[np.float64]]:
    """Return :func:`noise_covariance` of every term, shape (n_scores, n_codes, n_codes) each."""
    curvatures = bin_curvatures(result, bins, is_classification=is_classification)
    n_scores = len(result.intercept)
    # Taking away what the classes have in common takes away that part of the noise.
    noise = result.noise * (1.0 if n_scores == 1 else (1.0 - 1.0 / n_scores) ** 0.5)
    return [
        np.stack(
            [
                noise_covariance(
                    updates,
                    b.weights,
                    curvature[:, k],
                    noise=noise,
                    averaged_rounds=averaged_rounds,
                )
                for k in range(n_scores)
            ]
        )
        for updates, b, curvature in zip(result.updates, bins, curvatures, strict=True)
    ]
