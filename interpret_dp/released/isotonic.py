"""Isotonic regression of released scores, weighted by released counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def positive_weights(weights: FloatArray) -> FloatArray:
    """Return weights in which bins without rows weigh next to nothing instead of nothing.

    A least-squares fit is not unique over bins of weight zero; with a millionth of the smallest
    other weight they take the fitted value that is nearest to their own score.
    """
    if not (weights > 0).any():
        return np.ones_like(weights)
    return np.where(weights > 0, weights, weights[weights > 0].min() * 1e-6)


def isotonic(scores: FloatArray, weights: FloatArray, *, increasing: bool) -> FloatArray:
    """Return the monotone curve of least weighted squared distance, shape (n_bins,).

    Source: pool adjacent violators, scikit-learn's ``isotonic_regression``. A curve that is
    monotone already comes back bit for bit.
    """
    steps = np.diff(scores)
    if (steps >= 0 if increasing else steps <= 0).all():
        return scores
    from sklearn.isotonic import isotonic_regression

    fitted: FloatArray = isotonic_regression(
        scores, sample_weight=positive_weights(weights), increasing=increasing
    )
    return fitted
