"""Boosting from noisy sums: moving partitions, few large rounds, averaged iterates.

Nori et al. (2021), Algorithm 2, with these changes: a block of features is updated from one pass
over the rows; partitions are balanced by released weights and move by a fixed rule instead of at
random; each update is centred, so that the intercept alone carries the mean; and over the last half
of the rounds, iterates that are extrapolated to a full step are averaged. All of it is post-
processing of the released sums. So is the midpoint decision: after half of the rounds terms that
are not significant are pruned, and what is planned for them serves the others. A regression's steps
are longer from then on, since correlated columns converge slowly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_RESIDUAL, AdditiveRows, Integers, RegressionRows
from interpret_dp.ebm.config import TUNING, TrainerConfig
from interpret_dp.ebm.losses import RegressionLoss, Start
from interpret_dp.ebm.shape import Shape
from interpret_dp.ebm.survival import spread_of
from interpret_dp.ebm.trainer import partitions
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.curves import BoostingResult, BoostingTask, Curves
from interpret_dp.ebm.trainer.releases import release_risk
from interpret_dp.fitting.account import progress
from interpret_dp.release import ReleaseSession
from interpret_dp.released.terms import mean_prediction

# Releases by which a regression is right on average: its residuals' shape and its shortfall.

FloatArray = NDArray[np.float64]

#: In lattice units: beyond any sensible score, but well inside int32: no update can wrap around.
LARGEST_CHANGE = 2.0**29


def score_rows(rows: AdditiveRows, scores: Sequence[FloatArray], intercept: FloatArray) -> None:
    """Give every row the score of some curves.

    Parameters
    ----------
    rows : AdditiveRows
        Private.
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        In units of the score lattice, to which they are rounded.
    intercept : ndarray of float64, shape (n_scores,)
    """
    width = max(len(curve) for curve in scores)
    updates = np.zeros((len(scores), width, len(intercept)), dtype=np.int32)
    for k, curve in enumerate(scores):
        change = np.clip(np.rint(curve * LATTICE), -LARGEST_CHANGE, LARGEST_CHANGE)
        updates[k, : len(curve)] = change
    rows.begin(np.rint(intercept * LATTICE).astype(np.int64))
    rows.advance(np.arange(len(scores)), updates, np.zeros(0, dtype=np.int64), width)


def _residual_sum(rows: AdditiveRows, width: int) -> Integers:
    """Return the sum of all residuals, shape (1, 1); private."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros((0, width, 1), dtype=np.int32)
    return np.asarray(rows.advance(*nothing, np.zeros(1, dtype=np.int64), width).sum(axis=1))


def release_residuals(
    rows: RegressionRows, start: Start, config: TrainerConfig, session: ReleaseSession
) -> Start:
    """Release the shape of the residuals, and clip them from now on as it asks for.

    What a model explains is no longer in its residuals: the rounds to come need less noise.

    Returns
    -------
    Start
        With the new bound.
    """
    loss = start.loss
    if not isinstance(loss, RegressionLoss) or loss.shape is None:
        return start  # a range of one value leaves nothing to learn
    width, edges = 2.0 * loss.half / loss.clip, loss.residual_edges()
    # A row is in one cell.
    counts, sigma = session.gaussian(
        "target cells",
        rows.residual_counts(np.rint(edges * LATTICE).astype(np.int64))[np.newaxis],
        row_norm=LATTICE,
        aligned=True,
    )
    shape = Shape.of(edges, -width, width, counts[0] / LATTICE, sigma / LATTICE, start.n_rows)
    noise_level = config.boosting(start.n_rows, start.scale).noise_level
    narrow = loss.narrowed(shape, noise_level)
    rows.bound_residuals(int(narrow.bound * LATTICE))
    return replace(start, loss=narrow, scale=narrow.late_scale(start.scale))


