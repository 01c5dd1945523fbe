"""Rows in this process's memory: exact sums over bins, grids and tables of residuals."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends import kernels
from interpret_dp.backends.base import (
    MAX_RESIDUAL,
    MAX_SCORE,
    CodeArray,
    Integers,
    Integers32,
    Maps,
    Pairs,
)
from interpret_dp.schema.cells import chunks
from interpret_dp.schema.encode import code_dtype

# Grids of several features' bins, so that the loops over rows look up once for all of them.
#
# A sum over the bins of two features is twice a look-up and an addition a row. A sum over the cells
# of both is one, and the sums of each feature are sums of cells: the same integers.

# Two features of 66 codes have 4,356 cells, whose sums stay in the cache that is next to the core.
_MOST_GROUP_CELLS = 2**13


@dataclass(frozen=True)
class Grids:
    """Features in groups whose cells are numbered together.

    Attributes
    ----------
    members : tuple of tuple of int
        For each group the places of its features in the list that was given.
    shapes : tuple of tuple of int
        Numbers of codes of those features.
    features : ndarray of int64, shape (n_groups, most_members)
        The features themselves, for the kernels; -1 beyond a group's last.
    """

    members: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    features: Integers

    @classmethod
    def of(
        cls, features: Integers, widths: Integers, *, most_cells: int = _MOST_GROUP_CELLS
    ) -> Grids:
        """Group features in their order, as long as a group has at most ``most_cells`` cells.

        Parameters
        ----------
        features : ndarray of int64, shape (n_features,)
        widths : ndarray of int64
            Number of codes of every feature of the table.
        most_cells : int
            A feature of more codes is a group of its own; with 0, every feature is.
        """
        members: list[list[int]] = []
        cells = most_cells + 1
        for place, feature in enumerate(features.tolist()):
            width = int(widths[feature])
            if cells * width > most_cells:
                members.append([])
                cells = 1
            members[-1].append(place)
            cells *= width
        longest = max(map(len, members), default=1)
        grouped = np.full((len(members), longest), -1, dtype=np.int64)
        for group, places in enumerate(members):
            grouped[group, : len(places)] = features[places]
        shapes = tuple(tuple(int(widths[features[place]]) for place in group) for group in members)
        return cls(tuple(map(tuple, members)), shapes, grouped)

    @property
    def n_cells(self) -> int:
        """Number of cells of the largest group."""
        return max(map(math.prod, self.shapes), default=1)

    def changes(self, updates: Integers32) -> Integers32:
        """Add the updates of each group's features per cell, shape (n_groups, n_cells).

        Parameters
        ----------
        updates : ndarray of int32, shape (n_features, n_bins)
            Their sums must be within 32 bits.
        """
        changes = np.zeros((len(self.members), self.n_cells), dtype=np.int32)
        for group, (places, shape) in enumerate(zip(self.members, self.shapes, strict=True)):
            total = updates[places[0], : shape[0]]
            for place, width in zip(places[1:], shape[1:], strict=True):
                total = (total[:, np.newaxis] + updates[place, :width]).reshape(-1)
            changes[group, : len(total)] = total
        return changes

    def sums(self, cells: Integers, n_bins: int) -> Integers:
        """Add the cells of each bin of each feature, shape (n_features, n_bins).

        Parameters
        ----------
        cells : ndarray of int64, shape (n_groups, n_cells)
        n_bins : int
            Width of the answer.
        """
        sums = np.zeros((sum(map(len, self.members)), n_bins), dtype=np.int64)
        for group, (places, shape) in enumerate(zip(self.members, self.shapes, strict=True)):
            left = cells[group, : math.prod(shape)]
            # From the last feature to the first: what is left are the sums over those behind it.
            for place, width in zip(places[:0:-1], shape[:0:-1], strict=True):
                grid = left.reshape(-1, width)
                sums[place, :width], left = grid.sum(axis=0), grid.sum(axis=1)
            sums[places[0], : shape[0]] = left
        return sums


#: One array a feature, or all of them in one block, which is then the backend's own.
Codes: TypeAlias = Sequence[CodeArray] | CodeArray

_ROWS_PER_THREAD = 50_000  # below this a second thread costs more than it saves
_PAIRS_AT_ONCE = 32  # a byte a row each


@functools.cache
def _workers(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that all fits of this process share: starting them takes as long as a pass."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="interpret_dp-rows")


# Threads do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)


class _LocalRows:
    """Codes, weights and scores of the rows that have a target."""

    _kernel: Callable[..., None]  # the loop over rows
    _target: NDArray[np.signedinteger]
    _table: NDArray[Any] = np.empty(0, dtype=np.int32)  # of probabilities, means or errors
    _lowest = 0  # step of the score at which a table of means begins

    n_scores = 1
    residual_norm = LATTICE
    target_norm = LATTICE

    def __init__(
        self,
        codes: Codes,
        keep: NDArray[np.bool_],
        *,
        weights: Integers32 | None,
        offsets: Integers32 | None = None,
        n_threads: int,
    ) -> None:
        self._codes: CodeArray = _kept_codes(codes, keep)
        n_rows = self._codes.shape[1]
        # Without weights the kernels skip the multiplication.
        self._weights = np.empty(0, dtype=np.int32) if weights is None else weights[keep]
        # What a row counts in histograms: its weight, or that times its exposure.
        self._mass = self._weights
        self._offsets = None if offsets is None else offsets[keep].astype(np.int64)
        self._scores = np.zeros(n_rows, dtype=np.int32)
        # Of each feature; None before merging, when the caller says how many there are at most.
        self._widths: Sequence[int] | None = None
        self._reach = 0  # no score is farther from zero; public
        self._offset_reach = 0 if offsets is None else MAX_SCORE
        self._n_threads = n_threads
        parts = max(1, min(n_threads, n_rows // _ROWS_PER_THREAD))
        borders = np.linspace(0, n_rows, parts + 1).astype(int).tolist()
        self._parts = list(pairwise(borders))

    def bin_counts(self, n_bins: Sequence[int]) -> list[Integers]:
        return [
            self._counts(column, width, self._mass)
            for column, width in zip(self._codes, n_bins, strict=True)
        ]

    @staticmethod
    def _counts(codes: NDArray[Any], width: int, weights: Integers32) -> Integers:
        """Add the weights of the rows of each code, in lattice units."""
        counts = np.zeros(width, dtype=np.int64)
        # In chunks, since NumPy makes 64-bit integers of the codes.
        for rows in chunks(len(codes)):
            if not len(weights):
                counts += np.bincount(codes[rows], minlength=width) * LATTICE
            else:
                # NumPy adds floats here: exact and free of order up to 2**53.
                sums = np.bincount(codes[rows], weights=weights[rows], minlength=width)
                counts += sums.astype(np.int64)
        return counts

    def merge_bins(self, maps: Maps) -> None:
        narrow = code_dtype(max(int(table.max()) for table in maps) + 1)
        n_features, n_rows = self._codes.shape
        if n_features == 0 or np.dtype(narrow).itemsize > self._codes.itemsize:
            raise ValueError(f"maps lead to {narrow.__name__}; bins can be merged, not split.")
        # In place: a merged code never takes more bytes than the fine one did.
        flat: NDArray[Any] = self._codes.reshape(-1).view(narrow)
        merged = flat[: n_features * n_rows].reshape(n_features, n_rows)
        for feature, table in enumerate(maps):
            small = table.astype(narrow)
            for rows in chunks(n_rows):
                merged[feature, rows] = small[self._codes[feature, rows]]
        self._codes = merged
        self._widths = [int(table.max()) + 1 for table in maps]

    def begin(self, scores: Integers) -> None:
        clipped = np.clip(scores, -MAX_SCORE, MAX_SCORE)
        self._reach = int(np.abs(clipped).max()) + self._offset_reach
        if self._offsets is not None:
            clipped = np.clip(clipped + self._offsets, -MAX_SCORE, MAX_SCORE)
        self._scores[...] = clipped if self._scores.ndim == 2 else clipped[..., 0]

    def advance(
        self, updated: Integers, updates: Integers32, wanted: Integers, n_bins: int
    ) -> Integers:
        """Sum residuals; see :class:`interpret_dp.backends.base.AdditiveRows`."""
        # Changes may be added up before they reach a score only if none of them can saturate it:
        # a public bound, by which all rows are treated alike.
        self._reach += int(np.abs(updates.astype(np.int64)).max(axis=(1, 2)).sum())
        saturate = self._reach > MAX_SCORE
        widths = self._widths_within(n_bins)
        moved = Grids.of(updated, widths, most_cells=0) if saturate else Grids.of(updated, widths)
        changes, requested = moved.changes(updates[..., 0]), Grids.of(wanted, widths)

        def run(first: int, last: int, sums: Integers) -> None:
            facts = self._codes, widths, self._weights, self._target
            bounds = self._table, self._lowest, self.residual_norm
            moves = moved.features, changes, saturate
            wanted = requested.features, self._scores
            self._kernel(*facts, *bounds, *moves, *wanted, first, last, sums)

        cells = self._in_parts((len(requested.members), requested.n_cells), run)
        return requested.sums(cells, n_bins)[..., np.newaxis]

    def _widths_within(self, n_bins: int) -> Integers:
        """Return how many codes each feature may have, if the widest one has ``n_bins``."""
        if self._widths is None:
            return np.full(len(self._codes), n_bins, dtype=np.int64)
        return np.minimum(np.array(self._widths, dtype=np.int64), n_bins)

    def _in_parts(
        self, shape: tuple[int, ...], run: Callable[[int, int, Integers], None]
    ) -> Integers:
        """Let ``run(first, last, sums)`` add to sums over each part of the rows; return the sum."""
        sums = np.zeros((len(self._parts), *shape), dtype=np.int64)
        if len(self._parts) == 1:
            run(*self._parts[0], sums[0])
        else:
            tasks = [
                _workers(self._n_threads).submit(run, first, last, own)
                for (first, last), own in zip(self._parts, sums, strict=True)
            ]
            for task in tasks:
                task.result()
        return np.asarray(sums.sum(axis=0))

    def product_sums(self, wanted: Sequence[int], functions: Sequence[Integers]) -> Integers:
        return products(self._codes, self._mass, wanted, functions)

    def pair_sums(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> list[Integers]:
        shapes = [(widths[first], widths[second]) for first, second in pairs]
        own, own_widths, answers = self._codes, self._widths, []
        nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 1, self.n_scores), dtype=np.int32)
        try:
            for start in range(0, len(pairs), _PAIRS_AT_ONCE):
                part = pairs[start : start + _PAIRS_AT_ONCE]
                self._codes = pair_codes(own, part, maps, widths)
                self._widths = [a * b for a, b in shapes[start : start + len(part)]]
                width = max(self._widths)
                sums = self.advance(*nothing, np.arange(len(part)), width)
                answers += list(sums)
        finally:
            self._codes, self._widths = own, own_widths
        return [
            answer[: a * b].reshape(a, b, self.n_scores)
            for answer, (a, b) in zip(answers, shapes, strict=True)
        ]

    def pair_up(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> None:
        self._codes = pair_codes(self._codes, pairs, maps, widths)
        self._widths = [widths[first] * widths[second] for first, second in pairs]
        self._offset_reach = self._reach
        self._offsets = self._scores.reshape(len(self._scores), self.n_scores).astype(np.int64)


def _kept_codes(codes: Codes, keep: NDArray[np.bool_]) -> CodeArray:
    """Return the codes of the rows to keep, shape (n_features, n_kept), contiguous.

    An array of two dimensions is the caller's no more: what is kept moves to its beginning.
    """
    n_kept = int(np.count_nonzero(keep))
    if isinstance(codes, np.ndarray) and codes.flags.c_contiguous:
        if n_kept == len(keep):
            return codes
        flat = codes.reshape(-1)
    else:
        flat = np.empty(len(codes) * n_kept, dtype=np.result_type(np.uint8, *codes))
    for feature, column in enumerate(codes):
        flat[feature * n_kept : (feature + 1) * n_kept] = column[keep]
    return flat[: len(codes) * n_kept].reshape(len(codes), n_kept)


def pair_codes(codes: CodeArray, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> CodeArray:
    """Return the cell of each row in each pair, shape (n_pairs, n_rows), each row by itself."""
    n_cells = max(widths[first] * widths[second] for first, second in pairs)
    narrow = np.uint8 if n_cells <= 256 else np.uint16
    cells: CodeArray = np.empty((len(pairs), codes.shape[1]), dtype=narrow)
    for place, (first, second) in enumerate(pairs):
        rows = (maps[first].astype(np.uint16) * np.uint16(widths[second])).astype(narrow)
        np.add(rows[codes[first]], maps[second].astype(narrow)[codes[second]], out=cells[place])
    return cells


class LocalBinaryRows(_LocalRows):
    """Rows with a label: one of two here, of more in the class below.

    Parameters
    ----------
    codes : sequence of unsigned integer ndarray, each of shape (n_rows,), or one ndarray
        Fine bin of each row, per feature. One array of shape (n_features, n_rows) is taken over,
        and changed, by the new object.
    labels : ndarray of int16, shape (n_rows,)
        0 to n_classes - 1; rows with any other code (missing or undeclared label) contribute
        nothing.
    n_classes : int
    weights : ndarray of int32, shape (n_rows,), optional
        Weight of each row, from 0 to ``LATTICE``; by default every row has the largest.
    offsets : ndarray of int32, shape (n_rows, n_scores), optional
        Scores at which each row starts, on top of those of :meth:`begin`, in lattice units.
    n_threads : int
        Most threads to sum with; the sums are exact integers and do not depend on it.
    """

    _kernel = staticmethod(kernels.advance_binary)
    _probabilities: Callable[[], NDArray[Any]] = staticmethod(kernels.sigmoid_table)

    def __init__(
        self,
        codes: Codes,
        labels: NDArray[np.int16],
        *,
        n_classes: int = 2,
        weights: Integers32 | None = None,
        offsets: Integers32 | None = None,
        n_threads: int = 1,
    ) -> None:
        keep = (labels >= 0) & (labels < n_classes)
        super().__init__(codes, keep, weights=weights, offsets=offsets, n_threads=n_threads)
        self._n_classes = n_classes
        self._target = labels[keep].astype(np.int8 if n_classes == 2 else np.int16)
        self._table = self._probabilities()

    def target_sums(self) -> Integers:
        """Add the weights of each class; shape (n_classes,)."""
        return self._counts(self._target, self._n_classes, self._weights)


class LocalMulticlassRows(LocalBinaryRows):
    """Rows with one of several labels, and a score for each; softmax residuals.

    Notes
    -----
    With probabilities p that add up to at most 1, the residual ``onehot(y) - p`` has squared norm
    (1 - p_y)^2 + sum of the other p^2, at most 2 (1 - p_y)^2.
    """

    residual_norm = math.isqrt(2 * LATTICE**2) + 1
    _probabilities = staticmethod(kernels.exponential_table)

    def __init__(
        self, codes: Codes, labels: NDArray[np.int16], *, n_classes: int, **given: Any
    ) -> None:
        super().__init__(codes, labels, n_classes=n_classes, **given)
        self.n_scores = n_classes
        self._scores = np.zeros((len(self._target), n_classes), dtype=np.int32)

    def advance(
        self, updated: Integers, updates: Integers32, wanted: Integers, n_bins: int
    ) -> Integers:
        """Sum ``weight * (onehot(label) - softmax)`` per bin and class."""

        def run(first: int, last: int, sums: Integers) -> None:
            facts = self._codes, self._weights, self._target, self._table
            moves = updated, updates, wanted, self._scores
            kernels.advance_multiclass(*facts, *moves, first, last, sums)

        return self._in_parts((len(wanted), n_bins, self.n_scores), run)


class LocalRegressionRows(_LocalRows):
    """Rows with a numeric target.

    Parameters
    ----------
    codes : sequence of unsigned integer ndarray, each of shape (n_rows,), or one ndarray
        Fine bin of each row, per feature. One array of shape (n_features, n_rows) is taken over,
        and changed, by the new object.
    target : ndarray of float64, shape (n_rows,)
        Clipped into [lower, upper]; rows with NaN contribute nothing.
    lower, upper : float
        Declared bounds of the target.
    clip : float
        Residuals are clipped to [-clip, clip]; one unit of the lattice is clip / LATTICE.
    weights : ndarray of int32, shape (n_rows,), optional
        Weight of each row, from 0 to ``LATTICE``.
    exposure : ndarray of int32, shape (n_rows,), optional
        Exposure of each row as a share of the largest, from 0 to ``LATTICE``. Its logarithm is
        added to the row's score; rows of 0 contribute nothing.
    counts_exposure : bool, default=True
        Whether histograms add exposures, not rows.
    n_threads : int
        Most threads to sum with.
    """

    _kernel = staticmethod(kernels.advance_regression)
    target_norm = math.isqrt(3 * LATTICE**2) + 1
    _exposure: Integers32 | None = None

    def __init__(
        self,
        codes: Codes,
        target: NDArray[np.float64],
        *,
        lower: float,
        upper: float,
        clip: float,
        weights: Integers32 | None = None,
        exposure: Integers32 | None = None,
        counts_exposure: bool = True,
        n_threads: int = 1,
    ) -> None:
        keep = ~np.isnan(target)
        if exposure is not None:
            keep &= exposure > 0
        super().__init__(codes, keep, weights=weights, n_threads=n_threads)
        if exposure is not None:
            self._exposure = exposure[keep]
            self.target_norm = math.isqrt(5 * LATTICE**2) + 1
            self._offset_reach = int(exposure_logs()[-1] - 2 * exposure_logs()[1])
            if counts_exposure:
                self._mass = self._exposed(slice(None)).astype(np.int32)
        # The numbers themselves, until the bound of the residuals is known: no copy of them.
        self._numbers = target if keep.all() else target[keep]
        del keep
        self._bounds: tuple[float, float] = lower, upper
        self._middle, self._half = (lower + upper) / 2, (upper - lower) / 2
        self._sums = np.zeros(3 if exposure is None else 5, dtype=np.int64)
        for rows in chunks(len(self._numbers)):
            self._sums += self._moments(rows)
        self._target = np.empty(len(self._numbers), dtype=np.int32)
        self.clip_residuals(clip)

    def _moments(self, rows: slice) -> Integers:
        """Add weight, fraction and its square over some rows."""
        centred = self._numbers[rows] - self._middle
        fraction = centred / self._half if self._half > 0 else np.zeros_like(centred)
        scaled = np.clip(np.trunc(fraction * LATTICE), -LATTICE, LATTICE).astype(np.int64)
        square = scaled**2 // LATTICE
        count = LATTICE * len(scaled)
        if len(self._weights):
            # As the kernels weigh residuals: truncated towards zero.
            large = self._weights[rows].astype(np.int64)
            scaled = np.sign(scaled) * (np.abs(scaled) * large // LATTICE)
            square = square * large // LATTICE
            count = int(large.sum())
        moments = [count, scaled.sum(), square.sum()]
        if self._exposure is not None:
            exposed = self._exposed(rows)
            squares = exposed * self._exposure[rows] // LATTICE
            moments += [exposed.sum(), squares.sum()]
        return np.array(moments, dtype=np.int64)

    def _exposed(self, rows: slice) -> Integers:
        """Return exposure times weight of some rows, truncated, in lattice units."""
        exposure = np.zeros(0) if self._exposure is None else self._exposure[rows]
        exposed = exposure.astype(np.int64)
        if len(self._weights):
            exposed = exposed * self._weights[rows] // LATTICE
        return np.asarray(exposed)

    def clip_residuals(self, clip: float, exposure: float = 1.0, mean: float = 1.0) -> None:
        """Choose the clipping bound, and the unit of exposure, before the first round.

        Parameters
        ----------
        clip : float
            Above 0, and not below half the range over 1,024: targets are 32 bits.
        exposure : float
            At which a score is the logarithm of the mean, as a share of the largest exposure.
        mean : float
            As for :meth:`interpret_dp.backends.base.RegressionRows.clip_residuals`.
        """
        self._start_at(exposure)
        self._scale_targets(clip)

    def _scale_targets(self, clip: float) -> None:
        # Truncation towards zero and the clip keep the integers within their declared bounds.
        limit = int(min(self._half / clip * LATTICE, MAX_SCORE))
        for rows in chunks(len(self._numbers)):
            scaled = np.trunc((self._numbers[rows] - self._middle) / clip * LATTICE)
            self._target[rows] = np.clip(scaled, -limit, limit)

    @property
    def _largest_mean(self) -> float:
        """Under a log link, the largest mean that a row may have; public."""
        return self._bounds[1] * (1.0 if self._exposure is None else MEANS_ABOVE)

    def _start_at(self, exposure: float) -> None:
        """Let rows start from the logarithm of their exposure over that of a score's unit."""
        if self._exposure is not None:
            shift = round(math.log(exposure) * LATTICE)
            self._offsets = (exposure_logs()[self._exposure] - shift)[:, np.newaxis]

    def target_sums(self) -> Integers:
        """Add the weights, and weight times fraction and its square; shape (3,).

        The fraction is (target - middle) / half the range, from -1 to 1. Of rows with exposures,
        also weight times exposure and its square; shape (5,).
        """
        return self._sums.copy()

    def residual_counts(self, edges: Integers) -> Integers:
        """Add the weights of the rows in cells of target minus score; (len(edges) + 1,)."""
        return self._in_cells(
            edges, lambda rows: self._target[rows].astype(np.int64) - self._scores[rows]
        )

    def bound_residuals(self, norm: int, plain: bool = False) -> None:
        """Clip residuals at another bound from now on."""
        self.residual_norm = norm

    def target_counts(self, edges: NDArray[np.float64]) -> Integers:
        """Add the weights of the rows in cells of the target; shape (len(edges) + 1,)."""
        return self._in_cells(edges, lambda rows: self._numbers[rows])

    def _in_cells(self, edges: NDArray[Any], values: Callable[[slice], NDArray[Any]]) -> Integers:
        """Add the weights of the rows in cells of what a slice of the rows has."""
        cells = np.empty(len(self._numbers), dtype=np.uint16)
        for rows in chunks(len(cells)):
            cells[rows] = np.searchsorted(edges, values(rows), side="right")
        return self._counts(cells, len(edges) + 1, self._weights)


