"""Boosting from noisy sums: moving partitions, few large rounds, averaged iterates.

Nori et al. (2021), Algorithm 2, with these changes: a block of features is updated from one pass
over the rows; partitions are balanced by released weights and move by a fixed rule instead of at
random; each update is centred, so that the intercept alone carries the mean; and over the last half
of the rounds, where a full step would have led from each iterate is averaged. All of it is post-
processing of the released sums. So is which terms go on after half of the rounds: those that show
nothing but noise leave what is planned for them to the others. A regression's residuals are clipped
closer to zero from then on, as a part of the target is explained: the noise is smaller. Its steps
are longer from then on where the curves still move one way, as those of columns do that say nearly
the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows, RegressionRows
from interpret_dp.ebm.config import BoostingSettings, TrainerConfig, Unit
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.contrasts import LeafRelease
from interpret_dp.ebm.trainer.curvature import log_loss_curvatures
from interpret_dp.ebm.trainer.curves import Averaged, Curves
from interpret_dp.ebm.trainer.objectives import mean_gains
from interpret_dp.ebm.trainer.partitions import (
    Shifts,
    TermUpdate,
    leaf_gains,
    leaf_sums,
    leaf_totals,
    partition_bins,
    without_common_part,
    without_total,
)
from interpret_dp.fitting.progress import progress
from interpret_dp.release import ReleaseDoor

__all__ = ["BoostingResult", "BoostingTask", "HalfWay", "boost"]

# In lattice units: beyond any sensible score, but well inside int32: an update cannot wrap around.
_LARGEST_CHANGE = 2.0**29
_LARGEST_RETURN = 2.0**31 - 1
_MOST_AT_ONCE = 32
# Full steps that a block may go together; with two, copies of a column swing for ever. Fewer of the
# log loss, which bends more elsewhere than where boosting starts.
_FARTHEST, _FARTHEST_IF_BENT = 1.9, 1.0
# Changes that count once more in the averages: steps are short where a full one is too loud.
_MOST_AHEAD = 19.0
# No bin counts as flatter than this share of the mean curvature: its noise would grow as much.
_FLATTEST = 0.25
# Of the quadrature in each round: the curvature only sets the length of a step.
_NODES = 8


@dataclass(frozen=True)
class BoostingResult:
    """What boosting released, in units of score, and how.

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
    dismissed : frozenset of int
        Terms that showed nothing but noise after half of the rounds: the others were trained as if
        they were zero from then on. ``scores`` and ``trained`` are their averages until then.
    noise : float
        Standard deviation of the noise of a plain residual sum of the first rounds, in residuals.
    bound : float
        Of the residuals in the last rounds, in units of the clipping bound; their noise is as much
        smaller.
    step : float
        Score per unit of mean residual of the last updates.
    way : float
        Sum of the steps of all rounds.
    drift : float
        Cosine between the movements of the curves in the last two quarters of these rounds, over
        the rows of released weights: above zero where they still go one way, below where noise
        drives them to and fro.
    """

    scores: list[NDArray[np.float64]]
    trained: list[NDArray[np.float64]]
    intercept: NDArray[np.float64]
    updates: list[list[TermUpdate]]
    averaged: tuple[Averaged, ...]
    noise: float
    step: float
    way: float
    dismissed: frozenset[int] = frozenset()
    bound: float = 1.0
    drift: float = 0.0


@dataclass(frozen=True)
class HalfWay:
    """What released numbers say after half of the rounds.

    Attributes
    ----------
    stand_out : collection of int
        Terms that stand out from their noise. The others are taken back to zero, and what is
        planned for them is spent on those; where nothing stands out, nothing is.
    bound : float or None
        Of a regression's residuals from then on, in units of the clipping bound; None to leave
        them as they are.
    drift : float
        How clearly the curves of a regression still go one way: above zero steps are longer from
        then on (:meth:`TrainerConfig.hastened`).
    """

    stand_out: Collection[int]
    bound: float | None = None
    drift: float = 0.0


@dataclass(frozen=True)
class BoostingTask:
    """What boosting is given beside the rows; all of it public.

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
    n_rows, count_noise : float
        Released number of rows; standard deviation of a released count.
    divide_by_means : bool
        Whether the loss bends in proportion to the mean, as the Poisson deviance does.
    """

    bins: Sequence[Bins]
    is_ordered: Sequence[bool]
    directions: Sequence[int]
    movable: Sequence[int]
    config: TrainerConfig
    unit: Unit
    intercept: NDArray[np.float64]
    n_rows: float
    count_noise: float
    divide_by_means: bool

    def settings(self, n_kept: int | None = None, bound: float = 1.0) -> BoostingSettings:
        """Return the settings of the rounds, or of those of so many terms and such a bound."""
        unit = replace(self.unit, norm=bound * self.unit.norm)
        return replace(self.config, n_kept=n_kept).boosting(self.n_rows, unit)


class _Rounds:
    """Boosting on its way from round to round.

    Parameters
    ----------
    rows : AdditiveRows
        Private; asked for exact sums only.
    task : BoostingTask
    door : ReleaseDoor
        Every sum passes through it.
    """

    def __init__(self, rows: AdditiveRows, task: BoostingTask, door: ReleaseDoor) -> None:
        self._rows, self._task, self._door = rows, task, door
        self.terms = Curves(task.bins, rows.n_scores, task.directions)
        self.movable = list(task.movable)
        self.settings = task.settings()
        self.noise, self.bound, self.way = 0.0, 1.0, 0.0
        self.drift, self._ahead = 0.0, 0.0
        # Of all moves of the intercept: number, sum of steps, variance of their noise; and what
        # that was at each term's last update.
        self._shifts = np.zeros(3)
        self._seen = np.zeros((len(task.bins), 3))
        self._width = max(b.n_codes for b in task.bins)
        self._level = np.rint(task.intercept * LATTICE)
        self._level_sum = np.zeros(rows.n_scores)
        rows.begin(self._level.astype(np.int64))
        self._pending = np.zeros(0, dtype=np.int64)
        self._changes = self._no_changes(0)

    def run(
        self,
        rounds: range,
        averaged: int,
        verbose: bool,
        *,
        ahead: float = 0.0,
        marked: Collection[int] = (),
    ) -> None:
        """Go through rounds, and average so many of the last ones, so far ahead."""
        self.terms.forget()
        self._ahead = ahead
        self._level_sum = np.zeros_like(self._level_sum)
        so_far = {"initial": rounds.start, "total": rounds.stop}
        for number in progress(
            rounds, verbose=verbose, desc="DP-EBM rounds", unit="round", **so_far
        ):
            self._round(number)
            self.way += self.settings.step
            if number + 1 in marked:
                self.terms.mark()
            if number >= rounds.stop - averaged:
                self.terms.remember()
                self._level_sum += self._level

    def _round(self, number: int) -> None:
        """Update every term that goes on once."""
        stiffness = _stiffness(self.terms, self._level, self.settings)
        n_blocks = min(self._n_blocks, len(self.movable))
        order = self._door.public_choices.permutation(self.movable)
        for block in np.array_split(order, n_blocks):
            exact = self._rows.advance(self._pending, self._changes, block, self._width)
            self._pending, self._changes = block, self._no_changes(len(block))
            total, variance = np.zeros(self._rows.n_scores), 0.0
            for slot, k in enumerate(block):
                more, of_noise = self._update(slot, k, number, exact[slot], stiffness[k])
                total, variance = total + more, variance + of_noise
            largest = self._largest_change
            rate = self.settings.step / (len(block) * self._task.n_rows)
            shift = np.clip(np.rint(rate * total), -largest, largest)
            self._changes[0] += shift.astype(np.int32)
            self._level += shift
            self._shifts += (1.0, self.settings.step, rate**2 * variance)

    def _update(
        self,
        slot: int,
        k: int,
        number: int,
        exact: NDArray[np.int64],
        stiffness: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], float]:
        """Update one term; return the sum of the residuals that it says, and its variance.

        The variance is that of the noise, where that of a plain sum of the first rounds is one.
        """
        task, weights = self._task, self._task.bins[k].weights
        part = partition_bins(
            weights,
            task.is_ordered[k],
            self.settings.leaves,
            number,
            by_tails=self.settings.by_tails,
        )
        average = 0.0 if task.is_ordered[k] else task.n_rows / self.settings.leaves
        leaf_weights = leaf_totals(part, weights)
        gain = leaf_gains(
            leaf_weights,
            step=self.settings.step,
            count_noise=task.count_noise,
            lightest=max(self.settings.least_stiffness, average),
            stiffness=leaf_totals(part, stiffness),
        )
        if task.divide_by_means:
            scores: Any = self.terms.scores[k][:, 0] / LATTICE
            gain = mean_gains(gain, part.leaf, scores, weights)
        release = LeafRelease.of(gain, len(self.movable))
        gain *= release.has_leaves
        residual_norm = self._rows.residual_norm
        row_norm = release.row_norm(residual_norm, self._rows.n_scores)
        # Residuals of two rows may point in opposite directions.
        noisy, sigma = self._door.gaussian(
            "boosting",
            release.exact(leaf_sums(exact, part))[np.newaxis],
            row_norm=row_norm,
            aligned=False,
        )
        self.noise = self.noise or sigma / LATTICE * residual_norm / row_norm
        noise = sigma / LATTICE / self.noise
        shifts = Shifts.between(self._seen[k], self._shifts)
        self._seen[k] = self._shifts
        update = TermUpdate(part, gain, noise, release.by_contrasts, shifts)
        change = self.terms.add(k, update, without_total(update, noisy[0]), self._largest_change)
        self._changes[slot, : len(weights)] = change
        return without_common_part(release.total(noisy[0])), release.total_variance(noise)

    def dismiss(self, dismissed: Sequence[int]) -> None:
        """Take terms back to zero, and go on without them."""
        nothing = np.zeros(0, dtype=np.int64)
        # No more at a time than in a round: changes are as wide as the widest term.
        for block in np.array_split(dismissed, -(-len(dismissed) // _MOST_AT_ONCE)):
            self._rows.advance(self._pending, self._changes, nothing, self._width)
            self._pending, self._changes = block, self._no_changes(len(block))
            for slot, k in enumerate(block):
                scores = self.terms.scores[k]
                # A curve of noise may have left int32, and rows their largest score: no harm but
                # there.
                back = np.clip(-scores, -_LARGEST_RETURN, _LARGEST_RETURN)
                self._changes[slot, : len(scores)] = back
                scores[:] = 0.0
        self.movable = [k for k in self.movable if k not in dismissed]
        self._choose_settings()

    def narrow(self, bound: float) -> None:
        """Clip the residuals of a regression closer to zero from now on."""
        if not isinstance(self._rows, RegressionRows):
            raise TypeError(f"Residuals of {type(self._rows).__name__} have a bound of their own.")
        largest = max(int(bound * LATTICE), 1)
        self._rows.narrow_residuals(largest)
        self.bound = largest / LATTICE
        self._choose_settings()

    def hasten(self, drift: float) -> None:
        """Take longer steps from now on."""
        self.drift = drift
        self._choose_settings()

    def _choose_settings(self) -> None:
        settings = self._task.settings(len(self.movable), self.bound)
        self.settings = self._task.config.hastened(settings, self.drift)

    def result(self) -> BoostingResult:
        """Return the averages so far."""
        count = self.terms.remembered
        return BoostingResult(
            self.terms.averages(self._ahead),
            self.terms.averages(),
            self._level_sum / count / LATTICE if count else self._task.intercept,
            self.terms.updates,
            self.terms.averaging(self._ahead),
            self.noise,
            self.settings.step,
            self.way,
            bound=self.bound,
            drift=self.terms.drift(),
        )

    @property
    def to_full_step(self) -> float:
        """How often a change counts once more to lead as far as a full step, or several."""
        share = self.settings.step / self._task.unit.step
        return min(max(1.0 / share - 1.0, 0.0), _MOST_AHEAD) if share > 0 else 0.0

    @property
    def _n_blocks(self) -> int:
        # Steps that are twice as long, of half as many terms at a time: a block moves no farther.
        planned = self._task.config.n_blocks * (2 if self.drift > 0 else 1)
        # Were all terms of a block the same one, it would move by the sum of their steps.
        whole = len(self.movable) * self.settings.step / self._task.unit.step
        farthest = _FARTHEST if self._task.unit.start is None else _FARTHEST_IF_BENT
        return max(planned, math.ceil(whole / farthest))

    @property
    def _largest_change(self) -> float:
        # An integer, as all changes of rows are.
        return float(np.floor(min(self.settings.largest_change * LATTICE, _LARGEST_CHANGE)))

    def _no_changes(self, n_terms: int) -> NDArray[np.int32]:
        return np.zeros((n_terms, self._width, self._rows.n_scores), dtype=np.int32)


def boost(
    rows: AdditiveRows,
    task: BoostingTask,
    door: ReleaseDoor,
    *,
    look: Callable[[BoostingResult], HalfWay] | None,
    verbose: bool,
) -> BoostingResult:
    """Train the shape functions.

    Parameters
    ----------
    rows : AdditiveRows
        Private; asked for exact sums only.
    task : BoostingTask
    door : ReleaseDoor
        Every sum passes through it.
    look : callable, optional
        Given the averages of the second quarter of the rounds, says how to go on. By default all
        goes on as it began.
    verbose : bool
        Show rounds and time.
    """
    rounds, config = _Rounds(rows, task, door), task.config
    half = config.n_rounds // 2
    if look is None or half < 2:
        rounds.run(
            range(config.n_rounds), config.averaged_rounds, verbose, ahead=rounds.to_full_step
        )
        return rounds.result()
    marked = (half // 2, 3 * half // 4, half)
    rounds.run(range(half), half - half // 2, verbose, marked=marked)
    early = rounds.result()
    seen = look(early)
    rest = [k for k in task.movable if k not in seen.stand_out]
    # Where nothing stands out no term is better than another.
    dismissed = rest if len(rest) < len(task.movable) else []
    if dismissed:
        rounds.dismiss(dismissed)
        config = replace(config, n_kept=len(rounds.movable))
    if seen.bound is not None:
        rounds.narrow(seen.bound)
    if seen.drift > 0:
        rounds.hasten(seen.drift)
    later = range(half, config.n_rounds)
    rounds.run(later, config.averaged_rounds, verbose, ahead=rounds.to_full_step)
    return _with_dismissed(rounds.result(), early, dismissed)


def _with_dismissed(
    result: BoostingResult, early: BoostingResult, dismissed: Sequence[int]
) -> BoostingResult:
    """Return a result in which dismissed terms are as they were when they were dismissed."""

    def of(k: int) -> BoostingResult:
        return early if k in dismissed else result

    terms = range(len(result.scores))
    return replace(
        result,
        scores=[of(k).scores[k] for k in terms],
        trained=[of(k).trained[k] for k in terms],
        averaged=tuple(of(k).averaged[k] for k in terms),
        dismissed=frozenset(dismissed),
    )


def _stiffness(
    terms: Curves, level: NDArray[np.float64], settings: BoostingSettings
) -> list[NDArray[np.float64]]:
    """Return the weight of each bin times its curvature, over the curvature at the start."""
    if settings.curvature is None:
        return terms.weights
    curves = [scores / LATTICE for scores in terms.scores]
    curvatures = log_loss_curvatures(curves, level / LATTICE, terms.weights, _NODES)
    return [
        # Of the class in which it is largest.
        weights * np.maximum(curvature.max(axis=1) / settings.curvature, _FLATTEST)
        for weights, curvature in zip(terms.weights, curvatures, strict=True)
    ]
