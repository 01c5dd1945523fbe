"""From the noise of every leaf sum to the averaged curve of its term: one linear, public map.

Each update adds ``gain * (residual sum + noise)`` to a term and is centred. To first order a
deviation N of the term changes the residual sum of a leaf by ``-sum stiffness * N``, where the
stiffness of a bin is its weight times the curvature of the loss. Both maps are known, so the
covariance follows exactly from the recorded updates; the rows play no part in it. The curve is an
average of iterates, each with more of its last change as it may be. Where an update uses contrasts
of the sums alone, nothing of their noise is in the mean of the leaves; what a deviation does to the
total, the intercept follows. A deviation M of the intercept changes the sum of a leaf by
``-M sum stiffness``, which contrasts hear where leaves differ: after a shift by the noisy mean
residual M is ``(1 - step curvature) M`` and the noise of the shift.

A covariance of all bins is as large as their number squared. Where that is too much, the variances
alone are computed, without it:

- Levels of a nominal term are leaves of their own, and meet through their weighted mean alone.
- The bins of an ordered term that no partition ever parts move as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.trainer.curves import Averaged
from interpret_dp.ebm.trainer.partitions import (
    Partition,
    TermUpdate,
    centred_change,
    without_total,
)

__all__ = [
    "cells_of_bins",
    "noise_covariance",
    "noise_variances",
    "noises_of_sums",
    "run_starts",
    "unit_covariance",
]

FloatArray = NDArray[np.float64]

# Up to so many cells the variances are exact. Without settings of the caller there are as a rule
# about 700 at most: one a leaf and round.
_MOST_CELLS = 1024
# Draws for more cells: a standard deviation comes out with a standard error of 3 %.
_DRAWS = 512
_DRAWS_AT_ONCE = 32
_CHUNK = 2**21  # numbers in one working array: 16 MiB


def noise_covariance(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    curvature: FloatArray,
    *,
    noise: float,
    averaged: Averaged,
) -> FloatArray:
    """Propagate the noise of every round into the averaged curve of one term.

    Parameters
    ----------
    updates : sequence of TermUpdate, shape (n_rounds,)
        Public record of the term.
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    curvature : ndarray of float64, shape (n_codes,)
        Mean second derivative of the loss in each bin.
    noise : float
        Standard deviation of the noise of one residual sum of the first rounds.
    averaged : Averaged
        How the curve was made of the iterates.

    Returns
    -------
    ndarray of float64, shape (n_codes, n_codes)
        In units of score squared.
    """
    return noise**2 * unit_covariance(updates, weights, curvature * weights, averaged)[0]


def unit_covariance(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    stiffness: FloatArray,
    averaged: Averaged,
) -> tuple[FloatArray, FloatArray]:
    """Return the covariance for noise of one at first, and the response of the averaged curve.

    Parameters
    ----------
    updates, weights, averaged
        As for :func:`noise_covariance`.
    stiffness : ndarray of float64, shape (n_codes,)
        Weight times curvature of each bin.

    Returns
    -------
    covariance, response : ndarray of float64, shape (n_codes, n_codes)
        Were f the curve at which this term's residuals vanish, the averaged curve without noise
        would be ``response @ f``: few rounds or leaves blur it.
    """
    covariance = np.zeros((len(weights), len(weights)))
    response = np.zeros_like(covariance)
    # Backwards in time: `onward` maps a deviation after a round to one of the averaged curve. To
    # centre the average would change nothing: every update is centred by the same weights.
    onward = np.zeros_like(covariance)
    # The same of a deviation of the intercept.
    level, curvature = np.zeros(len(weights)), _mean_curvature(updates, weights, stiffness)
    diagonal = np.einsum("ii->i", onward)  # a view
    counts = averaged.counts(len(updates))
    for index in range(len(updates) - 1, -1, -1):
        leaf = updates[index].partition.leaf
        starts = run_starts(leaf)
        diagonal += counts[index] * (1.0 + averaged.ahead)
        carried = _carried(updates[index], weights, onward, starts)
        # The change alone counts more, and not what there was before it.
        diagonal -= counts[index] * averaged.ahead
        heard = without_total(updates[index], carried.T, leaf[starts])
        covariance += updates[index].noise ** 2 * (heard.T @ heard)
        if updates[index].by_contrasts:
            level -= heard.T @ np.add.reduceat(stiffness, starts)
        kept, fresh = _intercept(updates[index], curvature)
        covariance += fresh * np.outer(level, level)
        level *= kept
        lengths = np.append(starts[1:], len(leaf)) - starts
        part = np.repeat(carried, lengths, axis=1) * stiffness
        response += part
        onward -= part
    return covariance, response


def run_starts(leaf: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Return where each leaf begins; bins of one leaf lie side by side."""
    return np.concatenate(([0], np.flatnonzero(leaf[1:] != leaf[:-1]) + 1))


