"""Sums of clipped gradients in closed form, in integers that are exact in any order.

With p the predicted probabilities, the gradient of the cross-entropy of one example by the value
g_km is c_km = (p_k - y_k) s_km (1 + beta (g_km - f_k)); by the weights of map (k, m) it is
c_km P_m, with P_m = R_m x. So its squared norm is sum_km c_km^2 (||P_m||^2 + 1), and a sum of
clipped gradients is a matrix product of c and x, then one with R_m: nothing of size
batch x parameters is ever made.

Rows are integers (``integers``). A step's weights are rounded to integers as well, so that values
are exact, and the c of a row to integers whose norm, with that of the row, is checked. So a row
adds the same integers beside any others, of a norm that no rounding can raise
(docs/proofs/dp_llm.md).
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp.llm.config import CLIP_SHARE, PROJECTION_BITS
from interpret_dp.llm.integers import ROW_BITS, TrainingRows, rounded_rows

Floats: TypeAlias = NDArray[np.float32]

# A bound on a row of usual length leaves 13 bits for its coefficients.
_NORM_BITS = 30
# Bits of products of weights and rows, summed over the inputs: below the 53 of double precision.
_PRODUCT_BITS = 52
# Hidden rows, which projections make short, have no larger coefficients.
_MOST = 2.0**18
# Sums of squares in double precision are right to 2**-30 for MOST_INPUTS numbers.
_ROUNDED_UP, _SURELY = 1.0 + 2.0**-30, 1.0 - 2.0**-30
# Values, inputs and rows of a part: few enough to stay in a cache.
_CACHED_VALUES, _CACHED_INPUTS, _FEWEST_ROWS, _MOST_ROWS = 40_000, 2**18, 64, 1024
# Sums of so many parts stay below 2**53: coefficients have 18 bits, columns 15 and rows 10.
_PARTS_OF_A_SUM = 1024
# They are multiplied by projections, of 7 bits, in two halves: high ones of 27 bits, and low ones.
_LOW_BITS = 26


def map_gradients(values: Floats, classes: NDArray[np.int64], inverse_temperature: float) -> Floats:
    """Return the gradient of each example's cross-entropy by the values of the maps.

    Parameters
    ----------
    values : ndarray of float32, shape (n_maps, n_classes, n_rows)
        g, the values of the maps.
    classes : ndarray of int64, shape (n_rows,)
        -1 for none.
    inverse_temperature : float

    Returns
    -------
    ndarray, same shape as ``values``
    """
    # In place, since a step's time is that of its passes over the values.
    shares = values - values.max(axis=0)
    shares *= inverse_temperature
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=0)
    scores = (shares * values).sum(axis=0)
    errors = np.exp(scores - scores.max(axis=0))
    errors /= errors.sum(axis=0)
    errors[classes, np.arange(len(classes))] -= 1.0
    errors *= classes >= 0
    slopes = values - scores
    slopes *= inverse_temperature
    slopes += 1.0
    slopes *= shares
    slopes *= errors
    return np.asarray(slopes)


def clipped_integers(
    gradients: Floats,
    units: Floats,
    squares: NDArray[np.float64],
    largest_norm: float,
) -> NDArray[np.float64]:
    """Return the clipped gradients of each row by the maps' values, as integers.

    Parameters
    ----------
    gradients : ndarray of float32, shape (n_maps, n_classes, n_rows)
    units : ndarray of float32, shape (n_rows,)
        Integers for each 1 of a gradient that is not clipped.
    squares : ndarray of float64, shape (n_maps or 1, n_rows)
        Bounds on the squared norms of what a coefficient of 1 adds.
    largest_norm : float
        Bound on the norm of what a row adds.

    Notes
    -----
    Whatever the gradients are: the norm is that of the integers. Rows that rounding to the nearest
    makes too long are truncated, and what is still too long, or no number, is dropped.
    """
    scaled = gradients * units
    # Rounded, since squares of tiny numbers are subnormal, which processors are slow at.
    lengths = np.sqrt((np.square(np.rint(scaled)).sum(axis=1) * squares).sum(axis=0))
    scaled *= np.minimum(1.0, CLIP_SHARE * largest_norm / lengths).astype(np.float32)
    np.clip(scaled, -_MOST, _MOST, out=scaled)
    integers = np.rint(scaled).astype(np.float64)

    def is_long() -> NDArray[np.bool_]:
        norms = (np.square(integers).sum(axis=1) * squares).sum(axis=0)
        return np.asarray(~(norms <= _SURELY * largest_norm**2))

    if is_long().any():
        integers = np.where(is_long(), np.trunc(scaled), integers)
        integers = np.where(is_long(), 0.0, integers)
    return np.asarray(integers)


class ClosedForm:
    """Sums of clipped gradients of a locally linear model.

    Parameters
    ----------
    rows : TrainingRows
    projections : ndarray, shape (n_maps, dimension, n_inputs), or None
        Multiples of 2**-PROJECTION_BITS, up to 127 of them in size, of at most
        ``MOST_PROJECTED`` inputs.
    inverse_temperature : float
    clip_norm : float
        Bound on the norm of what one example adds.

    Attributes
    ----------
    row_norm : int
        Bound on the norm of the integers that a row adds; it stands for ``clip_norm``.
    """

    def __init__(
        self,
        rows: TrainingRows,
        projections: Floats | None,
        inverse_temperature: float,
        clip_norm: float,
    ) -> None:
        # A row without a label, which adds nothing, fills up parts.
        empty = [0] * rows.inputs.shape[1] + [1]
        self._columns = np.vstack([rounded_rows(rows.inputs), np.array([empty], dtype=np.int16)])
        self._classes = np.append(rows.classes, -1)
        self._inverse_temperature = inverse_temperature
        self._projections, self._grid, self._fineness = projections, None, 1
        stretch = 1.0
        if projections is not None:
            self._fineness = 2**PROJECTION_BITS
            self._grid = np.rint(projections * float(self._fineness)).astype(np.float64)
            stretch = math.sqrt(max(1.0, float(np.square(projections).sum(axis=1).mean())))
        self.row_norm = 2 ** (_NORM_BITS + math.ceil(math.log2(self._fineness * stretch)))
        self._unit = self.row_norm / clip_norm / self._fineness
        self._squares = self._squared_norms()

    def lattice_sum(
        self, weights: Floats, biases: Floats, positions: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the sum of the clipped gradients of the rows at ``positions``, in integers.

        Parameters
        ----------
        weights : ndarray of float32, shape (n_maps, n_classes, dimension)
            Before projection.
        biases : ndarray of float32, shape (n_maps, n_classes)
        positions : ndarray of int64, shape (n_sampled,)

        Returns
        -------
        ndarray of int64, shape (n_parameters,)
            By the weights, then by the biases; one is ``clip_norm / row_norm``. Private.
        """
        n_maps, n_classes, _ = weights.shape
        matrix, unit = self._integer_matrix(weights, biases)
        # Parts always have the same shape, whatever the size of the sample.
        size = min(_CACHED_VALUES // biases.size, _CACHED_INPUTS // matrix.shape[1], _MOST_ROWS)
        size = max(size, _FEWEST_ROWS) // _FEWEST_ROWS * _FEWEST_ROWS
        filling = np.full(-len(positions) % size, len(self._columns) - 1)
        parts = np.concatenate([positions, filling]).reshape(-1, size)
        total = np.zeros(weights.size + biases.size, dtype=np.int64)
        for start in range(0, len(parts), _PARTS_OF_A_SUM):
            sums = np.zeros(matrix.shape)
            for part in parts[start : start + _PARTS_OF_A_SUM]:
                sums += self._part_sum(matrix, unit, weights.shape, part)
            total += self._by_parameters(sums.astype(np.int64).reshape(n_maps, n_classes, -1))
        return total

    def _by_parameters(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return sums over the columns of rows, shape (n_maps, n_classes, width), by parameters."""
        by_weights = sums[:, :, :-1]
        if self._grid is not None:
            grid = self._grid.transpose(0, 2, 1)
            high, low = by_weights >> _LOW_BITS, by_weights & (2**_LOW_BITS - 1)
            by_weights = (high @ grid).astype(np.int64) << _LOW_BITS
            by_weights += (low @ grid).astype(np.int64)
        return np.concatenate([by_weights.ravel(), self._fineness * sums[:, :, -1].ravel()])

    def _part_sum(
        self,
        matrix: NDArray[np.float64],
        unit: float,
        shape: tuple[int, ...],
        part: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the sums of coefficients times columns of some rows."""
        columns = self._columns[part].astype(np.float64)
        # A warning of what a value did would be a release.
        with np.errstate(all="ignore"):
            steps = (1.0 / columns[:, -1]).astype(np.float32)
            values = (matrix @ columns.T).astype(np.float32).reshape(*shape[:2], -1)
            values *= np.float32(unit) * steps
            gradients = map_gradients(values, self._classes[part], self._inverse_temperature)
            units = np.float32(self._unit) * steps
            integers = clipped_integers(gradients, units, self._squares[:, part], self.row_norm)
        return np.asarray(integers.reshape(len(matrix), -1) @ columns)

    def _integer_matrix(self, weights: Floats, biases: Floats) -> tuple[NDArray[np.float64], float]:
        """Return integers by which the columns of rows are multiplied, and their unit. Public."""
        if self._projections is not None:
            weights = weights @ self._projections
        matrix = np.concatenate([weights, biases[:, :, np.newaxis]], axis=2, dtype=np.float64)
        matrix = np.nan_to_num(matrix.reshape(biases.size, -1))
        bits = _PRODUCT_BITS - ROW_BITS - math.ceil(math.log2(matrix.shape[1]))
        unit = float(np.abs(matrix).max()) / 2**bits or 1.0
        return np.rint(matrix / unit), unit

    def _squared_norms(self) -> NDArray[np.float64]:
        """Return, rounded up, the squared norms of what a coefficient of 1 adds.

        Shape (n_maps, n_rows), or (1, n_rows) without projections.
        """
        grid = None if self._grid is None else self._grid.reshape(-1, self._grid.shape[2])
        n_groups = 1 if self._grid is None else len(self._grid)
        squares = np.empty((n_groups, len(self._columns)))
        for start in range(0, len(self._columns), _MOST_ROWS):
            part = self._columns[start : start + _MOST_ROWS].astype(np.float64)
            rows = part[:, :-1] if grid is None else part[:, :-1] @ grid.T
            by_weights = np.square(rows).reshape(len(part), n_groups, -1).sum(axis=2)
            by_bias = np.square(self._fineness * part[:, -1:])
            squares[:, start : start + len(part)] = (by_weights + by_bias).T * _ROUNDED_UP
        return squares
