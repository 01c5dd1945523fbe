"""The histograms of all features are released: once to find bins, once more to count in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins, Counts, merge_bins, public_bins, recounted
from interpret_dp.ebm.trainer.smoothing import smoothed_counts
from interpret_dp.ebm.tuning import TUNING
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import Continuous, FeatureSpec

__all__ = ["release_bins"]


def release_bins(
    rows: AdditiveRows,
    specs: Sequence[FeatureSpec],
    config: TrainerConfig,
    session: ReleaseSession,
    n_rows: float,
    *,
    is_classification: bool,
) -> tuple[list[Bins], float, float]:
    """Release the bins of every feature and their weights; ``rows`` are in these bins then.

    Where noise would choose the bins, those of a classification are a few public ones.

    Parameters
    ----------
    rows : AdditiveRows
        Private; in fine bins.
    specs : sequence of Continuous or Categorical
        Declaration of each feature.
    config : TrainerConfig
    session : ReleaseSession
        Every count passes through it.
    n_rows : float
        Released number of rows; with the plan it says how fine bins are counted.
    is_classification : bool

    Returns
    -------
    bins : list of Bins
    noise : float
        Standard deviation of the noise of the weight of a fine bin. That of a bin of many is up to
        1.4 times as much.
    weight_noise : float
        The same; 0 where weights are shrunk, so that light bins need not be left out.
    """
    fine = [config.fine_edges(spec) for spec in specs]
    sizes = [config.n_fine(spec) + 2 for spec in specs]
    norm = session.neighbourhood.sensitivity(LATTICE, aligned=True) / LATTICE
    is_fine = [config.can_count_finely(n_rows, norm, size - 2) for size in sizes]
    cells = [_cells(*of_one) for of_one in zip(specs, sizes, is_fine, strict=True)]
    exact = [_summed(*both) for both in zip(rows.bin_counts(sizes), cells, strict=True)]
    first = _released("bins", exact, specs, session)
    noise = config.noise_of_both_counts(first[0].noise)
    target_bins = config.target_bins(n_rows, noise)
    least = min(TUNING.least_supported_bins, config.max_bins)
    are_public = is_classification and target_bins < least
    edges = [
        cuts if cuts is None or one_by_one else cuts[1::2]
        for cuts, one_by_one in zip(fine, is_fine, strict=True)
    ]
    if are_public:
        wanted = [config.public_edges(spec) for spec in specs]
        bins = [
            public_bins(len(counts.rows) - 2, *both)
            for counts, *both in zip(first, edges, wanted, strict=True)
        ]
    else:
        lightest = config.lightest_bin(noise)
        bins = [
            merge_bins(counts.rows, cuts, target_bins, n_rows, lightest=lightest, expected=expected)
            for counts, cuts, expected in zip(first, edges, _expected(first, edges), strict=True)
        ]
    maps = [b.code_map[cell] for b, cell in zip(bins, cells, strict=True)]
    rows.merge_bins(maps)
    second = _released("weights", rows.bin_counts([b.n_codes for b in bins]), specs, session)
    found = [
        replace(recounted(b, one, two, n_rows, shrink=are_public), code_map=codes)
        for b, one, two, codes in zip(bins, first, second, maps, strict=True)
    ]
    return found, noise, 0.0 if are_public else noise


def _expected(
    released: Sequence[Counts], edges: Sequence[NDArray[np.float64] | None]
) -> list[NDArray[np.float64]]:
    """Return counts without what is likely noise, where neighbours are alike."""
    expected = [counts.rows.copy() for counts in released]
    ordered = [k for k, cuts in enumerate(edges) if cuts is not None]
    if ordered:
        # All features have the same share of the budget, and with it the same noise.
        noise = released[ordered[0]].noise
        smoothed = smoothed_counts([released[k].rows[1:-1] for k in ordered], noise)
        for k, counts in zip(ordered, smoothed, strict=True):
            expected[k][1:-1] = counts
    return expected


def _released(
    name: str,
    exact: Sequence[NDArray[np.int64]],
    specs: Sequence[FeatureSpec],
    session: ReleaseSession,
) -> list[Counts]:
    """Release one histogram per feature: a row is in one bin of each."""
    released = []
    for spec, counts in zip(specs, exact, strict=True):
        # A continuous feature has no unseen bin by construction: nothing to count or to pay for.
        counted = counts[:-1] if isinstance(spec, Continuous) else counts
        noisy, sigma = session.gaussian(name, counted[np.newaxis], row_norm=LATTICE, aligned=True)
        rows = np.zeros(len(counts))
        rows[: len(counted)] = noisy[0] / LATTICE
        released.append(Counts(rows, sigma / LATTICE))
    return released


def _cells(spec: FeatureSpec, size: int, is_fine: bool) -> NDArray[np.int64]:
    """Return the cell in which each fine code is counted: its own, or one of two neighbours."""
    codes = np.arange(size)
    if is_fine or not isinstance(spec, Continuous):
        return codes
    # Missing stays first, 1 and 2 are the first two fine bins; unseen, the last, stays alone.
    cells = (codes + 1) // 2
    cells[-1] = cells[-2] + 1
    return cells


def _summed(counts: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.zeros(int(cells[-1]) + 1, dtype=np.int64)
    np.add.at(found, cells, counts)
    return found
