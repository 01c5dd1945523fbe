"""Partitions of bins into leaves, the form in which leaf sums are released, and updates from them.

All of it is computed from released weights; no row is looked at.

Leaf sums are released without most of their mean.
All features say the same of the sum of all residuals, and an update, which is centred, has little
use for it. A row that adds r to one of L leaves adds (1 - 1 / L) r to it and -r / L to the others
once the mean of the leaves is taken out: a vector of length r sqrt(1 - 1 / L) instead of r, and the
noise is made for the length. So the total is taken out but for a share, of which all features
together make one release of it. With two leaves the noise has nearly half of the variance, with
four nearly three quarters.

Where fewer than two leaves can move, only the total is released: its noise is that of one leaf. In
a small table the mean is learned so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import TUNING
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.released.terms import FEWEST_ROWS

FloatArray = NDArray[np.float64]

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
    """Public record of moves of the intercept, which are much alike.

    Attributes
    ----------
    number : int
    step : float
        Score per unit of mean residual.
    noise : float
        Standard deviation of the noise of one shift, in units of score, where a plain residual sum
        has unit noise.
    """

    number: int = 0
    step: float = 0.0
    noise: float = 0.0

    @classmethod
    def between(cls, before: FloatArray, now: FloatArray) -> Shifts:
        """Return those between two counts: of moves, their steps, and their noise's variances."""
        number, steps, variance = (now - before).tolist()
        if not number:
            return cls()
        return cls(int(number), steps / number, (max(variance, 0.0) / number) ** 0.5)


@dataclass(frozen=True)
class TermUpdate:
    """Public record of one update of one term: enough to propagate its noise.

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
    effects : ndarray of float64, shape (n_moved, n_effects), or None
        What is taken out of a change besides, as an orthonormal basis over the bins that move, in
        roots of their weights: the main effects of a pair. None: the mean alone.
    """

    partition: Partition
    gain: FloatArray
    noise: float = 1.0
    by_contrasts: bool = False
    shifts: Shifts = field(default_factory=Shifts)
    effects: FloatArray | None = None


