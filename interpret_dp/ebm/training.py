"""One DP-EBM fit, from a table to a released model: encode, count, bin, boost.

Declarations are released before. The order is then: the target, the histograms, the weights of
merged bins, the rounds, how the features are correlated; then of pairs their choice, their cells
and their rounds; last a regression's total. Everything between releases is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_SCORE, AdditiveRows, Integers, RegressionRows
from interpret_dp.backends.local import (
    LocalBinaryRows,
    LocalMulticlassRows,
    exposure_shares,
    regression_rows,
)
from interpret_dp.backends.survival import LocalSurvivalRows, cells_of_times
from interpret_dp.ebm.config import LossScale, TrainerConfig
from interpret_dp.ebm.interactions import NO_PAIRS, PairTask
from interpret_dp.ebm.losses import LogLoss, Loss, RegressionLoss, Start
from interpret_dp.ebm.noise.boosted import Boosted, with_noise_of_others, without_axis
from interpret_dp.ebm.noise.uncertainty import Expected, TermNoise, no_noise, significant_terms
from interpret_dp.ebm.objectives import loss_of
from interpret_dp.ebm.pairs import TrainedPair, TrainedPairs, train_pairs
from interpret_dp.ebm.shape import Shape
from interpret_dp.ebm.survival import Baseline, SurvivalCox, spread_of
from interpret_dp.ebm.trainer.binning import Bins, public_bins
from interpret_dp.ebm.trainer.boosting import boost, release_total, score_rows
from interpret_dp.ebm.trainer.correlations import Correlations
from interpret_dp.ebm.trainer.curves import Averaged, BoostingResult, BoostingTask
from interpret_dp.ebm.trainer.partitions import movable_terms
from interpret_dp.ebm.trainer.releases import release_bins, release_correlations, release_risk
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import (
    Categorical,
    Continuous,
    FeatureSpec,
    encode_classes,
    encode_target,
    open_target,
)
from interpret_dp.schema.cells import column_numbers, in_chunks, numbers_of
from interpret_dp.schema.encode import encode_features, encode_times, encode_weights, outer_edges

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingTask:
    """Terms and target to be learned, all of it public.

    Attributes
    ----------
    specs : tuple of Continuous or Categorical
        Declaration of each term's feature.
    columns : tuple of int
        Column of the table of each term's feature.
    target : Continuous or Categorical
        Bounds of a regression's target, or the class labels in order.
    directions : tuple of {1, -1, 0}
        Which terms are kept increasing or decreasing.
    objective : str
        What a regression minimises; not used for a classification.
    largest_weight : float
        Maximum of the weights; 1 without weights.
    largest_exposure : float or None
        Maximum of the exposures; None without exposures.
    has_log_exposure : bool
        Whether logarithms of the exposures were given.
    pairs : PairTask
        Terms of two features that are to be learned as well.
    """

    specs: tuple[FeatureSpec, ...]
    columns: tuple[int, ...]
    target: FeatureSpec
    directions: tuple[int, ...]
    objective: str = "rmse"
    largest_weight: float = 1.0
    largest_exposure: float | None = None
    has_log_exposure: bool = False
    pairs: PairTask = NO_PAIRS


@dataclass(frozen=True)
class TrainedTerms:
    """Released arrays, in the units of the target (regression) or of the logit.

    Attributes
    ----------
    bins : list of Bins
    scores : list of ndarray
        Shape function of each term, shape (n_codes,), or (n_codes, n_classes) for more than two.
    noise : list of TermNoise
        That was added.
    expected : list of Expected
        What was denoised, what is expected of it without noise, and its sampling error.
    intercept : ndarray of float64, shape (1,) or (n_classes,)
    total_error : float or None
        Standard deviation of the mean prediction about the rows' mean, in units of the target;
        None where no total was released.
    exposure : float or None
        Released mean exposure; None without exposures.
    baseline : ndarray of float64, shape (2, n_edges), or None
        Of a model of survival the cumulative hazard where the hazard ratio is 1, and the standard
        deviation of its logarithm.
    clipped : tuple of (float, float), or None
        Released shares of rows whose target lies below and above its bounds, with noise.
    n_rows : float
        Released sum of the weights of the rows with a target; without weights, their number.
    count_noise : float
        Standard deviation of the noise of a bin's weight, in rows or in weight
        (:func:`~interpret_dp.ebm.trainer.releases.release_bins`).
    update_noise : float
        Standard deviation of the noise of an update's plain sum, times the learning rate.
    boosting : BoostingResult
        Public record of every round.
    pairs : list of TrainedPair
    pair_cuts : dict of int to ndarray
        For each continuous feature in a pair, by the number of its term, the cuts used there.
    correlations : list of (int, int, float)
        Numbers of two terms, and how strongly they are correlated.
    """

    bins: list[Bins]
    scores: list[FloatArray]
    noise: list[TermNoise]
    expected: list[Expected]
    intercept: FloatArray
    n_rows: float
    boosting: BoostingResult
    total_error: float | None = None
    exposure: float | None = None
    baseline: FloatArray | None = None
    count_noise: float = 0.0
    update_noise: float = 0.0
    clipped: tuple[float, float] | None = None
    pairs: list[TrainedPair] = field(default_factory=list)
    pair_cuts: dict[int, FloatArray] = field(default_factory=dict)
    correlations: list[tuple[int, int, float]] = field(default_factory=list)


def train(
    private: PrivateRows,
    task: TrainingTask,
    config: TrainerConfig,
    session: ReleaseSession,
    *,
    n_threads: int,
    verbose: bool,
) -> TrainedTerms:
    """Train on private rows; everything that leaves passes ``session``.

    Parameters
    ----------
    private : PrivateRows
        At most as many of each unit as the session's neighbourhood says.
    task : TrainingTask
    config : TrainerConfig
    session : ReleaseSession
        Open, with the plan of ``config``.
    n_threads : int
        Threads that sum over rows; the result does not depend on it.
    verbose : bool
        Show rounds and time.
    """
    if isinstance(task.target, Categorical) and has_one_class(task):
        return _train_constant(private, task, task.target, config, session)
    loss = _loss(task, has_init_scores=private.has_init_scores)
    if isinstance(loss, SurvivalCox):
        loss = _with_baseline(loss, private, task, session)
    rows = private.encoded(_encoded, task, config, loss, n_threads=n_threads)
    start, clipped = _release_target(rows, private, task, loss, config, session)
    loss, norm = start.loss, start.scale.norm
    _clip_residuals(rows, start)
    bins, count_noise, weight_noise = release_bins(rows, task.specs, config, session, start)
    # Where nothing is above the noise, no term is better than another.
    movable = movable_terms(bins, weight_noise) or list(range(len(bins)))
    boosting = BoostingTask(
        bins=bins,
        is_ordered=[isinstance(spec, Continuous) or spec.ordered for spec in task.specs],
        directions=task.directions,
        movable=movable,
        config=replace(config, n_movable=len(movable)),
        start=start,
        weight_noise=weight_noise,
    )
    significant = _significance(boosting, session)
    result = boost(rows, boosting, session, significant=significant, verbose=verbose)
    boosting = replace(boosting, start=result.start)
    start, loss, in_units = result.start, result.start.loss, result.start.loss.score_unit
    correlations = _correlations(rows, result, boosting, session)
    boosted = Boosted(result, boosting, session.public_choices)
    scores, noise, expected = boosted.denoised(correlations)
    if loss.is_classification and not start.has_scores:
        result = replace(result, intercept=boosted.balanced_intercept(scores))
    curves = [s.reshape(len(s), -1) / in_units for s in scores]
    stage = TrainedPairs([], {}, curves, result.intercept, noise)
    if task.pairs.n_pairs:
        before = replace(result, scores=curves)
        stage = train_pairs(
            rows, bins, task.specs, before, task.pairs, config, session, count_noise, noise
        )
        moved = without_axis([a - b for a, b in zip(stage.scores, curves, strict=True)], in_units)
        expected = [e.moved(change) for e, change in zip(expected, moved, strict=True)]
    result, level = _levelled(rows, bins, scores, stage, result, config, session)
    if config.n_baselines:
        level = level.of_hazard_ratios(result.start.loss)
    else:
        # Predictions are those of one unit of exposure.
        unit = (start.exposure or 1.0) * (task.largest_exposure or 1.0)
        shifted = loss.score_origin - math.log(unit) + in_units * level.intercept
        level = replace(level, intercept=shifted, unit=unit)
    return TrainedTerms(
        bins=[replace(b, weights=task.largest_weight * b.weights) for b in bins],
        scores=without_axis(stage.scores, in_units) if stage.pairs else scores,
        noise=list(stage.noise),
        expected=expected,
        intercept=level.intercept,
        n_rows=task.largest_weight * start.n_rows,
        total_error=None if level.total_error is None else level.total_error / level.unit,
        exposure=None if start.exposure is None else level.unit,
        baseline=level.baseline,
        clipped=clipped,
        count_noise=task.largest_weight * count_noise,
        update_noise=in_units * result.step * result.noise * start.scale.norm / norm,
        boosting=result,
        correlations=[] if correlations is None else correlations.strongest(boosting.is_ordered),
        pairs=[pair.in_units(in_units, task.largest_weight) for pair in stage.pairs],
        pair_cuts={k: b.cuts for k, b in stage.coarse.items() if b.cuts is not None},
    )


@dataclass(frozen=True)
class _Level:
    """The intercept, the error of the total, and the unit of exposure; and a baseline's curve."""

    intercept: FloatArray
    total_error: float | None = None
    unit: float = 1.0
    baseline: FloatArray | None = None

    def of_hazard_ratios(self, loss: Loss) -> _Level:
        """Return the level of hazard ratios: the cumulative hazard has the intercept.

        The error of the total is then a share of the number of events.
        """
        if not isinstance(loss, SurvivalCox) or loss.baseline is None or loss.shape is None:
            return self
        cumulative = loss.baseline.shifted(float(self.intercept[0]))
        error = (self.total_error or 0.0) / loss.shape.mean
        baseline = np.stack([cumulative, loss.baseline.deviations(error)])
        unit = loss.baseline.mean_of(cumulative)
        return _Level(np.zeros(1), error * unit, unit, baseline)