def release_total(
    rows: RegressionRows,
    width: int,
    bins: Sequence[Bins],
    scores: Sequence[FloatArray],
    result: BoostingResult,
    config: TrainerConfig,
    session: ReleaseSession,
) -> tuple[float, float]:
    """Release the shortfall of all predictions together; return the shift that adds it.

    Parameters
    ----------
    rows : RegressionRows
        Private; scored by the final terms.
    width : int
        Number of codes of their first feature or pair.
    bins : sequence of Bins
    scores : sequence of ndarray of float64, shape (n_codes,) each
        Final curves, in units of the target or its logarithm. Pairs leave their mean prediction.
    result : BoostingResult
        With their intercept, the number of rows, and the loss with the target's shape.
    config : TrainerConfig
    session : ReleaseSession

    Returns
    -------
    shift : float
        Of the intercept, in units of the score lattice.
    error : float
        Standard deviation of the mean prediction about the rows' mean, in units of the target.

    Notes
    -----
    A row adds its residual, whose bound is as wide as the noise allows: the wider it is, the less
    of a tail is cut off. The sum is shrunk by its error against the error that boosting, with its
    own clip, may have left.
    """
    loss, n_rows = result.start.loss, result.start.n_rows
    if not isinstance(loss, RegressionLoss) or loss.shape is None:
        return 0.0, 0.0
    norm = session.neighbourhood.sensitivity(LATTICE, aligned=False) / LATTICE
    noise = config.noise_of_total(n_rows, norm)
    clips = loss.clips()
    clips = clips[clips <= MAX_RESIDUAL / LATTICE * loss.clip]
    mean = mean_prediction(
        loss.score_origin + loss.score_unit * float(result.intercept[0]),
        scores,
        [b.weights for b in bins],
        has_log_link=loss.link == "log",
    )
    if loss.is_relative:
        # Bins of such a loss hold no exposures, by which rows are weighted in their mean.
        mean = math.exp(float(result.start.level[0]))
    if config.n_baselines:
        # Rows at high risk have short times, which an average over independent terms does not know.
        mean = loss.shape.mean
    unit = mean if loss.is_relative else 1.0
    # Of one unit of score, in units of a residual.
    slope = (mean if loss.link == "log" else loss.score_unit) / unit
    error_before = math.hypot(loss.error_left(noise), slope * result.level_noise)
    if loss.is_relative or loss.rule == "weighted mean" or config.n_baselines:
        # Weighted or clipped residuals cancel elsewhere than the total where curves are not exact.
        error_before = math.hypot(error_before, _MISFIT * loss.shape.spread / unit)
    error_before = math.hypot(error_before, loss.level_error())
    errors = loss.errors_of_total(clips, noise, error_before)
    best = int(np.argmin(errors))
    before = rows.residual_norm
    # Only the sum of target minus mean is a shortfall, whatever residuals boosting had.
    rows.bound_residuals(int(clips[best] / loss.clip * LATTICE), plain=True)
    # Residuals of two rows may have opposite signs.
    noisy, _ = session.gaussian(
        "total",
        _residual_sum(rows, width),
        row_norm=rows.residual_norm,
        aligned=False,
    )
    rows.bound_residuals(before)
    square = error_before**2
    share = square / max(square + errors[best] ** 2, np.finfo(float).tiny)
    shortfall = share * unit * loss.clip * float(noisy[0, 0]) / LATTICE / n_rows
    error = unit * math.sqrt(share) * float(errors[best])
    if loss.is_relative or config.n_baselines:
        # Of the predictions, where it was that of the targets.
        mean -= min(shortfall, loss.largest_shortfall * mean)
    return loss.shift(shortfall, mean) / loss.score_unit, error


# What weighted residuals may leave of the total, in standard deviations of the target.
_MISFIT = 0.1
_LARGEST_RETURN = 2.0**31 - 1
_MOST_AT_ONCE = 32
# Upper bound on a block's combined step, in full steps. At 2, duplicated columns oscillate. The log
# loss needs a smaller bound, because its curvature can be larger away from the start.
_MAX_BLOCK_STEP, _MAX_BLOCK_STEP_OF_LOG_LOSS = 1.9, 1.0


