"""Release of the dependence between columns: one vector of sums over rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.lime.histograms import codes_of
from interpret_dp.release import PlannedRelease, ReleaseSession
from interpret_dp.released.background import BackgroundColumn
from interpret_dp.released.copula import ColumnDependence
from interpret_dp.schema.cells import chunks

__all__ = ["DEPENDENCE_SHARE", "dependence_plan", "release_dependence"]

DEPENDENCE_SHARE = 0.1
"""Part of mu squared that the dependence of columns takes from the histograms."""

_NAME = "dependence"


def dependence_plan(mu: float) -> tuple[PlannedRelease, ...]:
    """Return the release of :func:`release_dependence`."""
    return (PlannedRelease(_NAME, mu, 1),)


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
        _NAME, LATTICE * exact[np.newaxis], row_norm=row_norm, aligned=False
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
            [column.signs[own[part]] for column, own in zip(columns, codes, strict=True)]
        ).astype(np.float64)
        # Exact: sums of so few integers are far below 2**53.
        sums += (signs @ signs.T).astype(np.int64)
    return sums[np.triu_indices(len(columns), 1)]