def _levelled(
    rows: AdditiveRows,
    bins: list[Bins],
    scores: list[FloatArray],
    stage: TrainedPairs,
    result: BoostingResult,
    config: TrainerConfig,
    session: ReleaseSession,
) -> tuple[BoostingResult, _Level]:
    """Release the total at the final scores, and of survival the rows at risk before."""
    level = _Level(stage.intercept)
    if not config.has_total or not isinstance(rows, RegressionRows):
        return result, level
    # Rows that are paired up start from the scores of their features.
    paired = stage.tables, np.zeros(1)
    tables, first = paired if stage.pairs else (stage.scores, stage.intercept)
    score_rows(rows, tables, first)
    spread = spread_of(stage.scores, [np.maximum(b.weights, 0.0) for b in bins])
    mean = float(stage.intercept[0])
    start = release_risk(rows, result.start, config, session, level=mean, spread=spread)
    result = replace(result, start=start)
    shift, error = release_total(rows, len(tables[0]), bins, scores, result, config, session)
    return result, replace(level, intercept=stage.intercept + shift, total_error=error)


def _clip_residuals(rows: AdditiveRows, start: Start) -> None:
    """Choose the unit and the bound of a regression's residuals, and the start of its scores."""
    loss = start.loss
    if isinstance(loss, RegressionLoss) and isinstance(rows, RegressionRows):
        mean = float(np.exp(start.level[0])) if loss.link == "log" else 1.0
        rows.clip_residuals(loss.clip, start.exposure or 1.0, mean)
        rows.bound_residuals(int(loss.bound * LATTICE))


