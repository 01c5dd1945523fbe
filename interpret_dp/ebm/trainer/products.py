"""The release of how features are correlated: sums of products, after boosting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations, correlations_of, group_functions
from interpret_dp.release import ReleaseSession

__all__ = ["release_correlations"]

# Of so many terms at most: their moments are as many as half the square of it.
_MOST_TERMS = 256


def release_correlations(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
    terms: Sequence[int],
    n_rows: float,
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
    n_rows : float
        Released number of rows.
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
    if not config.can_correlate(n_rows, sensitivity / LATTICE):
        return None
    exact = rows.product_sums(known, chosen)
    owner = np.repeat(np.arange(len(known)), [table.shape[1] for table in chosen])
    upper = owner[:, np.newaxis] < owner
    noisy, sigma = session.gaussian(
        "correlations", exact[upper][np.newaxis], row_norm=row_norm, aligned=False
    )
    moments = np.zeros(exact.shape)
    moments[upper] = noisy[0] / (n_rows * LATTICE)
    return correlations_of(
        known, chosen, moments, sigma / (n_rows * LATTICE), [bins[k] for k in known], is_ordered
    )
