"""Terms of two features: chosen, counted, boosted on a fixed grid of cells, and purified.

Pairs are chosen privately, by the size of the interaction in the residuals. Every candidate's
residuals are summed on a coarse grid, and the main effects are projected out of the table of sums.
The norm of what is left changes by no more than one row's residual, whatever the grid, so that the
exponential mechanism can choose among many candidates at the price of one (docs/proofs/dp_ebm.md).
It is the measure of FAST (Lou et al. 2013) on cells of equal weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from interpret.utils import purify
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows, Integers
from interpret_dp.ebm.config import (
    MOST_LEVELS,
    MOST_RANKED,
    SELECTION_GROUPS,
    BoostingSettings,
    TrainerConfig,
    most_cells,
)
from interpret_dp.ebm.interactions import PairTask
from interpret_dp.ebm.losses import CurvedLoss, Loss, Start
from interpret_dp.ebm.noise.boosted import without_axis
from interpret_dp.ebm.noise.propagation import TermHistory
from interpret_dp.ebm.noise.uncertainty import TermNoise, term_noise
from interpret_dp.ebm.trainer.binning import Bins, merge_bins, project_to_total
from interpret_dp.ebm.trainer.boosting import LARGEST_CHANGE, score_rows
from interpret_dp.ebm.trainer.curves import Averaged, BoostingResult, Curves
from interpret_dp.ebm.trainer.partitions import (
    Partition,
    TermUpdate,
    leaf_gains,
    without_common_part,
)
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import Continuous, FeatureSpec, Integer

# Boosting of pairs after the features: noisy sums on a fixed grid of cells, pure by construction.
#
# A row is in one cell of each pair, so that the privacy of each round is that of a feature's round
# (docs/proofs/dp_ebm.md). Every update is projected onto the tables without main effects, in
# squares weighted by released counts: pairs learn interactions alone. The curves of the features
# move afterwards, from released numbers, by what keeps the mean prediction of each bin.

FloatArray = NDArray[np.float64]

_BLOCKS = 4
# Directions of the cells that are main effects up to rounding.
_RANK_TOLERANCE = 1e-10


def pair_update(
    cells: FloatArray, *, settings: BoostingSettings, count_noise: float, n_rows: float
) -> TermUpdate:
    """Return the update of a pair, which is that of every round.

    Parameters
    ----------
    cells : ndarray of float64, shape (n_first, n_second)
        Released number of rows per cell, never negative.
    settings : BoostingSettings
    count_noise : float
        Standard deviation of the released count of a cell; cells below two of them do not move.
    n_rows : float
        Released number of rows; cells lighter than the average take smaller steps.
    """
    shape, weights = cells.shape, cells.ravel()
    gain = leaf_gains(
        weights,
        step=settings.step,
        count_noise=count_noise,
        lightest=max(settings.least_hessian, n_rows / max((shape[0] - 2) * (shape[1] - 2), 1)),
    )
    moved = np.flatnonzero(gain > 0)
    # An orthonormal basis of the main effects on the cells that move, weighted.
    places = zip(np.unravel_index(moved, shape), shape, strict=True)
    effects = np.hstack([place[:, np.newaxis] == np.arange(size) for place, size in places])
    root = np.sqrt(weights[moved])[:, np.newaxis]
    basis, sizes, _ = np.linalg.svd(root * effects, full_matrices=False)
    basis = basis[:, sizes > _RANK_TOLERANCE * max(sizes.max(initial=0.0), 1e-300)]
    partition = Partition(np.arange(len(gain), dtype=np.uint16), len(gain))
    return TermUpdate(partition, gain, effects=np.asarray(basis))


def boost_pairs(
    rows: AdditiveRows,
    cells: Sequence[FloatArray],
    updates: Sequence[TermUpdate],
    starts: Sequence[FloatArray],
    loss: Loss,
    *,
    config: TrainerConfig,
    session: ReleaseSession,
) -> tuple[Curves, float]:
    """Train the pairs from where the rows' scores are.

    Parameters
    ----------
    rows : AdditiveRows
        Private, paired up: their features are the pairs.
    cells, updates : sequences, one entry a pair
        Released numbers of rows per cell, and the update of each round.
    starts : sequence of ndarray of float64, shape (n_cells, n_scores) each
        Score of each cell before, by the terms of its two features.
    loss : Loss
        Divides steps by the Hessian where that depends on the score.
    config : TrainerConfig
    session : ReleaseSession
        Every sum passes through it.

    Returns
    -------
    curves : Curves
        Of the cells row by row; the last half of the rounds is in the average.
    noise : float
        Standard deviation of the noise of one residual sum, in residuals.
    """
    n_scores, noise = rows.n_scores, 0.0
    curves = Curves([own.ravel() for own in cells], n_scores, [0] * len(cells))
    width = max(map(len, curves.weights))
    pending, changes = np.zeros(0, dtype=np.int64), np.zeros((0, width, n_scores), dtype=np.int32)
    rows.begin(np.zeros(n_scores, dtype=np.int64))
    for number in range(config.n_rounds):
        order = session.public_choices.permutation(len(cells))
        for block in np.array_split(order, min(_BLOCKS, len(cells))):
            exact = rows.advance(pending, changes, block, width)
            pending = block
            changes = np.zeros((len(block), width, n_scores), dtype=np.int32)
            gains = []
            for k in block:
                present = starts[k] + curves.scores[k] / LATTICE
                before, leaf = updates[k].gain, updates[k].partition.leaf
                gains.append(loss.leaf_steps(before, leaf, present, curves.weights[k]))
            # Residuals of two rows may point in opposite directions.
            released = session.gaussian_each(
                "pairs",
                [
                    own[np.flatnonzero(gain > 0)][np.newaxis]
                    for own, gain in zip(exact, gains, strict=True)
                ],
                row_norms=[rows.residual_norm] * len(block),
                aligned=False,
            )
            for slot, (k, gain, (noisy, sigma)) in enumerate(
                zip(block, gains, released, strict=True)
            ):
                noise = sigma / LATTICE
                sums = np.zeros((len(curves.weights[k]), n_scores))
                sums[np.flatnonzero(gain > 0)] = noisy[0]
                change = curves.add(k, replace(updates[k], gain=gain), sums, LARGEST_CHANGE)
                changes[slot, : len(change)] = change
        if number >= config.n_rounds - config.averaged_rounds:
            curves.add_to_average()
    return curves, noise


@dataclass(frozen=True, eq=False)
class TrainedPair:
    """Released arrays of one pair, in units of score.

    Attributes
    ----------
    first, second : int
        Numbers of its features' terms.
    weights : ndarray of float64, shape (n_first, n_second)
    scores : ndarray of float64, shape (n_first, n_second, n_scores)
    noise : TermNoise
        Of the cells row by row.
    gain : ndarray of float64, shape (n_first, n_second)
        Score added per unit of noisy residual sum, before the projection, at an average Hessian; 0
        where nothing moves.
    """

    first: int
    second: int
    weights: FloatArray
    scores: FloatArray
    noise: TermNoise
    gain: FloatArray

    def in_units(self, scale: float, largest_weight: float) -> TrainedPair:
        """Return the pair in other units: of a score of 1, and of a row of the largest weight.

        Of one score a row, ``scores`` have no axis for it then.
        """
        return replace(
            self,
            weights=largest_weight * self.weights,
            scores=without_axis([self.scores], scale)[0],
            noise=self.noise.scaled(scale),
        )


@dataclass(frozen=True, eq=False)
class TrainedPairs:
    """Released result of the stage.

    Attributes
    ----------
    pairs : list of TrainedPair
    coarse : dict of int to Bins
        For each feature in a pair, how the bins of its own term are merged.
    scores : list of ndarray of float64
        Of the features' own terms, with what purifying moved into them.
    intercept : ndarray of float64, shape (n_scores,)
    noise : sequence of TermNoise
        Of the features' own terms, with what that moved.
    tables : list of ndarray of float64, shape (n_cells, n_scores) each
        Of each pair, what is added to its rows' scores in all: to other terms, too.
    """

    pairs: list[TrainedPair]
    coarse: dict[int, Bins]
    scores: list[FloatArray]
    intercept: FloatArray
    noise: Sequence[TermNoise]
    tables: Sequence[FloatArray] = ()


def train_pairs(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    specs: Sequence[FeatureSpec],
    trained: BoostingResult,
    task: PairTask,
    config: TrainerConfig,
    session: ReleaseSession,
    count_noise: float,
    term_noises: Sequence[TermNoise],
) -> TrainedPairs:
    """Choose and train pairs on top of the trained features.

    Parameters
    ----------
    rows : AdditiveRows
        Private, as the features' boosting left them.
    bins, specs : sequences, one entry a term
        Bins and declaration of each feature.
    trained : BoostingResult
        The features' curves.
    task : PairTask
        With at least one pair.
    config : TrainerConfig
    session : ReleaseSession
        Every release passes through it.
    count_noise : float
        Standard deviation of a released count.
    term_noises : sequence of TermNoise, one entry a term
        Of the features' curves.
    """
    start = trained.start
    score_rows(rows, trained.scores, trained.intercept)
    chosen = list(task.named)
    if task.n_chosen:
        candidates = rows, bins, specs, trained.scores, task, session
        chosen += (measure_pairs if config.has_sites else select_pairs)(*candidates)
    # interpret's order of terms.
    chosen.sort(key=lambda pair: (*sorted(pair), *pair))
    n_rows = start.n_rows
    settings = config.pair_boosting(n_rows, start.scale)
    coarse = _coarse_bins(bins, specs, chosen, settings)
    no_codes = np.zeros(0, dtype=np.uint16)
    maps = [coarse[k].code_map if k in coarse else no_codes for k in range(len(bins))]
    widths = [coarse[k].n_codes if k in coarse else 0 for k in range(len(bins))]
    rows.pair_up(chosen, maps, widths)
    cells = _release_cells(rows, chosen, coarse, specs, session, start)
    updates = [
        pair_update(c, settings=settings, count_noise=count_noise, n_rows=n_rows) for c in cells
    ]
    loss, n_scores = start.loss, rows.n_scores
    means = {k: _coarse_means(bins[k], coarse[k], trained.scores[k]) for k in coarse}
    starts = [
        trained.intercept + (means[a][:, np.newaxis] + means[b]).reshape(-1, n_scores)
        for a, b in chosen
    ]
    curves, noise = boost_pairs(rows, cells, updates, starts, loss, config=config, session=session)
    # Taking away what the classes have in common takes away that part of the noise. The noise of a
    # class meets that of the others, which points the other way: its residuals follow it by more.
    share = 1.0 if n_scores == 1 else 1.0 - 1.0 / n_scores
    noise *= share**0.5
    tables = curves.means()
    spreads = [_mean(b, s**2) for b, s in zip(bins, trained.scores, strict=True)]
    averaged, pairs, term_noises = Averaged(curves.n_averaged), [], list(term_noises)
    for k, (pair, c, update) in enumerate(zip(chosen, cells, updates, strict=True)):
        others = np.maximum(sum(spreads) - spreads[pair[0]] - spreads[pair[1]], 0.0) ** 0.5
        weights, centres = c.ravel(), starts[k] + tables[k]
        # The expected second derivative of the loss; other terms are as one of two equal bins.
        both = [centres, np.stack([others, -others])], np.zeros(n_scores), [weights, np.ones(2)]
        curvature = loss.curvatures(*both, start.scale.curvature)[0] / share
        histories = TermHistory.of_scores(curves.updates[k], weights, curvature, averaged)
        spread = term_noise(histories, noise=noise, rng=session.public_choices)
        # Of scores that rows start from nothing is known.
        if isinstance(loss, CurvedLoss) and not start.has_scores:
            after, slopes = _balanced(loss, starts[k], centres, others, c)
            tables[k] = after - starts[k]
            for axis, feature in enumerate(pair):
                shares = slopes / np.maximum(slopes.sum(axis=1 - axis, keepdims=True), 1e-300)
                own, codes = term_noises[feature], coarse[feature].code_map
                term_noises[feature] = own.with_means(spread, shares, axis, codes)
        scores, gain = tables[k].reshape(*c.shape, n_scores), update.gain.reshape(c.shape)
        pairs.append(TrainedPair(*pair, c, scores, spread, gain))
    return _purified(pairs, coarse, trained, tables, term_noises)


def _coarse_bins(
    bins: Sequence[Bins],
    specs: Sequence[FeatureSpec],
    chosen: Sequence[tuple[int, int]],
    settings: BoostingSettings,
) -> dict[int, Bins]:
    """Return the merged bins of each feature in its pairs.

    Those of a number, to the grid. But an integer of few values keeps the bins of its own term, as
    a category keeps its levels, if one of its pairs can have so many cells: bins that are too
    coarse there would cost more than too fine ones do in the others.
    """
    coarse = {
        k: merge_bins(bins[k].weights, bins[k].cuts, settings.leaves, float(bins[k].weights.sum()))
        for k in sorted({feature for pair in chosen for feature in pair})
    }
    of_few_values = [
        k
        for k in coarse
        if isinstance(spec := specs[k], Integer) and spec.upper - spec.lower < MOST_LEVELS
    ]
    # Two of them may be in one pair: the one with fewer bins goes first.
    for k in sorted(of_few_values, key=lambda k: bins[k].n_codes):
        partners = [a if b == k else b for a, b in chosen if k in (a, b)]
        n_partner = min(coarse[partner].n_codes - 2 for partner in partners)
        most = most_cells(settings.noise_level, float(bins[k].weights.sum()))
        if (bins[k].n_codes - 2) * n_partner <= most:
            coarse[k] = replace(bins[k], code_map=np.arange(bins[k].n_codes, dtype=np.uint16))
    return coarse


def _release_cells(
    rows: AdditiveRows,
    chosen: Sequence[tuple[int, int]],
    coarse: dict[int, Bins],
    specs: Sequence[FeatureSpec],
    session: ReleaseSession,
    start: Start,
) -> list[FloatArray]:
    """Release how many rows each cell has: a row is in one cell of each pair."""
    shapes = [(coarse[a].n_codes, coarse[b].n_codes) for a, b in chosen]
    sums = rows.bin_counts([math.prod(shape) for shape in shapes])
    places = []
    for (a, b), shape in zip(chosen, shapes, strict=True):
        # A number is never unseen, which is public: nothing to count or to add noise to.
        possible = np.ones(shape, dtype=np.bool_)
        if isinstance(specs[a], Continuous):
            possible[-1] = False
        if isinstance(specs[b], Continuous):
            possible[:, -1] = False
        places.append(np.flatnonzero(possible))
    released = session.gaussian_each(
        "pair bins",
        [exact[own][np.newaxis] for exact, own in zip(sums, places, strict=True)],
        row_norms=[LATTICE] * len(chosen),
        aligned=True,
    )
    cells = []
    for shape, own, (noisy, _) in zip(shapes, places, released, strict=True):
        weights = np.zeros(shape)
        counts = noisy[0] / (start.row_mass * LATTICE)
        weights.ravel()[own] = project_to_total(counts, start.n_rows)
        cells.append(weights)
    return cells


def _coarse_means(fine: Bins, coarse: Bins, scores: FloatArray) -> FloatArray:
    """Return the weighted means of a feature's scores over the bins that its pairs use."""
    rows = np.eye(coarse.n_codes)[coarse.code_map] * fine.weights[:, np.newaxis]
    return np.asarray(rows.T @ scores / np.maximum(rows.sum(axis=0), 1e-300)[:, np.newaxis])


