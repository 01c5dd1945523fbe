"""What a released model predicts of private rows, and what came of them, from each row alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends import kernels, local
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.released import AdditiveModel
from interpret_dp.released.survival import edges_of_time
from interpret_dp.schema import Continuous, encode_target
from interpret_dp.schema.cells import column_numbers
from interpret_dp.schema.encode import PLACES, encode_times

Floats = NDArray[np.float64]

_SCORES = 4096  # of the released distribution of scores
_EXPOSURES = 64
_FAR = 1e-6  # predictions beyond this quantile, or that from above, count as the quantile


def predictions(model: Any, rows: PrivateRows) -> Floats:
    """Return the prediction of each row, or its probability of the second class, from that row.

    Of a model of survival it is the number of events that is expected up to the row's time.

    Other links than the identity are looked up in steps of 1/256 of the score; logarithms between
    the target's bounds, logits from -16 to 16.
    """
    if model.link_ == "identity":
        return np.asarray(model.predict(rows.table))
    if model.link_ == "log":
        scores = model.predict_with_uncertainty(rows.table)[:, 0]
        lower, upper = bounds_of(model)
        if model.released_.exposure is not None:
            upper *= local.MEANS_ABOVE
            scores = scores + log_exposures(model, rows)
        return local.means_at(scores, lower, upper)
    means = kernels.sigmoid_table() / LATTICE
    places = local.score_steps(model.decision_function(rows.table)) + len(means) // 2
    return np.asarray(means[np.clip(places, 0, len(means) - 1).astype(np.int64)])


def ranks_of(model: Any, rows: PrivateRows, predicted: Floats) -> Floats:
    """Return what rows are grouped by: predictions, or logarithms of hazard ratios; private.

    An exponential of floats may round differently beside other rows.
    """
    if model.released_.baseline is None:
        return predicted
    return np.asarray(model.predict_with_uncertainty(rows.table)[:, 0])


def bounds_of(model: Any) -> tuple[float, float]:
    """Return between which numbers targets lie: those of classes and of survival are 0 and 1."""
    target = model.schema_.target
    if not isinstance(target, Continuous) or model.released_.baseline is not None:
        return 0.0, 1.0
    return target.lower, target.upper


def targets_of(model: Any, rows: PrivateRows) -> Floats:
    """Return targets; NaN where there is none, or no exposure. Private.

    Of a model of survival 1 for an event and 0 for none.
    """
    target = model.schema_.target
    if model.released_.baseline is not None:
        return encode_times(rows.y, target.upper)[0]
    targets = encode_target(rows.y, target)
    if rows.exposure is not None:
        targets = np.where(_exposures(model.released_, rows) > 0, targets, np.nan)
    return np.asarray(targets)


def log_exposures(model: Any, rows: PrivateRows) -> Floats:
    """Return logarithms of exposures, or of cumulative hazards at the time of each row; private."""
    released = model.released_
    if released.baseline is None:
        logs = local.exposure_logs()[_exposures(released, rows)] / LATTICE
        return np.asarray(logs + math.log(released.largest_exposure))
    # By the middle of each place, as in the fit.
    baseline, latest = released.baseline_of_times
    middles = (np.arange(PLACES) + 0.5) / PLACES
    hazards = np.interp(middles, np.sqrt(edges_of_time(baseline, latest) / latest), baseline[0])
    least = hazards[-1] / LATTICE
    return np.asarray(np.log(np.maximum(hazards, least))[encode_times(rows.y, latest)[1]])


def _exposures(model: AdditiveModel, rows: PrivateRows) -> NDArray[np.int32]:
    """Return exposures as shares of the largest, by the rule of the fit; private."""
    numbers = np.zeros(0) if rows.exposure is None else column_numbers(rows.exposure)
    return local.exposure_shares(numbers, model.largest_exposure, is_log=False)


def released_predictions(model: AdditiveModel, lower: float, upper: float) -> tuple[Floats, Floats]:
    """Return predictions, increasing, and their shares of the rows, were terms independent.

    Between two scores of a grid: what rounds to a score lies below its prediction.
    """
    curves = [term.scores.ravel() for term in model.terms]
    masses = [np.maximum(term.weights.ravel(), 0.0) for term in model.terms]
    if model.exposure is not None:
        # Of exposures no more than the largest is known: as if they were spread evenly up to it.
        largest = model.largest_exposure
        curves.append(np.log(largest * np.arange(0.5, _EXPOSURES) / _EXPOSURES))
        masses.append(np.ones(_EXPOSURES))
    lowest = float(model.intercept[0]) + sum(float(curve.min()) for curve in curves)
    step = sum(float(np.ptp(curve)) for curve in curves) / _SCORES or 1.0
    shares = np.ones(1)
    for curve, weights in zip(curves, masses, strict=True):
        if not weights.any():
            weights = np.ones_like(weights)
        places = np.rint((curve - curve.min()) / step).astype(np.intp)
        own = np.bincount(places, weights / weights.sum())
        shares = np.asarray(np.convolve(shares, own), dtype=np.float64)
    scores = np.asarray(lowest + step * (np.arange(len(shares)) + (len(shares) > 1) / 2))
    if model.link == "identity":
        return scores, shares
    if model.link == "logit":
        return 1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0))), shares
    return np.clip(np.exp(np.clip(scores, -700.0, 700.0)), lower, upper), shares


def released_ratios(model: AdditiveModel) -> tuple[Floats, Floats]:
    """Return hazard ratios, increasing, and their shares of the rows, were terms independent."""
    return released_predictions(replace(model, exposure=None, baseline=None), 0.0, np.inf)


def tenths_of(values: Floats, shares: Floats) -> tuple[Floats, list[int]]:
    """Return the edges of groups of predictions, and the last tenth in each group."""
    below = np.cumsum(shares)
    ends = values[np.searchsorted(below, [_FAR, 1 - _FAR])]
    places = np.searchsorted(below, np.arange(1, 10) / 10 - 1e-9)
    # Where all rows are below a cut, it cuts nothing.
    every = values[places[below[places] < 1 - 1e-9]]
    cuts = np.unique(every)
    labels = [*map(int, np.searchsorted(every, cuts, side="right")), 10]
    return np.concatenate((ends[:1], cuts, ends[1:])), labels
