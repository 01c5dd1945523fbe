"""Projected noisy gradient descent on the ball; method "interactive", Algorithm 1 of the paper.

Every step releases noisy gradients; all of them compose exactly, as Gaussian releases do. The
gradient is that of the sum over rows, not of the mean: how many rows there are is private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.features import Centering
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.moments import ExactMoments, ExplanationData, Queries, exact_moments
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import PlannedRelease, ReleaseDoor

__all__ = [
    "GRADIENTS",
    "PHI_UNITS",
    "Descents",
    "GradientDoor",
    "descend",
    "gradients_release",
    "part_size",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: The name of the releases.
GRADIENTS = "gradients"
#: Units of an explanation's coefficients at which gradients are taken.
PHI_UNITS = 2**10

# Keeps the integer coefficients inside the unit ball, whatever the last digit of a square root.
_INSIDE = 1.0 - 2.0**-20
# Length of the first step, which sets that of all others. Measured on adult: 0.2 is too short where
# noise is strong, and with the usual 1 the loss is twice as large.
_FIRST_STEP = 0.3
_LEAST_REACH = 1 / 3
# Entries of exact matrices that are held at a time, 8 bytes each, and as many while they grow.
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
    noise_scale(GRADIENTS, neighbourhood.sensitivity(_row_norm(weights), aligned=False), each.mu)
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
    released gradients (:class:`Descents`). All gradients follow from the moments, so that the rows
    are read once and not in every step.
    """
    released = GradientDoor(door, weights)
    fits = []
    for some in queries.parts(part_size(queries.points.shape[1])):
        moments = exact_moments(data, some, weights)
        descents = Descents(np.zeros(some.points.shape), centerings=some.centerings)
        for step in range(steps):
            noisy, sigma = released.noisy(moments, descents.coefficients)
            descents.advance(noisy / sigma, is_averaged=step >= steps // 2)
        fits += descents.fits()
    return fits


def part_size(n_coordinates: int) -> int:
    """Return the exact sums of how many queries fit into memory together."""
    return max(1, _MOST_ENTRIES // n_coordinates**2)


class GradientDoor:
    """Releases about the gradients of queries, through a door that plans for them.

    Parameters
    ----------
    door : ReleaseDoor
        Open.
    weights : WeightTable
    """

    def __init__(self, door: ReleaseDoor, weights: WeightTable) -> None:
        self._door = door
        self._row_norm = _row_norm(weights)

    def noisy(self, moments: Sequence[ExactMoments], phis: Floats) -> tuple[Integers, float]:
        """Release one gradient for each query, and return the scale of its noise.

        Parameters
        ----------
        moments : sequence of ExactMoments, shape (n_queries,)
            Private.
        phis : ndarray of float64, shape (n_queries, n_coordinates)
            In the unit ball.

        Returns
        -------
        noisy : ndarray of int64, shape (n_queries, n_coordinates)
            Half the gradient of the loss, summed over rows, on the lattice.
        sigma : float
        """
        exact = [
            _gradients(own, phi)[0] for own, phi in zip(moments, phis[:, np.newaxis], strict=True)
        ]
        # Two rows can pull in opposite directions.
        return self._door.gaussian(
            GRADIENTS, np.stack(exact), row_norm=self._row_norm, aligned=False
        )

    def choose(self, name: str, moments: ExactMoments, phis: Floats) -> int:
        """Release which of some explanations has one of the shortest gradients at a query.

        Parameters
        ----------
        name : str
            Of a planned choice.
        moments : ExactMoments
            Of the query; private.
        phis : ndarray of float64, shape (n_explanations, n_coordinates)
            Public, in the unit ball.

        Notes
        -----
        Line 6 of Algorithm 2, with the gradient of the sum over rows. The lengths are rounded down
        in exact arithmetic.
        """
        lengths = [
            math.isqrt(sum(entry * entry for entry in gradient))
            for gradient in _gradients(moments, phis).tolist()
        ]
        return self._door.choose(name, lengths, row_norm=self._row_norm)


class Descents:
    """One descent for each query of a batch, from released gradients alone; public.

    Parameters
    ----------
    starts : ndarray of float64, shape (n_queries, n_coordinates)
        Cut to the unit ball.
    start_errors : ndarray of float64, same shape, optional
        What noise did to the starts.
    centerings : tuple of Centering, shape (n_queries,), optional
        Coefficients are sought where they project to.
    reach : float, default=1
        About how far the minimum is from the starts, at most 1. The lengths of all steps are
        in proportion to it, but those for less than a third are not shortened further.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n_queries, n_coordinates)
        Where the next gradient is to be taken.

    Notes
    -----
    The step length is that of AdaGrad-Norm (Streeter and McMahan 2010), a constant over the root of
    the sum of squared noisy gradients: it needs no number of rows. The best constant is in
    proportion to the way that is to be gone; a longer one would throw a good start away. The later
    half of the iterates is averaged, since the last one is mostly noise.

    The standard errors are those of a random walk. The noise of a step moves all later iterates by
    the same or less: both the curvature of the loss and the projection only shrink a difference
    of two iterates. Leaving the curvature out makes them an upper bound, to first order; on
    adult it is 2 to 4 % above the spread of repeated releases.
    """

    def __init__(
        self,
        starts: Floats,
        start_errors: Floats | None = None,
        centerings: Sequence[Centering] | None = None,
        reach: float = 1.0,
    ) -> None:
        self._centerings = centerings
        starts = self.centered(starts)
        self.coefficients = starts / np.maximum(np.linalg.norm(starts, axis=1, keepdims=True), 1.0)
        self._shares = np.ones_like(starts)
        if centerings is not None:
            self._shares = np.stack([own.shares for own in centerings])
        self._first_step = _FIRST_STEP * min(max(reach, _LEAST_REACH), 1.0)
        self._start_errors = np.zeros_like(starts) if start_errors is None else start_errors
        self._squares = np.zeros((len(starts), 1))
        self._total = np.zeros_like(starts)
        # Of each step: its length in units of the noise, how much the projection shrank it, and
        # whether it is averaged.
        self._steps: list[tuple[Floats, Floats, bool]] = []

    def advance(self, slopes: Floats, *, is_averaged: bool) -> None:
        """Take one step.

        Parameters
        ----------
        slopes : ndarray of float64, shape (n_queries, n_coordinates)
            Released gradients, over the standard deviation of their noise.
        is_averaged : bool
            Whether the place reached counts in the average.
        """
        slopes = self.centered(slopes)
        self._squares += np.sum(slopes**2, axis=1, keepdims=True)
        lengths = self._first_step / np.sqrt(np.maximum(self._squares, np.finfo(float).tiny))
        moved = self.coefficients - lengths * slopes
        norms = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1.0)
        self.coefficients = moved / norms
        self._steps.append((lengths, norms, is_averaged))
        if is_averaged:
            self._total += self.coefficients

    @property
    def n_directions(self) -> Floats:
        """In how many directions coefficients are sought, shape (n_queries,)."""
        counts: Floats = self._shares.sum(axis=1)
        return counts

    def fits(self) -> list[LinearFit]:
        """Return the average of each descent, with what noise did to it."""
        n_averaged = sum(is_averaged for _, _, is_averaged in self._steps)
        variances = np.zeros_like(self._total)
        later = np.zeros((len(self._total), 1))
        for lengths, norms, is_averaged in reversed(self._steps):
            # The share of a disturbance right before this step that the average keeps.
            later = (later + is_averaged / n_averaged) / norms
            variances += self._shares * (lengths * later) ** 2
        variances += (self._start_errors * later) ** 2
        # No coefficient of a vector in the unit ball is uncertain by more.
        errors = np.minimum(np.sqrt(variances), 1.0)
        return [LinearFit(*fit) for fit in zip(self._total / n_averaged, errors, strict=True)]

    def centered(self, rows: Floats) -> Floats:
        """Return vectors, shape (n_queries, n_coordinates), projected as coefficients are."""
        if self._centerings is None:
            return rows
        return np.stack([own(row) for own, row in zip(self._centerings, rows, strict=True)])


def _gradients(moments: ExactMoments, phis: Floats) -> Integers:
    """Return A phi - b of each explanation, half the gradient of the loss, on the lattice."""
    # Cut to the ball and truncated, so that no norm exceeds PHI_UNITS, whoever asks: explanations
    # by other methods are sought in larger balls.
    phis = np.nan_to_num(phis, nan=0.0, posinf=0.0, neginf=0.0)
    norms = np.linalg.norm(phis, axis=-1, keepdims=True)
    whole = np.trunc(phis / np.maximum(norms, 1.0) * (_INSIDE * PHI_UNITS)).astype(np.int64)
    found: Integers = whole @ moments.second - moments.first * PHI_UNITS
    return found


def _row_norm(weights: WeightTable) -> int:
    return PHI_UNITS * weights.gradient_norm