# Of balancing a pair: steps for both features in turn, and the largest of each.
_BALANCING_STEPS, _LARGEST_STEP = 24, 1.0


def _balanced(
    loss: CurvedLoss, before: FloatArray, after: FloatArray, spread: FloatArray, cells: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return scores of cells with main effects that keep the mean residual of each bin.

    Where predictions bend with the score, an interaction without main effects moves the mean
    prediction of a bin. Features were trained without it, so that they hold that move already.

    Parameters
    ----------
    loss : CurvedLoss
    before, after : ndarray of float64, shape (n_cells, n_scores)
        Scores without and with the interaction.
    spread : ndarray of float64, shape (n_scores,)
        Standard deviation of the scores of other terms.
    cells : ndarray of float64, shape (n_first, n_second)
        Released numbers of rows.

    Returns
    -------
    after : ndarray of float64, shape (n_cells, n_scores)
    slopes : ndarray of float64, shape (n_first, n_second, n_scores)
        Weights of the cells in these main effects.
    """
    slopes = cells[..., np.newaxis]
    for step in range(_BALANCING_STEPS):
        residuals, slopes = (
            cells[..., np.newaxis] * part.reshape(*cells.shape, -1)
            for part in loss.expected_residuals(before, after, spread)
        )
        sums, total = (part.sum(axis=step % 2, keepdims=True) for part in (residuals, slopes))
        has_rows = total > _RANK_TOLERANCE * total.max()
        move = np.divide(sums, total, out=np.zeros_like(sums), where=has_rows)
        move = without_common_part(np.clip(move, -_LARGEST_STEP, _LARGEST_STEP))
        after = (after.reshape(*cells.shape, -1) + move).reshape(after.shape)
    return after, slopes


def _purified(
    pairs: list[TrainedPair],
    coarse: dict[int, Bins],
    trained: BoostingResult,
    tables: list[FloatArray],
    noise: Sequence[TermNoise],
) -> TrainedPairs:
    """Move main effects out of the pairs, by interpret's own algorithm.

    Updates are pure up to rounding, so that this is the last digit and what balances a pair.
    """
    scores = [s.copy() for s in trained.scores]
    intercept = trained.intercept.copy()
    pure = []
    for pair in pairs:
        if not pair.scores.any():
            pure.append(pair)
            continue
        own = without_axis([pair.scores], 1.0)[0]
        table, impurities, constant = purify(own, pair.weights, is_randomized=False)
        # A cell without rows has no mean to be centred by; where nothing was learned, nothing is.
        table = np.where(pair.gain[..., np.newaxis] > 0, table.reshape(pair.scores.shape), 0.0)
        intercept += constant
        for (axis,), effect in impurities:
            feature = (pair.first, pair.second)[axis]
            # A bin that was never learned stays as it is.
            moved = effect.reshape(-1, len(intercept))[coarse[feature].code_map]
            scores[feature] += moved * (noise[feature].diagonal.reshape(moved.shape) > 0)
        pure.append(replace(pair, scores=table))
    return TrainedPairs(pure, coarse, scores, intercept, noise, tables)


_MOST_SELECTION_CELLS = SELECTION_GROUPS**2


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
    candidates, exact = _candidates(rows, bins, specs, scores, task)
    strengths = [interaction_size(table) for table in exact]
    chosen = []
    for _ in range(task.n_chosen):
        place = session.choose("pair selection", strengths, row_norm=rows.residual_norm)
        chosen.append(candidates.pop(place))
        strengths.pop(place)
    return chosen


def measure_pairs(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    specs: Sequence[FeatureSpec],
    scores: Sequence[FloatArray],
    task: PairTask,
    session: ReleaseSession,
) -> list[tuple[int, int]]:
    """Choose ``task.n_chosen`` pairs by noisy tables of all candidates, where sites fit together.

    Nobody there has the exact totals that the exponential mechanism needs. The square of an
    interaction's size is corrected for what the noise adds to it on average.

    Parameters
    ----------
    rows, bins, specs, scores, task, session
        As :func:`select_pairs` takes them.
    """
    candidates, exact = _candidates(rows, bins, specs, scores, task)
    flat = np.concatenate([table.ravel() for table in exact])
    # A row is in one cell of each table at most.
    row_norm = math.isqrt(len(exact) * rows.residual_norm**2) + 1
    noisy, sigma = session.gaussian(
        "pair selection", flat[np.newaxis], row_norm=row_norm, aligned=False
    )
    ends = np.cumsum([table.size for table in exact])
    squares = []
    for table, end in zip(exact, ends, strict=True):
        n_first, n_second, n_scores = table.shape
        own = noisy[0, end - table.size : end].reshape(table.shape).astype(np.float64)
        centred = own - own.mean(axis=0) - own.mean(axis=1, keepdims=True) + own.mean(axis=(0, 1))
        of_noise = (n_first - 1) * (n_second - 1) * n_scores * sigma**2
        squares.append(n_first * n_second * (float((centred**2).sum()) - of_noise))
    best = sorted(range(len(candidates)), key=lambda k: (-squares[k], k))
    return [candidates[k] for k in best[: task.n_chosen]]


def _candidates(
    rows: AdditiveRows,
    bins: Sequence[Bins],
    specs: Sequence[FeatureSpec],
    scores: Sequence[FloatArray],
    task: PairTask,
) -> tuple[list[tuple[int, int]], list[Integers]]:
    """Return the candidates, and the private sums of residuals on the cells of each."""
    sizes = [_mean(b, np.abs(curve)).mean() for b, curve in zip(bins, scores, strict=True)]
    ranked = sorted(task.eligible, key=lambda k: (-sizes[k], k))
    candidates = task.candidates(ranked[:MOST_RANKED])
    groups = [_groups(b, spec) for b, spec in zip(bins, specs, strict=True)]
    # One group more than are compared: rows in it are left out.
    widths = [int(group.max()) + 1 for group in groups]
    exact = rows.pair_sums(candidates, groups, widths)
    return candidates, [table[:-1, :-1] for table in exact]


def _mean(bins: Bins, scores: FloatArray) -> FloatArray:
    return np.asarray(bins.weights @ scores / max(float(bins.weights.sum()), 1e-300))


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
    sums : ndarray of int64, shape (n_first, n_second) or (n_first, n_second, n_scores)
        Private.

    Returns
    -------
    int
        ``floor(sqrt(n / 16) * norm)`` of the table without its means of rows and columns (of each
        class), where n is the number of cells: equal effects count alike on any grid. Exact, in
        integers of any size, so that it changes by at most the norm of what changes in ``sums``,
        rounded up.
    """
    n_first, n_second = sums.shape[:2]
    exact: NDArray[Any] = sums.astype(object)
    # n_first * n_second times the centred table: an integer.
    centred = (
        n_first * n_second * exact
        - n_first * exact.sum(axis=1, keepdims=True)
        - n_second * exact.sum(axis=0, keepdims=True)
        + exact.sum(axis=(0, 1))
    )
    square = int((centred**2).sum())
    n_cells = n_first * n_second
    return math.isqrt(square * n_cells // (_MOST_SELECTION_CELLS * n_cells**2))
