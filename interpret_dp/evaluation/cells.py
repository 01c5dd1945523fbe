"""Cells that all rows fall into, by what a model predicts of them."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.kernels import sigmoid_table
from interpret_dp.backends.residual_tables import class_odds, means_at, score_steps
from interpret_dp.schema import Categorical, Continuous, Table, encode_classes, encode_target
from interpret_dp.schema.containers import Values

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Few cells where figures weigh a row heavily: the noise of each counts as much as a row there.
_LOGIT_EDGES = np.concatenate(
    [-np.arange(6.0, 3.0, -0.5), np.arange(-3.0, 3.25, 0.25), np.arange(3.5, 6.5, 0.5)]
)
# Losses of the label in octaves: a probability of 2**-9 or less counts as that.
_LOSS_EDGES = np.concatenate([np.arange(8) / 8, np.arange(4, 12) / 4, np.arange(3.0, 10.0)])
_CERTAIN = 2**30
_PROBABILITY_EDGES = np.floor(_CERTAIN * 2.0 ** -_LOSS_EDGES[:0:-1]).astype(np.int64)
# Errors as shares of the target's range: a quarter of it or more counts as that.
_ERROR_EDGES = 2.0 ** (-np.arange(40, 7, -1) / 4)


def _label_shares(scores: Floats, labels: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the probability of each row's label, from integers, and whether it is predicted.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_classes)
    labels : ndarray of int64, shape (n_rows,)
        -1 for a row without a label, of which the result means nothing.

    Returns
    -------
    shares : ndarray of int64, shape (n_rows,)
        In units of 1 / ``_CERTAIN``.
    is_right : ndarray of bool, shape (n_rows,)
    """
    odds = class_odds(scores)
    own = np.take_along_axis(odds, np.maximum(labels, 0)[:, np.newaxis], axis=1)[:, 0]
    return own * _CERTAIN // odds.sum(axis=1), odds.argmax(axis=1) == labels


def predictions(model: Any, table: Table) -> Floats:
    """Return the prediction of each row, or its probability of the second class, from that row.

    Other links than the identity are looked up in steps of 1/256 of the score; logarithms between
    the target's bounds, logits from -16 to 16.
    """
    target = model.schema_.target
    if model.link_ == "identity":
        return np.asarray(model.predict(table))
    if model.link_ == "log":
        scores = model.predict_with_uncertainty(table)[:, 0]
        return means_at(scores, target.lower, target.upper)
    means = sigmoid_table() / LATTICE
    places = score_steps(model.decision_function(table)) + len(means) // 2
    return np.asarray(means[np.clip(places, 0, len(means) - 1).astype(np.int64)])


class Cells(Protocol):
    """A partition of all rows by what a model predicts of them."""

    n_cells: int

    def codes(self, table: Table, y: Values) -> Integers:
        """Return each row's cell, shape (n_rows,); -1 without a target. Private."""

    def figures(self, counts: Floats) -> dict[str, float]:
        """Return the figures that follow from released counts, shape (n_cells,)."""


def cells_of(model: Any) -> Cells:
    """Return the cells that suit a fitted model's target."""
    target = model.schema_.target
    if isinstance(target, Continuous):
        return _ErrorCells(model, target)
    if model.released_.classes is not None and len(model.released_.classes) == 2:
        return _LogitCells(model)
    return _LossCells(model)


class _LogitCells:
    """Two classes: label and logit."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._width = len(_LOGIT_EDGES) + 1
        self.n_cells = 2 * self._width

    def codes(self, table: Table, y: Values) -> Integers:
        labels = encode_classes(y, Categorical(self._model.released_.classes), table.n_rows)
        scores = self._model.decision_function(table)
        places = np.searchsorted(_LOGIT_EDGES, scores, side="right")
        return np.where(labels < 0, -1, labels * self._width + places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        no, yes = counts.reshape(2, -1)
        logits = _middles(_LOGIT_EDGES)
        losses = np.logaddexp(0.0, logits), np.logaddexp(0.0, -logits)
        right = no[logits < 0].sum() + yes[logits > 0].sum()
        # Half of a pair counts where both are in one cell.
        below = np.cumsum(no) - no / 2
        pairs = max(no.sum(), 1.0) * max(yes.sum(), 1.0)
        return {
            "accuracy": _share(right, counts),
            "log_loss": max(float(no @ losses[0] + yes @ losses[1]), 0.0) / _total(counts),
            "roc_auc": float(np.clip(yes @ below / pairs, 0.0, 1.0)),
        }


class _LossCells:
    """More classes, or one: the probability of the label, and whether it is the largest."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._width = len(_PROBABILITY_EDGES) + 1
        self.n_cells = 2 * self._width

    def codes(self, table: Table, y: Values) -> Integers:
        classes = self._model.released_.classes
        labels = encode_classes(y, Categorical(classes), table.n_rows).astype(np.int64)
        scores = np.zeros((table.n_rows, len(classes)))
        if len(classes) > 1:
            scores[:] = self._model.decision_function(table)
        share, is_right = _label_shares(scores, labels)
        places = np.searchsorted(_PROBABILITY_EDGES, share, side="right")
        return np.where(labels < 0, -1, is_right * self._width + places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        wrong, right = counts.reshape(2, -1)
        losses = np.log(2.0) * _middles(_LOSS_EDGES)[:0:-1]
        return {
            "accuracy": _share(right.sum(), counts),
            "log_loss": max(float((wrong + right) @ losses), 0.0) / _total(counts),
        }


class _ErrorCells:
    """A regression: the size of the error, as a share of the target's range."""

    n_cells = len(_ERROR_EDGES) + 1

    def __init__(self, model: Any, target: Continuous) -> None:
        self._model, self._target = model, target
        self._range = target.upper - target.lower or 1.0

    def codes(self, table: Table, y: Values) -> Integers:
        target = encode_target(y, self._target, table.n_rows)
        errors = np.abs(predictions(self._model, table) - target) / self._range
        places = np.searchsorted(_ERROR_EDGES, errors, side="right")
        return np.where(np.isnan(target), -1, places).astype(np.int64)

    def figures(self, counts: Floats) -> dict[str, float]:
        sizes = self._range * np.append(_middles(_ERROR_EDGES)[1:-1], _ERROR_EDGES[-1])
        sizes = np.concatenate(([self._range * _ERROR_EDGES[0] / 2], sizes))
        square = max(float(counts @ sizes**2), 0.0) / _total(counts)
        size = max(float(counts @ sizes), 0.0) / _total(counts)
        found = {"rmse": math.sqrt(square), "mean_absolute_error": size}
        is_squared = self._model.released_.parameters.get("objective", "rmse") == "rmse"
        return found | ({"deviance": square} if is_squared else {})


def _middles(edges: Floats) -> Floats:
    """Return the middle of each cell; cells at the ends count as their edge."""
    return np.asarray(np.concatenate(([edges[0]], (edges[1:] + edges[:-1]) / 2, [edges[-1]])))


def _total(counts: Floats) -> float:
    return max(float(counts.sum()), 1.0)


def _share(part: float, counts: Floats) -> float:
    return float(np.clip(part / _total(counts), 0.0, 1.0))