def _significance(
    boosting: BoostingTask, session: ReleaseSession
) -> Callable[[BoostingResult], set[int]] | None:
    """Return the midpoint decision, which finds the significant terms; None to keep all.

    All are kept where the caller chose the number of rounds, and where too little is known of the
    curves.
    """
    bins, config, start = boosting.bins, boosting.config, boosting.start
    if config.rounds is not None or not config.can_prune(start.n_rows, start.scale):
        return None

    def significant(early: BoostingResult) -> set[int]:
        added = Boosted(early, boosting, session.public_choices).added_noise()
        noise = with_noise_of_others(added, bins)
        curves = [start.loss.score_unit * scores for scores in early.scores]
        return significant_terms(curves, noise, bins, boosting.is_ordered)

    return significant


def _correlations(
    rows: AdditiveRows, result: BoostingResult, boosting: BoostingTask, session: ReleaseSession
) -> Correlations | None:
    """Release how the terms are correlated that rows are scored with."""
    bins = boosting.bins
    sizes = {
        k: float(bins[k].weights @ (result.scores[k] ** 2).sum(axis=1))
        for k in boosting.movable
        if k not in result.pruned
    }
    largest_first = sorted(sizes, key=lambda k: -sizes[k])
    arguments = bins, boosting.is_ordered, largest_first, boosting.start
    return release_correlations(rows, *arguments, boosting.config, session)


def _loss(task: TrainingTask, *, has_init_scores: bool) -> Loss:
    if isinstance(task.target, Categorical):
        return LogLoss()
    return loss_of(task.objective, task.target, has_init_scores=has_init_scores)


