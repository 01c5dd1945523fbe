"""One DP-EBM fit, from a table to a released model: encode, count, bin, boost.

The order of the releases is that of the plan: the target, the histograms, the rounds. Everything
between them is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_SCORE, AdditiveRows
from interpret_dp.backends.local import (
    LocalBinaryRows,
    LocalMulticlassRows,
    LocalRegressionRows,
)
from interpret_dp.ebm.binning import Bins, merge_bins
from interpret_dp.ebm.boosting import BoostingResult, boost, movable_terms
from interpret_dp.ebm.config import TrainerConfig, Unit, residual_clip
from interpret_dp.ebm.rows import PrivateRows
from interpret_dp.ebm.uncertainty import TermNoise, denoised_terms, term_noise
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema import (
    Categorical,
    Continuous,
    FeatureSpec,
    encode_classes,
    encode_column,
    encode_target,
    fine_bin_count,
    fine_edges,
)
from interpret_dp.schema.encode import encode_weights

__all__ = ["TrainedTerms", "TrainingTask", "train"]


@dataclass(frozen=True)
class TrainingTask:
    """What is to be learned, all of it public.

    Attributes
    ----------
    specs : tuple of Continuous or Categorical
        Declaration of each term's feature.
    columns : tuple of int
        Column of the table of each term's feature.
    target : Continuous or Categorical
        Bounds of a regression's target, or the class labels in order.
    largest_weight : float
        Maximum of the weights; 1 without weights.
    """

    specs: tuple[FeatureSpec, ...]
    columns: tuple[int, ...]
    target: FeatureSpec
    largest_weight: float = 1.0


@dataclass(frozen=True)
class TrainedTerms:
    """Released arrays, in the units of the target (regression) or of the logit.

    Attributes
    ----------
    bins : list of Bins
    scores : list of ndarray
        Shape function of each term, shape (n_codes,), or (n_codes, n_classes) for more than two.
    noise : list of TermNoise
    intercept : ndarray of float64, shape (1,) or (n_classes,)
    n_rows : float
        Released sum of the weights of the rows with a target; without weights, their number.
    count_noise : float
        Standard deviation of the noise of a bin count, in rows or in weight.
    update_noise : float
        Standard deviation of the noise of an update's sum, times the learning rate.
    boosting : BoostingResult
        Public record of every round.
    """

    bins: list[Bins]
    scores: list[NDArray[np.float64]]
    noise: list[TermNoise]
    intercept: NDArray[np.float64]
    n_rows: float
    count_noise: float
    update_noise: float
    boosting: BoostingResult


@dataclass(frozen=True)
class _Start:
    """Where boosting starts: released by the first request, in units of the score lattice.

    ``n_rows`` counts a row of the largest weight as one. ``clip`` is the bound on a regression's
    residual, in units of the target; 1 for a classification.
    """

    n_rows: float
    level: NDArray[np.float64]
    unit: Unit
    clip: float = 1.0


@dataclass(frozen=True)
class _Scale:
    """Range of a regression's target, in units of the target."""

    lower: float
    upper: float

    @property
    def middle(self) -> float:
        return (self.lower + self.upper) / 2

    @property
    def half(self) -> float:
        return (self.upper - self.lower) / 2


def train(
    private: PrivateRows,
    task: TrainingTask,
    config: TrainerConfig,
    door: ReleaseDoor,
    *,
    n_threads: int,
    verbose: bool,
) -> TrainedTerms:
    """Train on private rows; everything that leaves passes ``door``.

    Parameters
    ----------
    private : PrivateRows
        At most as many of each unit as the door's neighbourhood says.
    task : TrainingTask
    config : TrainerConfig
    door : ReleaseDoor
        Open, with the plan of ``config``.
    n_threads : int
        Threads that sum over rows; the result does not depend on it.
    verbose : bool
        Show rounds and time.
    """
    scale = _scale(task.target, has_start=private.init_scores is not None)
    rows = _encoded(private, task, config, scale, n_threads)
    start = _release_target(rows, scale, door, has_start=private.init_scores is not None)
    if scale is not None and isinstance(rows, LocalRegressionRows):
        rows.clip_residuals(start.clip)
    bins, count_noise = _release_bins(rows, task, config, door, start.n_rows)
    rows.merge_bins([b.code_map for b in bins])
    # Where nothing is above the noise, no term is better than another.
    movable = movable_terms(bins, count_noise) or list(range(len(bins)))
    config = config.among(len(movable))
    settings = config.boosting(start.n_rows, start.unit)
    result = boost(
        rows,
        bins,
        [_is_ordered(spec) for spec in task.specs],
        config=config,
        settings=settings,
        door=door,
        intercept=start.level,
        n_rows=start.n_rows,
        count_noise=count_noise,
        verbose=verbose,
        movable=movable,
    )
    in_units = start.clip
    noise = term_noise(
        result,
        bins,
        averaged_rounds=config.averaged_rounds,
        is_classification=isinstance(task.target, Categorical),
        scale=in_units,
        rng=door.public_choices,
    )
    scores = [in_units * (s[:, 0] if s.shape[1] == 1 else s) for s in result.scores]
    scores, noise = denoised_terms(scores, noise, bins, [_is_ordered(spec) for spec in task.specs])
    offset = 0.0 if scale is None else scale.middle
    return TrainedTerms(
        bins=[replace(b, weights=task.largest_weight * b.weights) for b in bins],
        scores=scores,
        noise=noise,
        intercept=offset + in_units * result.intercept,
        n_rows=task.largest_weight * start.n_rows,
        count_noise=task.largest_weight * count_noise,
        update_noise=in_units * settings.step * result.noise,
        boosting=result,
    )


