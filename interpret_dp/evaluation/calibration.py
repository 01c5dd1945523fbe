"""Totals, calibration and deviance of a model on private rows, from sums of bounded parts.

A row falls into one tenth of the predictions, by cuts that follow from the released model. It adds
to the tenth 1, its prediction and its target, and its target and deviance to sums of all rows, each
with a fixed weight. So the norm of a row is bounded (docs/proofs/evaluation.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.evaluation.cells import Floats, Integers, predictions
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.released import AdditiveModel
from interpret_dp.schema import Categorical, Continuous, Table, encode_classes, encode_target
from interpret_dp.schema.containers import Values

# Of a row's count, prediction and target in its tenth, its target in the total, and its deviance.
_WEIGHTS = np.array([0.25, 0.375, 1.0, 0.75, 0.75])
# The total is that of its own sum and of the tenths', by their precisions.
_OWN_SUM = 10 * _WEIGHTS[3] ** 2 / (10 * _WEIGHTS[3] ** 2 + _WEIGHTS[2] ** 2)
_SCORES = 4096  # of the released distribution of scores
_FAR = 1e-6  # predictions beyond this quantile, or that from above, count as the quantile
_MANTISSAS = 4096


class Calibration:
    """Sums of one model over private rows, and the figures that follow from noisy ones.

    Parameters
    ----------
    model : DPExplainableBoosting*
        Fitted: a regression, or of two classes.

    Attributes
    ----------
    row_norm : int
        Bound on the L2 norm of what a row adds to the sums, in lattice units.
    labels : list of int
        The last tenth in each group of predictions: 1 to 10, unless the model has few predictions.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        target, released = model.schema_.target, model.to_released()
        is_number = isinstance(target, Continuous)
        lower, upper = (target.lower, target.upper) if is_number else (0.0, 1.0)
        values, shares = _released_predictions(released, lower, upper)
        edges, self.labels = _tenths(values, shares)
        self._cuts, self._low, self._width = edges[1:-1], edges[:-1], np.diff(edges)
        # Targets are measured from the mean prediction.
        self._centre = float(np.clip(shares @ values, lower, upper))
        self._half = max(upper - self._centre, self._centre - lower) or 1.0
        self._deviance = _DEVIANCES.get(str(released.parameters.get("objective")))
        used = _WEIGHTS[: 4 if self._deviance is None else 5]
        if self._deviance is not None:
            extremes, centre = np.array([lower, upper]), np.full(2, self._centre)
            self._largest = float(self._deviance(extremes, centre).max())
        self.row_norm = math.isqrt(sum(int(w * LATTICE) ** 2 for w in used)) + 1

    def parts(self, table: Table, y: Values) -> tuple[Integers, Integers]:
        """Return each row's group, shape (n_rows,), and what it adds, shape (n_rows, 5); private.

        The group is -1, and the parts mean nothing, without a target.
        """
        predicted, target = predictions(self._model, table), self._targets(table, y)
        groups = np.searchsorted(self._cuts, predicted, side="right")
        width = np.where(self._width > 0, self._width, 1.0)[groups]
        parts = np.ones((len(groups), 5))
        parts[:, 1] = np.clip((predicted - self._low[groups]) / width, 0.0, 1.0)
        parts[:, 2] = parts[:, 3] = np.clip((target - self._centre) / self._half, -1.0, 1.0)
        parts[:, 4] = 0.0
        if self._deviance is not None:
            parts[:, 4] = np.clip(self._deviance(target, predicted) / self._largest, 0.0, 1.0)
        whole = np.trunc(np.nan_to_num(parts) * (_WEIGHTS * LATTICE)).astype(np.int64)
        return np.where(np.isnan(target), -1, groups).astype(np.int64), whole

    def _targets(self, table: Table, y: Values) -> Floats:
        """Return targets, 1 for the second class; NaN where there is none. Private."""
        if isinstance(self._model.schema_.target, Continuous):
            return np.asarray(encode_target(y, self._model.schema_.target, table.n_rows))
        labels = encode_classes(y, Categorical(self._model.released_.classes), table.n_rows)
        return np.where(labels < 0, np.nan, labels)

    def sums(self, rows: PrivateRows, kept: NDArray[np.bool_]) -> Integers:
        """Return the sums over the kept rows with a target, shape (3 n_groups + 2,); private."""
        groups, parts = self.parts(rows.table, rows.y)
        used = kept & (groups >= 0)
        sums = np.zeros((len(self.labels), 3), dtype=np.int64)
        np.add.at(sums, groups[used], parts[used, :3])
        return np.concatenate((sums.ravel(), parts[used, 3:].sum(axis=0)))

    def figures(self, sums: Floats) -> tuple[dict[str, float], Floats]:
        """Return figures of released sums, and of each group count, prediction and target.

        Parameters
        ----------
        sums : ndarray of float64, shape (3 n_groups + 2,)
            In units of rows.

        Returns
        -------
        figures : dict of str to float
        groups : ndarray of float64, shape (n_groups, 3)
            Count, mean prediction and mean target.
        """
        counts, shares, gaps = (sums[:-2].reshape(-1, 3) / _WEIGHTS[:3]).T
        predicted = self._low * counts + self._width * shares
        gap = _OWN_SUM * sums[-2] / _WEIGHTS[3] + (1 - _OWN_SUM) * gaps.sum()
        total = self._centre * counts.sum() + self._half * gap
        found = {"predicted_over_observed": float(predicted.sum() / total) if total else math.nan}
        if self._deviance is not None:
            mean = sums[-1] / _WEIGHTS[4] / max(counts.sum(), 1.0)
            found["deviance"] = self._largest * max(float(mean), 0.0)
        rows = np.maximum(counts, 1.0)
        observed = self._centre * counts + self._half * gaps
        return found, np.stack([counts, predicted / rows, observed / rows], axis=1)


