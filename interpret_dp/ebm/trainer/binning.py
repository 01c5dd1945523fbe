"""Bins and their weights, from released histograms alone (post-processing).

Nori et al. (2021), appendix 8.1, with three changes: the noisy counts are projected onto the
histograms that are possible at the released number of rows; the number of rows itself is the
released one, never the exact one; and once neighbours are merged, the rows of each bin are counted
again. A bin of many fine bins has the noise of them all in its sum, but not in a count of its own
(two phases, as in Zhang et al. 2014, "Towards accurate histogram publication under differential
privacy", but the first one's counts are kept: both are averaged by their precision).

Fine histograms are denoised first. Bins are found in fine counts that may be as noisy as they are
high. They are sums of Haar wavelets of several widths, each with the noise of a count; where rows
are spread evenly, and where there are none, nearly all wavelets are pure noise. The sizes of those
of one width are learned from the histograms of all features (empirical Bayes): a mixture of normal
distributions, the narrowest of them zero. A spike is far beyond the noise, and is kept as it is.

Sources: Coifman and Donoho (1995), "Translation-invariant de-noising"; Xing, Carbonetto and
Stephens (2021), "Flexible signal denoising via flexible empirical Bayes shrinkage", sections 2 and
3; Stephens (2017), "False discovery rates: a new deal", for the mixture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# No weight between missing and unseen is zero: isotonic regression, as interpret's monotonize
# uses it, has no value for a bin without weight.
_LIGHTEST_SHARE = 1e-9


@dataclass(frozen=True)
class Bins:
    """Merged bins of one feature; public.

    Attributes
    ----------
    code_map : ndarray of uint16, shape (n_fine_bins + 2,)
        Bin of each fine code: 0 missing, 1 to B bins, B + 1 unseen.
    weights : ndarray of float64, shape (B + 2,)
        Released number of rows in each bin, never negative.
    cuts : ndarray of float64, shape (B - 1,), or None
        Cut points between the bins of a continuous feature; None for a categorical one.
    clipped : tuple of (float, float), or None
        Released shares of rows below and above a continuous feature's bounds, with noise.
    """

    code_map: NDArray[np.uint16]
    weights: FloatArray
    cuts: FloatArray | None
    clipped: tuple[float, float] | None = None

    @property
    def n_codes(self) -> int:
        """Number of codes, missing and unseen included."""
        return len(self.weights)


@dataclass(frozen=True)
class Counts:
    """A released histogram of one feature.

    Attributes
    ----------
    rows : ndarray of float64, shape (n_codes,)
        Missing first, unseen last.
    noise : float
        Standard deviation of the noise of each, in rows.
    """

    rows: FloatArray
    noise: float


def project_to_total(
    counts: FloatArray, total: float, cells: FloatArray | None = None
) -> FloatArray:
    """Project noisy counts onto non-negative counts with the given sum.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_bins,)
        Released counts.
    total : float
        Released number of rows, above 0.
    cells : ndarray of float64, shape (n_bins,), optional
        Variance of each one's noise, up to a common factor, above 0: of a sum, how many equally
        noisy counts are in it. By default all have the same.

    Notes
    -----
    Nearest in squares weighted by precision: the solution is ``max(counts - shift * cells, 0)``
    (Duchi et al. 2008, figure 1, for equal cells). Without it, negative counts become tiny
    denominators, and the total of many bins is noisier than the number of rows.
    """
    cells = np.ones(len(counts)) if cells is None else cells
    order = np.argsort(-counts / cells)
    shifts = (np.cumsum(counts[order]) - total) / np.cumsum(cells[order])
    last = int(np.nonzero(counts[order] > shifts * cells[order])[0][-1])
    return np.asarray(np.maximum(counts - shifts[last] * cells, 0.0))


def merge_bins(
    counts: FloatArray,
    edges: FloatArray | None,
    target_bins: int,
    total: float,
    *,
    lightest: float = math.inf,
    expected: FloatArray | None = None,
) -> Bins:
    """Merge neighbouring fine bins until each holds about ``1 / target_bins`` of the rows.

    A value that more rows have fills a bin by itself, and leaves to the other rows the bins that
    these would have filled: they are lighter then, but not below ``lightest``.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_fine_bins + 2,)
        Released counts; the first is missing, the last unseen.
    edges : ndarray of float64, shape (n_fine_bins - 1,), or None
        Cut points of the fine bins; None for a categorical feature, whose levels stay apart. Where
        one is infinite, no bin ends.
    target_bins : int
        Number of bins to aim for, at least 1.
    total : float
        Released number of rows, above 0.
    lightest : float
        Rows that such a bin has at least; by default bins are never lighter than their share.
    expected : ndarray of float64, shape (n_fine_bins + 2,), optional
        The counts without what is likely noise, which groups follow from; by default ``counts``.

    Notes
    -----
    Groups follow from projected fine counts. Their weights are projected sums of the counts as
    released: in a range without rows the noise of many fine counts cancels, while that of their
    positive parts adds up.
    """
    n_fine = len(counts) - 2
    # A number is never unseen: that bin of a continuous feature holds nobody, which is public.
    n_counted = len(counts) if edges is None else len(counts) - 1
    seen = counts if expected is None else expected
    fine = project_to_total(seen[:n_counted], total)[1 : n_fine + 1]
    groups = np.arange(n_fine)
    if edges is not None:
        groups = _equal_weight_groups(fine, target_bins, lightest)
    bins = _grouped(groups, edges)
    codes = bins.code_map[:n_counted]
    sums = np.bincount(codes, weights=counts[:n_counted]).astype(np.float64)
    cells = np.bincount(codes).astype(np.float64)
    return replace(bins, weights=_weights(sums, cells, total, bins.n_codes))


def _grouped(groups: NDArray[np.int64], edges: FloatArray | None) -> Bins:
    """Return fine bins in groups, whose weights are not known yet."""
    cuts = None
    if edges is not None:
        is_cut = (np.diff(groups) > 0) & np.isfinite(edges)
        cuts, groups = edges[is_cut].astype(np.float64), np.append(0, np.cumsum(is_cut))
    n_groups = int(groups[-1]) + 1
    return Bins(
        np.concatenate(([0], groups + 1, [n_groups + 1])).astype(np.uint16),
        np.zeros(n_groups + 2),
        cuts,
    )


def public_bins(n_fine: int, edges: FloatArray | None, cuts: FloatArray | None) -> Bins:
    """Return bins that no count chose, whose weights are not known yet.

    Parameters
    ----------
    n_fine : int
        Number of fine bins.
    edges : ndarray of float64, shape (n_fine - 1,), or None
        Cut points of the fine bins; None for a categorical feature, whose levels stay apart.
    cuts : ndarray of float64, or None
        Where cuts are wanted: each is moved up to the next of ``edges``.
    """
    groups = np.arange(n_fine)
    if edges is not None and cuts is not None:
        lower = np.concatenate(([-np.inf], edges))
        groups = np.unique(np.searchsorted(cuts, lower, side="right"), return_inverse=True)[1]
    return _grouped(groups, edges)


def recounted(
    bins: Bins, first: Counts, second: Counts, total: float, *, shrink: bool = False
) -> Bins:
    """Return bins whose weights are the mean of both counts, by their precision.

    Parameters
    ----------
    bins : Bins
        Merged by ``first``.
    first : Counts
        Of the fine bins.
    second : Counts
        Of the merged bins; its noise is above 0.
    total : float
        Released number of rows, above 0.
    shrink : bool
        Whether counts are shrunk towards equal ones, as far as noise explains how they differ.
    """
    n_counted = len(first.rows) if bins.cuts is None else len(first.rows) - 1
    codes = bins.code_map[:n_counted]
    sums = np.bincount(codes, weights=first.rows[:n_counted])
    variances = np.bincount(codes) * first.noise**2
    of_second = variances / (variances + second.noise**2)
    counts = sums + of_second * (second.rows[: len(sums)] - sums)
    # The variance of such a mean is that share of the second count's.
    if shrink:
        even = np.full(len(counts) - 1 - (bins.cuts is None), total / (bins.n_codes - 2))
        even = np.concatenate(([0.0], even, [0.0] * (bins.cuts is None)))
        noise = of_second * second.noise**2
        signal = max(float(np.mean((counts - even) ** 2 - noise)), 0.0)
        counts = even + signal / (signal + noise) * (counts - even)
    return replace(bins, weights=_weights(counts, of_second, total, bins.n_codes))


def _weights(counts: FloatArray, variances: FloatArray, total: float, n_codes: int) -> FloatArray:
    """Return possible weights near the counts; the unseen bin of a number has none."""
    weights = np.zeros(n_codes)
    weights[: len(counts)] = project_to_total(counts, total, variances)
    weights[1:-1] = np.maximum(weights[1:-1], _LIGHTEST_SHARE * total)
    return np.asarray(weights * (total / weights.sum()))


def _equal_weight_groups(
    counts: FloatArray, target_bins: int, lightest: float
) -> NDArray[np.int64]:
    """Assign each fine bin to a group; a group closes when it is heavy enough."""
    share = float(counts.sum()) / target_bins
    wanted = min(share, max(_share_beside_heavy(counts, target_bins), lightest))
    after = counts.sum() - np.cumsum(counts)
    groups = np.zeros(len(counts), dtype=np.int64)
    group, weight = 0, 0.0
    for fine, count in enumerate(counts):
        groups[fine] = group
        weight += count
        # The rest must make a bin of its own that is at least half as heavy.
        is_last = fine == len(counts) - 1
        if not is_last and weight >= wanted > 0 and after[fine] >= wanted / 2:
            group, weight = group + 1, 0.0
    return groups


def _share_beside_heavy(counts: FloatArray, target_bins: int) -> float:
    """Return the rows of each bin that is left when fine bins heavier than that have their own."""
    heaviest_first = np.sort(counts)[::-1][:target_bins]
    before = np.cumsum(heaviest_first) - heaviest_first
    shares = (counts.sum() - before) / (target_bins - np.arange(len(heaviest_first)))
    # Every heavier one that is taken out makes the share smaller, until none is heavier.
    is_heavy = heaviest_first >= shares
    return float(shares[-1] if is_heavy.all() else shares[np.argmin(is_heavy)])


# Variances a wavelet's coefficient may have been drawn with, in units of the noise's.
_VARIANCES = np.concatenate(([0.0], 4.0 ** np.arange(-2, 12)))
# What the estimate of their shares starts from, half of it at zero, weighs as much as so many
# coefficients.
_PRIOR_COEFFICIENTS = 10.0
_START = np.concatenate(([0.5], np.full(len(_VARIANCES) - 1, 0.5 / (len(_VARIANCES) - 1))))
_STEPS = 20
# Coefficients beyond so many noises are kept as they are; of others, the posterior mean is worked
# out at some, and interpolated between.
_BEYOND_NOISE = 1e4
_KNOTS = np.sinh(np.linspace(0.0, np.arcsinh(_BEYOND_NOISE), 512))


def smoothed_counts(noisy: Sequence[FloatArray], noise: float) -> list[FloatArray]:
    """Return the posterior mean of each histogram; it may be negative, and sums are not kept.

    Parameters
    ----------
    noisy : sequence of ndarray of float64, shape (n_cells,) each
        Released counts of neighbouring cells, one histogram a feature.
    noise : float
        Standard deviation of the noise of each count, above 0; the noise is independent.
    """
    transformed = [_transformed(counts / noise) for counts in noisy]
    n_widths = max((len(details) for details, _ in transformed), default=0)
    means = [
        _posterior_means([details[k] for details, _ in transformed if k < len(details)], k)
        for k in range(n_widths)
    ]
    return [
        noise * _summed(details, widest, means)[: len(counts)]
        for counts, (details, widest) in zip(noisy, transformed, strict=True)
    ]


def _transformed(counts: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Return wavelets of each width at each place, narrowest first, and what is wider.

    Beyond its ends a histogram goes on as in a mirror.
    """
    level = np.concatenate((counts, counts[::-1]))
    details = []
    for k in range(int(np.log2(len(counts)))):
        right = np.roll(level, -(2**k))
        details.append((level - right) / np.sqrt(2.0))
        level = (level + right) / np.sqrt(2.0)
    return details, level


