"""Curvature of the log loss in each bin, from released scores alone: how far a step may go.

A full Newton step divides a leaf's residual sum by the sum of p (1 - p) over its rows. That sum
would be a release; here the expected p (1 - p) of each bin takes its place, with the other terms'
scores as independent and normal.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_loss_curvatures", "mean_curvature"]

FloatArray = NDArray[np.float64]


def log_loss_curvatures(
    scores: Sequence[FloatArray],
    level: FloatArray,
    weights: Sequence[FloatArray],
    n_nodes: int = 32,
) -> list[FloatArray]:
    """Return the expected second derivative of the log loss in each bin, terms being independent.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        Released curves, in units of score.
    level : ndarray of float64, shape (n_scores,)
        Intercept.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.
    n_nodes : int
        Of the quadrature.

    Returns
    -------
    list of ndarray of float64, shape (n_codes, n_scores) each
    """
    own = np.array(
        [w @ term**2 / max(float(w.sum()), 1e-300) for term, w in zip(scores, weights, strict=True)]
    )
    variances = np.maximum(own.sum(axis=0) - own, 0.0)
    sizes = [len(term) for term in scores]
    spread = np.repeat(np.sqrt(variances), sizes, axis=0)
    curvature = mean_curvature(level + np.concatenate(scores), spread, n_nodes)
    return np.split(curvature, np.cumsum(sizes)[:-1])


def mean_curvature(centres: FloatArray, spread: FloatArray, n_nodes: int = 32) -> FloatArray:
    """Average p (1 - p) over normal scores around ``centres``, by Gauss-Hermite quadrature.

    With several classes the others' scores stay at their centres.

    Parameters
    ----------
    centres : ndarray of float64, shape (n_bins, n_scores)
    spread : ndarray of float64, shape (n_bins, n_scores) or (n_scores,)
        Standard deviation of the other terms' scores.
    n_nodes : int
        Of the quadrature.
    """
    nodes, weights = _quadrature(n_nodes)
    if centres.shape[1] > 1:
        # Against all other classes together.
        rest = np.logaddexp.reduce(centres, axis=1, keepdims=True)
        own = np.exp(np.minimum(centres - rest, -1e-12))
        centres = np.log(own) - np.log1p(-own)
    averaged = np.zeros_like(centres)
    for node, weight in zip(nodes, weights, strict=True):  # one at a time: there may be many bins
        probabilities = 1.0 / (1.0 + np.exp(-np.clip(centres + spread * node, -500, 500)))
        averaged += weight * probabilities * (1.0 - probabilities)
    return averaged


@functools.cache
def _quadrature(n_nodes: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return where to look and with which weights, which add up to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return tuple(nodes.tolist()), tuple((weights / weights.sum()).tolist())
