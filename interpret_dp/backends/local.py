"""Rows in this process's memory; the sums run in numba."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_SCORE

__all__ = ["LocalBinaryRows", "LocalMulticlassRows", "LocalRegressionRows"]

_CHUNK = 4096  # rows per pass: scores, residuals and codes of a chunk stay in the cache
_TABLE_BITS = 12  # logits are looked up in steps of 2**12 / 2**20 = 1/256
_TABLE_HALF = 4096  # entries on each side of zero: logits from -16 to 16
_ROWS_PER_THREAD = 50_000  # below this a second thread costs more than it saves

_Kernel = TypeVar("_Kernel", bound=Callable[..., None])


def _compile(function: _Kernel) -> _Kernel:
    # No fastmath: a row's contribution must not depend on how the compiler groups rows.
    return numba.njit(cache=True, nogil=True, boundscheck=False)(function)  # type: ignore[return-value]


def _sigmoid_table() -> NDArray[np.int32]:
    """Tabulate the probability of class 1 on the lattice, truncated into [0, LATTICE]."""
    logits = (np.arange(-_TABLE_HALF, _TABLE_HALF) + 0.5) * 2.0**_TABLE_BITS / LATTICE
    return np.clip(np.floor(LATTICE / (1.0 + np.exp(-logits))), 0, LATTICE).astype(np.int32)


@_compile
def _add_updates(
    codes: NDArray[np.unsignedinteger],
    updated: NDArray[np.int64],
    updates: NDArray[np.int32],
    scores: NDArray[np.int32],
    start: int,
    stop: int,
) -> None:
    for slot in range(updated.shape[0]):
        feature = updated[slot]
        for row in range(start, stop):
            moved = int(scores[row]) + int(updates[slot, codes[feature, row]])
            scores[row] = np.int32(min(max(moved, -MAX_SCORE), MAX_SCORE))


@_compile
def _sum_residuals(
    codes: NDArray[np.unsignedinteger],
    wanted: NDArray[np.int64],
    residuals: NDArray[np.int32],
    start: int,
    stop: int,
    sums: NDArray[np.int64],
) -> None:
    for slot in range(wanted.shape[0]):
        feature = wanted[slot]
        for row in range(start, stop):
            sums[slot, codes[feature, row]] += residuals[row - start]


@_compile
def _advance_binary(
    codes: NDArray[np.unsignedinteger],
    labels: NDArray[np.int8],
    table: NDArray[np.int32],
    updated: NDArray[np.int64],
    updates: NDArray[np.int32],
    wanted: NDArray[np.int64],
    scores: NDArray[np.int32],
    first: int,
    last: int,
    sums: NDArray[np.int64],
) -> None:
    residuals = np.empty(_CHUNK, np.int32)
    for start in range(first, last, _CHUNK):
        stop = min(start + _CHUNK, last)
        _add_updates(codes, updated, updates, scores, start, stop)
        for row in range(start, stop):
            entry = (scores[row] >> _TABLE_BITS) + _TABLE_HALF
            entry = min(max(entry, 0), 2 * _TABLE_HALF - 1)
            residuals[row - start] = labels[row] * LATTICE - table[entry]
        _sum_residuals(codes, wanted, residuals, start, stop, sums)


@_compile
def _advance_regression(
    codes: NDArray[np.unsignedinteger],
    target: NDArray[np.int32],
    updated: NDArray[np.int64],
    updates: NDArray[np.int32],
    wanted: NDArray[np.int64],
    scores: NDArray[np.int32],
    first: int,
    last: int,
    sums: NDArray[np.int64],
) -> None:
    residuals = np.empty(_CHUNK, np.int32)
    for start in range(first, last, _CHUNK):
        stop = min(start + _CHUNK, last)
        _add_updates(codes, updated, updates, scores, start, stop)
        for row in range(start, stop):
            residual = int(target[row]) - int(scores[row])
            residuals[row - start] = min(max(residual, -LATTICE), LATTICE)
        _sum_residuals(codes, wanted, residuals, start, stop, sums)


@_compile
def _advance_multiclass(
    codes: NDArray[np.unsignedinteger],
    labels: NDArray[np.int16],
    table: NDArray[np.int64],
    updated: NDArray[np.int64],
    updates: NDArray[np.int32],
    wanted: NDArray[np.int64],
    scores: NDArray[np.int32],
    first: int,
    last: int,
    sums: NDArray[np.int64],
) -> None:
    n_classes = scores.shape[1]
    weights = np.empty(n_classes, np.int64)
    for row in range(first, last):
        for slot in range(updated.shape[0]):
            code = codes[updated[slot], row]
            for k in range(n_classes):
                moved = int(scores[row, k]) + int(updates[slot, code, k])
                scores[row, k] = np.int32(min(max(moved, -MAX_SCORE), MAX_SCORE))
        highest = int(scores[row].max())
        total = 0
        for k in range(n_classes):
            entry = min((highest - int(scores[row, k])) >> _TABLE_BITS, table.shape[0] - 1)
            weights[k] = table[entry]
            total += weights[k]
        for k in range(n_classes):
            # Truncation: the probabilities add up to at most LATTICE, as the norm needs.
            weights[k] = -(weights[k] * LATTICE // total)
        weights[labels[row]] += LATTICE
        for slot in range(wanted.shape[0]):
            code = codes[wanted[slot], row]
            for k in range(n_classes):
                sums[slot, code, k] += weights[k]


def _exponential_table() -> NDArray[np.int64]:
    """Tabulate exp(-d) for score gaps d from 0 to 16 on the lattice, truncated."""
    gaps = (np.arange(_TABLE_HALF) + 0.5) * 2.0**_TABLE_BITS / LATTICE
    table: NDArray[np.int64] = np.floor(LATTICE * np.exp(-gaps)).astype(np.int64)
    return table


class _LocalRows:
    """Codes and scores of the rows that have a target."""

    n_scores = 1
    residual_norm = LATTICE
    target_norm = LATTICE

    def __init__(
        self,
        codes: Sequence[NDArray[np.unsignedinteger]],
        keep: NDArray[np.bool_],
        n_threads: int,
    ) -> None:
        dtype = np.result_type(np.uint8, *codes)
        self._codes: NDArray[np.unsignedinteger] = np.empty(
            (len(codes), int(np.count_nonzero(keep))), dtype=dtype
        )
        for feature, column in enumerate(codes):
            self._codes[feature] = column[keep]
        self._scores = np.zeros(self._codes.shape[1], dtype=np.int32)
        parts = max(1, min(n_threads, len(self._scores) // _ROWS_PER_THREAD))
        borders = np.linspace(0, len(self._scores), parts + 1).astype(int).tolist()
        self._parts = list(pairwise(borders))

    def bin_counts(self, n_bins: Sequence[int]) -> list[NDArray[np.int64]]:
        return [
            np.bincount(column, minlength=width).astype(np.int64)
            for column, width in zip(self._codes, n_bins, strict=True)
        ]

    def merge_bins(self, maps: Sequence[NDArray[np.uint16]]) -> None:
        narrow = np.uint8 if max(int(table.max()) for table in maps) < 256 else np.uint16
        merged = np.empty(self._codes.shape, dtype=narrow)
        for feature, table in enumerate(maps):
            np.take(table.astype(narrow), self._codes[feature], out=merged[feature])
        self._codes = merged

    def begin(self, scores: NDArray[np.int64]) -> None:
        clipped = np.clip(scores, -MAX_SCORE, MAX_SCORE).astype(np.int32)
        self._scores[...] = clipped if self._scores.ndim == 2 else clipped[0]

    def _advance(
        self,
        kernel: Callable[..., None],
        facts: tuple[NDArray[Any], ...],
        updated: NDArray[np.int64],
        updates: NDArray[np.int32],
        wanted: NDArray[np.int64],
        n_bins: int,
    ) -> NDArray[np.int64]:
        """Run a kernel over each part of the rows and add the exact sums.

        ``facts`` are what the kernel knows of the rows beside their codes and scores.
        """
        sums = np.zeros((len(self._parts), len(wanted), n_bins, self.n_scores), dtype=np.int64)
        if self.n_scores == 1:  # these kernels have no axis of scores
            updates, views = np.ascontiguousarray(updates[..., 0]), sums[..., 0]
        else:
            views = sums

        def run(part: int) -> None:
            first, last = self._parts[part]
            kernel(
                self._codes,
                *facts,
                updated,
                updates,
                wanted,
                self._scores,
                first,
                last,
                views[part],
            )

        if len(self._parts) == 1:
            run(0)
        else:
            with ThreadPoolExecutor(len(self._parts)) as pool:
                list(pool.map(run, range(len(self._parts))))
        total: NDArray[np.int64] = sums.sum(axis=0)
        return total


class LocalBinaryRows(_LocalRows):
    """Rows with a binary label.

    Parameters
    ----------
    codes : sequence of unsigned integer ndarray, each of shape (n_rows,)
        Fine bin of each row, per feature.
    labels : ndarray of int16, shape (n_rows,)
        0 or 1; rows with any other code (missing or undeclared label) contribute nothing.
    n_threads : int
        Most threads to sum with; the sums are exact integers and do not depend on it.
    """

    def __init__(
        self,
        codes: Sequence[NDArray[np.unsignedinteger]],
        labels: NDArray[np.int16],
        *,
        n_threads: int = 1,
    ) -> None:
        keep = (labels == 0) | (labels == 1)
        super().__init__(codes, keep, n_threads)
        self._labels = labels[keep].astype(np.int8)
        self._table = _sigmoid_table()

    def target_sums(self) -> NDArray[np.int64]:
        """Count the rows of each class; shape (2,)."""
        return np.bincount(self._labels, minlength=2).astype(np.int64) * LATTICE

    def advance(
        self,
        updated: NDArray[np.int64],
        updates: NDArray[np.int32],
        wanted: NDArray[np.int64],
        n_bins: int,
    ) -> NDArray[np.int64]:
        """Sum ``label - probability`` per bin."""
        facts = (self._labels, self._table)
        return self._advance(_advance_binary, facts, updated, updates, wanted, n_bins)


class LocalMulticlassRows(_LocalRows):
    """Rows with one of several labels; softmax residuals.

    Parameters
    ----------
    codes : sequence of unsigned integer ndarray, each of shape (n_rows,)
        Fine bin of each row, per feature.
    labels : ndarray of int16, shape (n_rows,)
        0 to n_classes - 1; rows with a negative code contribute nothing.
    n_classes : int
    n_threads : int
        Most threads to sum with.

    Notes
    -----
    With probabilities p that add up to at most 1, the residual ``onehot(y) - p`` has squared norm
    (1 - p_y)^2 + sum of the other p^2, at most 2 (1 - p_y)^2.
    """

    residual_norm = math.isqrt(2 * LATTICE**2) + 1

    def __init__(
        self,
        codes: Sequence[NDArray[np.unsignedinteger]],
        labels: NDArray[np.int16],
        *,
        n_classes: int,
        n_threads: int = 1,
    ) -> None:
        keep = labels >= 0
        super().__init__(codes, keep, n_threads)
        self.n_scores = n_classes
        self._labels = labels[keep]
        self._table = _exponential_table()
        self._scores = np.zeros((len(self._labels), n_classes), dtype=np.int32)

    def target_sums(self) -> NDArray[np.int64]:
        """Count the rows of each class; shape (n_classes,)."""
        return np.bincount(self._labels, minlength=self.n_scores).astype(np.int64) * LATTICE

    def advance(
        self,
        updated: NDArray[np.int64],
        updates: NDArray[np.int32],
        wanted: NDArray[np.int64],
        n_bins: int,
    ) -> NDArray[np.int64]:
        """Sum ``onehot(label) - softmax`` per bin and class."""
        facts = (self._labels, self._table)
        return self._advance(_advance_multiclass, facts, updated, updates, wanted, n_bins)


class LocalRegressionRows(_LocalRows):
    """Rows with a numeric target.

    Parameters
    ----------
    codes : sequence of unsigned integer ndarray, each of shape (n_rows,)
        Fine bin of each row, per feature.
    target : ndarray of float64, shape (n_rows,)
        Clipped into [lower, upper]; rows with NaN contribute nothing.
    lower, upper : float
        Declared bounds of the target.
    clip : float
        Residuals are clipped to [-clip, clip]; one unit of the lattice is clip / LATTICE.
    n_threads : int
        Most threads to sum with.
    """

    target_norm = math.isqrt(2 * LATTICE**2) + 1

    def __init__(
        self,
        codes: Sequence[NDArray[np.unsignedinteger]],
        target: NDArray[np.float64],
        *,
        lower: float,
        upper: float,
        clip: float,
        n_threads: int = 1,
    ) -> None:
        keep = ~np.isnan(target)
        super().__init__(codes, keep, n_threads)
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        centred = target[keep] - middle
        # Truncation towards zero and the clip keep both integers within their declared bounds.
        limit = int(half / clip * LATTICE)
        self._target = np.clip(np.trunc(centred / clip * LATTICE), -limit, limit).astype(np.int32)
        fraction = centred / half if half > 0 else np.zeros_like(centred)
        self._fraction = np.clip(np.trunc(fraction * LATTICE), -LATTICE, LATTICE).astype(np.int64)

    def target_sums(self) -> NDArray[np.int64]:
        """Count the rows, and sum (target - middle) / half the range; shape (2,)."""
        return np.array([self._fraction.size * LATTICE, self._fraction.sum()], dtype=np.int64)

    def advance(
        self,
        updated: NDArray[np.int64],
        updates: NDArray[np.int32],
        wanted: NDArray[np.int64],
        n_bins: int,
    ) -> NDArray[np.int64]:
        """Sum the clipped residual per bin."""
        facts = (self._target,)
        return self._advance(_advance_regression, facts, updated, updates, wanted, n_bins)
