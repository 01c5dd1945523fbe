"""Releases before and after boosting: histograms of all features, and sums of products.

Histograms are released twice: to find bins, and to count in them. Sums of
products follow boosting: they say how features are correlated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends.base import AdditiveRows, Integers, SurvivalRows
from interpret_dp.backends.survival import risk_table
from interpret_dp.ebm.config import TUNING, TrainerConfig
from interpret_dp.ebm.losses import Start
from interpret_dp.ebm.survival import SurvivalCox, largest_ratio
from interpret_dp.ebm.trainer import binning
from interpret_dp.ebm.trainer.correlations import Correlations, correlations_of, group_functions
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import Continuous, FeatureSpec

FloatArray = NDArray[np.float64]


def release_bins(
    rows: AdditiveRows,
    specs: Sequence[FeatureSpec],
    config: TrainerConfig,
    session: ReleaseSession,
    start: Start,
) -> tuple[list[binning.Bins], float, float]:
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
    start : Start
        With the released number of rows; with the plan it says how fine bins are counted.

    Returns
    -------
    bins : list of Bins
    noise : float
        Standard deviation of the noise of the weight of a fine bin. That of a bin of many is up to
        1.4 times as much.
    weight_noise : float
        The same; 0 where weights are shrunk, so that light bins need not be left out.
    """
    n_rows, fine = start.n_rows, [config.fine_edges(spec) for spec in specs]
    sizes = [config.n_fine(spec) + 2 for spec in specs]
    unit = start.row_mass * LATTICE
    norm = session.neighbourhood.sensitivity(LATTICE, aligned=True) / unit
    is_fine = [config.can_count_finely(n_rows, norm, size - 2) for size in sizes]
    cells = [_cells(*of_one) for of_one in zip(specs, sizes, is_fine, strict=True)]
    exact = [_summed(*both) for both in zip(rows.bin_counts(sizes), cells, strict=True)]
    first = _released("bins", exact, specs, session, unit)
    noise = config.noise_of_both_counts(first[0].noise)
    target_bins = config.target_bins(n_rows, noise)
    least = min(TUNING.least_supported_bins, config.max_bins)
    are_public = start.loss.is_classification and target_bins < least
    edges = [
        None if cuts is None else _inner(cuts, one_by_one)
        for cuts, one_by_one in zip(fine, is_fine, strict=True)
    ]
    if are_public:
        wanted = [config.public_edges(spec) for spec in specs]
        bins = [
            binning.public_bins(len(counts.rows) - 2, *both)
            for counts, *both in zip(first, edges, wanted, strict=True)
        ]
    else:
        lightest = config.lightest_bin(noise)
        bins = [
            binning.merge_bins(
                counts.rows, cuts, target_bins, n_rows, lightest=lightest, expected=expected
            )
            for counts, cuts, expected in zip(first, edges, _expected(first, edges), strict=True)
        ]
    maps = [b.code_map[cell] for b, cell in zip(bins, cells, strict=True)]
    rows.merge_bins(maps)
    exact = rows.bin_counts([b.n_codes for b in bins])
    second = _released("weights", exact, specs, session, unit)
    counted = [
        replace(
            binning.recounted(b, one, two, n_rows, shrink=are_public),
            code_map=codes,
            clipped=None if b.cuts is None else (one.rows[1] / n_rows, one.rows[-2] / n_rows),
        )
        for b, one, two, codes in zip(bins, first, second, maps, strict=True)
    ]
    return counted, noise, 0.0 if are_public else noise


def _expected(
    released: Sequence[binning.Counts], edges: Sequence[FloatArray | None]
) -> list[FloatArray]:
    """Return counts without what is likely noise, where neighbours are alike."""
    expected = [counts.rows.copy() for counts in released]
    ordered = [k for k, cuts in enumerate(edges) if cuts is not None]
    if ordered:
        # All features have the same share of the budget, and with it the same noise.
        noise = released[ordered[0]].noise
        smoothed = binning.smoothed_counts([released[k].rows[1:-1] for k in ordered], noise)
        for k, counts in zip(ordered, smoothed, strict=True):
            expected[k][1:-1] = counts
    return expected


def _released(
    name: str,
    exact: Sequence[Integers],
    specs: Sequence[FeatureSpec],
    session: ReleaseSession,
    unit: float,
) -> list[binning.Counts]:
    """Release one histogram per feature: a row is in one bin of each, where it counts 1 at most.

    ``unit`` is what a row counts on average, in lattice units.
    """
    # A continuous feature has no unseen bin by construction: nothing to count or to pay for.
    counted = [
        counts[:-1] if isinstance(spec, Continuous) else counts
        for spec, counts in zip(specs, exact, strict=True)
    ]
    norms = [LATTICE] * len(counted)
    together = [counts[np.newaxis] for counts in counted]
    noisy = session.gaussian_each(name, together, row_norms=norms, aligned=True)
    released = []
    for counts, (own, sigma) in zip(exact, noisy, strict=True):
        rows = np.zeros(len(counts))
        rows[: own.shape[1]] = own[0] / unit
        released.append(binning.Counts(rows, sigma / unit))
    return released