def partition_bins(
    weights: FloatArray,
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


def _places(weights: FloatArray, *, balance_by_bins: float) -> FloatArray:
    """Return the position of the middle of each bin along rows and bins, from 0 to 1."""
    mass = np.full(len(weights), 1.0 / len(weights))
    total = weights.sum()
    if total > 0:
        mass = balance_by_bins * mass + (1.0 - balance_by_bins) * weights / total
    return np.asarray(np.minimum(np.cumsum(mass) - mass / 2, 1.0))


def leaf_gains(
    weights: FloatArray,
    *,
    step: float,
    count_noise: float,
    lightest: float,
    hessian: FloatArray | None = None,
) -> FloatArray:
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
    gains: FloatArray = step / np.maximum(hessian, max(lightest, 1e-300))
    return np.where(known, gains * (1.0 - (threshold / weights) ** 2), 0.0)


def centred_change(update: TermUpdate, weights: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the change per bin, (n_codes, n_scores), that follows from the sums of leaves.

    Parameters
    ----------
    update : TermUpdate
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    sums : ndarray of float64, shape (n_leaves, n_scores)

    Notes
    -----
    The change has mean zero over the rows, so that the intercept alone carries the mean, and that
    of a pair no main effects. Bins in leaves without gain do not move at all.
    """
    leaf = update.partition.leaf
    change: FloatArray = (update.gain[:, np.newaxis] * sums)[leaf]
    moved = update.gain[leaf] > 0
    if update.effects is None:
        return centred(change, weights, moved)
    root = np.sqrt(weights[moved])[:, np.newaxis]
    raw = root * change[moved]
    change[moved] = (raw - update.effects @ (update.effects.T @ raw)) / root
    return change


def centred(scores: FloatArray, weights: FloatArray, moved: NDArray[np.bool_]) -> FloatArray:
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
) -> FloatArray:
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
    return np.asarray(sums - moved[:, np.newaxis] * sums[moved].mean(axis=0))


def without_common_part(sums: NDArray[Any]) -> FloatArray:
    """Subtract the mean over the classes, shape (..., n_scores).

    Adding the same to every class's score changes no probability, and exact residuals add up to
    zero over the classes: what the classes have in common is noise.
    """
    if sums.shape[-1] == 1:
        return sums.astype(np.float64)
    return np.asarray(sums - sums.mean(axis=-1, keepdims=True))


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


def leaf_totals(part: Partition, values: FloatArray) -> FloatArray:
    """Add a released number of each bin over its leaf; shape (n_leaves,)."""
    return np.bincount(part.leaf, values, minlength=part.n_leaves).astype(np.float64)


def leaf_sums(sums: NDArray[np.int64], part: Partition) -> NDArray[np.int64]:
    """Add the bins of each leaf, in integers; shape (n_leaves, n_scores)."""
    leaves = np.zeros((part.n_leaves, sums.shape[1]), dtype=np.int64)
    np.add.at(leaves, part.leaf, sums[: len(part.leaf)])
    return leaves


# A share of the total is a number of such parts, so that sums stay integers. Few, so that updates
# have few scales of noise, of which draws can be made ahead.
_PARTS = 16
# With more leaves there is less than a hundredth of the variance to gain.
_MOST_LEAVES = 50


@dataclass(frozen=True)
class LeafRelease:
    """Form in which the sums of one update are released; all of it public.

    Attributes
    ----------
    leaves : ndarray of int64
        Leaves that move; where a share is taken out, zeros are released for the others. Empty if
        the total of all leaves is released alone.
    removed : int
        Share of the mean over the leaves that is taken out of each, in 16ths: 0 to 15.
    adds_up : bool
        Whether what sites release must add up, as rounded sums do not: then sums are released as
        multiples, in which nothing is rounded.
    """

    leaves: NDArray[np.int64]
    removed: int
    adds_up: bool = False

    @classmethod
    def of(cls, gain: FloatArray, n_terms: int, *, adds_up: bool = False) -> LeafRelease:
        """Choose it by the gains of the leaves and the number of terms that are updated.

        Parameters
        ----------
        gain : ndarray of float64, shape (n_leaves,)
        n_terms : int
        adds_up : bool, default=False

        Notes
        -----
        Where c is what remains of the mean, a total is released with 1 / c**2 times the variance
        that it would have in the plain sums: with 1 / sqrt(n_terms), all terms of a round together
        know of it what one plain sum would. That is the least.

        Where leaves differ, an error of the intercept shows in what their sums differ by, and
        noise of the totals comes back as noise of the curve. With L leaves of hessian s and K
        terms the variance of a curve, over the rows, is in proportion to

            (L - 1 + c**2) (L - 1 + u / (K c**2)),    u = 1 - L**2 / (sum(s) sum(1 / s)),

        which is smallest where c is the fourth root of u / K.
        """
        leaves = np.flatnonzero(gain > 0)
        if len(leaves) < 2:
            return cls(leaves[:0], 0, adds_up)
        share = max(1.0 / n_terms, math.sqrt(_unevenness(gain[leaves]) / n_terms))
        worth = len(leaves) <= _MOST_LEAVES
        removed = int(_PARTS * (1.0 - math.sqrt(share))) if worth else 0
        return cls(leaves, removed, adds_up)

    @property
    def scale(self) -> int:
        """How many times the sums are released."""
        return _PARTS * len(self.leaves) if self.adds_up and self.removed else 1

    @property
    def has_leaves(self) -> bool:
        """Whether sums of leaves are released, and not their total alone."""
        return len(self.leaves) > 0

    @property
    def by_contrasts(self) -> bool:
        """Whether an update leaves the total to the intercept."""
        return self.removed > 0

    def exact(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the share of the mean out of the sums, (n_leaves, n_scores), in integers.

        The total alone has shape (1, n_scores).
        """
        if not self.has_leaves:
            return np.asarray(sums.sum(axis=0, keepdims=True))
        if not self.removed:
            return sums
        moved = sums[self.leaves]
        total, denominator = moved.sum(axis=0), _PARTS * len(moved)
        if self.adds_up:
            multiples = np.zeros_like(sums)
            multiples[self.leaves] = denominator * moved - self.removed * total
            return multiples
        # floor(total * removed / whole), without a product that might leave int64.
        shift = (
            total // denominator * self.removed + total % denominator * self.removed // denominator
        )
        shifted = np.zeros_like(sums)
        shifted[self.leaves] = moved - shift
        return shifted

    def row_norm(self, residual_norm: int, n_scores: int) -> int:
        """Bound the L2 norm of what one row adds to :meth:`exact`, rounding included.

        Parameters
        ----------
        residual_norm : int
            The same for its residuals.
        n_scores : int
        """
        if not self.removed:
            return residual_norm
        n_leaves = len(self.leaves)
        denominator = _PARTS * n_leaves
        square = (denominator - self.removed) ** 2 + (n_leaves - 1) * self.removed**2
        if self.adds_up:
            return math.isqrt(residual_norm**2 * square) + 1
        exact = math.isqrt(residual_norm**2 * square // denominator**2) + 1
        # Rounding moves every entry by less than one.
        return exact + math.isqrt(n_leaves * n_scores) + 1

    def plain(self, noisy: NDArray[np.int64]) -> NDArray[Any]:
        """Return the noisy sums themselves, of their multiples."""
        return noisy if self.scale == 1 else np.asarray(noisy / self.scale)

    def total(self, noisy: NDArray[Any]) -> FloatArray:
        """Return the noisy sum over the leaves that move, or of all, shape (n_scores,)."""
        total = noisy[self.leaves].sum(axis=0) if self.has_leaves else noisy[0]
        return np.asarray(total / self._share)

    def total_variance(self, noise: float) -> float:
        """Return the variance of the noise of :meth:`total`, of sums with noise of that size."""
        return max(len(self.leaves), 1) * (noise / self._share) ** 2

    @property
    def _share(self) -> float:
        """Share of the mean that remains."""
        return 1.0 - self.removed / _PARTS


def _unevenness(gain: FloatArray) -> float:
    """Return 0 for leaves alike, towards 1 where one is far lighter than the mean of them all."""
    relative = gain / gain.max()
    even = len(gain) ** 2 / float(relative.sum() * (1.0 / relative).sum())
    return max(1.0 - even, 0.0)
