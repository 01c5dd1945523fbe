"""Private rows as bytes, and products of bytes that are exact in every order of summation.

A row (x, 1) is rounded, by itself alone, to t (u, v / 2**7). The u are integers up to 127, v is one
up to 127 * 2**7, and the step is t = 2**7 / v, so that the input of the bias is exactly 1.

Sums of integers are exact as long as none leaves the type that holds it. So how a library splits a
product, by threads, shapes or caches, changes no bit of it: nothing that a row adds depends on the
rows beside it. Bytes are multiplied in integer arithmetic where a processor can, else in floating
point that holds all of their sums.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import torch

from interpret_dp.llm.config import GRID_BITS
from interpret_dp.llm.kernels import split_wholes

__all__ = [
    "BIAS_COLUMNS",
    "LARGEST_BYTE",
    "RoundedRows",
    "TrainingRows",
    "byte_product",
    "byte_products",
    "exact_rows",
    "joined",
    "joined_bias",
    "largest_whole",
    "rounded_rows",
    "split",
]

LARGEST_BYTE = 127
BIAS_COLUMNS = 2
"""Columns that hold the bias's input, GRID_BITS each, high ones first."""

_BASE = 256
# Up to here float32 holds all integers.
_SINGLE = 2**24
# Matrix products are fastest where rows begin at multiples of so many bytes.
_ALIGNED = 16
_ROWS_AT_ONCE = 1024


def largest_whole(n_limbs: int) -> int:
    """Return the largest size of an integer that so many limbs hold."""
    return int(LARGEST_BYTE * _BASE ** (n_limbs - 1))


def split(wholes: torch.Tensor, n_limbs: int) -> torch.Tensor:
    """Return limbs of base 256, from -128 to 127, int8, on a new first axis; high ones first.

    Parameters
    ----------
    wholes : Tensor
        Integers of any type, at most :func:`largest_whole` in size.
    n_limbs : int
    """
    found = torch.empty((n_limbs, *wholes.shape), dtype=torch.int8, device=wholes.device)
    left = wholes.to(torch.int64, copy=True)
    if left.device.type == "cpu":
        split_wholes(left.reshape(-1).numpy(), found.reshape(n_limbs, -1).numpy())
        return found
    for limb in range(n_limbs - 1, -1, -1):
        # The lowest eight bits, read with a sign.
        low = left.add(128).bitwise_and_(255).sub_(128)
        found[limb] = low
        left.sub_(low).bitwise_right_shift_(8)
    return found


def joined(limbs: torch.Tensor) -> torch.Tensor:
    """Return the int64 numbers whose limbs are on the first axis; they may be larger than bytes."""
    found = limbs[0].to(torch.int64)
    for limb in limbs[1:]:
        found = found.mul_(_BASE).add_(limb)
    return found


