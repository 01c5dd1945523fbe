"""Boosting from noisy sums: moving partitions, few large rounds, averaged iterates.

Nori et al. (2021), Algorithm 2, with these changes: a block of features is updated from one pass
over the rows; partitions are balanced by released weights and move by a fixed rule instead of at
random; each update is centred, so that the
intercept alone carries the mean; and the last half of the iterates is averaged. All of it is
post-processing of the released sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.ebm.config import BoostingSettings, TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.curvature import log_loss_curvatures
from interpret_dp.ebm.trainer.monotone import monotone_change
from interpret_dp.ebm.trainer.objectives import mean_gains
from interpret_dp.release import ReleaseDoor

__all__ = [
    "BoostingResult",
    "Partition",
    "TermUpdate",
    "boost",
    "centred_change",
    "leaf_gains",
    "movable_terms",
    "partition_bins",
]

# Most of a partition's balance is by weight, which averages noise best; this share is by bins, so
# that bins next to a heavy one are not lumped together.
_BALANCE_BY_BINS = 0.3
_GOLDEN_RATIO = (5**0.5 - 1) / 2
# Leaves whose weight is below this many standard deviations of a count are not updated.
_SHRINK_BELOW = 2.0
# In lattice units: beyond any sensible score, but well inside int32: an update cannot wrap around.
_LARGEST_CHANGE = 2.0**29
# No bin counts as flatter than this share of the mean curvature: its noise would grow as much.
_FLATTEST = 0.25
# Of the quadrature in each round: the curvature only sets the length of a step.
_NODES = 8


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
class TermUpdate:
    """Public facts of one update of one term: enough to propagate its noise.

    Attributes
    ----------
    partition : Partition
    gain : ndarray of float64, shape (n_leaves,)
        Score added per unit of noisy residual sum.
    """

    partition: Partition
    gain: NDArray[np.float64]


@dataclass(frozen=True)
class BoostingResult:
    """What boosting released, in units of score, and how.

    Attributes
    ----------
    scores : list of ndarray of float64, shape (n_codes, n_scores) each
        Averaged shape functions, centred.
    intercept : ndarray of float64, shape (n_scores,)
    updates : list of list of TermUpdate
        For each term, its updates in order of rounds.
    noise : float
        Standard deviation of the noise of one residual sum, in residuals.
    """

    scores: list[NDArray[np.float64]]
    intercept: NDArray[np.float64]
    updates: list[list[TermUpdate]]
    noise: float


def partition_bins(
    weights: NDArray[np.float64], is_ordered: bool, n_leaves: int, round_number: int
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
    """
    leaf = np.empty(len(weights), dtype=np.uint16)
    inner = weights[1:-1]
    if is_ordered:
        total = inner.sum()
        mass = np.full(len(inner), 1.0 / len(inner))
        if total > 0:
            mass = _BALANCE_BY_BINS * mass + (1.0 - _BALANCE_BY_BINS) * inner / total
        middle = np.minimum(np.cumsum(mass) - mass / 2, 1.0)
        offset = round_number * _GOLDEN_RATIO % 1.0
        groups = np.floor(middle * min(n_leaves, len(inner)) + offset).astype(np.int64)
        # Groups follow each other; a number that no bin got is left out.
        leaf[1], leaf[2:-1] = 0, np.cumsum(groups[1:] != groups[:-1])
    else:
        leaf[1:-1] = np.arange(len(inner))
    n_inner = int(leaf[-2]) + 1
    leaf[0], leaf[-1] = n_inner, n_inner + 1
    return Partition(leaf, n_inner + 2)


