"""Private rows as integers, and products that are exact in every order of summation.

A row (x, 1) is rounded, by itself alone, to t (u, v). All numbers in (u, v) are integers below
2**15, and t = 1 / v, so that the input of the bias is exactly 1.

Double precision holds integers up to 2**53. A sum that stays below is exact in any order, so that
what a row adds does not depend on the rows beside it, on threads or on a library's blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ROW_BITS = 15
"""Bits of a row's integers."""

_LARGEST = 2**ROW_BITS - 1

_ROWS_AT_ONCE = 1024


def finite_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows, shape (n_rows, width); zeros for one with an entry that is not finite."""
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    return rows


def exact_rows(rows: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return rows times a public matrix, each row the same bits beside any others.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_rows, n_inputs)
    matrix : ndarray, shape (n_inputs, dimension)

    Returns
    -------
    ndarray of float64, shape (n_rows, dimension)

    Notes
    -----
    Both are rounded first, a row to a share of its own largest entry and the matrix of its: to 21
    bits at 1,000 inputs, so that all sums of their products are integers below 2**53.
    """
    bits = (52 - math.ceil(math.log2(max(2, len(matrix))))) // 2
    wide, public = finite_rows(rows.astype(np.float64)), matrix.astype(np.float64)
    steps = np.abs(wide).max(axis=1, keepdims=True) / 2**bits
    # A row of zeros has no unit of its own.
    steps[steps == 0] = 1.0
    unit = float(np.abs(public).max()) / 2**bits or 1.0
    sums = np.rint(wide / steps) @ np.rint(public / unit)
    return np.asarray(sums * (steps * unit))


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows. Private, and so left out of the representation.

    Attributes
    ----------
    inputs : ndarray of float32, shape (n_rows, n_inputs)
    classes : ndarray of int64, shape (n_rows,)
        -1 for a label that is missing or undeclared: the row adds nothing.
    """

    inputs: NDArray[np.float32] = field(repr=False)
    classes: NDArray[np.int64] = field(repr=False)


def rounded_rows(inputs: NDArray[np.float32]) -> NDArray[np.int16]:
    """Return rows as integers: those of the inputs, then that of the bias, which is 1 over a unit.

    Parameters
    ----------
    inputs : ndarray of float32, shape (n_rows, n_inputs)
        Entries beyond 2**15 - 1 are cut.

    Returns
    -------
    ndarray of int16, shape (n_rows, n_inputs + 1)
        Private.

    Notes
    -----
    Elementwise, but for a row's largest entry, which is exact: a row decides its own integers.
    """
    columns = np.empty((len(inputs), inputs.shape[1] + 1), dtype=np.int16)
    for start in range(0, len(inputs), _ROWS_AT_ONCE):
        rows = finite_rows(inputs[start : start + _ROWS_AT_ONCE].astype(np.float64))
        largest = np.abs(rows).max(axis=1, initial=1.0)
        bias = np.maximum(np.floor(_LARGEST / largest), 1.0)
        part = columns[start : start + _ROWS_AT_ONCE]
        part[:, :-1] = np.clip(np.rint(rows * bias[:, np.newaxis]), -_LARGEST, _LARGEST)
        part[:, -1] = bias
    return columns