_ROWS_AT_ONCE = 2**13
# Of a weight, in lattice units.
_WEIGHT_STEP = PRODUCT_UNIT**2


def products(
    codes: CodeArray, weights: Integers32, wanted: Sequence[int], functions: Sequence[Integers]
) -> Integers:
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


# Rows of a regression, and tables of residuals.
#
# Means and functions of the gap of target and score are looked up in tables by steps of the score.
# So a row's residual is an integer that depends on that row alone, the same wherever it is
# computed.

Residual: TypeAlias = Callable[[NDArray[np.float64], float], NDArray[np.float64]]

_STEPS = LATTICE >> kernels.TABLE_BITS  # table entries per unit of score: 256
_ENTRIES = kernels.MEANS  # means down to e**-16 of the largest: 16 times 256
_LARGEST_SCORE = 2.0**20  # of a model as released; larger ones count as that
_LARGEST_GAP = 64.0  # of the logarithms of two means


@functools.cache
def exposure_logs() -> Integers:
    """Tabulate logarithms of the shares 0 to 1 of an exposure, on the score lattice.

    Returns
    -------
    ndarray of int64, shape (LATTICE + 1,)
        Entry k is of the share k / ``LATTICE``; entry 0 is that of entry 1, the lowest.
    """
    shares = np.maximum(np.arange(LATTICE + 1), 1) / LATTICE
    logs: Integers = np.rint(np.log(shares) * LATTICE).astype(np.int64)
    return logs


