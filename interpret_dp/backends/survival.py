"""Rows with a time and an event or a censoring: their place in time, and who is still at risk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends import kernels
from interpret_dp.backends.base import MAX_SCORE, Integers, Maps, Pairs
from interpret_dp.backends.local import (
    LocalPoissonRows,
    exposure_logs,
    log_means,
    lowest_log_step,
)
from interpret_dp.schema.cells import chunks
from interpret_dp.schema.encode import CELLS, PLACES

_PLACES_OF_CELL = PLACES // CELLS


def cells_of_times(
    events: NDArray[np.float64], places: NDArray[np.uint16], weights: NDArray[np.int32] | None
) -> Integers:
    """Add the weights of the rows with an event, and of those without, by cell of time; private.

    Returns
    -------
    ndarray of int64, shape (2, CELLS)
    """
    counts = np.zeros(2 * CELLS, dtype=np.int64)
    own = np.where(events > 0, 0, CELLS) + places // _PLACES_OF_CELL
    has_time = ~np.isnan(events)
    np.add.at(counts, own[has_time], LATTICE if weights is None else weights[has_time])
    return counts.reshape(2, CELLS)


def risk_table(most: float) -> tuple[NDArray[np.int32], int]:
    """Tabulate hazard ratios up to ``most``, in units of ``most / LATTICE``; and its first step."""
    ratios = np.trunc(log_means(0.0, most) / most * LATTICE)
    return ratios.astype(np.int32), lowest_log_step(most)


class LocalSurvivalRows(LocalPoissonRows):
    """Rows with an event or none at a time.

    Parameters
    ----------
    codes, target, **settings
        As for :class:`~interpret_dp.backends.local.LocalPoissonRows`: 1 for an event and 0 for
        none.
    places : ndarray of uint16, shape (n_rows,)
        Of :func:`encode_times`.
    shares : ndarray of int32, shape (PLACES,)
        Cumulative hazard at each place, as a share of the last: the exposures.
    """

    def __init__(
        self,
        codes: Any,
        target: NDArray[np.float64],
        *,
        places: NDArray[np.uint16],
        shares: NDArray[np.int32],
        **settings: Any,
    ) -> None:
        self._shares, self._first = shares, np.zeros(PLACES, dtype=np.int64)
        super().__init__(codes, target, exposure=shares[places], **settings)
        self._places = places[~np.isnan(target)]

    def _start_at(self, exposure: float) -> None:
        super()._start_at(exposure)
        # That of the offsets, which stay as they are: a copy may be made at any time.
        self._first = exposure_logs()[self._shares] - round(math.log(exposure) * LATTICE)
        self._hazards = self._first

    def begin(self, scores: Integers) -> None:
        """Set the scores of every row, on top of its own."""
        super().begin(scores)
        self._move(self._hazards - self._first)

    def pair_up(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> None:
        """Replace the features by pairs of them, from the present scores on."""
        super().pair_up(pairs, maps, widths)
        self._first = self._hazards

    def risk_sums(self, table: NDArray[np.int32], lowest: int) -> Integers:
        """Add weight times hazard ratio by cell of time, in lattice units; (CELLS,)."""
        sums = np.zeros(CELLS, dtype=np.int64)
        for rows in chunks(len(self._places)):
            # Without what the row's time adds.
            scores = self._scores[rows] - self._hazards[self._places[rows]]
            steps = (scores >> kernels.TABLE_BITS) - lowest
            ratios = table[np.clip(steps, 0, len(table) - 1)].astype(np.int64)
            if len(self._weights):
                ratios = ratios * self._weights[rows] // LATTICE
            np.add.at(sums, self._places[rows] // _PLACES_OF_CELL, ratios)
        return sums

    def follow(self, hazards: Integers) -> None:
        """Take another cumulative hazard as exposure from now on."""
        change, self._hazards = hazards - self._hazards, hazards
        self._move(change)

    def _move(self, change: Integers) -> None:
        for rows in chunks(len(self._places)):
            moved = change[self._places[rows]]
            self._scores[rows] = np.clip(self._scores[rows] + moved, -MAX_SCORE, MAX_SCORE)
        self._reach += int(np.abs(change).max())
