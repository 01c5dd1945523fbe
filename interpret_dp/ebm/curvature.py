"""Curvature of the log loss in each bin, from released scores alone: how far a step may go.

A full Newton step divides a leaf's residual sum by the sum of p (1 - p) over its rows. That sum
would be a release; here the expected p (1 - p) of each bin takes its place, with the other terms'
scores as independent and normal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_loss_curvatures"]

FloatArray = NDArray[np.float64]

_NODES, _NODE_SHARES = np.polynomial.hermite_e.hermegauss(8)
_NODE_SHARES = _NODE_SHARES / _NODE_SHARES.sum()


def log_loss_curvatures(
    scores: Sequence[FloatArray], level: FloatArray, weights: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return the expected second derivative of the log loss in each bin.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        Released curves, in units of score.
    level : ndarray of float64, shape (n_scores,)
        Intercept.
    weights : sequence of ndarray of float64, shape (n_codes,) each
        Released bin weights.

    Returns
    -------
    list of ndarray of float64, shape (n_codes,) each
        Of the class in which it is largest.
    """
    own = np.array(
        [w @ term**2 / max(float(w.sum()), 1e-300) for term, w in zip(scores, weights, strict=True)]
    )
    others = np.sqrt(np.maximum(own.sum(axis=0) - own, 0.0))
    sizes = [len(term) for term in scores]
    centres = level + np.concatenate(scores)
    if centres.shape[1] > 1:
        # Against all other classes together, which stay at their centres.
        rest = np.logaddexp.reduce(centres, axis=1, keepdims=True)
        share = np.exp(np.minimum(centres - rest, -1e-12))
        centres = np.log(share) - np.log1p(-share)
    spread = np.repeat(others, sizes, axis=0)
    logits = centres + spread * _NODES[:, np.newaxis, np.newaxis]
    probability = 1.0 / (1.0 + np.exp(-np.clip(logits, -500, 500)))
    curvature = np.tensordot(_NODE_SHARES, probability * (1.0 - probability), axes=1)
    return np.split(curvature.max(axis=1), np.cumsum(sizes)[:-1])
