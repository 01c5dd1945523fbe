"""Input of boosting beside the rows, and its released result; all of it public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import BoostingSettings, TrainerConfig, Unit
from interpret_dp.ebm.losses import Loss
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.curves import Averaged
from interpret_dp.ebm.trainer.partitions import TermUpdate

__all__ = ["BoostingResult", "BoostingTask"]


@dataclass(frozen=True)
class BoostingResult:
    """Released result of boosting, in units of score.

    Attributes
    ----------
    scores : list of ndarray of float64, shape (n_codes, n_scores) each
        Averaged shape functions, centred.
    trained : list of ndarray of float64, shape (n_codes, n_scores) each
        The same without what they are ahead: about what rows were scored with.
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
    way : float
        Sum of the steps of all rounds.
    """

    scores: list[NDArray[np.float64]]
    trained: list[NDArray[np.float64]]
    intercept: NDArray[np.float64]
    updates: list[list[TermUpdate]]
    averaged: tuple[Averaged, ...]
    noise: float
    step: float
    way: float
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
    unit : Unit
        Scale of the loss.
    intercept : ndarray of float64, shape (n_scores,)
        Where the score of every row starts, in units of score.
    n_rows : float
        Released number of rows.
    weight_noise : float
        Standard deviation of the noise of a bin's weight; 0 where weights were shrunk.
    loss : Loss
    """

    bins: Sequence[Bins]
    is_ordered: Sequence[bool]
    directions: Sequence[int]
    movable: Sequence[int]
    config: TrainerConfig
    unit: Unit
    intercept: NDArray[np.float64]
    n_rows: float
    weight_noise: float
    loss: Loss

    def settings(self, n_kept: int | None = None, *, late: bool = False) -> BoostingSettings:
        """Return the settings of the first rounds, or of the late ones with the kept terms."""
        return replace(self.config, n_kept=n_kept).boosting(self.n_rows, self.unit, late=late)
