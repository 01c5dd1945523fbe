"""The histograms of all features are released: once to find bins, once more to count in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins, Counts, merge_bins, recounted
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema import Continuous, FeatureSpec, fine_bin_count, fine_edges

__all__ = ["release_bins"]


def release_bins(
    rows: AdditiveRows,
    specs: Sequence[FeatureSpec],
    config: TrainerConfig,
    door: ReleaseDoor,
    n_rows: float,
) -> tuple[list[Bins], float]:
    """Release the bins of every feature and their weights; ``rows`` are in these bins then.

    Parameters
    ----------
    rows : AdditiveRows
        Private; in fine bins.
    specs : sequence of Continuous or Categorical
        Declaration of each feature.
    config : TrainerConfig
    door : ReleaseDoor
        Every count passes through it.
    n_rows : float
        Released number of rows.

    Returns
    -------
    bins : list of Bins
    noise : float
        Standard deviation of the noise of the weight of a fine bin. That of a bin of many is up to
        1.4 times as much.
    """
    sizes = [fine_bin_count(spec, config.n_fine_bins) + 2 for spec in specs]
    first = _released("bins", rows.bin_counts(sizes), specs, door)
    noise = config.noise_of_both_counts(first[0].noise)
    target_bins = config.target_bins(n_rows, noise)
    bins = [
        merge_bins(counts.rows, _edges(spec, config.n_fine_bins), target_bins, n_rows)
        for spec, counts in zip(specs, first, strict=True)
    ]
    rows.merge_bins([b.code_map for b in bins])
    second = _released("weights", rows.bin_counts([b.n_codes for b in bins]), specs, door)
    found = [recounted(*facts, n_rows) for facts in zip(bins, first, second, strict=True)]
    return found, noise


def _released(
    name: str, exact: Sequence[NDArray[np.int64]], specs: Sequence[FeatureSpec], door: ReleaseDoor
) -> list[Counts]:
    """Release one histogram per feature: a row is in one bin of each."""
    released = []
    for spec, counts in zip(specs, exact, strict=True):
        # A continuous feature has no unseen bin by construction: nothing to count or to pay for.
        counted = counts[:-1] if isinstance(spec, Continuous) else counts
        noisy, sigma = door.gaussian(name, counted[np.newaxis], row_norm=LATTICE, aligned=True)
        rows = np.zeros(len(counts))
        rows[: len(counted)] = noisy[0] / LATTICE
        released.append(Counts(rows, sigma / LATTICE))
    return released


def _edges(spec: FeatureSpec, n_bins: int) -> NDArray[np.float64] | None:
    return fine_edges(spec, n_bins) if isinstance(spec, Continuous) else None
