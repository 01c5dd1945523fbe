"""The loop over rows of DP-LIME's sums, compiled by numba; everything is 64-bit integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._compiled import compiled
from interpret_dp.lime.features import UNITS

__all__ = ["add_rows"]

_BIN_APART = -UNITS


@compiled()
def add_rows(
    points: NDArray[Any],
    are_bins: bool,
    centre: NDArray[Any],
    labels: NDArray[np.int16],
    stretch: int,
    weights: NDArray[np.int64],
    shift: int,
    most_apart: int,
    second: NDArray[np.int64],
    first: NDArray[np.int64],
    apart: NDArray[np.float64],
    weighted: NDArray[np.float64],
) -> int:
    """Add rows to the sums of one query; return how many are left to be added by their products.

    Parameters
    ----------
    points : ndarray of int16 or uint16, shape (n_rows, n_coordinates)
    are_bins : bool
        Whether points are compared, not subtracted.
    centre : ndarray, shape (n_coordinates,)
        The query, of the same kind.
    labels : ndarray of int16, shape (n_rows,)
    stretch : int
    weights : ndarray of int64, shape (n_cells + 1,)
    shift : int
        As in ``WeightTable``.
    most_apart : int
        A row that differs from the query in more coordinates is left: matrix products are faster.
    second : ndarray of int64, shape (n_coordinates, n_coordinates)
        The upper triangle of A is added to.
    first : ndarray of int64, shape (n_coordinates,)
        b, of all rows, is added to.
    apart, weighted : ndarray of float64, shape (at least n_rows, n_coordinates)
        Filled, from the first row on, with t and w t of the rows that are left.
    """
    n_rows, n = points.shape
    steps = np.empty(n, np.int32)
    places = np.empty(n, np.int64)
    moved = np.empty(n, np.int64)
    n_left = 0
    for row in range(n_rows):
        if are_bins:
            for i in range(n):
                steps[i] = np.int32(0) if points[row, i] == centre[i] else np.int32(_BIN_APART)
        else:
            for i in range(n):
                steps[i] = np.int32(points[row, i]) - np.int32(centre[i])
        square = np.int64(0)
        n_apart = 0
        for i in range(n):
            square += np.int64(steps[i]) * np.int64(steps[i])
            n_apart += steps[i] != 0
        weight = weights[min(square >> shift, weights.shape[0] - 1)]
        if weight == 0:
            continue
        pull = weight * stretch * labels[row]
        if n_apart > most_apart:
            factor = np.float64(weight)
            for i in range(n):
                first[i] += pull * steps[i]
                apart[n_left, i] = steps[i]
                weighted[n_left, i] = factor * steps[i]
            n_left += 1
            continue
        n_apart = 0
        for i in range(n):
            places[n_apart] = i
            moved[n_apart] = steps[i]
            n_apart += steps[i] != 0
        for at in range(n_apart):
            sums = second[places[at]]
            first[places[at]] += pull * moved[at]
            own = weight * moved[at]
            for other in range(at, n_apart):
                sums[places[other]] += own * moved[other]
    return n_left
