"""Partitions of bins into leaves, and what an update makes of the leaves' noisy sums.

All of it is computed from released weights; no row is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.tuning import TUNING
from interpret_dp.released.terms import FEWEST_ROWS

__all__ = [
    "Partition",
    "Shifts",
    "TermUpdate",
    "centred",
    "centred_change",
    "leaf_gains",
    "leaf_sums",
    "leaf_totals",
    "movable_terms",
    "partition_bins",
    "without_common_part",
    "without_total",
]

_GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Partition:
    """A partition of one feature's bins into leaves; no row is looked at for it.

    Attributes
    ----------
    leaf : ndarray of uint16, shape (n_codes,)
        Leaf of each bin. The missing and the unseen bin are leaves of their own, the last two.
    n_leaves : int
    """

    leaf: NDArray[np.uint16]
    n_leaves: int


@dataclass(frozen=True)
class Shifts:
    """Public facts of moves of the intercept, which are much alike.

    Attributes
    ----------
    number : int
    step : float
        Score per unit of mean residual.
    noise : float
        Standard deviation of the noise of one in score, where that of a plain residual sum is one.
    """

    number: int = 0
    step: float = 0.0
    noise: float = 0.0

    @classmethod
    def between(cls, before: NDArray[np.float64], now: NDArray[np.float64]) -> Shifts:
        """Return those between two counts: of moves, their steps, and their noise's variances."""
        number, steps, variance = (now - before).tolist()
        if not number:
            return cls()
        return cls(int(number), steps / number, (max(variance, 0.0) / number) ** 0.5)


@dataclass(frozen=True)
class TermUpdate:
    """Public facts of one update of one term: enough to propagate its noise.

    Attributes
    ----------
    partition : Partition
    gain : ndarray of float64, shape (n_leaves,)
        Score added per unit of noisy residual sum.
    noise : float
        Standard deviation of the noise of its sums, as a share of that of plain residual sums.
    by_contrasts : bool
        Whether it uses only what the sums of the leaves that move differ by.
    shifts : Shifts
        Of the intercept, since the term's last update.
    """

    partition: Partition
    gain: NDArray[np.float64]
    noise: float = 1.0
    by_contrasts: bool = False
    shifts: Shifts = field(default_factory=Shifts)


def partition_bins(
    weights: NDArray[np.float64],
    is_ordered: bool,
    n_leaves: int,
    round_number: int,
    *,
    by_tails: bool = False,
) -> Partition:
    """Group the bins into leaves, from released weights and the number of the round.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights; missing first, unseen last.
    is_ordered : bool
        Leaves of an ordered feature are ranges of bins. Each level of a nominal feature is a leaf
        of its own: nothing relates one level to another.
    n_leaves : int
        About how many leaves the bins of an ordered feature get.
    round_number : int
        Moves all cuts together, by multiples of the golden ratio: over the rounds the cuts fall
        evenly everywhere. Random cuts would add a variance of their own for no gain in privacy.
    by_tails : bool
        Whether the leaves of an ordered feature are instead its two tails and what is between
        them: a rare class is where a feature is extreme, if anywhere. The rounds go through tails
        of all sizes, evenly in the logarithm.
    """
    leaf = np.empty(len(weights), dtype=np.uint16)
    inner = weights[1:-1]
    if is_ordered:
        offset = round_number * _GOLDEN_RATIO % 1.0
        if by_tails:
            place = _places(inner, balance_by_bins=0.0)
            thinnest, widest = TUNING.tails
            tail = thinnest * (widest / thinnest) ** offset
            groups = (place >= tail).astype(np.int64) + (place >= 1.0 - tail)
        else:
            place = _places(inner, balance_by_bins=TUNING.balance_by_bins)
            groups = np.floor(place * min(n_leaves, len(inner)) + offset).astype(np.int64)
        # Groups follow each other; a number that no bin got is left out.
        leaf[1], leaf[2:-1] = 0, np.cumsum(groups[1:] != groups[:-1])
    else:
        leaf[1:-1] = np.arange(len(inner))
    n_inner = int(leaf[-2]) + 1
    leaf[0], leaf[-1] = n_inner, n_inner + 1
    return Partition(leaf, n_inner + 2)


def _places(weights: NDArray[np.float64], *, balance_by_bins: float) -> NDArray[np.float64]:
    """Return how far along the rows, or the bins, the middle of each bin is, from 0 to 1."""
    mass = np.full(len(weights), 1.0 / len(weights))
    total = weights.sum()
    if total > 0:
        mass = balance_by_bins * mass + (1.0 - balance_by_bins) * weights / total
    places: NDArray[np.float64] = np.minimum(np.cumsum(mass) - mass / 2, 1.0)
    return places