def _encoded(
    private: PrivateRows, task: TrainingTask, config: TrainerConfig, loss: Loss, n_threads: int
) -> AdditiveRows:
    """Encode the rows as integers, each by itself."""
    table, start = private.table, private.init_scores
    edges = [config.fine_edges(spec) for spec in task.specs]
    codes = encode_features(table, task.columns, task.specs, edges, n_threads=n_threads)
    weights = row_weights(private, task.largest_weight)
    if isinstance(task.target, Continuous) and isinstance(loss, RegressionLoss):
        settings: dict[str, Any] = {"lower": loss.lower, "upper": loss.upper, "clip": loss.clip}
        settings |= {"weights": weights, "n_threads": n_threads}
        if isinstance(loss, SurvivalCox) and loss.baseline is not None:
            events, places = encode_times(private.y, loss.latest, table.n_rows)
            settings |= {"places": places, "shares": loss.baseline.shares}
            return LocalSurvivalRows(codes, events, **settings)
        target = encode_target(private.y, task.target, table.n_rows)
        if start is not None:
            target = np.clip(target - start[:, 0], loss.lower, loss.upper)
        settings |= {"exposure": row_exposures(private, task)}
        settings |= {"counts_exposure": loss.counts_exposure}
        return regression_rows(loss.rule, loss.residual, codes, target, **settings)
    if not isinstance(task.target, Categorical):
        raise TypeError(f"The target is {task.target!r}; it must be Continuous or Categorical.")
    labels = encode_classes(private.y, task.target, table.n_rows)
    offsets = None if start is None else _on_lattice(start)
    n_classes = len(task.target.levels)
    if n_classes == 2:
        return LocalBinaryRows(codes, labels, weights=weights, offsets=offsets, n_threads=n_threads)
    return LocalMulticlassRows(
        codes, labels, n_classes=n_classes, weights=weights, offsets=offsets, n_threads=n_threads
    )