def _summed(
    details: Sequence[FloatArray], widest: FloatArray, means: Sequence[FloatArray]
) -> FloatArray:
    """Return the mean of what all wavelets say that cover a cell, after they were shrunk."""
    level = widest
    for k in reversed(range(len(details))):
        sizes = np.abs(details[k])
        kept = np.sign(details[k]) * np.interp(sizes, _KNOTS, means[k])
        kept = np.where(sizes > _BEYOND_NOISE, details[k], kept)
        as_left, as_right = level + kept, np.roll(level - kept, 2**k)
        level = (as_left + as_right) / (2.0 * np.sqrt(2.0))
    return level


def _posterior_means(coefficients: Sequence[FloatArray], k: int) -> FloatArray:
    """Return the posterior mean of a coefficient at each knot.

    Parameters
    ----------
    coefficients : sequence of ndarray of float64
        Of one width in all histograms.
    k : int
        Their width is 2 to the power of k + 1 cells: those of neighbours overlap.
    """
    disjoint = [c[: len(c) // 2 : 2 ** (k + 1)] for c in coefficients]
    spread = 1.0 + _VARIANCES
    likely = _densities(np.concatenate(disjoint), spread)
    shares = start = _START
    # Expectation-maximisation, the same number of steps for every table.
    for _ in range(_STEPS):
        joint = likely * shares
        counted = (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = counted + _PRIOR_COEFFICIENTS * start
        shares /= shares.sum()
    posterior = _densities(_KNOTS, spread) * shares
    posterior /= posterior.sum(axis=1, keepdims=True)
    return np.asarray(_KNOTS * (posterior @ (_VARIANCES / spread)))


def _densities(values: FloatArray, variances: FloatArray) -> FloatArray:
    """Return normal densities up to a factor for each value, one column a variance."""
    logs = -0.5 * values[:, np.newaxis] ** 2 / variances - 0.5 * np.log(variances)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))
