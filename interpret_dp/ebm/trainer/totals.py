"""Releases by which a regression is right on average: its residuals' shape and its shortfall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_RESIDUAL, AdditiveRows, RegressionRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.losses import RegressionLoss, Start
from interpret_dp.ebm.losses.shape import Shape, cell_edges, errors_of_mean
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.curves import BoostingResult
from interpret_dp.release import ReleaseSession
from interpret_dp.released.terms import mean_prediction

FloatArray = NDArray[np.float64]

# In lattice units, well inside int32.
_LARGEST_SCORE = 2**29


def score_rows(rows: AdditiveRows, scores: Sequence[FloatArray], intercept: FloatArray) -> None:
    """Give every row the score of some curves.

    Parameters
    ----------
    rows : AdditiveRows
        Private.
    scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
        In units of the score lattice, to which they are rounded.
    intercept : ndarray of float64, shape (n_scores,)
    """
    width = max(len(curve) for curve in scores)
    updates = np.zeros((len(scores), width, len(intercept)), dtype=np.int32)
    for k, curve in enumerate(scores):
        change = np.clip(np.rint(curve * LATTICE), -_LARGEST_SCORE, _LARGEST_SCORE)
        updates[k, : len(curve)] = change
    rows.begin(np.rint(intercept * LATTICE).astype(np.int64))
    rows.advance(np.arange(len(scores)), updates, np.zeros(0, dtype=np.int64), width)


def _residual_sum(rows: AdditiveRows, width: int) -> NDArray[np.int64]:
    """Return the sum of all residuals, shape (1, 1); private."""
    nothing = np.zeros(0, dtype=np.int64), np.zeros((0, width, 1), dtype=np.int32)
    return np.asarray(rows.advance(*nothing, np.zeros(1, dtype=np.int64), width).sum(axis=1))


def release_residuals(
    rows: RegressionRows, start: Start, config: TrainerConfig, session: ReleaseSession
) -> Start:
    """Release the shape of the residuals, and clip them from now on as it asks for.

    What a model explains is no longer in its residuals: the rounds to come need less noise.

    Returns
    -------
    Start
        With the new bound.
    """
    loss = start.loss
    if not isinstance(loss, RegressionLoss) or loss.shape is None:
        return start  # a range of one value leaves nothing to learn
    width = 2.0 * loss.half / loss.clip
    edges = cell_edges(0.0, -width, width)
    # A row is in one cell.
    counts, sigma = session.gaussian(
        "target cells",
        rows.residual_counts(np.rint(edges * LATTICE).astype(np.int64))[np.newaxis],
        row_norm=LATTICE,
        aligned=True,
    )
    shape = Shape.of(edges, -width, width, counts[0] / LATTICE, sigma / LATTICE, start.n_rows)
    noise_level = config.boosting(start.n_rows, start.scale).noise_level
    narrow = loss.narrowed(shape, noise_level)
    rows.bound_residuals(int(narrow.bound * LATTICE))
    scale = replace(start.scale, norm=narrow.bound * start.scale.norm)
    return replace(start, loss=narrow, scale=scale)


def release_total(
    rows: RegressionRows,
    bins: Sequence[Bins],
    scores: Sequence[FloatArray],
    result: BoostingResult,
    config: TrainerConfig,
    session: ReleaseSession,
) -> tuple[float, float]:
    """Release the shortfall of all predictions together; return the shift that adds it.

    Parameters
    ----------
    rows : RegressionRows
        Private.
    bins : sequence of Bins
    scores : sequence of ndarray of float64, shape (n_codes,) each
        Final curves, in units of the target or its logarithm.
    result : BoostingResult
        With the intercept, the number of rows, and the loss with the target's shape.
    config : TrainerConfig
    session : ReleaseSession

    Returns
    -------
    shift : float
        Of the intercept, in units of the score lattice.
    error : float
        Standard deviation of the mean prediction about the rows' mean, in units of the target.

    Notes
    -----
    A row adds its residual, whose bound is as wide as the noise allows: the wider it is, the less
    of a tail is cut off. The sum is shrunk by its error against the error that boosting, with its
    own clip, may have left.
    """
    loss, n_rows = result.start.loss, result.start.n_rows
    if not isinstance(loss, RegressionLoss) or loss.shape is None:
        return 0.0, 0.0
    norm = session.neighbourhood.sensitivity(LATTICE, aligned=False) / LATTICE
    noise = config.noise_of_total(n_rows, norm)
    clips = loss.clips()
    clips = clips[clips <= MAX_RESIDUAL / LATTICE * loss.clip]
    mean = mean_prediction(
        loss.score_origin + loss.score_unit * float(result.intercept[0]),
        scores,
        [b.weights for b in bins],
        has_log_link=loss.link == "log",
    )
    unit = mean if loss.is_relative else 1.0
    # Of one unit of score, in units of a residual.
    slope = (mean if loss.link == "log" else loss.score_unit) / unit
    error_before = math.hypot(loss.error_left(noise), slope * result.level_noise)
    errors = errors_of_mean(loss.shape, clips, noise, loss.gaps, start=error_before)
    best = int(np.argmin(errors))
    curves = [curve[:, np.newaxis] / loss.score_unit for curve in scores]
    score_rows(rows, curves, result.intercept)
    before = rows.residual_norm
    rows.bound_residuals(int(clips[best] / loss.clip * LATTICE))
    # Residuals of two rows may have opposite signs.
    noisy, _ = session.gaussian(
        "total",
        _residual_sum(rows, len(bins[0].weights)),
        row_norm=rows.residual_norm,
        aligned=False,
    )
    rows.bound_residuals(before)
    square = error_before**2
    share = square / max(square + errors[best] ** 2, np.finfo(float).tiny)
    shortfall = share * unit * loss.clip * float(noisy[0, 0]) / LATTICE / n_rows
    error = unit * math.sqrt(share) * float(errors[best])
    return loss.shift(shortfall, mean) / loss.score_unit, error