def row_weights(private: PrivateRows, largest_weight: float) -> NDArray[np.int32] | None:
    """Return weights from 0 to ``LATTICE``, shape (n_rows,); None where all have the largest."""
    weights = None
    if private.weights is not None:
        weights = encode_weights(private.weights, largest_weight, LATTICE)
    if private.unit_rows is None:
        return weights
    # Rounded down, so that the rows of a unit have the largest weight together at most.
    whole = LATTICE if weights is None else weights
    return (whole // private.unit_rows).astype(np.int32)


def row_exposures(private: PrivateRows, task: TrainingTask) -> NDArray[np.int32] | None:
    """Return exposures from 0 to ``LATTICE``, shape (n_rows,); None where there are none."""
    if private.exposure is None or task.largest_exposure is None:
        return None
    numbers = column_numbers(private.exposure)
    return exposure_shares(numbers, task.largest_exposure, is_log=task.has_log_exposure)


def _with_baseline(
    loss: SurvivalCox, private: PrivateRows, task: TrainingTask, session: ReleaseSession
) -> SurvivalCox:
    """Release how many rows have an event, and how many none, by cell of time.

    A row is in one cell.
    """
    exact = private.total(_by_time, loss.latest, task.largest_weight)[np.newaxis]
    counts, sigma = session.gaussian("baseline", exact, row_norm=LATTICE, aligned=True)
    return replace(loss, baseline=Baseline.of(counts[0] / LATTICE, sigma / LATTICE))


def _by_time(private: PrivateRows, latest: float, largest_weight: float) -> Integers:
    times = encode_times(private.y, latest)
    return cells_of_times(*times, row_weights(private, largest_weight))


def _on_lattice(scores: FloatArray) -> NDArray[np.int32]:
    # Clipped first: an overflow would print a warning, and so tell of a value.
    largest = MAX_SCORE / LATTICE
    return np.trunc(np.clip(scores, -largest, largest) * LATTICE).astype(np.int32)


def _release_target(
    rows: AdditiveRows,
    private: PrivateRows,
    task: TrainingTask,
    loss: Loss,
    config: TrainerConfig,
    session: ReleaseSession,
) -> tuple[Start, tuple[float, float] | None]:
    """Release how many rows there are, where their mean lies, and how many are beyond the bounds.

    A row is in one class, so it adds 1 to one count; in a regression it adds 1 to the count and at
    most 1 to the scaled target and to its square, together sqrt(3); with an exposure also at most
    1 to its share of the largest and to the square, together sqrt(5). With a weight, all are
    multiplied by it. Of the target's histogram, where the loss follows its shape, a row is in one
    cell. The first cell and the last one are of targets beyond the bounds, which are in no other.
    """
    released, sigma = session.gaussian(
        "target", rows.target_sums()[np.newaxis], row_norm=rows.target_norm, aligned=True
    )
    norm = session.neighbourhood.sensitivity(rows.residual_norm, aligned=False) / LATTICE
    sums, noise, clipped = released[0] / LATTICE, sigma / LATTICE, None
    # A range of one value leaves nothing to learn.
    if (
        config.n_shapes
        and isinstance(rows, RegressionRows)
        and isinstance(loss, RegressionLoss)
        and loss.half > 0
    ):
        edges = loss.cell_edges(sums, noise)
        below, above = private.total(_weights_beyond, task.target, task)
        exact = np.concatenate(([below], rows.target_counts(edges), [above]))
        exact[1] -= below
        exact[-2] -= above
        counts, sigma = session.gaussian(
            "target cells", exact[np.newaxis], row_norm=LATTICE, aligned=True
        )
        cells, n_rows = counts[0] / LATTICE, max(float(sums[0]), noise)
        cells[1] += cells[0]
        cells[-2] += cells[-1]
        shape = Shape.of(edges, loss.lower, loss.upper, cells[1:-1], sigma / LATTICE, n_rows)
        loss = replace(loss, shape=shape)
        if not private.has_init_scores:
            clipped = float(cells[0]) / n_rows, float(cells[-1]) / n_rows
    return loss.start(sums, noise, norm, config, private.has_init_scores), clipped


def _weights_beyond(private: PrivateRows, target: Continuous, task: TrainingTask) -> Integers:
    """Add the weights of the rows below and above the bounds; shape (2,), in lattice units.

    Rows that start from scores of their own are in none of both: their residuals are clipped.
    """
    values, weights = open_target(private.y, None), row_weights(private, task.largest_weight)
    exposures = row_exposures(private, task)
    sums, (first, last) = np.zeros(2, dtype=np.int64), outer_edges(target)
    if private.has_init_scores:
        return sums
    for part, numbers in in_chunks(values, numbers_of):
        of_rows: Any = LATTICE if weights is None else weights[part].astype(np.int64)
        if exposures is not None:
            of_rows = of_rows * (exposures[part] > 0)  # the others are in no cell
        sums[0] += np.where(numbers < first, of_rows, 0).sum()
        sums[1] += np.where(numbers >= last, of_rows, 0).sum()
    return sums


def has_one_class(task: TrainingTask) -> bool:
    """Return whether a classification has fewer than two labels."""
    return isinstance(task.target, Categorical) and len(task.target.levels) < 2


def _train_constant(
    private: PrivateRows,
    task: TrainingTask,
    target: Categorical,
    config: TrainerConfig,
    session: ReleaseSession,
) -> TrainedTerms:
    """Return terms without effect, and the released number of rows of the only label.

    The histograms and the rounds are left unused; they are charged all the same, since whether they
    are used follows from the rows.
    """
    exact = private.total(_weight_of_the_label, target, task.largest_weight)
    released, sigma = session.gaussian("target", exact, row_norm=LATTICE, aligned=True)
    # One bin over all numbers, or one a level, without counts: none were released.
    bins = [
        public_bins(config.n_fine(spec), config.fine_edges(spec), np.zeros(0))
        for spec in task.specs
    ]
    flat, intercept = [np.zeros((b.n_codes, 1)) for b in bins], np.zeros(1)
    start = Start(0.0, intercept, LossScale(curvature=1.0, step=1.0), LogLoss())
    averaged = (Averaged(0),) * len(bins)
    return TrainedTerms(
        bins=bins,
        scores=[scores[:, 0] for scores in flat],
        noise=[no_noise(b.n_codes) for b in bins],
        expected=[Expected()] * len(bins),
        intercept=intercept,
        n_rows=task.largest_weight * max(float(released[0, 0]), sigma) / LATTICE,
        boosting=BoostingResult(flat, flat, intercept, [[] for _ in bins], averaged, start),
    )


def _weight_of_the_label(
    private: PrivateRows, target: Categorical, largest_weight: float
) -> Integers:
    """Add the weights of the rows that have the only label; shape (1, 1), in lattice units."""
    has_label = encode_classes(private.y, target) == 0
    weights = row_weights(private, largest_weight)
    if weights is None:
        weights = np.full(len(has_label), LATTICE, dtype=np.int32)
    return np.array([[weights[has_label].sum(dtype=np.int64)]])
