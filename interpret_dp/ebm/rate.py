"""Whom a fit is right for on average: which rows it reads, and the total over more of them.

A person with many rows has at most ``max_rows`` in training, so people with many rows count for
less than their share. Where a unit declares ``total_rows``, one more release moves the intercept
until predictions are right on average over so many rows of each person
(docs/proofs/dp_ebm.md).
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.residual_tables import class_odds, means_at
from interpret_dp.ebm.losses import RegressionLoss, Start
from interpret_dp.ebm.losses.shape import errors_of_mean
from interpret_dp.ebm.request import FitRequest
from interpret_dp.ebm.training import TrainedTerms, TrainingTask, has_one_class, row_weights
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import ReleaseSession
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import Categorical, encode_classes, encode_target

Integers = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# A row adds its residual, and a number of a quarter of its bound at most.
_QUARTER = LATTICE // 4
# Under a log link predictions count up to so many times their mean.
_WIDEST = 4.0
# People with many rows may move the mean by so many standard deviations of the target.
_LARGEST_SHORTFALL = 0.25
# No class is taken to be rarer than predicted by more than this factor.
_LARGEST_FACTOR = 8.0


def limited_rows(
    request: FitRequest, everyone: PrivateRows, session: ReleaseSession
) -> PrivateRows:
    """Return the rows that a fit trains on: at most ``max_rows`` of each unit."""
    neighbourhood = request.neighbourhood
    return everyone.limited(
        neighbourhood.max_rows,
        session.public_choices,
        share_weight=neighbourhood.shares_weight,
    )


def clip_and_error(request: FitRequest, start: Start) -> tuple[float, float]:
    """Return the clip of the residuals, and the error of the mean over ``total_rows`` rows.

    Parameters
    ----------
    request : FitRequest
        With this release in its plan.
    start : Start
        Of the fit, with the released shape of a regression's target.

    Returns
    -------
    clip, error : float
        In units of the target, or of a probability.
    """
    row_norm = _row_norm(2)
    norm = request.neighbourhood.sensitivity(row_norm, aligned=False, of_total=True) / LATTICE
    noise = request.config.noise_of_total(start.n_rows, norm, "rate")
    loss = start.loss
    if not isinstance(loss, RegressionLoss) or loss.shape is None:
        return 1.0, noise
    unit = loss.shape.mean if loss.is_relative else 1.0
    clips, start_error = loss.clips(), _LARGEST_SHORTFALL * loss.shape.spread / unit
    errors = errors_of_mean(loss.shape, clips, noise, loss.gaps, start=start_error)
    best = int(np.argmin(errors))
    return unit * float(clips[best]), unit * float(errors[best])


def with_rate(
    estimator: Any,
    model: AdditiveModel,
    everyone: PrivateRows,
    trained: TrainedTerms,
    request: FitRequest,
    session: ReleaseSession,
) -> AdditiveModel:
    """Return the model with the intercept that is right over ``total_rows`` rows of each unit.

    Parameters
    ----------
    estimator : PrivateEBM
    model : AdditiveModel
        As trained; returned as it is where the plan has no such release.
    everyone : PrivateRows
        All rows.
    trained : TrainedTerms
    request : FitRequest
    session : ReleaseSession
        Open.

    Notes
    -----
    One release has the sums of the residuals and of their slopes by the score, from which follows
    one step of Newton's method. It is shrunk by the share of the shortfall that is noise.
    """
    task, start = request.task, trained.boosting.start
    loss, most = start.loss, request.neighbourhood.total_rows
    if not request.config.has_rate or most is None or has_one_class(task):
        return model
    mean = None
    if isinstance(loss, RegressionLoss):
        if loss.shape is None:
            return model  # a range of one value leaves nothing to learn
        mean = model.mean_prediction if loss.link == "log" else None
    clip, error = clip_and_error(request, start)
    probe = copy.copy(estimator)
    probe.ledger = None  # workers need none, and it may be of this process alone
    probe._publish(model)
    exact = everyone.limited(most, session.public_choices).total(_sums, probe, task, clip, mean)
    row_norm = _row_norm(len(model.classes or ()))
    noisy, sigma = session.gaussian("rate", exact[np.newaxis], row_norm=row_norm, aligned=False)
    residuals, slopes = np.split(noisy[0] / LATTICE, 2)
    deviation = sigma / LATTICE
    noise_share = len(residuals) * deviation**2 / max(float(residuals @ residuals), 1e-300)
    residuals = residuals * max(0.0, 1.0 - noise_share)
    slopes = np.maximum(slopes, deviation)
    if isinstance(loss, RegressionLoss):
        n_rows = float(slopes[0]) * (4.0 if mean is None else 4.0 * _WIDEST)
        shift = np.array([loss.shift(clip * float(residuals[0]) / n_rows, model.mean_prediction)])
    else:
        shift = _of_classes(residuals, slopes, start.level)
    return replace(
        model,
        intercept=model.intercept + shift,
        total_error=error if len(residuals) == 1 else None,
    )


def _row_norm(n_classes: int) -> int:
    """Bound the norm of what a row adds: of residuals 1, of slopes 1/4.

    Of more than two classes sqrt(2) and 1/2: p (1 - p) is 1/4 at most, and adds up to less than 1.
    """
    square = 17 * LATTICE**2 // 16 if n_classes < 3 else 9 * LATTICE**2 // 4
    return math.isqrt(square) + 1


def _of_classes(residuals: FloatArray, slopes: FloatArray, level: FloatArray) -> FloatArray:
    """Return the change of the intercept.

    If all rows had the same probabilities, the step would be exact; otherwise it is of first order.
    """
    is_binary = len(level) == 1
    logs = np.concatenate([[0.0], level]) if is_binary else level
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    if is_binary:
        residuals, slopes = np.array([-1.0, 1.0]) * residuals, np.repeat(slopes, 2)
    # If rows had the mean score, the slopes would be those of so many of them.
    n_rows = slopes / (shares * (1.0 - shares))
    moved = np.maximum(shares + residuals / n_rows, shares / _LARGEST_FACTOR)
    change = np.log(moved / moved.sum() / shares)
    return np.asarray(change[1:] - change[0] if is_binary else change - change.mean())


def _sums(
    private: PrivateRows, model: Any, task: TrainingTask, clip: float, mean: float | None
) -> Integers:
    """Return the private sums of residuals and slopes, in lattice units; a row decides its own.

    Parameters
    ----------
    private : PrivateRows
    model : PrivateEBM
        Fitted.
    task : TrainingTask
    clip : float
        Bound of a regression's residual, in units of the target.
    mean : float or None
        Mean prediction under a log link; None under others.
    """
    table, init = private.table, private.init_scores
    own = {} if init is None else {"init_score": init if init.shape[1] > 1 else init[:, 0]}
    if isinstance(task.target, Categorical):
        labels = encode_classes(private.y, task.target, table.n_rows).astype(np.int64)
        scores = model.decision_function(table, **own)
        values, has_target = _of_labels(scores, labels), labels >= 0
    else:
        target = encode_target(private.y, task.target, table.n_rows)
        if mean is None:
            predicted, slope = np.asarray(model.predict(table, **own)), np.ones(table.n_rows)
        else:
            scores = model.predict_with_uncertainty(table)[:, 0]
            predicted = means_at(scores, task.target.lower, task.target.upper)
            slope = np.minimum(predicted / mean / _WIDEST, 1.0)
        has_target = ~np.isnan(target)
        fraction = np.clip(np.nan_to_num(target - predicted) / clip, -1.0, 1.0)
        numbers = np.stack([fraction * LATTICE, slope * _QUARTER], axis=1)
        values = np.trunc(numbers).astype(np.int64)
    weights = row_weights(private, task.largest_weight)
    if weights is not None:
        # As the kernels weigh residuals: truncated towards zero, so that no norm grows.
        large = weights.astype(np.int64)[:, np.newaxis]
        values = np.sign(values) * (np.abs(values) * large // LATTICE)
    return np.asarray(values[has_target].sum(axis=0))


def _of_labels(scores: FloatArray, labels: Integers) -> Integers:
    """Return label minus probability of each class, then p (1 - p); of two classes the second."""
    if scores.ndim == 1:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    odds = class_odds(scores)
    shares = odds * LATTICE // odds.sum(axis=1, keepdims=True)
    residuals = LATTICE * (labels[:, np.newaxis] == np.arange(scores.shape[1])) - shares
    first = 1 if scores.shape[1] == 2 else 0
    slopes = shares * (LATTICE - shares) // LATTICE
    return np.hstack([residuals[:, first:], slopes[:, first:]])
