"""Bins and their weights, from released histograms alone (post-processing).

Nori et al. (2021), appendix 8.1, with two changes: the noisy counts are projected onto the
histograms that are possible at the released number of rows, and the number of rows itself is the
released one, never the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bins", "merge_bins", "project_to_total"]

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
    """

    code_map: NDArray[np.uint16]
    weights: NDArray[np.float64]
    cuts: NDArray[np.float64] | None

    @property
    def n_codes(self) -> int:
        """Number of codes, missing and unseen included."""
        return len(self.weights)


def project_to_total(
    counts: NDArray[np.float64], total: float, cells: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Project noisy counts onto non-negative counts with the given sum.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_bins,)
        Released counts.
    total : float
        Released number of rows, above 0.
    cells : ndarray of float64, shape (n_bins,), optional
        Number of equally noisy counts that each one is the sum of, above 0; by default one.

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
    projected: NDArray[np.float64] = np.maximum(counts - shifts[last] * cells, 0.0)
    return projected


def merge_bins(
    counts: NDArray[np.float64],
    edges: NDArray[np.float64] | None,
    target_bins: int,
    total: float,
) -> Bins:
    """Merge neighbouring fine bins until each holds about ``1 / target_bins`` of the rows.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_fine_bins + 2,)
        Released counts; the first is missing, the last unseen.
    edges : ndarray of float64, shape (n_fine_bins - 1,), or None
        Cut points of the fine bins; None for a categorical feature, whose levels stay apart.
    target_bins : int
        Number of bins to aim for, at least 1.
    total : float
        Released number of rows, above 0.

    Notes
    -----
    Groups follow from the projected fine counts. Their weights are projected sums of the counts as
    released: in a range without rows the noise of many fine counts cancels, while that of their
    positive parts adds up.
    """
    n_fine = len(counts) - 2
    # A number is never unseen: that bin of a continuous feature holds nobody, which is public.
    n_counted = len(counts) if edges is None else len(counts) - 1
    fine = project_to_total(counts[:n_counted], total)[1 : n_fine + 1]
    groups = np.arange(n_fine) if edges is None else _equal_weight_groups(fine, target_bins)
    n_groups = int(groups[-1]) + 1
    code_map = np.concatenate(([0], groups + 1, [n_groups + 1])).astype(np.uint16)
    sums = np.bincount(code_map[:n_counted], weights=counts[:n_counted]).astype(np.float64)
    cells = np.bincount(code_map[:n_counted]).astype(np.float64)
    weights = np.zeros(n_groups + 2)
    weights[: len(sums)] = project_to_total(sums, total, cells)
    weights[1:-1] = np.maximum(weights[1:-1], _LIGHTEST_SHARE * total)
    return Bins(
        code_map=code_map,
        weights=weights * (total / weights.sum()),
        cuts=None if edges is None else edges[np.nonzero(np.diff(groups))[0]].astype(np.float64),
    )


def _equal_weight_groups(counts: NDArray[np.float64], target_bins: int) -> NDArray[np.int64]:
    """Assign each fine bin to a group; a group closes when it is heavy enough."""
    wanted = counts.sum() / target_bins
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
