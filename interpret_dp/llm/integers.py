"""Products of small integers that are exact in every order of summation, on any device.

Sums of integers are exact as long as none leaves the type that holds it. So how a library splits a
product, by threads, shapes or caches, changes no bit of it: nothing that a row adds depends on the
rows beside it. Bytes are multiplied in whole numbers where a processor can, else in floating point
that holds all of their sums.
"""

from __future__ import annotations

import functools
import math

import torch

from interpret_dp.llm.kernels import split_wholes

__all__ = [
    "LARGEST_BYTE",
    "byte_product",
    "byte_products",
    "exact_rows",
    "joined",
    "largest_whole",
    "split",
]

LARGEST_BYTE = 127
_BASE = 256
# Up to here float32 holds all integers.
_SINGLE = 2**24


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
