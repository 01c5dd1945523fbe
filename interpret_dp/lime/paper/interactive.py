"""Algorithm 1: projected noisy gradient descent on the unit ball, and the exact sums it rests on.

The local loss of equation 1, summed over rows, is quadratic: phi' A phi - 2 b' phi + constant,
with A = sum w (x - z)(x - z)' and b = sum w f(x) (x - z). Both are sums of integers, and all
products and partial sums are exact: no order of rows and no size of a block changes a bit.

Every step releases a noisy gradient; all of them compose exactly, as Gaussian releases do. The
gradient is that of the sum over rows, not of the mean: the number of rows is private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.black_box import LABEL_UNITS, Labels
from interpret_dp.lime.paper.coordinates import UNITS, Points, differences
from interpret_dp.lime.paper.weighting import WeightTable
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import PlannedRelease, ReleaseSession

Integers = NDArray[np.int64]

PHI_UNITS = 2**10
"""Units of an explanation's coefficients at which gradients are taken."""

_MOST_ROWS = 2**13
_EXACT = 2**53  # floats hold all integers below
# A label of 1 has as many units as a distance of 1, times those of a coefficient.
_LABEL_STEP = UNITS * PHI_UNITS // LABEL_UNITS


@dataclass(frozen=True)
class ExplanationData:
    """The private rows of the explanation data, as integers; left out of the representation.

    Attributes
    ----------
    points : ndarray of int16, shape (n_rows, n_coordinates)
        As ``Coordinates.points`` returns them.
    labels : ndarray of int16, shape (n_rows, n_outputs)
        Between ``-LABEL_UNITS`` and ``LABEL_UNITS``: what lies outside is clipped.
    """

    points: Points = field(repr=False)
    labels: Labels = field(repr=False)

    def __post_init__(self) -> None:
        """Keep the labels within the bound that every sensitivity rests on."""
        object.__setattr__(self, "labels", np.clip(self.labels, -LABEL_UNITS, LABEL_UNITS))

    def rows(self, mask: NDArray[np.bool_]) -> ExplanationData:
        """Return the rows for which ``mask``, shape (n_rows,), is true."""
        return ExplanationData(self.points[mask], self.labels[mask])


@dataclass(frozen=True)
class Queries:
    """Points to be explained; public.

    Attributes
    ----------
    points : ndarray of int16, shape (n_queries, n_coordinates)
        As ``Coordinates.points`` returns them.
    outputs : tuple of int, shape (n_queries,)
        Which of the model's outputs is explained at each point.
    anchors : tuple of int, shape (n_queries,), or None
        The label of that output at each point. What is explained is then half of how far a row's
        label is from it, which lies between -1 and 1 again; None: the label itself, as in equation
        1 of the paper, whose linear function is 0 at the query, even if the model's output is not.
    """

    points: Points
    outputs: tuple[int, ...]
    anchors: tuple[int, ...] | None = None

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.points)

    def at(self, indices: Sequence[int]) -> Queries:
        """Return some of the queries."""
        anchors = self.anchors
        return Queries(
            self.points[list(indices)],
            tuple(self.outputs[index] for index in indices),
            None if anchors is None else tuple(anchors[index] for index in indices),
        )


@dataclass(frozen=True)
class ExactMoments:
    """The sums of one query, in lattice units; private.

    Attributes
    ----------
    second : ndarray of int64, shape (n_coordinates, n_coordinates)
        A, symmetric.
    first : ndarray of int64, shape (n_coordinates,)
        b, in units that are ``PHI_UNITS`` times finer.
    """

    second: Integers = field(repr=False)
    first: Integers = field(repr=False)

    def gradients(self, phis: NDArray[np.float64]) -> Integers:
        """Return half the gradient of the loss at some explanations, on the lattice; private.

        Parameters
        ----------
        phis : ndarray of float64, shape (n_explanations, n_coordinates)
            Public. They are cut to the unit ball and truncated, so that no norm exceeds
            ``PHI_UNITS``.

        Returns
        -------
        ndarray of int64, shape (n_explanations, n_coordinates)
            A phi - b. A row adds at most ``PHI_UNITS * weights.gradient_norm`` to its length.
        """
        phis = np.nan_to_num(phis, nan=0.0, posinf=0.0, neginf=0.0)
        norms = np.linalg.norm(phis, axis=-1, keepdims=True)
        units = np.trunc(phis / np.maximum(norms, 1.0) * (_INSIDE * PHI_UNITS)).astype(np.int64)
        return np.asarray(units @ self.second - self.first)


# Keeps integer coefficients inside the unit ball in spite of rounding of the square root.
_INSIDE = 1.0 - 2.0**-20


def exact_moments(
    data: ExplanationData, queries: Queries, weights: WeightTable
) -> list[ExactMoments]:
    """Sum the moments of each query.

    Parameters
    ----------
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable

    Returns
    -------
    list of ExactMoments, one a query
        Private. A row of weight w and label f adds ``w t t'`` and ``w f t`` for the vector t from
        the query to it, all integers. With anchors, f is half of how far the label is from the
        query's, truncated towards zero.
    """
    return [_moments(data, queries, at, weights) for at in range(len(queries))]


def _moments(
    data: ExplanationData, queries: Queries, at: int, weights: WeightTable
) -> ExactMoments:
    n_coordinates = queries.points.shape[1]
    second = np.zeros((n_coordinates, n_coordinates), dtype=np.int64)
    first = np.zeros(n_coordinates, dtype=np.int64)
    # No entry of what a row adds is larger than its norm. Floats are exact and much faster, as
    # long as the sum of a block stays below 2**53.
    n_rows = min(_MOST_ROWS, _EXACT // weights.moments_norm)
    kind = np.float64 if n_rows else np.int64
    for start in range(0, len(data.points), n_rows or _MOST_ROWS):
        rows = slice(start, start + (n_rows or _MOST_ROWS))
        steps = differences(data.points[rows], queries.points[at]).astype(np.int64)
        row_weights = weights.of_squares((steps**2).sum(axis=1))[:, np.newaxis]
        second += ((row_weights * steps).astype(kind).T @ steps.astype(kind)).astype(np.int64)
        labels = _explained(data.labels[rows, queries.outputs[at]], queries, at)
        first += (row_weights[:, 0] * labels * weights.stretch) @ steps
    return ExactMoments(second, first)


def _explained(labels: NDArray[np.int16], queries: Queries, at: int) -> Integers:
    """Return the explained values: labels, or half their differences from the query's."""
    explained = labels.astype(np.int64)
    if queries.anchors is not None:
        difference = explained - min(max(queries.anchors[at], -LABEL_UNITS), LABEL_UNITS)
        explained = np.sign(difference) * (np.abs(difference) // 2)
    return explained * _LABEL_STEP


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
    averages = []
    size = max(1, _MOST_ENTRIES // queries.points.shape[1] ** 2)
    for start in range(0, len(queries), size):
        batch = queries.at(range(len(queries))[start : start + size])
        moments = exact_moments(data, batch, weights)
        descents = Descents(np.zeros(batch.points.shape))
        for step in range(steps):
            slopes = noisy_gradients(session, moments, descents.coefficients, weights)[0]
            descents.advance(slopes, is_averaged=step >= steps // 2)
        averages.append(descents.averages())
    return np.concatenate(averages)


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
    exact = [sums.gradients(phi[np.newaxis])[0] for sums, phi in zip(moments, phis, strict=True)]
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
        return np.asarray(self._total / self._n_averaged)