def leaf_gains(
    weights: NDArray[np.float64],
    *,
    step: float,
    count_noise: float,
    lightest: float,
    hessian: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the score per unit of residual sum of each leaf.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_leaves,)
        Released weight of each leaf.
    step : float
        Share of a Newton step.
    count_noise : float
        Standard deviation of a released count.
    lightest : float
        Leaves whose hessian is below this take smaller steps, as if they had this much, so that
        the noise of a light level is not larger than that of an average leaf.
    hessian : ndarray of float64, shape (n_leaves,), optional
        Weight times curvature of the loss, summed over each leaf; by default the weights.

    Notes
    -----
    The last factor is that of the positive-part James-Stein estimator; a leaf whose weight is not
    above its noise is left alone, since nothing would ever correct the noise that it collects.
    """
    threshold = FEWEST_ROWS * count_noise
    known = weights > threshold
    weights = np.where(known, weights, 1.0)
    hessian = weights if hessian is None else hessian
    gains: NDArray[np.float64] = step / np.maximum(hessian, max(lightest, 1e-300))
    return np.where(known, gains * (1.0 - (threshold / weights) ** 2), 0.0)


def centred_change(
    update: TermUpdate, weights: NDArray[np.float64], sums: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what an update makes of its leaf sums: the change per bin, (n_codes, n_scores).

    Parameters
    ----------
    update : TermUpdate
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    sums : ndarray of float64, shape (n_leaves, n_scores)

    Notes
    -----
    The change has mean zero over the rows, so that the intercept alone carries the mean. Bins in
    leaves without gain do not move at all.
    """
    leaf = update.partition.leaf
    change: NDArray[np.float64] = (update.gain[:, np.newaxis] * sums)[leaf]
    return centred(change, weights, update.gain[leaf] > 0)


def centred(
    scores: NDArray[np.float64], weights: NDArray[np.float64], moved: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Give the scores of the bins that move mean zero over the rows; leave the others as they are.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_codes, n_scores)
        Zero in bins that do not move.
    weights : ndarray of float64, shape (n_codes,)
    moved : ndarray of bool, shape (n_codes,)
    """
    total = float(weights[moved].sum())
    mean = weights @ scores / total if total > 0 else 0.0
    return np.where(moved[:, np.newaxis], scores - mean, scores)


def without_total(
    update: TermUpdate, sums: NDArray[Any], leaves: NDArray[Any] | slice = slice(None)
) -> NDArray[np.float64]:
    """Take the mean over the leaves that move out of them, if the update uses contrasts alone.

    Parameters
    ----------
    update : TermUpdate
    sums : ndarray, shape (n_leaves, n_columns)
    leaves : ndarray of int, optional
        The leaves that ``sums`` has, in its order; all of them by default.
    """
    moved = update.gain[leaves] > 0
    if not update.by_contrasts or not moved.any():
        return sums.astype(np.float64)
    found: NDArray[np.float64] = sums - moved[:, np.newaxis] * sums[moved].mean(axis=0)
    return found


def without_common_part(sums: NDArray[Any]) -> NDArray[np.float64]:
    """Subtract the mean over the classes, shape (..., n_scores).

    Adding the same to every class's score changes no probability, and exact residuals add up to
    zero over the classes: what the classes have in common is noise.
    """
    if sums.shape[-1] == 1:
        return sums.astype(np.float64)
    centred: NDArray[np.float64] = sums - sums.mean(axis=-1, keepdims=True)
    return centred


def movable_terms(bins: Sequence[Bins], count_noise: float) -> list[int]:
    """Return the terms that an update can move: rows above the noise in two bins or more.

    Parameters
    ----------
    bins : sequence of Bins, one per term
    count_noise : float
        Standard deviation of a released count.
    """
    threshold = FEWEST_ROWS * count_noise
    return [
        k
        for k, b in enumerate(bins)
        if np.count_nonzero(b.weights > threshold) > 1
        or b.weights.sum() - b.weights.max() > threshold * np.sqrt(b.n_codes)
    ]


def leaf_totals(part: Partition, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a released number of each bin over its leaf; shape (n_leaves,)."""
    return np.bincount(part.leaf, values, minlength=part.n_leaves).astype(np.float64)


def leaf_sums(sums: NDArray[np.int64], part: Partition) -> NDArray[np.int64]:
    """Add the bins of each leaf, in integers; shape (n_leaves, n_scores)."""
    leaves = np.zeros((part.n_leaves, sums.shape[1]), dtype=np.int64)
    np.add.at(leaves, part.leaf, sums[: len(part.leaf)])
    return leaves