def exposure_shares(exposure: NDArray[np.float64], largest: float, *, is_log: bool) -> Integers32:
    """Return exposures as shares of the largest, each by itself.

    Parameters
    ----------
    exposure : ndarray of float64, shape (n_rows,)
        Or their logarithms; what is missing or not above 0 becomes 0, what is larger the largest.
    largest : float
        Above 0; public.
    is_log : bool

    Returns
    -------
    ndarray of int32, shape (n_rows,)
        From 0 to ``LATTICE``.
    """
    if is_log:
        # By comparison with one table: the last bit of an exponential may depend on where in an
        # array a number stands.
        logs = np.clip(exposure - math.log(largest), -MAX_SCORE / LATTICE, 0.0) * LATTICE
        shares = np.searchsorted(exposure_logs(), np.rint(np.nan_to_num(logs)), side="right") - 1
        return np.where(np.isnan(exposure) | (shares < 0), 0, shares).astype(np.int32)
    shares = np.trunc(np.clip(exposure, 0.0, largest) / largest * LATTICE)
    return np.nan_to_num(shares).astype(np.int32)


#: Means of rows with exposures are cut at so many times the largest target. They may lie above it:
#: where an event ends the exposure there is one at most, and the mean of a long one may be more.
MEANS_ABOVE = 8.0