class _Rounds:
    """State of boosting from round to round.

    Parameters
    ----------
    rows : AdditiveRows
        Private; asked for exact sums only.
    task : BoostingTask
    session : ReleaseSession
        Every sum passes through it.
    """

    def __init__(self, rows: AdditiveRows, task: BoostingTask, session: ReleaseSession) -> None:
        self._rows, self._task, self._session = rows, task, session
        self._full_norm = rows.residual_norm
        self.terms = Curves([b.weights for b in task.bins], rows.n_scores, task.directions)
        self.movable = list(task.movable)
        self.settings = task.settings()
        self.noise, self.total_step, self._extrapolation = 0.0, 0.0, 0.0
        # Of all moves of the intercept: number, sum of steps, variance of their noise; and what
        # that was at each term's last update.
        self._shifts = np.zeros(3)
        self._seen = np.zeros((len(task.bins), 3))
        self._width = max(b.n_codes for b in task.bins)
        self._level = np.rint(task.start.level * LATTICE)
        self._level_sum = np.zeros(rows.n_scores)
        rows.begin(self._level.astype(np.int64))
        self._pending = np.zeros(0, dtype=np.int64)
        self._changes = self._no_changes(0)

    def run(
        self, rounds: range, averaged: int, verbose: bool, *, extrapolation: float = 0.0
    ) -> None:
        """Run rounds; average the last ``averaged`` iterates, extrapolated."""
        self.terms.begin_average()
        self._extrapolation = extrapolation
        self._level_sum = np.zeros_like(self._level_sum)
        so_far = {"initial": rounds.start, "total": rounds.stop}
        for number in progress(
            rounds, verbose=verbose, desc="DP-EBM rounds", unit="round", **so_far
        ):
            self._round(number)
            self.total_step += self.settings.step
            if number >= rounds.stop - averaged:
                self.terms.add_to_average()
                self._level_sum += self._level

    def _round(self, number: int) -> None:
        """Update every term that goes on once."""
        hessian = self._hessian()
        n_blocks = min(self._n_blocks, len(self.movable))
        order = self._session.public_choices.permutation(self.movable)
        for block in np.array_split(order, n_blocks):
            exact = self._rows.advance(self._pending, self._changes, block, self._width)
            self._pending, self._changes = block, self._no_changes(len(block))
            total, variance = np.zeros(self._rows.n_scores), 0.0
            for own, of_noise in self._updates(block, number, exact, hessian):
                total, variance = total + own, variance + of_noise
            largest = self._largest_change
            rate = self.settings.step / (len(block) * self._task.start.n_rows)
            shift = np.clip(np.rint(rate * total), -largest, largest)
            self._changes[0] += shift.astype(np.int32)
            self._level += shift
            self._shifts += (1.0, self.settings.step, rate**2 * variance)

    def _updates(
        self, block: Integers, number: int, exact: Integers, hessian: list[FloatArray]
    ) -> Iterator[tuple[FloatArray, float]]:
        """Update the terms of a block; yield the noisy sum of all residuals, and its variance.

        The variance is that of the noise, where that of a plain sum is one.
        """
        n_scores, residual_norm = self._rows.n_scores, self._rows.residual_norm
        planned = [self._planned(k, number, hessian[k]) for k in block]
        norms = [release.row_norm(residual_norm, n_scores) for _, _, release in planned]
        # Residuals of two rows may point in opposite directions.
        released = self._session.gaussian_each(
            "boosting",
            [
                release.exact(partitions.leaf_sums(own, part))[np.newaxis]
                for own, (part, _, release) in zip(exact, planned, strict=False)
            ],
            row_norms=norms,
            aligned=False,
        )
        parts = zip(block, planned, norms, released, strict=True)
        for slot, (k, (part, gain, release), row_norm, (noisy, sigma)) in enumerate(parts):
            # That of a plain sum would be larger by as much as its norm.
            self.noise = sigma / LATTICE * self._full_norm / row_norm
            noise, sums = row_norm / release.scale / self._full_norm, release.plain(noisy[0])
            shifts = partitions.Shifts.between(self._seen[k], self._shifts)
            self._seen[k] = self._shifts
            update = partitions.TermUpdate(part, gain, noise, release.by_contrasts, shifts)
            change = self.terms.add(
                k, update, partitions.without_total(update, sums), self._largest_change
            )
            self._changes[slot, : len(change)] = change
            total = partitions.without_common_part(release.total(sums))
            yield total, release.total_variance(noise)

    def _planned(
        self, k: int, number: int, hessian: FloatArray
    ) -> tuple[partitions.Partition, FloatArray, partitions.LeafRelease]:
        """Return a term's leaves in a round, their steps, and the form of the sums."""
        task, settings, weights = self._task, self.settings, self._task.bins[k].weights
        is_ordered = task.is_ordered[k]
        part = partitions.partition_bins(
            weights, is_ordered, settings.leaves, number, by_tails=settings.by_tails
        )
        average = 0.0 if is_ordered else task.start.n_rows / settings.leaves
        gain = partitions.leaf_gains(
            partitions.leaf_totals(part, weights),
            step=settings.step,
            count_noise=task.weight_noise,
            lightest=max(settings.least_hessian, average),
            hessian=partitions.leaf_totals(part, hessian),
        )
        gain = task.start.loss.leaf_steps(gain, part.leaf, self.terms.scores[k] / LATTICE, weights)
        adds_up = task.config.has_sites
        release = partitions.LeafRelease.of(gain, len(self.movable), adds_up=adds_up)
        return part, gain * release.has_leaves, release

    def begin_second_half(self, pruned: Sequence[int]) -> None:
        """Begin the second half of the rounds, with some terms taken back to zero."""
        # No more at a time than in a round: changes are as wide as the widest term.
        for start in range(0, len(pruned), _MOST_AT_ONCE):
            block = np.array(pruned[start : start + _MOST_AT_ONCE], dtype=np.int64)
            self._move_rows(block)
            for slot, k in enumerate(block):
                scores = self.terms.scores[k]
                # A curve of extreme noise may exceed int32, and row scores may have saturated: then
                # it is taken back inexactly, in the rows concerned only.
                back = np.clip(-scores, -_LARGEST_RETURN, _LARGEST_RETURN)
                self._changes[slot, : len(scores)] = back
                scores[:] = 0.0
        task = self._task
        if task.config.n_shapes > 1 and isinstance(self._rows, RegressionRows):
            self._move_rows(np.zeros(0, dtype=np.int64))
            later = release_residuals(self._rows, task.start, task.config, self._session)
            self._task = replace(task, start=later)
        self.follow()
        self.movable = [k for k in self.movable if k not in pruned]
        n_kept = len(self.movable) if pruned else None
        self.settings = self._task.settings(n_kept, late=True)

    def follow(self) -> None:
        """Release the baseline of a model of survival anew, at the present curves."""
        task = self._task
        if task.config.n_baselines:
            self._move_rows(np.zeros(0, dtype=np.int64))
            curves = [scores / LATTICE for scores in self.terms.scores]
            level, spread = float(self._level[0]) / LATTICE, spread_of(curves, self.terms.weights)
            later = release_risk(
                self._rows, task.start, task.config, self._session, level=level, spread=spread
            )
            self._task = replace(task, start=later)

    def _move_rows(self, block: Integers) -> None:
        """Give rows the changes that they lack, and begin those of a block of terms."""
        nothing = np.zeros(0, dtype=np.int64)
        self._rows.advance(self._pending, self._changes, nothing, self._width)
        self._pending, self._changes = block, self._no_changes(len(block))

    def result(self) -> BoostingResult:
        """Return the averages so far."""
        count = self.terms.n_averaged
        return BoostingResult(
            self.terms.averages(self._extrapolation),
            self.terms.averages(),
            self._level_sum / count / LATTICE if count else self._task.start.level,
            self.terms.updates,
            self.terms.averaging(self._extrapolation),
            self._task.start,
            self.noise,
            self.settings.step,
            self.total_step,
            # Each move forgets its step's share of the noise of earlier ones.
            self.noise * math.sqrt(self._shifts[2] / max(2.0 * self._shifts[1], 1e-300)),
        )

    @property
    def to_full_step(self) -> float:
        """Number of times that a change counts once more, to extrapolate to a full step."""
        share = self.settings.step / self._task.start.scale.step
        return min(max(1.0 / share - 1.0, 0.0), TUNING.extrapolation) if share > 0 else 0.0

    @property
    def _n_blocks(self) -> int:
        # Were all terms of a block the same one, it would move by the sum of their steps.
        full_steps = len(self.movable) * self.settings.step / self._task.start.scale.step
        is_log_loss = self._task.start.scale.start_curvature is not None
        largest = _MAX_BLOCK_STEP_OF_LOG_LOSS if is_log_loss else _MAX_BLOCK_STEP
        return max(self._task.config.n_blocks, math.ceil(full_steps / largest))

    @property
    def _largest_change(self) -> float:
        # An integer, as all changes of rows are.
        return float(np.floor(min(self.settings.largest_change * LATTICE, LARGEST_CHANGE)))

    def _hessian(self) -> list[FloatArray]:
        """Return the weight of each bin times its curvature, over the curvature at the start."""
        at_start, weights = self.settings.curvature, self.terms.weights
        if at_start is None:
            return weights
        curves = [scores / LATTICE for scores in self.terms.scores]
        curvatures = self._task.start.loss.curvatures(
            curves, self._level / LATTICE, weights, at_start, rough=True
        )
        return [
            # Of the class in which it is largest.
            own * curvature.max(axis=1) / at_start
            for own, curvature in zip(weights, curvatures, strict=True)
        ]

    def _no_changes(self, n_terms: int) -> NDArray[np.int32]:
        return np.zeros((n_terms, self._width, self._rows.n_scores), dtype=np.int32)


