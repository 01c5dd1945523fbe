"""From the noise of every leaf sum to the averaged curve of its term: one linear, public map.

Each update adds ``gain * (residual sum + noise)`` to a term and is centred. To first order a
deviation N of the term changes the residual sum of a leaf by ``-sum hessian * N``, where the
hessian of a bin is its weight times the curvature of the loss. Both maps are known, so the
covariance follows exactly from the recorded updates; the rows play no part in it. The curve is an
average of iterates, each extrapolated by its last change. Where an update uses contrasts of the
sums alone, nothing of their noise is in the mean of the leaves; what a deviation does to the total,
the intercept follows. A deviation M of the intercept changes the sum of a leaf by
``-M sum hessian``, which shows in contrasts where leaves differ: after a shift by the noisy mean
residual M is ``(1 - step curvature) M`` and the noise of the shift.

A covariance of all bins is as large as their number squared. Where that is too much, the variances
alone are computed, without it:

- Levels of a nominal term are leaves of their own, and meet through their weighted mean alone.
- The bins of an ordered term that no partition ever parts move as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._compiled import compiled
from interpret_dp.ebm.trainer.curves import Averaged
from interpret_dp.ebm.trainer.partitions import Partition, TermUpdate, centred_change, without_total

FloatArray = NDArray[np.float64]

# Up to so many cells the variances are exact. Without settings of the caller there are as a rule
# about 700 at most: one a leaf and round.
_MOST_EXACT_CELLS = 1024
# Draws for more cells: a standard deviation comes out with a standard error of 3 %.
_DRAWS = 512
_DRAWS_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class TermHistory:
    """Public record of one score of a term, from which the noise in its averaged curve follows.

    Attributes
    ----------
    updates : sequence of TermUpdate, shape (n_rounds,)
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    hessian : ndarray of float64, shape (n_codes,)
        Weight times expected second derivative of the loss in each bin.
    averaged : Averaged
        Weights of the iterates in the curve.
    """

    updates: Sequence[TermUpdate]
    weights: FloatArray
    hessian: FloatArray
    averaged: Averaged

    @classmethod
    def of_scores(
        cls,
        updates: Sequence[TermUpdate],
        weights: FloatArray,
        curvature: FloatArray,
        averaged: Averaged,
    ) -> list[TermHistory]:
        """Return a record for each column of ``curvature``, shape (n_codes, n_scores)."""
        return [cls(updates, weights, column * weights, averaged) for column in curvature.T]

    @property
    def counts(self) -> FloatArray:
        """Weight of each iterate in the curve."""
        return self.averaged.counts(len(self.updates))

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Mask of the bins that any update moves: the others have no noise, and give none."""
        moved = np.zeros(len(self.weights), dtype=np.bool_)
        for update in self.updates:
            moved |= (update.gain > 0)[update.partition.leaf]
        return moved

    @property
    def mean_curvature(self) -> float:
        """Mean second derivative of the rows in bins that move."""
        moved = self.moved
        total = float(self.weights[moved].sum())
        return float(self.hessian[moved].sum()) / total if total > 0 else 0.0

    def of_bins(self, bins: NDArray[Any]) -> TermHistory:
        """Return the record of some bins, by their indices or a mask."""
        parts = [Partition(u.partition.leaf[bins], u.partition.n_leaves) for u in self.updates]
        updates = [replace(u, partition=p) for u, p in zip(self.updates, parts, strict=True)]
        return TermHistory(updates, self.weights[bins], self.hessian[bins], self.averaged)

    def of_cells(self) -> tuple[NDArray[np.int64], TermHistory]:
        """Return the first bin of each cell, and the record as if each cell were one bin."""
        first = (run_starts(update.partition.leaf) for update in self.updates)
        starts = np.unique(np.concatenate([[0], *first]))
        weights = np.add.reduceat(self.weights, starts)
        hessian = np.add.reduceat(self.hessian, starts)
        return starts, replace(self.of_bins(starts), weights=weights, hessian=hessian)


def unit_covariance(history: TermHistory) -> tuple[FloatArray, FloatArray]:
    """Return the covariance for noise of one, and the response of the averaged curve.

    Returns
    -------
    covariance, response : ndarray of float64, shape (n_codes, n_codes)
        Were f the curve at which this term's residuals vanish, the averaged curve without noise
        would be ``response @ f``: few rounds or leaves blur it.
    """
    updates, weights, hessian = history.updates, history.weights, history.hessian
    extrapolation = history.averaged.extrapolation
    covariance = np.zeros((len(weights), len(weights)))
    response = np.zeros_like(covariance)
    # Backwards in time: `onward` maps a deviation after a round to one of the averaged curve. To
    # centre the average would change nothing: every update is centred by the same weights.
    onward = np.zeros_like(covariance)
    # The same of a deviation of the intercept.
    level, curvature = np.zeros(len(weights)), history.mean_curvature
    diagonal = np.einsum("ii->i", onward)  # a view
    for update, count in zip(reversed(updates), history.counts[::-1], strict=True):
        leaf = update.partition.leaf
        starts = run_starts(leaf)
        diagonal += count * (1.0 + extrapolation)
        residual_map = _carried(update, weights, onward, starts)
        # The change alone counts more, and not what there was before it.
        diagonal -= count * extrapolation
        contrasts = without_total(update, residual_map.T, leaf[starts])
        covariance += update.noise**2 * (contrasts.T @ contrasts)
        if update.by_contrasts:
            level -= contrasts.T @ np.add.reduceat(hessian, starts)
        kept, fresh = _intercept(update, curvature)
        covariance += fresh * np.outer(level, level)
        level *= kept
        lengths = np.append(starts[1:], len(leaf)) - starts
        part = np.repeat(residual_map, lengths, axis=1) * hessian
        response += part
        onward -= part
    return covariance, response