def byte_product(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return the product of two matrices of int8, exactly, as int32.

    Parameters
    ----------
    one : Tensor of int8, shape (n, inner)
    other : Tensor of int8, shape (inner, p)

    Notes
    -----
    Beyond 2**17 terms int32 may wrap around, which is still a function of the exact sum.
    """
    if one.device.type == "cpu" and _multiplies_bytes(*one.shape, *other.shape, *other.stride()):
        return torch._int_mm(one, other)
    return _float_product(one, other)


def _float_product(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    is_single = one.shape[1] * 2**14 <= _SINGLE
    dtype = torch.float32 if is_single else torch.float64
    # Bytes are exact in TF32 and bfloat16 as well, should anybody have asked torch for these.
    return (one.to(dtype) @ other.to(dtype)).to(torch.int64).to(torch.int32)


def byte_products(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return :func:`byte_product` of each pair of matrices along the first axis."""
    found = torch.empty(
        (len(one), one.shape[1], other.shape[2]), dtype=torch.int32, device=one.device
    )
    for index in range(len(one)):
        found[index] = byte_product(one[index], other[index])
    return found


@functools.lru_cache(maxsize=1024)
def _multiplies_bytes(n: int, inner: int, same_inner: int, p: int, along: int, across: int) -> bool:
    """Return whether bytes are multiplied fast, and rightly, in matrices of these shapes.

    Before VNNI pairs of products were added up in 16 bits, which loses the largest, and torch 2.13
    leaves a result unset for some strides of matrices of one row or column. So each shape and
    layout is tried out once, with bytes of all sizes and the largest together.
    """
    if not torch.cpu._is_vnni_supported() or min(n, inner, p) < 2:
        return False
    one = _some_bytes(n * inner).reshape(n, inner)
    other = _some_bytes(same_inner * p + 1)[1:].reshape(same_inner, p)
    one[::3], other[:, ::2] = -128, LARGEST_BYTE
    one[1::3], other[:, ::3] = LARGEST_BYTE, -128
    laid_out = other.T.contiguous().T if along < across else other.contiguous()
    if laid_out.stride() != (along, across):
        return False
    # Not whole products, which take long, but their sums weighted in three ways (Freivalds 1977).
    # Below 2**53 up to 2**17 columns each, and so exact.
    weights = _some_bytes(3 * p).reshape(p, 3).to(torch.float64)
    found = torch._int_mm(one, laid_out).to(torch.float64) @ weights
    expected = one.to(torch.float64) @ (laid_out.to(torch.float64) @ weights)
    return bool(torch.equal(found, expected))


def _some_bytes(count: int) -> torch.Tensor:
    """Return bytes that look like drawn ones, always the same."""
    # A prime number of them, so that no two rows of a matrix are alike.
    some = torch.arange(65_521, dtype=torch.int64).mul_(2_654_435_761).bitwise_right_shift_(11)
    some = some.bitwise_and_(255).sub_(128).to(torch.int8)
    return some.repeat(-(-count // len(some)))[:count]


def exact_rows(rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return rows times a public matrix, each row the same bits beside any others.

    Parameters
    ----------
    rows : Tensor of float32, shape (n_rows, n_inputs)
    matrix : Tensor, shape (n_inputs, dimension)

    Returns
    -------
    Tensor of float64, shape (n_rows, dimension)

    Notes
    -----
    Both are rounded first, a row to a share of its own largest entry and the matrix of its: to 21
    bits at 1,000 inputs, so that all sums of their products are integers below 2**53.
    """
    bits = (52 - math.ceil(math.log2(max(2, len(matrix))))) // 2
    wide, public = rows.to(torch.float64), matrix.to(torch.float64)
    steps = wide.abs().amax(dim=1, keepdim=True) / 2**bits
    # A row of zeros has no unit of its own.
    steps = torch.where(steps > 0, steps, torch.ones_like(steps))
    unit = float(public.abs().max()) / 2**bits or 1.0
    sums = (wide / steps).round_() @ (public / unit).round_()
    return sums * (steps * unit)


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows on the device. Private, and so left out of the representation.

    Attributes
    ----------
    inputs : Tensor of float32, shape (n_rows, n_inputs)
    classes : Tensor of int64, shape (n_rows,)
        -1 for a label that is missing or undeclared: the row adds nothing.
    """

    inputs: torch.Tensor = field(repr=False)
    classes: torch.Tensor = field(repr=False)


@dataclass(frozen=True)
class RoundedRows:
    """Rows as bytes. Private.

    Attributes
    ----------
    columns : Tensor of int8, shape (n_rows, width)
        Integers of the inputs, then ``BIAS_COLUMNS`` of the bias; zeros fill up the width.
    steps : Tensor of float32, shape (n_rows,)
        What one unit of the inputs' integers is.
    n_inputs : int
    """

    columns: torch.Tensor = field(repr=False)
    steps: torch.Tensor = field(repr=False)
    n_inputs: int

    def inputs(self, positions: torch.Tensor) -> torch.Tensor:
        """Return rounded inputs of some rows, float64, shape (n_sampled, n_inputs)."""
        units = self.columns[positions, : self.n_inputs].to(torch.float64)
        return units * self.steps[positions, None]

    def bias_units(self) -> torch.Tensor:
        """Return the integers of the bias's input, int64, shape (n_rows,)."""
        end = self.n_inputs + BIAS_COLUMNS
        return joined_bias(self.columns[:, self.n_inputs : end].T.to(torch.int64))


def joined_bias(columns: torch.Tensor) -> torch.Tensor:
    """Return the integers whose columns are given, shape (BIAS_COLUMNS, n)."""
    found = columns[0].clone()
    for column in columns[1:]:
        found.mul_(2**GRID_BITS).add_(column)
    return found


def rounded_rows(inputs: torch.Tensor) -> RoundedRows:
    """Round rows to bytes of their own unit, the largest of an entry and 1 over 127.

    Parameters
    ----------
    inputs : Tensor of float32, shape (n_rows, n_inputs)
        Entries beyond 127 * 2**7 are cut.

    Notes
    -----
    Elementwise, but for the largest entry, which is exact: a row decides its own bytes.
    """
    n_rows, n_inputs = inputs.shape
    width = -(-(n_inputs + BIAS_COLUMNS) // _ALIGNED) * _ALIGNED
    columns = torch.zeros((n_rows, width), dtype=torch.int8, device=inputs.device)
    steps = inputs.new_empty(n_rows, dtype=torch.float32)
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        rows = inputs[start : start + _ROWS_AT_ONCE].to(torch.float64)
        part = columns[start : start + _ROWS_AT_ONCE]
        largest = rows.abs().amax(dim=1).clamp_(min=1.0)
        bias = (LARGEST_BYTE * 2**GRID_BITS / largest).floor_().clamp_(min=1.0)
        step = (2**GRID_BITS / bias).to(torch.float32)
        units = (rows / step[:, None]).round_().clamp_(-LARGEST_BYTE, LARGEST_BYTE)
        part[:, :n_inputs] = units.to(torch.int8)
        steps[start : start + _ROWS_AT_ONCE] = step
        left = bias.to(torch.int64)
        for column in range(n_inputs + BIAS_COLUMNS - 1, n_inputs - 1, -1):
            part[:, column] = (left & (2**GRID_BITS - 1)).to(torch.int8)
            left >>= GRID_BITS
    return RoundedRows(columns, steps, n_inputs)
