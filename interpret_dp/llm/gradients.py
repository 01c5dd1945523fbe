"""Sums of clipped gradients in closed form, in integers that are exact in any order.

With p the predicted probabilities, the gradient of the cross-entropy of one example by the value
g_km is c_km = (p_k - y_k) s_km (1 + beta (g_km - f_k)); by the weights of map (k, m) it is
c_km P_m, with P_m = R_m x. So its squared norm is sum_km c_km^2 (||P_m||^2 + 1), and a sum of
clipped gradients is a matrix product of c and x, then one with R_m: nothing of size
batch x parameters is ever made.

Rows are bytes (``integers``). A step's weights are rounded to integers as well, so that values are
exact, and the c of a row to integers whose norm, with that of the row, is checked in integers. So
a row adds the same integers beside any others, of a norm that nothing in floating point can raise
(docs/proofs/dp_llm.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from interpret_dp.llm.config import CLIP_SHARE, GRID_BITS, PROJECTION_BITS, rows_at_a_time
from interpret_dp.llm.integers import (
    BIAS_COLUMNS,
    LARGEST_BYTE,
    TrainingRows,
    byte_product,
    byte_products,
    joined,
    joined_bias,
    largest_whole,
    rounded_rows,
    split,
)
from interpret_dp.llm.kernels import clipped_limbs

__all__ = ["ClosedForm", "map_gradients"]

_LIMBS = 2
# Bytes by which sums over rows are longer than coefficients, and rows whose sum surely fits.
_MORE_LIMBS, _ROWS_OF_A_SUM = 4, 2**24
_MOST_INPUTS = 2**17
# The norm is summed in double precision: right to 1e-12 for 10**4 numbers.
_SURELY = 1.0 - 2.0**-30
_MULTIPLE = 128
# Bytes in use at a time on a processor, and rows: what a shared cache holds.
_CACHED_BYTES, _MOST_ROWS = 2**22, 127 * _MULTIPLE
_ROWS_AT_ONCE = 1024


def map_gradients(
    values: torch.Tensor, classes: torch.Tensor, inverse_temperature: float
) -> torch.Tensor:
    """Return the gradient of each example's cross-entropy by the values of the maps.

    Parameters
    ----------
    values : Tensor, shape (n_maps, n_classes, n_rows)
        g, the values of the maps.
    classes : Tensor of int64, shape (n_rows,)
        -1 for none.
    inverse_temperature : float

    Returns
    -------
    Tensor, same shape as ``values``
    """
    shares = torch.softmax(inverse_temperature * values, dim=0)
    scores = (shares * values).sum(dim=0)
    errors = torch.softmax(scores, dim=0)
    labelled = classes >= 0
    errors.scatter_add_(0, classes.clamp(min=0)[None], torch.full_like(errors[:1], -1.0))
    errors *= labelled
    # s (1 + beta (g - f)), in one pass
    slopes = torch.addcmul(shares, shares, values - scores, value=inverse_temperature)
    return slopes.mul_(errors)


class ClosedForm:
    """Sums of clipped gradients of a locally linear model.

    Parameters
    ----------
    rows : TrainingRows
    projections : Tensor, shape (n_maps, dimension, n_inputs), or None
        Multiples of 2**-PROJECTION_BITS, up to 127 of them in size.
    inverse_temperature : float
    clip_norm : float
        Bound on the norm of what one example adds.
    n_limbs : int, default=2
        Bytes of a coefficient, and of a weight: two are 15 bits and a sign. More are for whoever
        compares engines to many digits.

    Attributes
    ----------
    row_norm : int
        Bound on the norm of the integers that a row adds; it stands for ``clip_norm``.

    Raises
    ------
    ValueError
        If there are projections of more than 2**17 inputs, whose sums would leave 32 bits.
    """

    def __init__(
        self,
        rows: TrainingRows,
        projections: torch.Tensor | None,
        inverse_temperature: float,
        clip_norm: float,
        *,
        n_limbs: int = _LIMBS,
    ) -> None:
        self._classes = rows.classes
        self._inverse_temperature = inverse_temperature
        self._clip_norm = clip_norm
        self._n_limbs = n_limbs
        self._largest = largest_whole(n_limbs)
        self._rows = rounded_rows(rows.inputs)
        self._grid = None
        stretch = 1.0
        if projections is not None:
            if projections.shape[2] > _MOST_INPUTS:
                raise ValueError(
                    f"There are projections of {projections.shape[2]} inputs; at most "
                    f"{_MOST_INPUTS} can be summed exactly. Set projection_dim=0, or project the "
                    "table by a public matrix before."
                )
            units = (projections * 2**PROJECTION_BITS).round_().clamp_(-LARGEST_BYTE, LARGEST_BYTE)
            self._grid = units.to(torch.int8)
            squares = projections.square().sum(dim=(1, 2)).mean() / projections.shape[2]
            stretch = max(1.0, math.sqrt(float(squares)))
        # A row's largest integer is about 127: then its coefficients fit into the limbs.
        bits = 8 * n_limbs - 2 + GRID_BITS + 7 + math.ceil(math.log2(stretch))
        self.row_norm = 2**bits
        self._norms = self._squared_norms()

    def lattice_sum(
        self, weights: torch.Tensor, biases: torch.Tensor, positions: torch.Tensor
    ) -> torch.Tensor:
        """Return the sum of the clipped gradients of the rows at ``positions``, in integers.

        Parameters
        ----------
        weights : Tensor of float32, shape (n_maps, n_classes, dimension)
            Before projection.
        biases : Tensor of float32, shape (n_maps, n_classes)
        positions : Tensor of int64, shape (n_sampled,)

        Returns
        -------
        Tensor of int64, shape (n_parameters,)
            By the weights, then by the biases; one is ``clip_norm / row_norm``. Private.
        """
        shape = weights.shape[:2]
        matrix, scales = self._matrix(weights)
        step = self._rows_of_a_part(shape.numel(), weights.device)
        total = torch.zeros(
            weights.numel() + biases.numel(), dtype=torch.int64, device=weights.device
        )
        for block in positions.split(_ROWS_OF_A_SUM):
            sums = torch.zeros(
                (shape.numel(), self._rows.columns.shape[1]), dtype=torch.int64, device=total.device
            )
            # Of an empty block there is one part, which is empty.
            for part in block.split(step) if len(block) else ():
                # Elsewhere always the same shapes, so that sums over maps keep to one order.
                filled = -(-len(part) // _MULTIPLE) * _MULTIPLE
                size = filled if total.device.type == "cpu" else step
                columns = _filled(self._rows.columns, part, size, 0)
                products = byte_product(matrix, columns.T).reshape(-1, *shape, size)
                limbs = self._coefficients(products, scales, biases, part)
                found = byte_product(limbs.reshape(-1, size), columns)
                sums += joined(found.reshape(self._n_limbs, *sums.shape))
            total += self._by_parameters(sums, weights.shape)
        return total

    def _by_parameters(self, sums: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        """Return sums over the columns of rows as sums by the parameters."""
        n_inputs = self._rows.n_inputs
        biases = joined_bias(sums[:, n_inputs : n_inputs + BIAS_COLUMNS].T)
        if self._grid is None:
            weights = sums[:, :n_inputs] << GRID_BITS
        else:
            by_maps = split(sums[:, :n_inputs], self._n_limbs + _MORE_LIMBS)
            by_maps = by_maps.reshape(-1, *shape[:2], n_inputs).permute(1, 0, 2, 3)
            found = byte_products(by_maps.flatten(1, 2), self._grid.transpose(1, 2))
            found = found.reshape(shape[0], -1, *shape[1:]).transpose(0, 1)
            weights = joined(found) << (GRID_BITS - PROJECTION_BITS)
        return torch.cat([weights.reshape(-1), biases])

    def _matrix(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return limbs of the weights by which rows are multiplied, int8, and what a unit is."""
        n_maps, n_classes, _ = weights.shape
        wholes, scales = self._rounded(weights)
        if self._grid is not None:
            limbs = split(wholes, self._n_limbs).transpose(0, 1).flatten(1, 2)
            found = byte_products(limbs, self._grid).reshape(n_maps, self._n_limbs, n_classes, -1)
            # Public, and rounded again, which costs nothing but the last of 15 bits.
            full = joined(found.transpose(0, 1)).to(torch.float32)
            wholes, more = self._rounded(full)
            scales = scales * more * 2.0**-PROJECTION_BITS
        missing = self._rows.columns.shape[1] - wholes.shape[2]
        limbs = split(torch.nn.functional.pad(wholes, (0, missing)), self._n_limbs)
        return limbs.flatten(0, 2), scales

    def _rounded(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return weights as integers that fit into the limbs, and the unit of each row."""
        units = weights.abs().amax(dim=2) / self._largest
        # Weights that are all 0, or not finite, have no unit.
        units = torch.where((units > 0) & units.isfinite(), units, torch.ones_like(units))
        wholes = (weights / units[:, :, None]).round_().nan_to_num_(0.0)
        return wholes.clamp_(-self._largest, self._largest), units

    def _rows_of_a_part(self, n_values: int, device: torch.device) -> int:
        """Return how many rows are worked on at once: a public rule, whatever the sample's size."""
        width = self._rows.columns.shape[1]
        if device.type != "cpu":
            return min(rows_at_a_time(self._n_limbs * n_values, width), _MOST_ROWS)
        within_cache: int = _CACHED_BYTES // (5 * self._n_limbs * n_values + width)
        return max(_MULTIPLE, min(within_cache, _MOST_ROWS) // _MULTIPLE * _MULTIPLE)

    def _squared_norms(self) -> torch.Tensor:
        """Return, rounded up, the squared norms of what a coefficient of 1 adds.

        Shape (n_rows, n_maps), or (n_rows, 1) without projections; float32. Sums are of integers,
        and so exact.
        """
        rows = self._rows
        bias = rows.bias_units().square_()
        n_groups = 1 if self._grid is None else len(self._grid)
        found = torch.empty((len(bias), n_groups), dtype=torch.float32, device=bias.device)
        flat, shift = None, 0
        if self._grid is not None:
            flat = self._grid.flatten(0, 1).T
            longest = self._grid.shape[2] * LARGEST_BYTE**2
            shift = max(0, (self._grid.shape[1] * longest**2).bit_length() - 62)
        for start in range(0, len(bias), _ROWS_AT_ONCE):
            part = rows.columns[start : start + _ROWS_AT_ONCE, : rows.n_inputs].contiguous()
            if flat is None:
                squares = part.to(torch.int64).square_().sum(dim=1, keepdim=True)
                squares <<= 2 * GRID_BITS
            else:
                projected = byte_product(part, flat).reshape(len(part), n_groups, -1)
                squares = projected.to(torch.int64).square_()
                # Where the sum could leave 64 bits its last ones are rounded up.
                squares = ((squares >> shift) + (shift > 0)).sum(dim=2)
                squares = squares.to(torch.float64) * 4.0 ** (GRID_BITS - PROJECTION_BITS)
            whole = squares.to(torch.float64) * 2.0**shift + bias[start : start + len(part), None]
            rounded = whole.to(torch.float32)
            found[start : start + len(part)] = torch.nextafter(
                rounded, torch.full_like(rounded, math.inf)
            )
        return found

    def _coefficients(
        self, products: torch.Tensor, scales: torch.Tensor, biases: torch.Tensor, part: torch.Tensor
    ) -> torch.Tensor:
        """Return limbs of the clipped gradients by the maps' values, int8, of products' shape."""
        size = products.shape[-1]
        steps = _filled(self._rows.steps, part, size, 1.0)
        norms = _filled(self._norms, part, size, 1.0).T.contiguous()
        classes = _filled(self._classes, part, size, -1)
        unit = self.row_norm / self._clip_norm / 2**GRID_BITS
        numbers = (self._inverse_temperature, unit, self.row_norm * CLIP_SHARE)
        most = float(self.row_norm) ** 2 * _SURELY
        arrays = (products, scales, biases, steps, norms, classes)
        if products.device.type != "cpu":
            return _clipped_limbs(*arrays, *numbers, most, self._largest)
        limbs = torch.empty(products.shape, dtype=torch.int8)
        given: Any = (
            *(array.numpy() for array in arrays),
            *(np.float32(number) for number in numbers),
            np.float64(most),
            np.float32(self._largest),
            limbs.numpy(),
        )
        clipped_limbs(*given)
        return limbs


def _clipped_limbs(
    products: torch.Tensor,
    scales: torch.Tensor,
    biases: torch.Tensor,
    steps: torch.Tensor,
    norms: torch.Tensor,
    classes: torch.Tensor,
    inverse_temperature: float,
    unit: float,
    aim: float,
    most: float,
    largest: int,
) -> torch.Tensor:
    """Do what :func:`kernels.clipped_limbs` does, where numba does not reach.

    Sums over maps and classes are in an order that shapes decide: they are the same in each call.
    """
    values = products[0].to(torch.float32)
    for limb in products[1:]:
        values.mul_(256.0).add_(limb)
    values.mul_(scales[:, :, None]).mul_(steps).add_(biases[:, :, None])
    gradients = map_gradients(values, classes, inverse_temperature)
    lengths = (gradients.square().sum(dim=1) * norms).sum(dim=0).sqrt_()
    scaled = gradients * torch.minimum(unit * steps, aim / lengths)
    scaled = scaled.nan_to_num_(largest, largest, -largest).clamp_(-largest, largest)
    wholes, wide = scaled.add(0.5).floor_(), norms.to(torch.float64)

    def is_long() -> torch.Tensor:
        squares = wholes.to(torch.float64).square_().sum(dim=1)
        return (squares * wide).sum(dim=0) > most

    wholes = torch.where(is_long(), scaled.trunc(), wholes)
    wholes = torch.where(is_long(), 0.0, wholes)
    return split(wholes.to(torch.int32), len(products))


def _filled(values: torch.Tensor, part: torch.Tensor, size: int, fill: float) -> torch.Tensor:
    """Return the values of some rows, filled up to ``size`` with rows that add nothing.

    Libraries prepare a product for its shapes, so that few of them are faster than many.
    """
    found = values.new_empty((size, *values.shape[1:]))
    torch.index_select(values, 0, part, out=found[: len(part)])
    found[len(part) :] = fill
    return found