def _released_predictions(
    model: AdditiveModel, lower: float, upper: float
) -> tuple[Floats, Floats]:
    """Return predictions, increasing, and their shares of the rows, were terms independent.

    Between two scores of a grid: what rounds to a score lies below its prediction.
    """
    curves = [term.scores.ravel() for term in model.terms]
    lowest = float(model.intercept[0]) + sum(float(curve.min()) for curve in curves)
    step = sum(float(np.ptp(curve)) for curve in curves) / _SCORES or 1.0
    shares = np.ones(1)
    for curve, term in zip(curves, model.terms, strict=True):
        weights = np.maximum(term.weights.ravel(), 0.0)
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


def _tenths(values: Floats, shares: Floats) -> tuple[Floats, list[int]]:
    """Return the edges of groups of predictions, and the last tenth in each group."""
    below = np.cumsum(shares)
    ends = values[np.searchsorted(below, [_FAR, 1 - _FAR])]
    places = np.searchsorted(below, np.arange(1, 10) / 10 - 1e-9)
    # Where all rows are below a cut, it cuts nothing.
    every = values[places[below[places] < 1 - 1e-9]]
    cuts = np.unique(every)
    labels = [*map(int, np.searchsorted(every, cuts, side="right")), 10]
    return np.concatenate((ends[:1], cuts, ends[1:])), labels


def _logarithms(numbers: Floats) -> Floats:
    """Return logarithms by a table and a short series; of 0 some finite number.

    Additions and products of floats alone: the last bit of NumPy's own logarithm may depend on
    where in an array a number stands.
    """
    mantissas, exponents = np.frexp(np.nan_to_num(numbers))
    centres = 0.5 + (np.arange(_MANTISSAS) + 0.5) / (2 * _MANTISSAS)
    places = np.trunc((mantissas - 0.5) * (2 * _MANTISSAS))
    places = np.clip(places, 0, _MANTISSAS - 1).astype(np.int64)
    gap = (mantissas - centres[places]) / centres[places]
    return np.asarray(exponents * math.log(2.0) + np.log(centres)[places] + gap - gap * gap / 2)


def _poisson(target: Floats, predicted: Floats) -> Floats:
    ratio = _logarithms(target) - _logarithms(predicted)
    return 2.0 * (target * ratio - target + predicted)


def _gamma(target: Floats, predicted: Floats) -> Floats:
    ratio = _logarithms(predicted) - _logarithms(target)
    return 2.0 * (ratio + target / predicted - 1.0)


_DEVIANCES = {"poisson_deviance": _poisson, "gamma_deviance": _gamma}
