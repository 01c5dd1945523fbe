"""Exact sums over the explanation data: the second moments on which every method rests.

The local loss of equation 1, summed over rows, is quadratic: phi' A phi - 2 b' phi + constant,
with A = sum w (x - z)(x - z)' and b = sum w f(x) (x - z). Both are sums of integers here. Rows that
differ from the query in few coordinates are added in 64-bit integers, the others by products of
matrices of floats below 2**53, where every product and sum is exact: no order of rows, number of
threads or size of a block changes a bit, nor does which rows go which way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.features import UNITS, Centering, Points, are_bins
from interpret_dp.lime.kernels import add_rows
from interpret_dp.lime.labels import Labels
from interpret_dp.lime.weighting import WeightTable

__all__ = ["ExactMoments", "ExplanationData", "Queries", "exact_moments"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_ROWS = 2**11
_MOST_ENTRIES = 2**22
_EXACT = 2**53
# A row that differs from the query in at most this share of the coordinates is added coordinate by
# coordinate. Products of matrices, half of which is thrown away, are faster for the others.
_FEW = 1 / 3
# Columns of a panel of the upper triangle: wide enough for the products to run at full speed.
_PANEL = 256


@dataclass(frozen=True)
class ExplanationData:
    """The private rows of the explanation data, as integers; left out of the representation.

    Attributes
    ----------
    points : ndarray of int16 or uint16, shape (n_rows, n_coordinates)
        As ``LocalFeatures.points`` returns them.
    labels : ndarray of int16, shape (n_rows, n_outputs)
        Between ``-UNITS`` and ``UNITS``: what lies outside is clipped.
    """

    points: Points = field(repr=False)
    labels: Labels = field(repr=False)

    def __post_init__(self) -> None:
        """Keep the labels within the bound that every sensitivity rests on."""
        object.__setattr__(self, "labels", np.clip(self.labels, -UNITS, UNITS))

    def rows(self, mask: NDArray[np.bool_]) -> ExplanationData:
        """Return the rows for which ``mask``, shape (n_rows,), is true."""
        return ExplanationData(self.points[mask], self.labels[mask])

    def count(self) -> int:
        """Return the number of rows; private."""
        return len(self.points)

    def moments(self, queries: Queries, weights: WeightTable) -> list[ExactMoments]:
        """Sum the moments of each query; see :func:`exact_moments`."""
        sums = [_Sums(queries, at, weights) for at in range(len(queries))]
        # No entry of what a row adds is larger than its norm, so that no partial sum of a block
        # leaves the integers that floats hold exactly.
        most_rows = min(_MOST_ROWS, _MOST_ENTRIES // queries.points.shape[1])
        n_rows = max(1, min(most_rows, _EXACT // weights.moments_norm))
        blocks = np.empty((2, n_rows, queries.points.shape[1]))
        for start in range(0, len(self.points), n_rows):
            rows = slice(start, start + n_rows)
            for one in sums:
                one.add(self.points[rows], self.labels[rows], blocks)
        return [one.moments() for one in sums]


@dataclass(frozen=True)
class Queries:
    """Points to be explained; public.

    Attributes
    ----------
    points : ndarray of int16 or uint16, shape (n_queries, n_coordinates)
        As ``LocalFeatures.points`` returns them.
    outputs : tuple of int, shape (n_queries,)
        Which of the model's outputs is explained at each point.
    anchors : tuple of int, shape (n_queries,), or None
        The label of that output at each point. What is explained is then half of how far a row's
        label is from it, which lies between -1 and 1 again; None: the label itself, as in equation
        1 of the paper, whose linear function is 0 at the query, whatever the model says there.
    centerings : tuple of Centering, shape (n_queries,), or None
        Of each point's coefficients; None: they are left as they are.
    """

    points: Points
    outputs: tuple[int, ...]
    anchors: tuple[int, ...] | None = None
    centerings: tuple[Centering, ...] | None = None

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.points)

    def parts(self, size: int) -> Iterator[Queries]:
        """Yield the queries in their order, ``size`` at a time, or one if that is below 1."""
        size = max(1, size)
        for start in range(0, len(self), size):
            some = slice(start, start + size)
            yield self.at(range(len(self))[some])

    def at(self, indices: Sequence[int]) -> Queries:
        """Return some of the queries."""
        anchors, centerings = self.anchors, self.centerings
        return Queries(
            self.points[list(indices)],
            tuple(self.outputs[index] for index in indices),
            None if anchors is None else tuple(anchors[index] for index in indices),
            None if centerings is None else tuple(centerings[index] for index in indices),
        )


@dataclass(frozen=True)
class ExactMoments:
    """The sums of one query, in lattice units; private.

    Attributes
    ----------
    second : ndarray of int64, shape (n_coordinates, n_coordinates)
        A, symmetric.
    first : ndarray of int64, shape (n_coordinates,)
        b.
    """

    second: Integers = field(repr=False)
    first: Integers = field(repr=False)


def exact_moments(
    data: ExplanationData, queries: Queries, weights: WeightTable
) -> list[ExactMoments]:
    """Sum the moments of each query, all from one pass over the rows.

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
        the query to it, all integers; ``weights.unit`` units of t, and of f, are 1. With anchors,
        f is half of how far the label is from the query's, truncated towards zero.
    """
    return data.moments(queries, weights)


class _Sums:
    """The growing sums of one query; private."""

    def __init__(self, queries: Queries, at: int, weights: WeightTable) -> None:
        self._point = queries.points[at]
        self._output = queries.outputs[at]
        self._anchor = None if queries.anchors is None else queries.anchors[at]
        n_coordinates = len(self._point)
        # Weights so fine that not even one row fits into floats leave integers alone.
        self._few = int(n_coordinates * (_FEW if weights.moments_norm < _EXACT else 1))
        self._weights = weights
        self._second = np.zeros((n_coordinates, n_coordinates), dtype=np.int64)
        self._first = np.zeros(n_coordinates, dtype=np.int64)

    def add(self, points: Points, labels: Labels, blocks: Floats) -> None:
        """Add a block of rows; ``blocks`` is room for two matrices of that many rows."""
        n_coordinates = len(self._point)
        apart, weighted = blocks
        n_left = add_rows(
            points,
            are_bins(points),
            self._point,
            self._explained(labels[:, self._output]),
            self._weights.stretch,
            self._weights.weights,
            self._weights.shift,
            self._few,
            self._second,
            self._first,
            apart,
            weighted,
        )
        if n_left == 0:
            return
        for start in range(0, n_coordinates, _PANEL):
            own = slice(start, start + _PANEL)
            products = weighted[:n_left, own].T @ apart[:n_left, start:]
            self._second[own, start:] += products.astype(np.int64)

    def _explained(self, labels: NDArray[np.int16]) -> NDArray[np.int16]:
        """Return what is explained of labels: themselves, or how far they are from the query's."""
        if self._anchor is None:
            return labels
        apart = labels.astype(np.int32) - min(max(self._anchor, -UNITS), UNITS)
        halves: NDArray[np.int16] = (np.sign(apart) * (np.abs(apart) // 2)).astype(np.int16)
        return halves

    def moments(self) -> ExactMoments:
        """Return the sums, the lower triangle filled in."""
        upper = np.triu(self._second)
        return ExactMoments(upper + np.triu(upper, 1).T, self._first)
