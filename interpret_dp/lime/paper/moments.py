"""Exact sums over the explanation data: the second moments on which Algorithms 1 to 3 rest.

The local loss of equation 1, summed over rows, is quadratic: phi' A phi - 2 b' phi + constant,
with A = sum w (x - z)(x - z)' and b = sum w f(x) (x - z). Both are sums of integers, and all
products and partial sums are exact: no order of rows and no size of a block changes a bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.labels import LABEL_UNITS, Labels
from interpret_dp.lime.paper.coordinates import UNITS, Points, differences
from interpret_dp.lime.paper.weighting import WeightTable

__all__ = ["PHI_UNITS", "ExactMoments", "ExplanationData", "Queries", "exact_moments"]

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
        1 of the paper, whose linear function is 0 at the query, whatever the model says there.
    """

    points: Points
    outputs: tuple[int, ...]
    anchors: tuple[int, ...] | None = None

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.points)

    def parts(self, size: int) -> Iterator[Queries]:
        """Yield the queries in their order, ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self.at(range(len(self))[start : start + size])

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
        whole = np.trunc(phis / np.maximum(norms, 1.0) * (_INSIDE * PHI_UNITS)).astype(np.int64)
        found: Integers = whole @ self.second - self.first
        return found


# Keeps integer coefficients inside the unit ball, whatever the last digit of a square root.
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
        apart = differences(data.points[rows], queries.points[at]).astype(np.int64)
        own = weights.of_squares((apart**2).sum(axis=1))[:, np.newaxis]
        second += ((own * apart).astype(kind).T @ apart.astype(kind)).astype(np.int64)
        labels = _explained(data.labels[rows, queries.outputs[at]], queries, at)
        first += (own[:, 0] * labels * weights.stretch) @ apart
    return ExactMoments(second, first)


def _explained(labels: NDArray[np.int16], queries: Queries, at: int) -> Integers:
    """Return what is explained: the labels, or half of how far they are from the query's."""
    found = labels.astype(np.int64)
    if queries.anchors is not None:
        apart = found - min(max(queries.anchors[at], -LABEL_UNITS), LABEL_UNITS)
        found = np.sign(apart) * (np.abs(apart) // 2)
    return found * _LABEL_STEP
