"""The simplest backend, one row at a time in Python's integers: all others must agree with it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_SCORE
from interpret_dp.backends.local import _sigmoid_table


class SimplestRows:
    """Rows as lists of codes; subclasses say what a row's residual is."""

    def __init__(self, codes: Sequence[Any], targets: Sequence[Any]) -> None:
        self.rows = [
            (list(map(int, row)), target)
            for row, target in zip(zip(*codes, strict=True), targets, strict=True)
            if self.has_target(target)
        ]
        self.n_features = len(codes)
        self.scores = [0] * len(self.rows)

    def has_target(self, target: Any) -> bool:
        raise NotImplementedError

    def residual(self, target: Any, score: int) -> int:
        raise NotImplementedError

    def bin_counts(self, n_bins: Sequence[int]) -> list[list[int]]:
        counts = [[0] * width for width in n_bins]
        for row, _ in self.rows:
            for feature, code in enumerate(row):
                counts[feature][code] += 1
        return counts

    def merge_bins(self, maps: Sequence[Any]) -> None:
        self.rows = [
            ([int(table[code]) for table, code in zip(maps, row, strict=True)], target)
            for row, target in self.rows
        ]

    def begin(self, score: int) -> None:
        self.scores = [min(max(score, -MAX_SCORE), MAX_SCORE)] * len(self.rows)

    def advance(
        self, updated: Sequence[int], updates: Any, wanted: Sequence[int], n_bins: int
    ) -> list[list[int]]:
        sums = [[0] * n_bins for _ in wanted]
        for index, (row, target) in enumerate(self.rows):
            for slot, feature in enumerate(updated):
                moved = self.scores[index] + int(updates[slot][row[feature]])
                self.scores[index] = min(max(moved, -MAX_SCORE), MAX_SCORE)
            residual = self.residual(target, self.scores[index])
            for slot, feature in enumerate(wanted):
                sums[slot][row[feature]] += residual
        return sums


class SimplestBinaryRows(SimplestRows):
    """Labels 0 and 1; the probability is tabulated in steps of 1/256 of a logit."""

    table = _sigmoid_table().tolist()

    def has_target(self, target: Any) -> bool:
        return int(target) in (0, 1)

    def residual(self, target: Any, score: int) -> int:
        entry = min(max(score // 2**12 + 4096, 0), 8191)
        return int(target) * LATTICE - int(self.table[entry])

    def target_sums(self) -> list[int]:
        labels = [int(target) for _, target in self.rows]
        return [labels.count(0) * LATTICE, labels.count(1) * LATTICE]


class SimplestRegressionRows(SimplestRows):
    """Numeric targets between bounds; residuals are clipped."""

    def __init__(
        self, codes: Sequence[Any], targets: Any, *, lower: float, upper: float, clip: float
    ) -> None:
        super().__init__(codes, targets)
        self.middle, self.half, self.clip = (lower + upper) / 2, (upper - lower) / 2, clip

    def has_target(self, target: Any) -> bool:
        return not math.isnan(target)

    def residual(self, target: Any, score: int) -> int:
        limit = int(self.half / self.clip * LATTICE)
        centred = math.trunc((float(target) - self.middle) / self.clip * LATTICE)
        return min(max(min(max(centred, -limit), limit) - score, -LATTICE), LATTICE)

    def target_sums(self) -> list[int]:
        total = 0
        for _, target in self.rows:
            centred = float(target) - self.middle
            fraction = centred / self.half if self.half > 0 else 0.0
            total += min(max(math.trunc(fraction * LATTICE), -LATTICE), LATTICE)
        return [len(self.rows) * LATTICE, total]


def as_lists(sums: Any) -> Any:
    """Return sums of any backend as lists of Python's integers."""
    if isinstance(sums, np.ndarray):
        return sums.tolist()
    return [as_lists(part) if isinstance(part, np.ndarray) else part for part in sums]
