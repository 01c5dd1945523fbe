"""Releases of a background: histograms of its columns, and the dependence between them.

Two histograms a column: one of many cells, from which cells are merged, and one of these. Then one
vector of sums over rows, for pairs of columns (docs/proofs/private_background.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.trainer.binning import merge_bins, smoothed_counts
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import PlannedRelease, ReleaseSession
from interpret_dp.released.background import ZERO_ENDS, BackgroundColumn
from interpret_dp.released.copula import ColumnDependence
from interpret_dp.released.terms import AdditiveFeature
from interpret_dp.schema import Categorical, FeatureSpec, Integer, fine_bin_count, fine_edges
from interpret_dp.schema.cells import chunks
from interpret_dp.schema.containers import Values
from interpret_dp.schema.encode import Codes, encode_column
from interpret_dp.schema.fine_bins import outer_edges

FloatArray = NDArray[np.float64]
# Between the cells of a number; None where the cells are levels.
_Cuts = FloatArray | None

_FINE_CELLS = 254
_MOST_CELLS = 32
_ROWS_PER_NOISE = 3.0  # rows of a cell, in standard deviations of its count's noise


def histogram_plan(mu: float, n_columns: int) -> tuple[PlannedRelease, ...]:
    """Return the releases of :func:`release_histograms`: two of each column, all at the same mu."""
    each = mu / math.sqrt(2.0 * n_columns)
    return PlannedRelease("cells", each, n_columns), PlannedRelease("counts", each, n_columns)


def release_histograms(
    rows: PrivateRows, names: Sequence[str], specs: Sequence[FeatureSpec], session: ReleaseSession
) -> tuple[tuple[BackgroundColumn, ...], float]:
    """Release how the values of every column are spread.

    Parameters
    ----------
    rows : PrivateRows
        At most as many of each unit as the session's neighbourhood says.
    names, specs : sequence, shape (n_columns,)
        Columns of the table, in its order, and their declarations.
    session : ReleaseSession
        Open, with :func:`histogram_plan`.

    Returns
    -------
    columns : tuple of BackgroundColumn
    n_rows : float
        Number of rows, as far as all counts together know it; at least 1.
    """
    fine = [_fine_cuts(spec) for spec in specs]
    first, noise = _released("cells", rows, specs, fine, session)
    n_rows = _total(first)
    # The mean of two counts has half the variance of one.
    per_cell = _ROWS_PER_NOISE * noise / np.sqrt(2.0)
    n_cells = int(np.clip(n_rows / per_cell, 1, _MOST_CELLS))
    numeric = [k for k, fine_cuts in enumerate(fine) if fine_cuts is not None]
    smooth = dict(
        zip(numeric, smoothed_counts([first[k][1:] for k in numeric], noise), strict=True)
    )
    cuts: list[_Cuts] = []
    for k, fine_cuts in enumerate(fine):
        if fine_cuts is None:
            cuts.append(None)
            continue
        counts = np.append(first[k], 0.0)
        expected = np.concatenate((first[k][:1], smooth[k], [0.0]))
        # No cell ends at the bounds.
        inner = np.concatenate(([-np.inf], fine_cuts[1:-1], [np.inf]))
        merged = merge_bins(counts, inner, n_cells, n_rows, lightest=per_cell, expected=expected)
        is_heavy = expected[2:-2] >= n_rows / n_cells
        light = np.zeros(0) if merged.cuts is None else merged.cuts
        cuts.append(np.union1d(light, _around(fine_cuts[1:-1], is_heavy)))
    second, _ = _released("counts", rows, specs, cuts, session)
    columns = [
        _column(AdditiveFeature(name, spec, cuts[k]), first[k], second[k], fine[k], noise)
        for k, (name, spec) in enumerate(zip(names, specs, strict=True))
    ]
    precisions = [1.0 / (column.noise[column.counted] ** 2).sum() for column in columns]
    totals = [column.counts.sum() for column in columns]
    return tuple(columns), max(float(np.average(totals, weights=precisions)), 1.0)


def _fine_cuts(spec: FeatureSpec) -> _Cuts:
    """Return cuts between many cells of equal width, and around zero; None for levels.

    Columns of amounts and counts often hold zero in most rows. A cell of its own keeps those rows
    from being spread over the values near zero. The first cell and the last one hold what lies
    beyond the bounds, which is thus counted.
    """
    if isinstance(spec, Categorical):
        return None
    around = (-0.5, 0.5) if isinstance(spec, Integer) else (0.0, ZERO_ENDS)
    has_zero = spec.lower <= 0.0 <= spec.upper
    inside = [cut for cut in around if has_zero and spec.lower < cut <= spec.upper]
    return np.unique([*fine_edges(spec, _FINE_CELLS), *outer_edges(spec), *inside])


def _around(fine: FloatArray, is_heavy: NDArray[np.bool_]) -> FloatArray:
    """Return the cuts on both sides of some fine cells: a value of many rows is not spread out."""
    heavy = np.flatnonzero(is_heavy)
    sides = np.concatenate((heavy - 1, heavy))
    return fine[sides[(sides >= 0) & (sides < len(fine))]]


def _released(
    name: str,
    rows: PrivateRows,
    specs: Sequence[FeatureSpec],
    cuts: Sequence[_Cuts],
    session: ReleaseSession,
) -> tuple[list[FloatArray], float]:
    """Release one histogram a column, and return the noise of each count; both in rows."""
    released, sigma = [], 0.0
    for exact in rows.total(_counted, tuple(specs), tuple(cuts)):
        # A row is in one cell of each column.
        noisy, sigma = session.gaussian(
            name, LATTICE * exact[np.newaxis], row_norm=LATTICE, aligned=True
        )
        released.append(noisy[0] / LATTICE)
    return released, sigma / LATTICE


def _counted(
    rows: PrivateRows, specs: Sequence[FeatureSpec], cuts: Sequence[_Cuts]
) -> list[NDArray[np.int64]]:
    """Count the rows in each cell: missing first, undeclared levels last. Private."""
    histograms = []
    for place, (spec, column_cuts) in enumerate(zip(specs, cuts, strict=True)):
        codes = codes_of(rows.table.column(place), spec, column_cuts)
        # A number is never undeclared.
        n_codes = (
            len(column_cuts) + 2
            if column_cuts is not None
            else fine_bin_count(spec, _FINE_CELLS) + 2
        )
        counts = np.zeros(n_codes, dtype=np.int64)
        for part in chunks(len(codes)):
            counts += np.bincount(codes[part], minlength=n_codes)
        histograms.append(counts)
    return histograms


def codes_of(values: Values, spec: FeatureSpec, cuts: _Cuts) -> Codes:
    """Return the cell of each value of a column: 0 missing, undeclared levels last. Private."""
    return encode_column(values, spec, _FINE_CELLS, edges=cuts)


def _total(counts: Sequence[FloatArray]) -> float:
    """Return the number of rows from the totals of all columns, by their precision; at least 1."""
    precisions = [1.0 / len(column_counts) for column_counts in counts]
    totals = [column_counts.sum() for column_counts in counts]
    return max(float(np.average(totals, weights=precisions)), 1.0)


def _column(
    feature: AdditiveFeature, first: FloatArray, second: FloatArray, fine: _Cuts, noise: float
) -> BackgroundColumn:
    """Return a column with the mean of both counts of each cell, by their precision."""
    merged = np.arange(len(first))
    if feature.cuts is not None and fine is not None:
        starts = np.concatenate(([-np.inf], fine))
        merged = np.append(0, np.searchsorted(feature.cuts, starts, side="right") + 1)
    sums, parts = np.bincount(merged, weights=first), np.bincount(merged)
    # A sum of many fine counts has the noise of all of them.
    share = parts / (parts + 1.0)
    counts, deviations = sums + share * (second - sums), noise * np.sqrt(share)
    if feature.cuts is not None:
        counts, deviations = np.append(counts, 0.0), np.append(deviations, 0.0)
    clipped = None if fine is None else (float(first[1]), float(first[-1]))
    return BackgroundColumn(feature, counts, deviations, clipped)


DEPENDENCE_SHARE = 0.1
"""Part of mu squared that the dependence of columns takes from the histograms."""

_DEPENDENCE = "dependence"


def dependence_plan(mu: float) -> tuple[PlannedRelease, ...]:
    """Return the release of :func:`release_dependence`."""
    return (PlannedRelease(_DEPENDENCE, mu, 1),)


def release_dependence(
    rows: PrivateRows, columns: Sequence[BackgroundColumn], session: ReleaseSession
) -> ColumnDependence | None:
    """Release how columns depend on each other.

    Parameters
    ----------
    rows : PrivateRows
        At most as many of each unit as the session's neighbourhood says.
    columns : sequence of BackgroundColumn
        All columns of the table, in its order, as released.
    session : ReleaseSession
        Open, with :func:`dependence_plan`.

    Returns
    -------
    ColumnDependence or None
        None, and nothing is released, if fewer than two columns have two halves.
    """
    places = tuple(k for k, column in enumerate(columns) if column.signs.any())
    if len(places) < 2:
        return None
    exact = rows.total(_products, places, tuple(columns[k] for k in places))
    # A row adds -1, 0 or 1 to each of them.
    row_norm = math.isqrt(len(exact) * LATTICE**2 - 1) + 1
    noisy, sigma = session.gaussian(
        _DEPENDENCE, LATTICE * exact[np.newaxis], row_norm=row_norm, aligned=False
    )
    return ColumnDependence(places, noisy[0] / LATTICE, sigma / LATTICE)


def _products(
    rows: PrivateRows, places: Sequence[int], columns: Sequence[BackgroundColumn]
) -> NDArray[np.int64]:
    """Sum the products of the signs of each pair of columns. Private."""
    codes = [
        codes_of(rows.table.column(place), column.feature.spec, column.feature.cuts)
        for place, column in zip(places, columns, strict=True)
    ]
    sums = np.zeros((len(columns), len(columns)), dtype=np.int64)
    for part in chunks(len(codes[0])):
        signs = np.stack(
            [
                column.signs[column_codes[part]]
                for column, column_codes in zip(columns, codes, strict=True)
            ]
        ).astype(np.float64)
        # Exact: sums of so few integers are far below 2**53.
        sums += (signs @ signs.T).astype(np.int64)
    return sums[np.triu_indices(len(columns), 1)]