def _carried(
    update: TermUpdate, weights: FloatArray, onward: FloatArray, starts: NDArray[np.int64]
) -> FloatArray:
    """Return ``onward`` after the map of ``centred_change``, with leaves in order of their bins."""
    gain = update.gain[update.partition.leaf[starts]]
    carried = np.add.reduceat(onward, starts, axis=1)
    moved = np.where(gain > 0, np.add.reduceat(weights, starts), 0.0)
    if moved.sum() > 0:
        carried -= carried[:, gain > 0].sum(axis=1)[:, np.newaxis] * (moved / moved.sum())
    return carried * gain


def noise_variances(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    curvature: FloatArray,
    *,
    noise: float,
    averaged: Averaged,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the diagonal of :func:`noise_covariance` in memory that grows with the bins alone.

    Parameters
    ----------
    updates, weights, curvature, noise, averaged
        As for :func:`noise_covariance`.
    rng : numpy.random.Generator
        For public choices.

    Returns
    -------
    ndarray of float64, shape (n_codes,)
        In units of score squared. Exact for nominal terms, and for others up to 1,024 cells; a cell
        is a range of bins, which move, that no partition parts. Of more cells, which takes many
        leaves or rounds, it is the variance of 512 simulated curves.
    """
    stiffness = curvature * weights
    if updates and _parts_each_bin(updates):
        return noise**2 * _single_bin_variances(updates, weights, stiffness, averaged)
    found = np.zeros(len(weights))
    moved = _moved_bins(updates, len(weights))
    if not moved.any():
        return found
    weights, stiffness = weights[moved], stiffness[moved]
    starts, cells = cells_of_bins(
        [
            replace(u, partition=Partition(u.partition.leaf[moved], u.partition.n_leaves))
            for u in updates
        ]
    )
    ends = np.diff(starts, append=len(weights))
    weights, stiffness = np.add.reduceat(weights, starts), np.add.reduceat(stiffness, starts)
    if len(starts) > _MOST_CELLS:
        variances = _simulated_variances(cells, weights, stiffness, averaged, rng)
    else:
        variances = np.diagonal(unit_covariance(cells, weights, stiffness, averaged)[0])
    found[moved] = noise**2 * np.repeat(variances, ends)
    return found


def _moved_bins(updates: Sequence[TermUpdate], n_bins: int) -> NDArray[np.bool_]:
    """Return which bins any update moves: the others have no noise, and give none to others."""
    moved = np.zeros(n_bins, dtype=np.bool_)
    for update in updates:
        moved |= (update.gain > 0)[update.partition.leaf]
    return moved


def cells_of_bins(updates: Sequence[TermUpdate]) -> tuple[NDArray[np.int64], list[TermUpdate]]:
    """Return the first bin of each cell, and the updates as if each cell were one bin."""
    starts = np.unique(np.concatenate([[0], *(run_starts(u.partition.leaf) for u in updates)]))
    return starts, [
        replace(u, partition=Partition(u.partition.leaf[starts], u.partition.n_leaves))
        for u in updates
    ]


def _mean_curvature(
    updates: Sequence[TermUpdate], weights: FloatArray, stiffness: FloatArray
) -> float:
    """Return that of the rows in bins that move."""
    moved = _moved_bins(updates, len(weights))
    total = float(weights[moved].sum())
    return float(stiffness[moved].sum()) / total if total > 0 else 0.0


def _intercept(update: TermUpdate, curvature: float) -> tuple[float, float]:
    """Return what is left of the intercept's deviation since the last update, and new variance."""
    shifts = update.shifts
    left = 1.0 - shifts.step * curvature
    echoes = float(np.sum((left**2) ** np.arange(shifts.number)))
    return left**shifts.number, shifts.noise**2 * echoes


def noises_of_sums(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    stiffness: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
) -> Iterator[FloatArray]:
    """Draw the noise in the sums of each update, that of the intercept included.

    Yields
    ------
    ndarray of float64, shape (n_leaves, n_draws)
        For noise of one at first.
    """
    level, curvature = np.zeros(n_draws), _mean_curvature(updates, weights, stiffness)
    for update in updates:
        n_leaves, leaf = update.partition.n_leaves, update.partition.leaf
        noise = rng.normal(scale=update.noise, size=(n_leaves, n_draws))
        kept, fresh = _intercept(update, curvature)
        level = kept * level + rng.normal(scale=fresh**0.5, size=n_draws)
        if update.by_contrasts:
            noise -= np.outer(np.bincount(leaf, stiffness, minlength=n_leaves), level)
        yield without_total(update, noise)


def _simulated_variances(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    stiffness: FloatArray,
    averaged: Averaged,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the mean squares of curves that noise of one was added to, shape (n_cells,)."""
    squares, counts = np.zeros(len(weights)), averaged.counts(len(updates))
    for _ in range(_DRAWS // _DRAWS_AT_ONCE):
        deviation = np.zeros((len(weights), _DRAWS_AT_ONCE))
        average = np.zeros_like(deviation)
        drawn = noises_of_sums(updates, weights, stiffness, _DRAWS_AT_ONCE, rng)
        for count, update, sums in zip(counts, updates, drawn, strict=True):
            leaf = update.partition.leaf
            starts = run_starts(leaf)
            sums[leaf[starts]] -= np.add.reduceat(deviation * stiffness[:, np.newaxis], starts)
            change = centred_change(update, weights, sums)
            deviation += change
            average += count * (deviation + averaged.ahead * change)
        squares += (average**2).sum(axis=1)
    return squares / _DRAWS


def _parts_each_bin(updates: Sequence[TermUpdate]) -> bool:
    """Return whether each bin is a leaf of its own in every round, with noise of its own."""
    first = updates[0].partition
    return all(
        not update.by_contrasts
        and update.partition.n_leaves == len(first.leaf)
        and np.array_equal(update.partition.leaf, first.leaf)
        for update in updates
    )


def _single_bin_variances(
    updates: Sequence[TermUpdate], weights: FloatArray, stiffness: FloatArray, averaged: Averaged
) -> FloatArray:
    """Return the variances of updates of single bins, for noise of one at first.

    Notes
    -----
    With noise e, round t takes the deviation N of each bin that moves to::

        decay_t N + gain_t e_t + c_t,    decay_t = 1 - gain_t stiffness,
        c_t = sum over bins of q_t + share_t stiffness (N - x_t),
        q_t = share_t (stiffness x_t - e_t),    share_t = gain_t weight / total weight,

    where x is what N would be without any c. The bins meet in the scalars c alone. Unrolled, with
    D(s, t) for the product of the decays of the rounds between s and t, ``c = sum of q + R c``
    with ``R_ts = sum of share_t stiffness D(s, t)``, and so ``Cov(c) = P Cov(sum of q) P'`` with
    ``P = inverse(I - R)``. The averaged curve of a bin is ``o' (gain e + c)``, where ``o_t`` is
    what remains of round t; its variance is ``o' Cov(gain e) o + o' Cov(c) o + 2 w' P' o`` with
    ``w = Cov(q, gain e) o``. That is exact.
    """
    n_rounds = len(updates)
    leaf = updates[0].partition.leaf
    variances = np.zeros(len(weights))
    moved = np.flatnonzero(np.any([update.gain[leaf] > 0 for update in updates], axis=0))
    total = max(float(weights[moved].sum()), 1e-300)
    parts = np.array_split(moved, len(moved) * n_rounds // _CHUNK + 1)

    def some(part: NDArray[np.int64]) -> _SingleBins:
        return _SingleBins(updates, weights[part] / total, stiffness[part], leaf[part])

    covariance, echo = np.zeros((n_rounds, n_rounds)), np.zeros((n_rounds, n_rounds))
    for part in parts:
        own, pull = some(part).shocks()
        covariance += own
        echo += pull
    rounds: FloatArray = np.linalg.inv(np.eye(n_rounds) - echo).astype(np.float64)
    covariance = rounds @ (covariance + np.tril(covariance, -1).T) @ rounds.T
    found = [some(part).variances(covariance, rounds, averaged) for part in parts]
    variances[moved] = np.maximum(np.concatenate(found), 0.0)
    return variances


class _SingleBins:
    """Some bins of :func:`_single_bin_variances`; arrays have one row a round."""

    def __init__(
        self,
        updates: Sequence[TermUpdate],
        weights: FloatArray,
        stiffness: FloatArray,
        leaf: NDArray[np.uint16],
    ) -> None:
        self.gain = np.array([update.gain[leaf] for update in updates])
        self.noise = np.array([update.noise**2 for update in updates])
        self.stiffness = stiffness
        self.share = self.gain * weights
        self.decay = 1.0 - self.gain * stiffness

    def shocks(self) -> tuple[FloatArray, FloatArray]:
        """Return sums over the bins: the covariance of q, its lower half; and R."""
        n_rounds = len(self.gain)
        covariance, echo = np.zeros((n_rounds, n_rounds)), np.zeros((n_rounds, n_rounds))
        square = np.zeros_like(self.stiffness)  # the variance of x
        for t in range(n_rounds):
            gain, share, noise = self.gain[t], self.share[t], self.noise[t]
            covariance[t, t] = share**2 @ (self.stiffness**2 * square + noise)
            later = share * (self.stiffness * self.decay[t] * square - gain * noise)
            # Of what x and a c have become by a later round, what its c takes.
            both = np.stack([later, np.ones_like(later)]) * self.stiffness
            for u in range(t + 1, n_rounds):
                covariance[u, t], echo[u, t] = both @ self.share[u]
                both *= self.decay[u]
            square = self.decay[t] ** 2 * square + gain**2 * noise
        return covariance, echo

    def variances(
        self, covariance: FloatArray, rounds: FloatArray, averaged: Averaged
    ) -> FloatArray:
        """Return the variance of each bin's averaged curve, from those of c and from P."""
        n_rounds = len(self.gain)
        counts, remains = averaged.counts(n_rounds), np.zeros_like(self.gain)
        more = averaged.ahead * counts
        for t in range(n_rounds - 1, -1, -1):
            remains[t] = counts[t] + more[t]
            if t + 1 < n_rounds:
                # A change is taken from where the curve was.
                remains[t] += self.decay[t + 1] * remains[t + 1] - more[t + 1]
        common = np.zeros_like(self.gain)
        answer = np.zeros_like(self.stiffness)
        for t in range(n_rounds):
            gain, heard = self.gain[t], self.noise[t] * remains[t]
            common[t] = self.share[t] * (self.stiffness * answer - gain * heard)
            answer = self.decay[t] * answer + gain**2 * heard
        own = self.noise @ (self.gain * remains) ** 2
        found: FloatArray = (
            own
            + ((covariance @ remains) * remains).sum(axis=0)
            + 2.0 * ((rounds.T @ remains) * common).sum(axis=0)
        )
        return found
