"""One DP-EBM fit, from a table to a released model: encode, count, bin, boost.

The order of the releases is that of the plan: the target, the histograms, the rounds. Everything
between them is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.backends.local import (
    LocalBinaryRows,
    LocalMulticlassRows,
    LocalRegressionRows,
)
from interpret_dp.ebm.binning import Bins, merge_bins
from interpret_dp.ebm.boosting import BoostingResult, boost
from interpret_dp.ebm.config import TrainerConfig, Unit, residual_clip
from interpret_dp.ebm.uncertainty import term_covariances
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema import (
    Categorical,
    Continuous,
    FeatureSpec,
    Table,
    encode_classes,
    encode_column,
    encode_target,
    fine_bin_count,
    fine_edges,
)

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
    """

    specs: tuple[FeatureSpec, ...]
    columns: tuple[int, ...]
    target: FeatureSpec


@dataclass(frozen=True)
class TrainedTerms:
    """Released arrays, in the units of the target (regression) or of the logit.

    Attributes
    ----------
    bins : list of Bins
    scores : list of ndarray
        Shape function of each term, shape (n_codes,), or (n_codes, n_classes) for more than two.
    covariances : list of ndarray
        Covariance of its noise, shape (n_codes, n_codes), or (n_classes, n_codes, n_codes).
    intercept : ndarray of float64, shape (1,) or (n_classes,)
    n_rows : float
        Released number of rows with a target.
    count_noise : float
        Standard deviation of the noise of a bin count, in rows.
    update_noise : float
        Standard deviation of the noise of an update's sum, times the learning rate.
    boosting : BoostingResult
        Public record of every round.
    """

    bins: list[Bins]
    scores: list[NDArray[np.float64]]
    covariances: list[NDArray[np.float64]]
    intercept: NDArray[np.float64]
    n_rows: float
    count_noise: float
    update_noise: float
    boosting: BoostingResult


@dataclass(frozen=True)
class _Start:
    """Where boosting starts: released by the first request, in units of the score lattice."""

    n_rows: float
    level: NDArray[np.float64]
    unit: Unit


def train(
    table: Table,
    y: Any,
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
    table : Table
        Private.
    y : array-like, shape (n_rows,)
        Private.
    task : TrainingTask
    config : TrainerConfig
    door : ReleaseDoor
        Open, with the plan of ``config``.
    n_threads : int
        Threads that sum over rows; the result does not depend on it.
    verbose : bool
        Show rounds and time.
    """
    rows, scale, offset = _open_rows(table, y, task, config, n_threads)
    start = _release_target(rows, task, door)
    bins, count_noise = _release_bins(rows, task, config, door, start.n_rows)
    rows.merge_bins([b.code_map for b in bins])
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
    )
    covariances = term_covariances(
        result,
        bins,
        averaged_rounds=config.averaged_rounds,
        is_classification=isinstance(task.target, Categorical),
    )
    return TrainedTerms(
        bins=bins,
        scores=[scale * (s[:, 0] if s.shape[1] == 1 else s) for s in result.scores],
        covariances=[scale**2 * (c[0] if len(c) == 1 else c) for c in covariances],
        intercept=offset + scale * result.intercept,
        n_rows=start.n_rows,
        count_noise=count_noise,
        update_noise=scale * settings.step * result.noise,
        boosting=result,
    )


def _is_ordered(spec: FeatureSpec) -> bool:
    return isinstance(spec, Continuous) or spec.ordered


def _open_rows(
    table: Table, y: Any, task: TrainingTask, config: TrainerConfig, n_threads: int
) -> tuple[AdditiveRows, float, float]:
    """Encode the rows; return them with the scale and offset from lattice to target units."""
    codes: list[NDArray[Any]] = [
        encode_column(table.column(column), spec, config.n_fine_bins)
        for column, spec in zip(task.columns, task.specs, strict=True)
    ]
    if isinstance(task.target, Categorical):
        labels = encode_classes(y, task.target, table.n_rows)
        n_classes = len(task.target.levels)
        if n_classes == 2:
            return LocalBinaryRows(codes, labels, n_threads=n_threads), 1.0, 0.0
        return (
            LocalMulticlassRows(codes, labels, n_classes=n_classes, n_threads=n_threads),
            1.0,
            0.0,
        )
    lower, upper = task.target.lower, task.target.upper
    clip = residual_clip(lower, upper)
    rows = LocalRegressionRows(
        codes,
        encode_target(y, task.target, table.n_rows),
        lower=lower,
        upper=upper,
        clip=clip,
        n_threads=n_threads,
    )
    return rows, clip, (lower + upper) / 2


def _release_target(rows: AdditiveRows, task: TrainingTask, door: ReleaseDoor) -> _Start:
    """Release how many rows there are and where their mean lies.

    Sensitivity: a row is in one class, so class counts change by 1; in a regression it changes
    the count by 1 and the scaled target by at most 1, together by sqrt(2).
    """
    released, sigma = door.gaussian(
        "target", rows.target_sums()[np.newaxis], sensitivity=rows.target_norm
    )
    sums, noise = released[0] / LATTICE, sigma / LATTICE
    norm = rows.residual_norm / LATTICE
    if isinstance(task.target, Continuous):
        n_rows = max(float(sums[0]), noise)
        half = (task.target.upper - task.target.lower) / 2
        mean = min(max(float(sums[1]) / n_rows, -1.0), 1.0)
        level = mean * half / residual_clip(task.target.lower, task.target.upper)
        return _Start(n_rows, np.array([level]), Unit(curvature=1.0, step=1.0, norm=norm))
    # A class may be empty or drowned in noise: no count is believed to be below one noise unit.
    counts = np.maximum(sums, noise)
    shares = counts / counts.sum()
    unit = Unit(curvature=4.0 * float(np.mean(shares * (1.0 - shares))), step=2.0, norm=norm)
    logs = np.log(counts)
    level = logs[1:] - logs[0] if len(counts) == 2 else logs - logs.mean()
    return _Start(float(counts.sum()), level, unit)


def _release_bins(
    rows: AdditiveRows,
    task: TrainingTask,
    config: TrainerConfig,
    door: ReleaseDoor,
    n_rows: float,
) -> tuple[list[Bins], float]:
    """Release one histogram per feature (sensitivity 1: a row is in one bin) and merge bins."""
    sizes = [fine_bin_count(spec, config.n_fine_bins) + 2 for spec in task.specs]
    histograms = []
    sigma = 0.0
    for spec, exact in zip(task.specs, rows.bin_counts(sizes), strict=True):
        # A continuous feature has no unseen bin by construction: nothing to count or to pay for.
        counted = exact[:-1] if isinstance(spec, Continuous) else exact
        noisy, sigma = door.gaussian("bins", counted[np.newaxis] * LATTICE, sensitivity=LATTICE)
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