def _cells(spec: FeatureSpec, size: int, is_fine: bool) -> Integers:
    """Return the cell in which each fine code is counted: its own, or one of two neighbours."""
    codes = np.arange(size)
    if is_fine or not isinstance(spec, Continuous):
        return codes
    # Missing, the bins beyond the bounds, and unseen stay alone; 2 and 3 are the first two others.
    cells = codes // 2 + 1
    cells[:2] = 0, 1
    cells[-2:] = cells[-3] + 1, cells[-3] + 2
    return cells


def _inner(edges: FloatArray, is_fine: bool) -> FloatArray:
    """Return the cut points of the cells; no bin ends at the bounds."""
    inner = edges[1:-1] if is_fine else edges[2:-1:2]
    return np.concatenate(([-np.inf], inner, [np.inf]))


def _summed(counts: Integers, cells: Integers) -> Integers:
    sums = np.zeros(int(cells[-1]) + 1, dtype=np.int64)
    np.add.at(sums, cells, counts)
    return sums


# Of so many terms at most: their moments are as many as half the square of it.
_MOST_TERMS = 256


def release_correlations(
    rows: AdditiveRows,
    bins: Sequence[binning.Bins],
    is_ordered: Sequence[bool],
    terms: Sequence[int],
    start: Start,
    config: TrainerConfig,
    session: ReleaseSession,
) -> Correlations | None:
    """Release how terms are correlated.

    Parameters
    ----------
    rows : AdditiveRows
        Private; in the codes of ``bins``.
    bins : sequence of Bins, one per term of the model
    is_ordered : sequence of bool, one per term of the model
    terms : sequence of int
        Which of them are asked about, the most important ones first.
    start : Start
        With the released number of rows.
    config : TrainerConfig
    session : ReleaseSession
        The sums pass through it.

    Returns
    -------
    Correlations or None
        None, and nothing is released, if fewer than two terms have rows in two groups, or noise
        would hide all that columns can have in common.
    """
    groups = {k: group_functions(bins[k].weights, is_ordered[k]) for k in terms}
    known = sorted([k for k in terms if groups[k].any()][:_MOST_TERMS])
    if len(known) < 2:
        return None
    chosen = [groups[k] for k in known]
    # Of a row, sums of two features' vertices are as large as both are together.
    sizes = [int((table**2).sum(axis=1).max()) for table in chosen]
    square = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    row_norm = math.isqrt(square * (LATTICE // PRODUCT_UNIT**2) ** 2) + 1
    sensitivity = session.neighbourhood.sensitivity(row_norm, aligned=False)
    unit = start.row_mass * LATTICE
    if not config.can_correlate(start.n_rows, sensitivity / unit):
        return None
    exact = rows.product_sums(known, chosen)
    owner = np.repeat(np.arange(len(known)), [table.shape[1] for table in chosen])
    upper = owner[:, np.newaxis] < owner
    noisy, sigma = session.gaussian(
        "correlations", exact[upper][np.newaxis], row_norm=row_norm, aligned=False
    )
    moments = np.zeros(exact.shape)
    total = start.n_rows * unit
    moments[upper] = noisy[0] / total
    return correlations_of(
        known, chosen, moments, sigma / total, [bins[k] for k in known], is_ordered
    )


def release_risk(
    rows: AdditiveRows,
    start: Start,
    config: TrainerConfig,
    session: ReleaseSession,
    *,
    level: float,
    spread: float,
) -> Start:
    """Release the rows at risk, each with its hazard ratio; let rows start from what follows.

    Parameters
    ----------
    rows : AdditiveRows
        Private, at their present scores.
    start : Start
        Returned as it is but for models of survival.
    config : TrainerConfig
    session : ReleaseSession
    level, spread : float
        Mean of the scores, and their standard deviation over the rows.

    Notes
    -----
    A row is in one cell, and adds its weight at most.
    """
    loss = start.loss
    if (
        not isinstance(loss, SurvivalCox)
        or loss.baseline is None
        or not isinstance(rows, SurvivalRows)
    ):
        return start
    norm = session.neighbourhood.sensitivity(LATTICE, aligned=True) / LATTICE
    noise = config.noise_of_total(start.n_rows, norm, "baseline")
    most = largest_ratio(spread, noise) * math.exp(level)
    exact = rows.risk_sums(*risk_table(most))[np.newaxis]
    sums, sigma = session.gaussian("baseline", exact, row_norm=LATTICE, aligned=True)
    unit = most / LATTICE
    baseline = loss.baseline.at_risk(unit * sums[0], unit * sigma)
    rows.follow(baseline.logs)
    return replace(start, loss=replace(loss, baseline=baseline))
