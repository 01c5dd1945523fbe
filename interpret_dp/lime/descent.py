"""Method "interactive": Algorithm 1 of the paper, projected noisy gradient descent on the ball.

Every step releases noisy gradients; all of them compose exactly, as Gaussian releases do. The
gradient is that of the sum over rows, not of the mean: how many rows there are is private.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.moments import ExplanationData, Queries, exact_moments
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import PlannedRelease, ReleaseDoor

__all__ = ["N_DESCENTS", "descend", "gradients_release"]

Floats = NDArray[np.float64]

#: Independent descents of each query. Their mean is the explanation, and their spread is the only
#: honest measure of its noise: the iterates of one descent depend on each other for too long.
N_DESCENTS = 4

_RELEASE = "gradients"
# Units of an explanation's coefficients at which gradients are taken.
_PHI_UNITS = 2**10
# Keeps the integer coefficients inside the unit ball, whatever the last digit of a square root.
_INSIDE = 1.0 - 2.0**-20


def gradients_release(
    weights: WeightTable, neighbourhood: Neighbourhood, mu: float, n_queries: int, steps: int
) -> PlannedRelease:
    """Return the planned releases of ``n_queries`` explanations that cost ``mu`` together.

    Parameters
    ----------
    weights : WeightTable
    neighbourhood : Neighbourhood
    mu : float
        Gaussian differential privacy of everything together.
    n_queries : int
    steps : int
        Of each of the ``N_DESCENTS`` descents, so that a query takes ``N_DESCENTS * steps``
        gradients; 75 makes the paper's 300.

    Raises
    ------
    TypeError, ValueError
        If a number is below 1 (2 for ``steps``), or the noise would not fit into 64 bits. Nothing
        was read or spent.
    """
    n_queries = check_int("n_queries", n_queries, low=1)
    steps = check_int("steps", steps, low=2, mend="75 makes as many gradients as the paper's 300.")
    count = n_queries * N_DESCENTS * steps
    each = PlannedRelease(_RELEASE, mu / math.sqrt(count), count)
    noise_scale(_RELEASE, neighbourhood.sensitivity(_row_norm(weights), aligned=False), each.mu)
    return each


def descend(
    door: ReleaseDoor, data: ExplanationData, queries: Queries, weights: WeightTable, steps: int
) -> list[LinearFit]:
    """Find the explanation of each query by noisy gradient descent.

    Parameters
    ----------
    door : ReleaseDoor
        Open, with :func:`gradients_release` in its plan, for as many queries and steps.
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable
    steps : int

    Returns
    -------
    list of LinearFit, one a query
        Public.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithm 1, with changes that are post-processing of the
    released gradients. The step length is that of AdaGrad-Norm (Streeter and McMahan 2010), the
    inverse root of the sum of squared noisy gradients: it needs no number of rows. The second half
    of the iterates is averaged, since the last one is mostly noise. And the releases are shared
    among independent descents, which show how much of the result is noise.

    All gradients follow from the moments, so that the rows are read once and not in every step.
    """
    exact = exact_moments(data, queries, weights)
    row_norm = _row_norm(weights)
    shape = (len(queries), N_DESCENTS, queries.points.shape[1])
    phis, total = np.zeros(shape), np.zeros(shape)
    squares = np.zeros((*shape[:2], 1))
    n_averaged = steps - steps // 2
    for step in range(steps):
        whole = np.trunc(phis * (_INSIDE * _PHI_UNITS)).astype(np.int64)
        # A phi - b: half the gradient of the loss, on the lattice.
        gradients = np.stack(
            [
                own @ moments.second - moments.first * _PHI_UNITS
                for moments, own in zip(exact, whole, strict=True)
            ]
        )
        # Two rows can pull in opposite directions.
        noisy, sigma = door.gaussian(
            _RELEASE, gradients.reshape(-1, shape[2]), row_norm=row_norm, aligned=False
        )
        slopes = noisy.reshape(shape) / sigma
        squares += np.sum(slopes**2, axis=2, keepdims=True)
        phis = _projected(phis - slopes / np.sqrt(np.maximum(squares, np.finfo(float).tiny)))
        if step >= steps - n_averaged:
            total += phis / n_averaged
    errors = total.std(axis=1, ddof=1) / math.sqrt(N_DESCENTS)
    return [LinearFit(*fit) for fit in zip(total.mean(axis=1), errors, strict=True)]


def _row_norm(weights: WeightTable) -> int:
    return _PHI_UNITS * weights.gradient_norm


def _projected(phis: Floats) -> Floats:
    """Return the nearest point of the unit ball to each vector along the last axis."""
    lengths = np.linalg.norm(phis, axis=-1, keepdims=True)
    projected: Floats = phis / np.maximum(lengths, 1.0)
    return projected