def boost(
    rows: AdditiveRows,
    task: BoostingTask,
    session: ReleaseSession,
    *,
    significant: Callable[[BoostingResult], Collection[int]] | None,
    verbose: bool,
) -> BoostingResult:
    """Train the shape functions.

    Parameters
    ----------
    rows : AdditiveRows
        Private; asked for exact sums only.
    task : BoostingTask
    session : ReleaseSession
        Every sum passes through it.
    significant : callable, optional
        Given the averages of the second quarter of the rounds, returns the terms that show more
        than noise. The others are pruned. By default none is.
    verbose : bool
        Show rounds and time.
    """
    rounds, config = _Rounds(rows, task, session), task.config
    half = config.n_rounds // 2
    early, pruned, begun = None, [], 0
    if half >= 2:
        quarter = half // 2 if config.n_baselines else 0
        if quarter:
            rounds.run(range(quarter), 1, verbose)
            rounds.follow()
        rounds.run(range(quarter, half), half - half // 2, verbose)
        early, begun = rounds.result(), half
        kept = set(task.movable if significant is None else significant(early))
        # Where none is significant, no term is better than another.
        if not kept.isdisjoint(task.movable):
            pruned = [k for k in task.movable if k not in kept]
        rounds.begin_second_half(pruned)
        if pruned:
            config = replace(config, n_kept=len(rounds.movable))
    later = range(begun, config.n_rounds)
    rounds.run(later, config.averaged_rounds, verbose, extrapolation=rounds.to_full_step)
    return rounds.result() if early is None else _with_pruned(rounds.result(), early, pruned)


def _with_pruned(
    result: BoostingResult, early: BoostingResult, pruned: Collection[int]
) -> BoostingResult:
    """Return a result in which pruned terms are as they were when they were pruned."""

    def of(k: int) -> BoostingResult:
        return early if k in pruned else result

    terms = range(len(result.scores))
    return replace(
        result,
        scores=[of(k).scores[k] for k in terms],
        trained=[of(k).trained[k] for k in terms],
        averaged=tuple(of(k).averaged[k] for k in terms),
        pruned=frozenset(pruned),
    )