def lowest_log_step(upper: float) -> int:
    """Return the step of the score at which :func:`log_means` begins."""
    return math.floor(math.log(upper if upper > 0 else 1.0) * _STEPS) - _ENTRIES + 1


def log_means(lower: float, upper: float) -> NDArray[np.float64]:
    """Tabulate exp(score), clipped into [lower, upper], in steps of 1/256 of a score.

    Returns
    -------
    ndarray of float64, shape (4096,)
        In the middle of each step; entry 0 is of :func:`lowest_log_step`.
    """
    scores = (lowest_log_step(upper) + np.arange(_ENTRIES) + 0.5) / _STEPS
    return np.clip(np.exp(scores), lower, upper)


def means_at(scores: NDArray[np.float64], lower: float, upper: float) -> NDArray[np.float64]:
    """Return the entries of :func:`log_means` for some scores: a row's depends on nothing else."""
    means = log_means(lower, upper)
    places = np.clip(score_steps(scores) - lowest_log_step(upper), 0, len(means) - 1)
    return np.asarray(means[places.astype(np.int64)])


def class_odds(scores: NDArray[np.float64]) -> Integers:
    """Return what is in proportion to the probability of each class, from that row alone.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_classes)

    Returns
    -------
    ndarray of int64, shape (n_rows, n_classes)
        From 0 to ``LATTICE``.
    """
    steps = score_steps(scores)
    gaps = steps.max(axis=1, keepdims=True) - steps
    table = kernels.exponential_table()
    return np.asarray(table[np.minimum(gaps, len(table) - 1).astype(np.int64)])