def _is_ordered(spec: FeatureSpec) -> bool:
    return isinstance(spec, Continuous) or spec.ordered


def _scale(target: FeatureSpec, *, has_start: bool) -> _Scale | None:
    """Return the scale of a regression's target; None for a classification.

    Where rows start from scores of their own, what is left to learn is a difference of two numbers
    of the declared range.
    """
    if isinstance(target, Categorical):
        return None
    if not has_start:
        return _Scale(target.lower, target.upper)
    width = target.upper - target.lower
    return _Scale(-width, width)


def _encoded(
    private: PrivateRows,
    task: TrainingTask,
    config: TrainerConfig,
    scale: _Scale | None,
    n_threads: int,
) -> AdditiveRows:
    """Encode the rows as integers, each by itself."""
    table, start = private.table, private.init_scores
    codes: list[NDArray[Any]] = [
        encode_column(table.column(column), spec, config.n_fine_bins)
        for column, spec in zip(task.columns, task.specs, strict=True)
    ]
    weights = None
    if private.weights is not None:
        weights = encode_weights(private.weights, task.largest_weight, LATTICE)
    if isinstance(task.target, Continuous) and scale is not None:
        target = encode_target(private.y, task.target, table.n_rows)
        if start is not None:
            target = np.clip(target - start[:, 0], scale.lower, scale.upper)
        return LocalRegressionRows(
            codes,
            target,
            lower=scale.lower,
            upper=scale.upper,
            clip=scale.half if scale.half > 0 else 1.0,  # until the spread is released
            weights=weights,
            n_threads=n_threads,
        )
    if not isinstance(task.target, Categorical):
        raise TypeError(f"The target is {task.target!r}; it must be Continuous or Categorical.")
    labels = encode_classes(private.y, task.target, table.n_rows)
    offsets = None if start is None else _on_lattice(start)
    n_classes = len(task.target.levels)
    if n_classes == 2:
        return LocalBinaryRows(codes, labels, weights=weights, offsets=offsets, n_threads=n_threads)
    return LocalMulticlassRows(
        codes,
        labels,
        n_classes=n_classes,
        weights=weights,
        offsets=offsets,
        n_threads=n_threads,
    )


def _on_lattice(scores: NDArray[np.float64]) -> NDArray[np.int32]:
    # Clipped first: an overflow would print a warning, and so tell of a value.
    largest = MAX_SCORE / LATTICE
    return np.trunc(np.clip(scores, -largest, largest) * LATTICE).astype(np.int32)


def _release_target(
    rows: AdditiveRows, scale: _Scale | None, door: ReleaseDoor, *, has_start: bool
) -> _Start:
    """Release how many rows there are and where their mean lies.

    A row is in one class, so it adds 1 to one count; in a regression it adds 1 to the count and at
    most 1 to the scaled target and to its square, together sqrt(3). With a weight, all are
    multiplied by it.
    """
    released, sigma = door.gaussian(
        "target", rows.target_sums()[np.newaxis], row_norm=rows.target_norm, aligned=True
    )
    sums, noise = released[0] / LATTICE, sigma / LATTICE
    norm = door.neighbourhood.sensitivity(rows.residual_norm, aligned=False) / LATTICE
    if scale is not None:
        n_rows = max(float(sums[0]), noise)
        mean = min(max(float(sums[1]) / n_rows, -1.0), 1.0)
        # Noise of a mean square and of a squared mean, which is a second order smaller.
        spread = math.hypot(noise, 2.0 * mean * noise) / n_rows
        clip = residual_clip(scale.half, float(sums[2]) / n_rows - mean**2, spread)
        level = np.array([mean * scale.half / clip])
        return _Start(n_rows, level, Unit(curvature=1.0, step=1.0, norm=norm), clip)
    # A class may be empty or drowned in noise: no count is believed to be below one noise unit.
    counts = np.maximum(sums, noise)
    shares = counts / counts.sum()
    curvature = float(np.mean(shares * (1.0 - shares)))
    unit = Unit(curvature=4.0 * curvature, step=1.0 / curvature, norm=norm, start=curvature)
    logs = np.log(counts)
    levels = logs[1:] - logs[0] if len(counts) == 2 else logs - logs.mean()
    # Scores that rows start from know of the classes' sizes already.
    return _Start(float(counts.sum()), np.zeros_like(levels) if has_start else levels, unit)


def _release_bins(
    rows: AdditiveRows,
    task: TrainingTask,
    config: TrainerConfig,
    door: ReleaseDoor,
    n_rows: float,
) -> tuple[list[Bins], float]:
    """Release one histogram per feature (a row is in one bin) and merge bins."""
    sizes = [fine_bin_count(spec, config.n_fine_bins) + 2 for spec in task.specs]
    histograms = []
    sigma = 0.0
    for spec, exact in zip(task.specs, rows.bin_counts(sizes), strict=True):
        # A continuous feature has no unseen bin by construction: nothing to count or to pay for.
        counted = exact[:-1] if isinstance(spec, Continuous) else exact
        noisy, sigma = door.gaussian("bins", counted[np.newaxis], row_norm=LATTICE, aligned=True)
        histogram = np.zeros(len(exact))
        histogram[: len(counted)] = noisy[0] / LATTICE
        histograms.append(histogram)
    count_noise = sigma / LATTICE
    target_bins = config.target_bins(n_rows, count_noise)
    bins = [
        merge_bins(histogram, _edges(spec, config.n_fine_bins), target_bins, n_rows)
        for spec, histogram in zip(task.specs, histograms, strict=True)
    ]
    return bins, count_noise


def _edges(spec: FeatureSpec, n_bins: int) -> NDArray[np.float64] | None:
    return fine_edges(spec, n_bins) if isinstance(spec, Continuous) else None
