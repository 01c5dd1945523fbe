"""Exact sums over the explanation data: the second moments on which every method rests.

The local loss of equation 1, summed over rows, is quadratic: phi' A phi - 2 b' phi + constant,
with A = sum w (x - z)(x - z)' and b = sum w f(x) (x - z). Both are sums of integers here, computed
in floats below 2**53, where every product and sum is exact: no order of rows, number of threads or
size of a block changes a bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from interpret_dp.lime.features import UNITS, Points
from interpret_dp.lime.labels import Labels
from interpret_dp.lime.weighting import WeightTable

__all__ = ["ExactMoments", "ExplanationData", "Queries", "exact_moments"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_ROWS = 2**11
_EXACT = 2**53


@dataclass(frozen=True)
class ExplanationData:
    """The private rows of the explanation data, as integers; left out of the representation.

    Attributes
    ----------
    points : ndarray of int16, shape (n_rows, n_coordinates)
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

    def blocks(self, n_rows: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield points and labels of at most ``n_rows`` rows at a time, as floats."""
        for start in range(0, len(self.points), n_rows):
            rows = slice(start, start + n_rows)
            yield self.points[rows].astype(np.float64), self.labels[rows].astype(np.float64)


@dataclass(frozen=True)
class Queries:
    """Points to be explained; public.

    Attributes
    ----------
    points : ndarray of int16, shape (n_queries, n_coordinates)
    outputs : tuple of int, shape (n_queries,)
        Which of the model's outputs is explained at each point.
    """

    points: Points
    outputs: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.points)


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
        the query to it, all integers; ``weights.unit`` units of t, and of f, are 1.
    """
    n_queries, n_coordinates = queries.points.shape
    second = np.zeros((n_queries, n_coordinates, n_coordinates), dtype=np.int64)
    first = np.zeros((n_queries, n_coordinates), dtype=np.int64)
    centres = queries.points.astype(np.float64)
    # No entry of what a row adds is larger than its norm, so that no partial sum of a block
    # leaves the integers that floats hold exactly.
    block_rows = max(1, min(_MOST_ROWS, _EXACT // weights.moments_norm))
    for points, labels in data.blocks(block_rows):
        stretched = labels * weights.stretch
        for query, output in enumerate(queries.outputs):
            apart = points - centres[query]
            squares = np.einsum("ij,ij->i", apart, apart).astype(np.int64)
            weighted = apart * weights.of_squares(squares)[:, np.newaxis]
            second[query] += (weighted.T @ apart).astype(np.int64)
            first[query] += (weighted.T @ stretched[:, output]).astype(np.int64)
    return [ExactMoments(*sums) for sums in zip(second, first, strict=True)]
