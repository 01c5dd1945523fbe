"""Least squares over the unit ball, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["minimum_on_ball"]

Floats = NDArray[np.float64]

# Bisection of a bracket of 64-bit floats cannot need more.
_STEPS = 200
_SMALLEST = 1e-12


def minimum_on_ball(design: Floats, target: Floats) -> Floats:
    """Return the shortest minimum of ``||design phi - target||`` over ``||phi|| <= 1``.

    Parameters
    ----------
    design : ndarray of float64, shape (n_rows, n)
    target : ndarray of float64, shape (n_rows,)

    Returns
    -------
    ndarray of float64, shape (n,)
        Directions in which no row lies stay at 0.

    Notes
    -----
    With the singular values s of the design, phi is V s u'y / (s^2 + m), where m is 0 inside the
    ball and otherwise the number for which ||phi|| is 1; ||phi|| decreases in m, so that bisection
    finds it (Moré and Sorensen 1983).
    """
    left, scales, right = np.linalg.svd(design, full_matrices=False)
    kept = scales > _SMALLEST * max(float(scales.max(initial=0.0)), 1.0)
    pulls, squares, right = (left.T @ target)[kept] * scales[kept], scales[kept] ** 2, right[kept]

    def solution(multiplier: float) -> Floats:
        found: Floats = pulls / (squares + multiplier)
        return found

    if np.linalg.norm(solution(0.0)) <= 1.0:
        return np.asarray(solution(0.0) @ right)
    low, high = 0.0, float(np.linalg.norm(pulls))
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        is_long = np.linalg.norm(solution(middle)) > 1.0
        low, high = (middle, high) if is_long else (low, middle)
    return np.asarray(solution(high) @ right)