def leaf_gains(
    weights: NDArray[np.float64],
    *,
    step: float,
    count_noise: float,
    lightest: float,
    stiffness: NDArray[np.float64] | None = None,
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
        Leaves whose stiffness is below this take smaller steps, as if they had this much, so that
        the noise of a light level is not larger than that of an average leaf.
    stiffness : ndarray of float64, shape (n_leaves,), optional
        Weight times curvature of the loss, summed over each leaf; by default the weights.

    Notes
    -----
    The last factor is that of the positive-part James-Stein estimator; a leaf whose weight is not
    above its noise is left alone, since nothing would ever correct the noise that it collects.
    """
    threshold = _SHRINK_BELOW * count_noise
    weights = np.maximum(weights, threshold)
    stiffness = weights if stiffness is None else stiffness
    gains: NDArray[np.float64] = step / np.maximum(stiffness, max(lightest, 1e-300))
    return gains * (1.0 - (threshold / weights) ** 2)


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
    moved = update.gain[leaf] > 0
    change: NDArray[np.float64] = (update.gain[:, np.newaxis] * sums)[leaf]
    total = float(weights[moved].sum())
    if total > 0:
        change[moved] -= weights[moved] @ change[moved] / total
    return change


def without_common_part(sums: NDArray[Any]) -> NDArray[np.float64]:
    """Subtract the mean over the classes, shape (..., n_scores).

    Adding the same to every class's score changes no probability, and exact residuals add up to
    zero over the classes: what the classes have in common is noise.
    """
    if sums.shape[-1] == 1:
        return sums.astype(np.float64)
    centred: NDArray[np.float64] = sums - sums.mean(axis=-1, keepdims=True)
    return centred


class _Terms:
    """Shape functions while they grow, on the score lattice."""

    def __init__(self, bins: Sequence[Bins], n_scores: int, directions: Sequence[int]) -> None:
        self.directions = directions
        self.weights = [b.weights for b in bins]
        self.totals = [max(float(b.weights.sum()), 1e-300) for b in bins]
        self.scores = [np.zeros((b.n_codes, n_scores)) for b in bins]
        self.sums = [np.zeros((b.n_codes, n_scores)) for b in bins]
        self.updates: list[list[TermUpdate]] = [[] for _ in bins]

    def add(
        self, term: int, update: TermUpdate, noisy: NDArray[np.int64], largest: float
    ) -> NDArray[np.float64]:
        """Move a term by its noisy leaf sums; return the integer change per bin and score."""
        sums = without_common_part(noisy)
        change = np.rint(centred_change(update, self.weights[term], sums))
        change = np.clip(change, -largest, largest)
        if self.directions[term]:
            change = monotone_change(
                self.scores[term], change, self.weights[term], self.directions[term]
            )
        self.scores[term] += change
        self.updates[term].append(update)
        return change

    def remember(self) -> None:
        for total, scores in zip(self.sums, self.scores, strict=True):
            total += scores

    def averaged(self, n_rounds: int) -> list[NDArray[np.float64]]:
        """Return averages in units of score, centred on the released weights."""
        means = [total / (n_rounds * LATTICE) for total in self.sums]
        return [
            mean - weights @ mean / whole
            for mean, weights, whole in zip(means, self.weights, self.totals, strict=True)
        ]


def boost(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
    directions: Sequence[int],
    *,
    config: TrainerConfig,
    settings: BoostingSettings,
    door: ReleaseDoor,
    intercept: NDArray[np.float64],
    n_rows: float,
    count_noise: float,
    divide_by_means: bool,
    verbose: bool,
    movable: Sequence[int] | None = None,
) -> BoostingResult:
    """Train the shape functions.

    Parameters
    ----------
    rows : AdditiveRows
        Private; asked for exact sums only.
    bins : sequence of Bins, one per term
    is_ordered : sequence of bool, one per term
    directions : sequence of {1, -1, 0}, one per term
        Of terms that are kept monotone: increasing or decreasing.
    config, settings
        Public settings.
    door : ReleaseDoor
        Every sum passes through it.
    intercept : ndarray of float64, shape (n_scores,)
        Where the score of every row starts, in units of score.
    n_rows, count_noise : float
        Released number of rows; standard deviation of a released count.
    divide_by_means : bool
        Whether the loss bends in proportion to the mean, as the Poisson deviance does.
    verbose : bool
        Show rounds and time.
    movable : sequence of int, optional
        Terms to update; by default all. The others stay zero.
    """
    movable = range(len(bins)) if movable is None else movable
    rng = door.public_choices
    terms = _Terms(bins, rows.n_scores, directions)
    width = max(b.n_codes for b in bins)
    level = np.rint(intercept * LATTICE)
    largest = min(settings.largest_change * LATTICE, _LARGEST_CHANGE)
    rows.begin(level.astype(np.int64))
    pending = np.zeros(0, dtype=np.int64)
    changes = np.zeros((0, width, rows.n_scores), dtype=np.int32)
    averaged, level_sum, noise = 0, np.zeros(rows.n_scores), 0.0
    for number in _rounds(config.n_rounds, verbose):
        stiffness = _stiffness(terms, level, settings)
        for block in np.array_split(rng.permutation(movable), min(config.n_blocks, len(movable))):
            exact = rows.advance(pending, changes, block, width)
            pending = block
            changes = np.zeros((len(block), width, rows.n_scores), dtype=np.int32)
            mean = np.zeros(rows.n_scores)
            for slot, k in enumerate(block):
                part = partition_bins(bins[k].weights, is_ordered[k], settings.leaves, number)
                average = 0.0 if is_ordered[k] else n_rows / settings.leaves
                leaf_weights = _leaf_totals(part, bins[k].weights)
                gain = leaf_gains(
                    leaf_weights,
                    step=settings.step,
                    count_noise=count_noise,
                    lightest=max(settings.least_stiffness, average),
                    stiffness=_leaf_totals(part, stiffness[k]),
                )
                if divide_by_means:
                    scores = terms.scores[k][:, 0] / LATTICE
                    gain = mean_gains(gain, part.leaf, scores, bins[k].weights)
                # Residuals of two rows may point in opposite directions.
                noisy, sigma = door.gaussian(
                    "boosting",
                    _leaf_sums(exact[slot], part)[np.newaxis],
                    row_norm=rows.residual_norm,
                    aligned=False,
                )
                noise, sums = sigma / LATTICE, noisy[0]
                changes[slot, : bins[k].n_codes] = terms.add(
                    k, TermUpdate(part, gain), sums, largest
                )
                mean += without_common_part(sums[leaf_weights > 0].sum(axis=0)) / n_rows
            shift = np.clip(np.rint(settings.step * mean / len(block)), -largest, largest)
            changes[0] += shift.astype(np.int32)
            level += shift
        if number >= config.n_rounds - config.averaged_rounds:
            terms.remember()
            averaged, level_sum = averaged + 1, level_sum + level
    if averaged == 0:
        return BoostingResult(terms.scores, intercept, terms.updates, noise)
    return BoostingResult(
        terms.averaged(averaged), level_sum / averaged / LATTICE, terms.updates, noise
    )


def movable_terms(bins: Sequence[Bins], count_noise: float) -> list[int]:
    """Return the terms that an update can move: rows above the noise in two bins or more.

    Parameters
    ----------
    bins : sequence of Bins, one per term
    count_noise : float
        Standard deviation of a released count.
    """
    threshold = _SHRINK_BELOW * count_noise
    return [
        k
        for k, b in enumerate(bins)
        if np.count_nonzero(b.weights > threshold) > 1
        or b.weights.sum() - b.weights.max() > threshold * np.sqrt(b.n_codes)
    ]


def _stiffness(
    terms: _Terms, level: NDArray[np.float64], settings: BoostingSettings
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


def _leaf_totals(part: Partition, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a released number of each bin over its leaf; shape (n_leaves,)."""
    return np.bincount(part.leaf, values, minlength=part.n_leaves).astype(np.float64)


def _leaf_sums(sums: NDArray[np.int64], part: Partition) -> NDArray[np.int64]:
    """Add the bins of each leaf, in integers; shape (n_leaves, n_scores)."""
    leaves = np.zeros((part.n_leaves, sums.shape[1]), dtype=np.int64)
    np.add.at(leaves, part.leaf, sums[: len(part.leaf)])
    return leaves


def _rounds(n_rounds: int, verbose: bool) -> Iterable[int]:
    if not verbose:
        return range(n_rounds)
    from tqdm.auto import trange

    # Rounds and time only: a training loss would be a release.
    return trange(n_rounds, desc="DP-EBM rounds", unit="round")