def score_steps(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step of a table in which each score lies, whatever the scores are."""
    return np.floor(np.clip(np.nan_to_num(scores), -_LARGEST_SCORE, _LARGEST_SCORE) * _STEPS)


def poisson_table(lower: float, upper: float, clip: float, most: float) -> Integers32:
    """Return :func:`log_means` up to ``most``, centred as targets are; int32, shape (4096,).

    On the lattice, in units of ``clip / LATTICE``, truncated towards zero.
    """
    means = log_means(lower, most) - (lower + upper) / 2
    return np.clip(np.trunc(means / clip * LATTICE), -MAX_SCORE, MAX_SCORE).astype(np.int32)


def mean_weights(
    residual: Residual, lower: float, upper: float, clip: float, mean: float
) -> Integers32:
    """Tabulate the weight of target minus mean by the mean; int32, shape (4096,).

    Parameters
    ----------
    residual : callable
        From logarithms of means over ``mean``, and ``clip``, to weights.
    lower, upper : float
        As for :func:`log_means`.
    clip, mean : float
        As for :meth:`interpret_dp.backends.base.RegressionRows.clip_residuals`.

    Returns
    -------
    ndarray of int32, shape (4096,)
        In units of ``1 / LATTICE``, truncated; none is above 1,024.
    """
    means = np.maximum(log_means(lower, upper), np.finfo(float).tiny)
    gaps = np.clip(np.log(means) - math.log(mean), -_LARGEST_GAP, _LARGEST_GAP)
    weights = np.trunc(residual(gaps, clip) * LATTICE)
    return np.clip(weights, 0, MAX_SCORE).astype(np.int32)


def gap_table(residual: Residual, clip: float) -> Integers32:
    """Tabulate a residual by the gap of target and score.

    Parameters
    ----------
    residual : callable
        From gaps and ``clip`` to residuals in units of the clip.
    clip : float

    Returns
    -------
    ndarray of int32, shape (8192,)
        In units of ``clip / LATTICE``, truncated, for gaps from -16 to 16. The loop over rows clips
        them at the bound of the residuals.
    """
    gaps = (np.arange(2 * _ENTRIES) + 0.5) / _STEPS - 16
    table = np.trunc(residual(gaps, clip) * LATTICE)
    return np.clip(table, -MAX_RESIDUAL, MAX_RESIDUAL).astype(np.int32)


def log_steps(target: NDArray[np.float64], lower: float, upper: float) -> Integers32:
    """Return the logarithm of each target on the score lattice, in the middle of its step.

    Parameters
    ----------
    target : ndarray of float64, shape (n_rows,)
        From ``lower`` to ``upper``, both above 0.

    Notes
    -----
    By comparison with one table of edges: the last bit of a logarithm may depend on where in an
    array a number stands.
    """
    first = math.floor(math.log(lower) * _STEPS)
    steps = first + np.searchsorted(log_edges(lower, upper), target, side="right")
    return ((steps << kernels.TABLE_BITS) + (1 << (kernels.TABLE_BITS - 1))).astype(np.int32)


def log_edges(lower: float, upper: float) -> NDArray[np.float64]:
    """Return the targets at which the steps of :func:`log_steps` change, increasing."""
    first, last = (math.floor(math.log(bound) * _STEPS) for bound in (lower, upper))
    return np.exp(np.arange(first + 1, last + 1) / _STEPS)


class LocalPoissonRows(LocalRegressionRows):
    """Rows with a count; parameters as for :class:`LocalRegressionRows`, ``lower`` at least 0.

    Scores are logarithms of the mean. Residuals are target minus mean, clipped at ``clip``.
    """

    _kernel = staticmethod(kernels.advance_poisson)

    def clip_residuals(self, clip: float, exposure: float = 1.0, mean: float = 1.0) -> None:
        """Choose the clipping bound of targets and means, before the first round."""
        super().clip_residuals(clip, exposure)
        self._table = poisson_table(*self._bounds, clip, self._largest_mean)
        self._lowest = lowest_log_step(self._largest_mean)


class LocalWeightedRows(LocalPoissonRows):
    """Rows whose residual is target minus mean times a weight that follows the mean.

    Parameters
    ----------
    codes, target, **settings
        As for :class:`LocalPoissonRows`.
    residual : callable
        As for :func:`mean_weights`.
    """

    _is_plain = False

    def __init__(
        self, codes: Codes, target: NDArray[np.float64], *, residual: Residual, **settings: Any
    ) -> None:
        self._residual = residual
        super().__init__(codes, target, **settings)

    @property
    def _kernel(self) -> Callable[..., None]:  # type: ignore[override]
        return kernels.advance_poisson if self._is_plain else kernels.advance_weighted

    def clip_residuals(self, clip: float, exposure: float = 1.0, mean: float = 1.0) -> None:
        """Choose the clipping bound, and the mean at which a residual has a weight of 1."""
        super().clip_residuals(clip, exposure)
        means = self._bounds[0], self._largest_mean
        weights = mean_weights(self._residual, *means, clip, mean)
        self._table = np.concatenate([self._table, weights])

    def bound_residuals(self, norm: int, plain: bool = False) -> None:
        """Clip residuals at another bound from now on, with their weights or without."""
        super().bound_residuals(norm)
        self._is_plain = plain


class LocalGapRows(LocalRegressionRows):
    """Rows whose residual is a function of the gap of target and score, read from a table.

    Parameters
    ----------
    codes, target
        As for :class:`LocalRegressionRows`.
    residual : callable
        As for :func:`gap_table`.
    has_log_target : bool
        Whether the gap is that of the target's logarithm, ``lower`` being above 0. Else it is in
        units of the clip, as scores are.
    **settings
        As for :class:`LocalRegressionRows`.
    """

    def __init__(
        self,
        codes: Codes,
        target: NDArray[np.float64],
        *,
        residual: Residual,
        has_log_target: bool,
        **settings: Any,
    ) -> None:
        self._residual, self._has_log_target = residual, has_log_target
        self._is_plain = False
        super().__init__(codes, target, **settings)

    @property
    def _kernel(self) -> Callable[..., None]:  # type: ignore[override]
        return kernels.advance_poisson if self._is_plain else kernels.advance_gap

    @property
    def _table(self) -> Integers32:  # type: ignore[override]
        return self._tables[self._is_plain][0]

    @property
    def _lowest(self) -> int:  # type: ignore[override]
        return self._tables[self._is_plain][1]

    def clip_residuals(self, clip: float, exposure: float = 1.0, mean: float = 1.0) -> None:
        """Choose the clipping bound of residuals, before the first round."""
        self._start_at(exposure)
        self._tables = [(gap_table(self._residual, clip), -_ENTRIES)]
        if self._has_log_target:
            self._unit = clip * mean
            means = poisson_table(*self._bounds, self._unit, self._largest_mean)
            self._tables.append((means, lowest_log_step(self._largest_mean)))
            self._read_targets()
        else:
            self._scale_targets(clip)

    def bound_residuals(self, norm: int, plain: bool = False) -> None:
        """Clip residuals at another bound from now on; plain ones are target minus mean."""
        super().bound_residuals(norm)
        if self._has_log_target and plain != self._is_plain:
            self._is_plain = plain
            self._read_targets()

    def _read_targets(self) -> None:
        """Read targets as they are, or their logarithms."""
        # Anew: copies of these rows may share the array.
        self._target = np.empty_like(self._target)
        if self._is_plain:
            self._scale_targets(self._unit)
            return
        for rows in chunks(len(self._numbers)):
            self._target[rows] = log_steps(self._numbers[rows], *self._bounds)


def regression_rows(
    rule: str, residual: Residual, codes: Codes, target: NDArray[np.float64], **settings: Any
) -> LocalRegressionRows:
    """Return the rows of a regression.

    Parameters
    ----------
    rule : {"difference", "mean", "weighted mean", "gap", "log gap"}
        The residual: target minus score, target minus exp(score), the same times ``residual`` of
        exp(score), or ``residual`` of the gap of the target or its logarithm. The loop over rows
        clips each.
    residual : callable
        As for :func:`gap_table`, or :func:`mean_weights`.
    codes, target, **settings
        As for :class:`LocalRegressionRows`.
    """
    if rule == "difference":
        return LocalRegressionRows(codes, target, **settings)
    if rule == "mean":
        return LocalPoissonRows(codes, target, **settings)
    if rule == "weighted mean":
        return LocalWeightedRows(codes, target, residual=residual, **settings)
    has_log_target = rule == "log gap"
    return LocalGapRows(codes, target, residual=residual, has_log_target=has_log_target, **settings)
