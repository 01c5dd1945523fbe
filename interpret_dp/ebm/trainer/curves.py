"""Boosting's curves while they grow, its public input, and its released result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.config import BoostingSettings, TrainerConfig
from interpret_dp.ebm.losses import Start
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.monotone import monotone_change
from interpret_dp.ebm.trainer.partitions import (
    TermUpdate,
    centred,
    centred_change,
    without_common_part,
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Averaged:
    """Weights of a term's iterates in its released curve.

    Attributes
    ----------
    rounds : int
        How many of its last iterates are averaged.
    extrapolation : float
        How often the change that led to each of them counts once more: 0 for plain averages, and
        1 / share - 1 for those of full steps, of which only a share was made.
    """

    rounds: int
    extrapolation: float = 0.0

    def counts(self, n_updates: int) -> FloatArray:
        """Return the weight of each iterate, and of its last change but for ``extrapolation``."""
        counts = np.zeros(n_updates)
        if self.rounds > 0:
            counts[-self.rounds :] = 1.0 / self.rounds
        return counts


class Curves:
    """Shape functions while they grow, on the score lattice."""

    def __init__(self, bins: Sequence[Bins], n_scores: int, directions: Sequence[int]) -> None:
        self.directions = directions
        self.weights = [b.weights for b in bins]
        self.scores = [np.zeros((b.n_codes, n_scores)) for b in bins]
        self.updates: list[list[TermUpdate]] = [[] for _ in bins]
        self._changes = [np.zeros_like(scores) for scores in self.scores]
        self.begin_average()

    def add(self, term: int, update: TermUpdate, noisy: FloatArray, largest: float) -> FloatArray:
        """Move a term by its noisy leaf sums; return the integer change per bin and score."""
        sums = without_common_part(noisy)
        change = np.rint(centred_change(update, self.weights[term], sums))
        change = np.clip(change, -largest, largest)
        if self.directions[term]:
            change = monotone_change(
                self.scores[term], change, self.weights[term], self.directions[term]
            )
        self.scores[term] += change
        self._changes[term] = change
        self.updates[term].append(update)
        return change

    def begin_average(self) -> None:
        """Begin an average."""
        self.n_averaged = 0
        self._sums = [np.zeros_like(scores) for scores in self.scores]
        self._moves = [np.zeros_like(scores) for scores in self.scores]

    def add_to_average(self) -> None:
        """Add the curves and their last changes to the average."""
        self.n_averaged += 1
        for totals, ones in ((self._sums, self.scores), (self._moves, self._changes)):
            for total, one in zip(totals, ones, strict=True):
                total += one

    def averaging(self, extrapolation: float) -> tuple[Averaged, ...]:
        """Return how each term is averaged: extrapolated, unless it is kept monotone.

        An extrapolated monotone curve need not be monotone.
        """
        return tuple(
            Averaged(self.n_averaged, 0.0 if direction else extrapolation)
            for direction in self.directions
        )

    def averages(self, extrapolation: float = 0.0) -> list[FloatArray]:
        """Return averages in units of score, centred on the released weights.

        Changes that were cut off are not. Bins that never moved have no noise, and stay at zero
        all the same; of a curve that is kept monotone all move, to stay in order.
        """
        if not self.n_averaged:
            return self._in_units(self.scores, 1)
        sums = [
            total + averaged.extrapolation * moves
            for total, moves, averaged in zip(
                self._sums, self._moves, self.averaging(extrapolation), strict=True
            )
        ]
        return self._in_units(sums, self.n_averaged)

    def _in_units(self, sums: Sequence[FloatArray], count: int) -> list[FloatArray]:
        means = [total / (count * LATTICE) for total in sums]
        return [
            centred(mean, weights, (mean != 0).any(axis=1) | (direction != 0))
            for mean, weights, direction in zip(means, self.weights, self.directions, strict=True)
        ]


@dataclass(frozen=True)
class BoostingResult:
    """Released result of boosting, in units of score.

    Attributes
    ----------
    scores : list of ndarray of float64, shape (n_codes, n_scores) each
        Averaged shape functions, centred.
    trained : list of ndarray of float64, shape (n_codes, n_scores) each
        The same without extrapolation: about what rows were scored with.
    intercept : ndarray of float64, shape (n_scores,)
    updates : list of list of TermUpdate
        For each term, its updates in order of rounds.
    averaged : tuple of Averaged
        For each term.
    pruned : frozenset of int
        Terms that showed nothing but noise after half of the rounds: the others were trained as if
        they were zero from then on. ``scores`` and ``trained`` are their averages until then.
    noise : float
        Standard deviation of the noise of a residual sum, in residuals.
    step : float
        Score per unit of mean residual of the last updates.
    total_step : float
        Sum of the steps of all rounds.
    level_noise : float
        Standard deviation of the noise of the intercept in one round, in units of score.
    start : Start
        That of the last rounds: a squared error may have a narrower bound then.
    """

    scores: list[FloatArray]
    trained: list[FloatArray]
    intercept: FloatArray
    updates: list[list[TermUpdate]]
    averaged: tuple[Averaged, ...]
    noise: float
    step: float
    total_step: float
    level_noise: float
    start: Start
    pruned: frozenset[int] = frozenset()


@dataclass(frozen=True)
class BoostingTask:
    """Input of boosting beside the rows; all of it public.

    Attributes
    ----------
    bins : sequence of Bins, one per term
    is_ordered : sequence of bool, one per term
    directions : sequence of {1, -1, 0}, one per term
        Of terms that are kept monotone: increasing or decreasing.
    movable : sequence of int
        Terms to update. The others stay zero.
    config : TrainerConfig
    start : Start
        Loss, number of rows, and score from which every row starts.
    weight_noise : float
        Standard deviation of the noise of a bin's weight; 0 where weights were shrunk.
    """

    bins: Sequence[Bins]
    is_ordered: Sequence[bool]
    directions: Sequence[int]
    movable: Sequence[int]
    config: TrainerConfig
    start: Start
    weight_noise: float

    def settings(self, n_kept: int | None = None, *, late: bool = False) -> BoostingSettings:
        """Return the settings of the first rounds, or of the late ones with the kept terms."""
        config = replace(self.config, n_kept=n_kept)
        return config.boosting(self.start.n_rows, self.start.scale, late=late)