def run_starts(leaf: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Return the first bin of each leaf; bins of one leaf lie side by side."""
    return np.concatenate(([0], np.flatnonzero(leaf[1:] != leaf[:-1]) + 1))


def _carried(
    update: TermUpdate, weights: FloatArray, onward: FloatArray, starts: NDArray[np.int64]
) -> FloatArray:
    """Return ``onward`` after the map of ``centred_change``, with leaves in order of their bins."""
    gain = update.gain[update.partition.leaf[starts]]
    residual_map = np.add.reduceat(onward, starts, axis=1)
    moved = np.where(gain > 0, np.add.reduceat(weights, starts), 0.0)
    if update.effects is not None:
        root = np.sqrt(moved[gain > 0])
        effects = residual_map[:, gain > 0] / root @ update.effects
        residual_map[:, gain > 0] -= effects @ update.effects.T * root
    elif moved.sum() > 0:
        residual_map -= residual_map[:, gain > 0].sum(axis=1)[:, np.newaxis] * (moved / moved.sum())
    return residual_map * gain


def noise_variances(history: TermHistory, *, noise: float, rng: np.random.Generator) -> FloatArray:
    """Return the diagonal of the covariance, in memory that grows with the bins alone.

    Parameters
    ----------
    history : TermHistory
    noise : float
        Standard deviation of the noise of one residual sum.
    rng : numpy.random.Generator
        For public choices.

    Returns
    -------
    ndarray of float64, shape (n_codes,)
        In units of score squared. Exact up to 1,024 cells; a cell is a range of bins, which move,
        that no partition parts. Of more cells it is a close approximation for a nominal term, and
        the variance of 512 simulated curves for an ordered one.
    """
    n_bins, updates = len(history.weights), history.updates
    if n_bins > _MOST_EXACT_CELLS and updates and _parts_each_bin(updates):
        return noise**2 * _single_bin_variances(history)
    found, moved = np.zeros(n_bins), history.moved
    if not moved.any():
        return found
    moving = history.of_bins(moved)
    starts, cells = moving.of_cells()
    # Of a pair, whose cells are many from here on, a covariance would take longer than the fit.
    if len(starts) > _MOST_EXACT_CELLS or updates[0].effects is not None:
        averages = (
            simulated_averages(cells, _DRAWS_AT_ONCE, rng) for _ in range(_DRAWS // _DRAWS_AT_ONCE)
        )
        variances = sum((average**2).sum(axis=1) for average in averages) / _DRAWS
    else:
        variances = np.diagonal(unit_covariance(cells)[0])
    found[moved] = noise**2 * np.repeat(variances, np.diff(starts, append=len(moving.weights)))
    return found


def _intercept(update: TermUpdate, curvature: float) -> tuple[float, float]:
    """Return the remaining share of the intercept's deviation, and its new variance."""
    shifts = update.shifts
    left = 1.0 - shifts.step * curvature
    accumulated = float(np.sum((left**2) ** np.arange(shifts.number)))
    return left**shifts.number, shifts.noise**2 * accumulated


def simulated_averages(
    history: TermHistory,
    n_draws: int,
    rng: np.random.Generator,
    moved: Callable[[FloatArray, FloatArray], FloatArray] = np.add,
) -> FloatArray:
    """Return what noise of one does to averaged curves, shape (n_cells, n_draws).

    Parameters
    ----------
    history : TermHistory
        Of cells.
    n_draws : int
    rng : numpy.random.Generator
        For public choices.
    moved : callable, optional
        From deviations of the curves and their change to the next deviations; by default the sum.
    """
    deviation, average = np.zeros((2, len(history.weights), n_draws))
    level, curvature = np.zeros(n_draws), history.mean_curvature
    for count, update in zip(history.counts, history.updates, strict=True):
        n_leaves, leaf = update.partition.n_leaves, update.partition.leaf
        noise = rng.normal(scale=update.noise, size=(n_leaves, n_draws))
        # That of the intercept shows in contrasts.
        kept, fresh = _intercept(update, curvature)
        level = kept * level + rng.normal(scale=fresh**0.5, size=n_draws)
        if update.by_contrasts:
            noise -= np.outer(np.bincount(leaf, history.hessian, minlength=n_leaves), level)
        sums = without_total(update, noise)
        starts = run_starts(leaf)
        sums[leaf[starts]] -= np.add.reduceat(deviation * history.hessian[:, np.newaxis], starts)
        change = centred_change(update, history.weights, sums)
        deviation = moved(deviation, change)
        average += count * (deviation + history.averaged.extrapolation * change)
    return average


def _parts_each_bin(updates: Sequence[TermUpdate]) -> bool:
    """Return whether each bin is a leaf of its own in every round, with noise of its own."""
    first = updates[0].partition
    return all(
        not update.by_contrasts
        and update.effects is None
        and update.partition.n_leaves == len(first.leaf)
        and np.array_equal(update.partition.leaf, first.leaf)
        for update in updates
    )


def _single_bin_variances(history: TermHistory) -> FloatArray:
    """Return the variances of updates of single bins, for noise of one.

    Notes
    -----
    Without centring the bins would have nothing in common: a round turns the deviation N of a bin
    into ``(1 - gain hessian) N + gain noise``. Here their average is centred, by the weights that
    centre each round: a difference of the order of a bin's share of the rows.
    """
    updates, weights = history.updates, history.weights
    leaf, extrapolation = updates[0].partition.leaf, history.averaged.extrapolation
    gains = np.array([update.gain[leaf] for update in updates])
    own, onward = np.zeros(len(weights)), np.zeros(len(weights))
    for gain, count in zip(gains[::-1], history.counts[::-1], strict=True):
        onward += count * (1.0 + extrapolation)
        own += (gain * onward) ** 2
        # The change alone counts more, and not what there was before it.
        onward -= count * extrapolation + gain * history.hessian * onward
    moved = (gains > 0).any(axis=0)
    shares = np.where(moved, weights, 0.0) / max(float(weights[moved].sum()), 1e-300)
    return np.where(moved, own + shares**2 @ own, 0.0)


# Noise of a monotone term: simulated, since the projection is no linear map.
#
# From released numbers alone: the curve as released is taken for the truth, and the recorded
# updates are run again on it with fresh noise and the projection after each. Where the curve is
# steep against its noise, projections change nothing, and the result is that of
# :func:`~interpret_dp.ebm.noise.propagation.noise_variances`; where it is flat, bins are pooled,
# and less noise remains.

# As many draws as for wide terms: a standard deviation has a standard error of 3 %.
_PROJECTIONS_AT_ONCE = 64


def projected_variances(
    history: TermHistory,
    curve: FloatArray,
    direction: int,
    *,
    noise: float,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the variance of the added noise in a term that was kept monotone.

    Parameters
    ----------
    history, noise, rng
        As for :func:`~interpret_dp.ebm.noise.propagation.noise_variances`; iterates are averaged as
        they are.
    curve : ndarray of float64, shape (n_codes,)
        The released curve, in units of ``noise``'s score.
    direction : {1, -1}

    Returns
    -------
    ndarray of float64, shape (n_codes,)
        In units of score squared; of 512 simulated curves, around their mean.
    """
    n_bins = len(history.weights)
    if not history.updates or noise == 0:
        return np.zeros(n_bins)
    starts, cells = history.of_cells()
    # A projection commutes with a change of units: simulated is noise of one, upwards.
    truth = direction / noise * curve[starts, np.newaxis]

    def moved(deviation: FloatArray, change: FloatArray) -> FloatArray:
        curves = truth + deviation + change
        project_columns(curves[1:-1], cells.weights[1:-1])
        return np.asarray(curves - truth)

    total, squares = np.zeros(len(starts)), np.zeros(len(starts))
    for _ in range(_DRAWS // _PROJECTIONS_AT_ONCE):
        average = simulated_averages(cells, _PROJECTIONS_AT_ONCE, rng, moved)
        total += average.sum(axis=1)
        squares += (average**2).sum(axis=1)
    variances = np.maximum(squares - total**2 / _DRAWS, 0.0) / (_DRAWS - 1)
    return noise**2 * np.repeat(variances, np.diff(starts, append=n_bins))


@compiled()
def project_columns(curves: FloatArray, weights: FloatArray) -> None:
    """Replace each column by the nearest increasing curve, in place: pool adjacent violators.

    What :func:`interpret_dp.released.arrays.isotonic` does to one curve, a hundred times as fast:
    a simulation projects tens of thousands.

    Parameters
    ----------
    curves : ndarray of float64, shape (n_bins, n_curves)
    weights : ndarray of float64, shape (n_bins,)
        Above 0.
    """
    n_bins, n_curves = curves.shape
    means, masses = np.empty(n_bins), np.empty(n_bins)
    ends = np.empty(n_bins, np.int64)
    for column in range(n_curves):
        blocks = 0
        for at in range(n_bins):
            mean, mass = curves[at, column], weights[at]
            while blocks > 0 and means[blocks - 1] >= mean:
                blocks -= 1
                joint = masses[blocks] + mass
                mean = (masses[blocks] * means[blocks] + mass * mean) / joint
                mass = joint
            means[blocks], masses[blocks], ends[blocks] = mean, mass, at + 1
            blocks += 1
        start = 0
        for block in range(blocks):
            curves[start : ends[block], column] = means[block]
            start = ends[block]
