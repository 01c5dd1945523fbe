"""The histograms of a background are released: once to find cells, once more to count in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.trainer.binning import merge_bins
from interpret_dp.ebm.trainer.smoothing import smoothed_counts
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import PlannedRelease, ReleaseDoor
from interpret_dp.released.background import ZERO_ENDS, BackgroundColumn
from interpret_dp.released.terms import AdditiveFeature
from interpret_dp.schema import Categorical, FeatureSpec, Integer, fine_edges
from interpret_dp.schema.cells import LevelTable, in_chunks, numbers_of

__all__ = ["histogram_plan", "release_histograms"]

FloatArray = NDArray[np.float64]
# Of one column: the levels, or the cuts between the cells of a number.
_Cells = Categorical | FloatArray

_FINE_CELLS = 254
_MOST_CELLS = 32
_NOISE_IN_CELL = 3.0  # a cell has about so many times as many rows as its count has noise


def histogram_plan(mu: float, n_columns: int) -> tuple[PlannedRelease, ...]:
    """Return the releases of :func:`release_histograms`: two of each column, all at the same mu."""
    each = mu / np.sqrt(2.0 * n_columns)
    return PlannedRelease("cells", each, n_columns), PlannedRelease("counts", each, n_columns)


def release_histograms(
    rows: PrivateRows, names: Sequence[str], specs: Sequence[FeatureSpec], door: ReleaseDoor
) -> tuple[tuple[BackgroundColumn, ...], float]:
    """Release how the values of every column are spread.

    Parameters
    ----------
    rows : PrivateRows
        At most as many of each unit as the door's neighbourhood says.
    names, specs : sequence, shape (n_columns,)
        Columns of the table, in its order, and their declarations.
    door : ReleaseDoor
        Open, with :func:`histogram_plan`.

    Returns
    -------
    columns : tuple of BackgroundColumn
    n_rows : float
        Number of rows, as far as all counts together know it; at least 1.
    """
    fine = [_fine_cells(spec) for spec in specs]
    first, noise = _released("cells", rows, fine, door)
    n_rows = _total(first)
    # The mean of two counts has half the variance of one.
    per_cell = _NOISE_IN_CELL * noise / np.sqrt(2.0)
    n_cells = int(np.clip(n_rows / per_cell, 1, _MOST_CELLS))
    numeric = [k for k, cells in enumerate(fine) if not isinstance(cells, Categorical)]
    smooth = dict(
        zip(numeric, smoothed_counts([first[k][1:] for k in numeric], noise), strict=True)
    )
    cells: list[_Cells] = []
    for k, own in enumerate(fine):
        if not isinstance(own, Categorical):
            counts = np.append(first[k], 0.0)
            expected = np.concatenate((first[k][:1], smooth[k], [0.0]))
            merged = merge_bins(counts, own, n_cells, n_rows, lightest=per_cell, expected=expected)
            is_heavy = expected[1:-1] >= n_rows / n_cells
            own = np.union1d([] if merged.cuts is None else merged.cuts, _around(own, is_heavy))
        cells.append(own)
    second, _ = _released("counts", rows, cells, door)
    columns = [
        _column(AdditiveFeature(name, spec, _cuts_of(own)), first[k], second[k], fine[k], noise)
        for k, (name, spec, own) in enumerate(zip(names, specs, cells, strict=True))
    ]
    precisions = [1.0 / (column.noise[column.counted] ** 2).sum() for column in columns]
    totals = [column.counts.sum() for column in columns]
    return tuple(columns), max(float(np.average(totals, weights=precisions)), 1.0)


def _fine_cells(spec: FeatureSpec) -> _Cells:
    """Return the levels, or cuts between many cells of equal width and around zero.

    Columns of amounts and counts often hold zero in most rows. A cell of its own keeps those rows
    from being spread over the values near zero.
    """
    if isinstance(spec, Categorical):
        return spec
    around = (-0.5, 0.5) if isinstance(spec, Integer) else (0.0, ZERO_ENDS)
    inside = [cut for cut in around if spec.lower <= 0.0 <= spec.upper and cut > spec.lower]
    cuts = np.append(fine_edges(spec, _FINE_CELLS), [cut for cut in inside if cut <= spec.upper])
    return np.unique(cuts)


def _around(fine: FloatArray, is_heavy: NDArray[np.bool_]) -> FloatArray:
    """Return the cuts on both sides of some fine cells: a value of many rows is not spread out."""
    heavy = np.flatnonzero(is_heavy)
    sides = np.concatenate((heavy - 1, heavy))
    return fine[sides[(sides >= 0) & (sides < len(fine))]]


def _released(
    name: str, rows: PrivateRows, cells: Sequence[_Cells], door: ReleaseDoor
) -> tuple[list[FloatArray], float]:
    """Release one histogram a column, and return the noise of each count; both in rows."""
    released, sigma = [], 0.0
    for exact in rows.total(_counted, tuple(cells)):
        # A row is in one cell of each column.
        noisy, sigma = door.gaussian(
            name, LATTICE * exact[np.newaxis], row_norm=LATTICE, aligned=True
        )
        released.append(noisy[0] / LATTICE)
    return released, sigma / LATTICE


def _counted(rows: PrivateRows, cells: Sequence[_Cells]) -> list[NDArray[np.int64]]:
    """Count the rows in each cell: missing first, undeclared levels last. Private."""
    found = []
    for place, own in enumerate(cells):
        values = rows.table.column(place)
        n_codes = len(own.levels) + 2 if isinstance(own, Categorical) else len(own) + 2
        counts = np.zeros(n_codes, dtype=np.int64)
        for codes in _codes(values, own):
            counts += np.bincount(codes, minlength=n_codes)
        found.append(counts)
    return found


def _codes(values: Any, cells: _Cells) -> Any:
    """Yield the codes of the rows in chunks; each cell of the table decides its own."""
    if isinstance(cells, Categorical):
        for _, positions in in_chunks(values, LevelTable(cells.levels).positions):
            yield positions
        return
    for _, numbers in in_chunks(values, numbers_of):
        codes = np.searchsorted(cells, numbers, side="right") + 1
        codes[np.isnan(numbers)] = 0
        yield codes


def _total(counts: Sequence[FloatArray]) -> float:
    """Return the number of rows from the totals of all columns, by their precision; at least 1."""
    precisions = [1.0 / len(own) for own in counts]
    totals = [own.sum() for own in counts]
    return max(float(np.average(totals, weights=precisions)), 1.0)


def _cuts_of(cells: _Cells) -> FloatArray | None:
    return None if isinstance(cells, Categorical) else cells


def _column(
    feature: AdditiveFeature, first: FloatArray, second: FloatArray, fine: _Cells, noise: float
) -> BackgroundColumn:
    """Return a column with the mean of both counts of each cell, by their precision."""
    merged = np.arange(len(first))
    if feature.cuts is not None and not isinstance(fine, Categorical):
        starts = np.concatenate(([-np.inf], fine))
        merged = np.append(0, np.searchsorted(feature.cuts, starts, side="right") + 1)
    sums, parts = np.bincount(merged, weights=first), np.bincount(merged)
    # A sum of many fine counts has the noise of all of them.
    share = parts / (parts + 1.0)
    counts, deviations = sums + share * (second - sums), noise * np.sqrt(share)
    if feature.cuts is not None:
        counts, deviations = np.append(counts, 0.0), np.append(deviations, 0.0)
    return BackgroundColumn(feature, counts, deviations)
