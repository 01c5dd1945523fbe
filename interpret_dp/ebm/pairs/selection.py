"""Which pairs are worth a term: a private choice by the size of the interaction in the residuals.

Every candidate's residuals are summed on a coarse grid, and the main effects are projected out of
the table of sums. The norm of what is left changes by no more than one row's residual, whatever the
grid, so that the exponential mechanism can choose among many candidates at the price of one
(docs/proofs/dp_ebm.md). It is the measure of FAST (Lou et al. 2013) on cells of equal weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.backends.base import AdditiveRows
from interpret_dp.ebm.pairs.config import MOST_RANKED, SELECTION_GROUPS
from interpret_dp.ebm.pairs.interactions import PairTask
from interpret_dp.ebm.trainer.binning import Bins, merge_bins
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import Continuous, FeatureSpec

__all__ = ["interaction_size", "select_pairs"]

FloatArray = NDArray[np.float64]

_MOST_CELLS = SELECTION_GROUPS**2


def select_pairs(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    specs: Sequence[FeatureSpec],
    scores: Sequence[FloatArray],
    task: PairTask,
    session: ReleaseSession,
) -> list[tuple[int, int]]:
    """Choose ``task.n_chosen`` pairs, one after the other.

    Parameters
    ----------
    rows : AdditiveRows
        Private, with the scores of the released features.
    bins, specs, scores : sequences, one entry a term
        Bins, declaration and released curve of each feature.
    task : PairTask
    session : ReleaseSession
        Every choice passes through it.
    """
    ranked = sorted(task.eligible, key=lambda k: (-_importance(bins[k], scores[k]), k))
    candidates = task.candidates(ranked[:MOST_RANKED])
    groups = [_groups(b, spec) for b, spec in zip(bins, specs, strict=True)]
    # One group more than are compared: rows in it are left out.
    widths = [int(group.max()) + 1 for group in groups]
    exact = rows.pair_sums(candidates, groups, widths)
    sizes = [interaction_size(table[:-1, :-1, 0]) for table in exact]
    chosen = []
    for _ in range(task.n_chosen):
        place = session.choose(
            "pair selection", sizes, row_norm=rows.residual_norm, prefers_large=True
        )
        chosen.append(candidates.pop(place))
        sizes.pop(place)
    return chosen


def _importance(bins: Bins, scores: FloatArray) -> float:
    return float(bins.weights @ np.abs(scores[:, 0])) / max(float(bins.weights.sum()), 1e-300)


def _groups(bins: Bins, spec: FeatureSpec) -> NDArray[np.uint16]:
    """Return the group of each bin; the last group is left out of the comparison.

    Missing and undeclared values are left out. Ranges of an ordered feature are of equal weight;
    of a nominal one the most frequent levels stand alone, and the others together.
    """
    n_inner = bins.n_codes - 2
    inner = bins.weights[1:-1]
    if isinstance(spec, Continuous) or spec.ordered:
        # Edges only say that neighbours may be merged.
        edges = np.arange(1.0, n_inner)
        total = float(bins.weights.sum())
        merged = merge_bins(bins.weights, edges, SELECTION_GROUPS, total).code_map[1:-1] - 1
    else:
        order = np.argsort(-inner, kind="stable")
        merged = np.empty(n_inner, dtype=np.int64)
        merged[order] = np.minimum(np.arange(n_inner), SELECTION_GROUPS - 1)
    out = int(merged.max()) + 1
    return np.concatenate(([out], merged, [out])).astype(np.uint16)


def interaction_size(sums: NDArray[np.int64]) -> int:
    """Return the size of the interaction in a table of residual sums, in lattice units.

    Parameters
    ----------
    sums : ndarray of int64, shape (n_first, n_second)
        Private.

    Returns
    -------
    int
        ``floor(sqrt(n / 16) * norm)`` of the table without its means of rows and columns, where n
        is the number of cells: equal effects count alike on any grid. Exact, in integers of any
        size, so that it changes by at most the norm of what changes in ``sums``, rounded up.
    """
    n_first, n_second = sums.shape
    whole: NDArray[Any] = sums.astype(object)
    # n_first * n_second times the centred table: an integer.
    centred = (
        n_first * n_second * whole
        - n_first * whole.sum(axis=1, keepdims=True)
        - n_second * whole.sum(axis=0, keepdims=True)
        + whole.sum()
    )
    square = int((centred**2).sum())
    n_cells = n_first * n_second
    return math.isqrt(square * n_cells // (_MOST_CELLS * n_cells**2))
