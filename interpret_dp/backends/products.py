"""Sums of products of what a row's codes stand for, in floats that hold integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT

__all__ = ["products"]

_ROWS_AT_ONCE = 2**13
# Of a weight, in lattice units.
_WEIGHT_STEP = PRODUCT_UNIT**2


def products(
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.int32],
    wanted: Sequence[int],
    functions: Sequence[NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return the sums of :meth:`interpret_dp.backends.base.AdditiveRows.product_sums`.

    Parameters
    ----------
    codes : ndarray, shape (n_features, n_rows)
    weights : ndarray of int32, shape (n_rows,) or (0,)
        Empty where every row has the largest.
    wanted, functions
        Of that method.

    Notes
    -----
    Matrix products of floats are exact here, in whatever order they add: whole numbers of at most
    2**20 a row, and 2**33 in all.
    """
    tables = [table.astype(np.float64) for table in functions]
    n_functions = sum(table.shape[1] for table in tables)
    total = np.zeros((n_functions, n_functions), dtype=np.int64)
    for first in range(0, codes.shape[1], _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        vectors = np.concatenate(
            [table[codes[k, part]] for k, table in zip(wanted, tables, strict=True)], axis=1
        )
        weighted = vectors
        if len(weights):
            weighted = vectors * (weights[part] // _WEIGHT_STEP)[:, np.newaxis]
        total += (weighted.T @ vectors).astype(np.int64)
    return total if len(weights) else total * (LATTICE // _WEIGHT_STEP)
