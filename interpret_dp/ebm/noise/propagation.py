"""From the noise of every leaf sum to the averaged curve of its term: one linear, public map.

Each update adds ``gain * (residual sum + noise)`` to a term and is centred. To first order a
deviation N of the term changes the residual sum of a leaf by ``-sum stiffness * N``, where the
stiffness of a bin is its weight times the curvature of the loss. Both maps are known, so the
covariance follows exactly from the recorded updates; the rows play no part in it.

A covariance of all bins is as large as their number squared. Where that is too much, the variances
alone are computed, without it:

- A nominal term may repeat one update, in which levels meet through their weighted mean alone.
- The bins of an ordered term that no partition ever parts move as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.trainer.partitions import Partition, TermUpdate, centred_change

__all__ = [
    "cells_of_bins",
    "noise_covariance",
    "noise_variances",
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
    averaged_rounds: int,
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
    averaged_rounds : int
        How many of the last rounds were averaged.

    Returns
    -------
    ndarray of float64, shape (n_codes, n_codes)
        In units of score squared.
    """
    return noise**2 * unit_covariance(updates, weights, curvature * weights, averaged_rounds)[0]


def unit_covariance(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    stiffness: FloatArray,
    averaged_rounds: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the covariance for noise of one at first, and the response of the averaged curve.

    Parameters
    ----------
    updates, weights, averaged_rounds
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
    diagonal = np.einsum("ii->i", onward)  # a view
    for index in range(len(updates) - 1, -1, -1):
        if index >= len(updates) - averaged_rounds:
            diagonal += 1.0 / averaged_rounds
        leaf = updates[index].partition.leaf
        starts = run_starts(leaf)
        carried = _carried(updates[index], weights, onward, starts)
        covariance += updates[index].noise ** 2 * (carried @ carried.T)
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
    averaged_rounds: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the diagonal of :func:`noise_covariance` in memory that grows with the bins alone.

    Parameters
    ----------
    updates, weights, curvature, noise, averaged_rounds
        As for :func:`noise_covariance`.
    rng : numpy.random.Generator
        For public choices.

    Returns
    -------
    ndarray of float64, shape (n_codes,)
        In units of score squared. Exact for nominal terms of one repeated update, and for others up
        to 1,024 cells; a cell is a range of bins, which move, that no partition parts. Of more
        cells, which takes many leaves or rounds, or a nominal term of as many levels above the
        noise whose steps grew half-way, it is the variance of 512 simulated curves.
    """
    stiffness = curvature * weights
    if updates and _is_one_update(updates):
        gain = updates[0].gain[updates[0].partition.leaf]
        shape = (len(updates), averaged_rounds)
        scale = (noise * updates[0].noise) ** 2
        return scale * _repeated_update_variances(gain, weights, stiffness, *shape)
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
        variances = _simulated_variances(cells, weights, stiffness, averaged_rounds, rng)
    else:
        variances = np.diagonal(unit_covariance(cells, weights, stiffness, averaged_rounds)[0])
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


def _simulated_variances(
    updates: Sequence[TermUpdate],
    weights: FloatArray,
    stiffness: FloatArray,
    averaged_rounds: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the mean squares of curves that noise of one was added to, shape (n_cells,)."""
    squares = np.zeros(len(weights))
    for _ in range(_DRAWS // _DRAWS_AT_ONCE):
        deviation = np.zeros((len(weights), _DRAWS_AT_ONCE))
        average = np.zeros_like(deviation)
        for index, update in enumerate(updates):
            leaf = update.partition.leaf
            starts = run_starts(leaf)
            sums = rng.normal(scale=update.noise, size=(update.partition.n_leaves, _DRAWS_AT_ONCE))
            sums[leaf[starts]] -= np.add.reduceat(deviation * stiffness[:, np.newaxis], starts)
            deviation += centred_change(update, weights, sums)
            if index >= len(updates) - averaged_rounds:
                average += deviation / averaged_rounds
        squares += (average**2).sum(axis=1)
    return squares / _DRAWS


def _is_one_update(updates: Sequence[TermUpdate]) -> bool:
    """Return whether every round has the same update, in which each bin is a leaf of its own."""
    first = updates[0]
    return all(
        update.noise == first.noise
        and len(update.gain) == len(first.partition.leaf)
        and np.array_equal(update.gain, first.gain)
        and np.array_equal(update.partition.leaf, first.partition.leaf)
        for update in updates
    )


def _repeated_update_variances(
    gain: FloatArray,
    weights: FloatArray,
    stiffness: FloatArray,
    n_rounds: int,
    averaged_rounds: int,
) -> FloatArray:
    """Return the variances of one repeated update of single bins for noise of one.

    Notes
    -----
    With noise e, an update takes the deviation of each bin i that moves from N to::

        decay_i N_i + gain_i e_i + c,    decay_i = 1 - gain_i stiffness_i,
        c = sum_j share_j (stiffness_j N_j - e_j),    share_j = gain_j weight_j / total weight.

    The bins meet in the scalars c_0, ..., c_(T-1) alone. Unrolled, with e as the rounds' noises
    of a bin, ``c = R c + sum_j Q_j e_j``: R and all Q_j are lower triangular Toeplitz matrices of
    the rounds. So the covariance of c is ``P (sum_j Q_j Q_j') P'`` with ``P = inverse(I - R)``.
    The averaged curve of a bin is ``o' (gain e + c)``, where o is what remains of each round; its
    variance is ``gain**2 o'o + o' Cov(c) o + 2 gain o' P Q o``. That is exact.
    """
    variances = np.zeros(len(weights))
    moved = np.flatnonzero(gain > 0)
    share = gain * weights / max(float(weights[moved].sum()), 1e-300)
    decay = 1.0 - gain * stiffness
    parts = np.array_split(moved, len(moved) * n_rounds // _CHUNK + 1)
    echo, covariance = np.zeros(n_rounds), np.zeros((n_rounds, n_rounds))
    for part in parts:
        powers = decay[part] ** np.arange(n_rounds)[:, np.newaxis]
        pull = share[part] * stiffness[part]
        echo += powers @ pull
        shock = np.vstack([-share[part], pull * gain[part] * powers[:-1]])
        covariance += shock @ shock.T
    for t in range(1, n_rounds):
        covariance[t, 1:] += covariance[t - 1, :-1]
    lag = np.subtract.outer(np.arange(n_rounds), np.arange(n_rounds))
    rounds = np.linalg.inv(np.eye(n_rounds) - np.where(lag > 0, echo[lag - 1], 0.0))
    covariance = rounds @ covariance @ rounds.T
    for part in parts:
        onward = np.zeros((n_rounds, len(part)))
        answer = np.zeros((n_rounds, len(part)))  # sum of decay**(t - 1 - s) onward_s over s < t
        for t in range(n_rounds - 1, -1, -1):
            onward[t] = 1.0 / averaged_rounds if t >= n_rounds - averaged_rounds else 0.0
            if t + 1 < n_rounds:
                onward[t] += decay[part] * onward[t + 1]
        for t in range(1, n_rounds):
            answer[t] = decay[part] * answer[t - 1] + onward[t - 1]
        answer = share[part] * (stiffness[part] * gain[part] * answer - onward)
        variances[part] = (
            gain[part] ** 2 * (onward**2).sum(axis=0)
            + ((covariance @ onward) * onward).sum(axis=0)
            + 2.0 * gain[part] * ((rounds.T @ onward) * answer).sum(axis=0)
        )
    return np.maximum(variances, 0.0)
