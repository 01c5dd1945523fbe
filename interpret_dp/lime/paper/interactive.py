"""Algorithm 1: projected noisy gradient descent on the unit ball.

Every step releases a noisy gradient; all of them compose exactly, as Gaussian releases do. The
gradient is that of the sum over rows, not of the mean: how many rows there are is private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.paper.moments import (
    PHI_UNITS,
    ExactMoments,
    ExplanationData,
    Queries,
    exact_moments,
)
from interpret_dp.lime.paper.weighting import WeightTable
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import PlannedRelease, ReleaseSession

__all__ = ["GRADIENTS", "Descents", "descend", "gradients_release", "noisy_gradients", "part_size"]

Floats = NDArray[np.float64]

GRADIENTS = "gradients"
"""The name of the releases."""

# Length of the first step, which sets that of all others. Measured on adult: 0.2 is too short where
# noise is strong, and with the usual 1 the loss is twice as large.
_FIRST_STEP = 0.3
# Entries of exact matrices that are held at a time, 8 bytes each.
_MOST_ENTRIES = 2**23


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
        Gradients of each query; the paper takes 300.

    Raises
    ------
    TypeError, ValueError
        If a number is below 1 (2 for ``steps``), or the noise would not fit into 64 bits. Nothing
        was read or spent.
    """
    n_queries = check_int("n_queries", n_queries, low=1)
    steps = check_int("steps", steps, low=2, mend="The paper takes 300 gradients a query.")
    count = n_queries * steps
    each = PlannedRelease(GRADIENTS, mu / math.sqrt(count), count)
    noise_scale(GRADIENTS, neighbourhood.sensitivity(row_norm(weights), aligned=False), each.mu)
    return each


def row_norm(weights: WeightTable) -> int:
    """Return a bound on what one row adds to the length of a gradient, in lattice units."""
    return PHI_UNITS * weights.gradient_norm


def descend(
    session: ReleaseSession,
    data: ExplanationData,
    queries: Queries,
    weights: WeightTable,
    steps: int,
) -> Floats:
    """Find the explanation of each query by noisy gradient descent.

    Parameters
    ----------
    session : ReleaseSession
        Open, with :func:`gradients_release` in its plan, for as many queries and steps.
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable
    steps : int

    Returns
    -------
    ndarray of float64, shape (n_queries, n_coordinates)
        Public.

    Notes
    -----
    Patel, Shokri and Zick (2022), Algorithm 1, with changes that are post-processing of the
    released gradients (:class:`Descents`). All gradients follow from the moments, so that the rows
    are read once and not in every step.
    """
    found = []
    for some in queries.parts(part_size(queries.points.shape[1])):
        moments = exact_moments(data, some, weights)
        descents = Descents(np.zeros(some.points.shape))
        for step in range(steps):
            slopes = noisy_gradients(session, moments, descents.coefficients, weights)[0]
            descents.advance(slopes, is_averaged=step >= steps // 2)
        found.append(descents.averages())
    return np.concatenate(found)


def part_size(n_coordinates: int) -> int:
    """Return the exact sums of how many queries fit into memory together."""
    return max(1, _MOST_ENTRIES // n_coordinates**2)


def noisy_gradients(
    session: ReleaseSession, moments: Sequence[ExactMoments], phis: Floats, weights: WeightTable
) -> tuple[Floats, float]:
    """Release one gradient for each query.

    Parameters
    ----------
    session : ReleaseSession
        Open, with :func:`gradients_release` in its plan.
    moments : sequence of ExactMoments, shape (n_queries,)
        Private.
    phis : ndarray of float64, shape (n_queries, n_coordinates)
        In the unit ball; public.
    weights : WeightTable

    Returns
    -------
    slopes : ndarray of float64, shape (n_queries, n_coordinates)
        Half the gradient of the loss, summed over rows, over the standard deviation of its noise.
    sigma : float
        That standard deviation, on the lattice.
    """
    exact = [own.gradients(phi[np.newaxis])[0] for own, phi in zip(moments, phis, strict=True)]
    # Two rows can pull in opposite directions.
    noisy, sigma = session.gaussian(
        GRADIENTS, np.stack(exact), row_norm=row_norm(weights), aligned=False
    )
    return noisy / sigma, sigma


class Descents:
    """One descent for each query of a batch, from released gradients alone; public.

    Parameters
    ----------
    starts : ndarray of float64, shape (n_queries, n_coordinates)
        In the unit ball.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n_queries, n_coordinates)
        Where the next gradient is to be taken.

    Notes
    -----
    The step length is that of AdaGrad-Norm (Streeter and McMahan 2010), a constant over the root of
    the sum of squared noisy gradients: it needs no number of rows. The later half of the iterates
    is averaged, since the last one is mostly noise.
    """

    def __init__(self, starts: Floats) -> None:
        self.coefficients = starts
        self._squares = np.zeros((len(starts), 1))
        self._total = np.zeros_like(starts)
        self._n_averaged = 0

    def advance(self, slopes: Floats, *, is_averaged: bool) -> None:
        """Take one step.

        Parameters
        ----------
        slopes : ndarray of float64, shape (n_queries, n_coordinates)
            Released gradients, over the standard deviation of their noise.
        is_averaged : bool
            Whether the place reached counts in the average.
        """
        self._squares += np.sum(slopes**2, axis=1, keepdims=True)
        lengths = _FIRST_STEP / np.sqrt(np.maximum(self._squares, np.finfo(float).tiny))
        moved = self.coefficients - lengths * slopes
        self.coefficients = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1.0)
        if is_averaged:
            self._total += self.coefficients
            self._n_averaged += 1

    def averages(self) -> Floats:
        """Return the average of each descent, shape (n_queries, n_coordinates)."""
        found: Floats = self._total / self._n_averaged
        return found
