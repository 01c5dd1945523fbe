"""What a released model says about one row: the numbers that an attacker looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["ROW_COUNT", "background_facts", "metric_facts", "model_facts"]

ROW_COUNT = "number of rows"
"""Name of the fact that interpret's models publish without noise."""

# Probabilities are turned into logits, which must stay finite.
_SMALLEST_PROBABILITY = 1e-9

Facts = Mapping[str, float]


def model_facts(row: Any) -> Callable[[Any], Facts]:
    """Return what reads a fitted classifier or regressor, ours or interpret's.

    Parameters
    ----------
    row : array-like, shape (1, n_features)
        The row that the attack is about, in the form that the model predicts.

    Returns
    -------
    callable
        Of a fitted model: its output at the row (a logit for each class but the first, or the
        prediction). Of an additive one also the score and the weight of the row's bins, their
        product, the intercept, and the published number of rows.
    """

    def facts(model: Any) -> Facts:
        found = _outputs(model, row)
        if hasattr(model, "term_scores_") and hasattr(model, "bins_"):
            found |= _additive(model, np.asarray(row, dtype=object)[0])
        return found

    return facts


def metric_facts(metrics: Any) -> Facts:
    """Read what :func:`interpret_dp.private_metrics` released: all figures and the row count."""
    table = metrics.table
    return {
        f"{figure} of {model}": float(table.loc[model, figure])
        for model in table.index
        for figure in table.columns
    } | {ROW_COUNT: float(metrics.n_rows)}


def background_facts(background: Any) -> Facts:
    """Read the counts of a released :class:`interpret_dp.PrivateBackground`."""
    return {
        f"count {at} of {column.feature.name}": float(count)
        for column in background.to_released().columns
        for at, count in enumerate(column.counts)
    }


def _outputs(model: Any, row: Any) -> dict[str, float]:
    if not hasattr(model, "predict_proba"):
        return {"prediction": float(np.ravel(model.predict(row))[0])}
    chances = np.clip(np.asarray(model.predict_proba(row))[0], _SMALLEST_PROBABILITY, 1.0)
    logits = np.log(chances[1:] / chances[0])
    return {f"logit of class {at}": float(logit) for at, logit in enumerate(logits, start=1)}


def _additive(model: Any, cells: Any) -> dict[str, float]:
    """Return what an additive model says of the row's bins; of the last class where there are more.

    The number of bins differs between fits, so that whole curves cannot be compared.
    """
    found: dict[str, float] = {}
    scores = weights = product = 0.0
    for features, curve, weight in zip(
        model.term_features_, model.term_scores_, model.bin_weights_, strict=True
    ):
        at = tuple(_bin(model.bins_[feature][0], cells[feature]) for feature in features)
        score = float(np.ravel(curve[at])[-1])
        scores += score
        weights += float(weight[at])
        product += score * float(weight[at])
    found["score of the bins"] = scores
    found["weight of the bins"] = weights
    found["score times weight"] = product
    found["intercept"] = float(np.ravel(model.intercept_)[-1])
    found[ROW_COUNT] = float(np.sum(model.bag_weights_))
    return found


def _bin(bins: Any, cell: Any) -> int:
    """Return the position of a cell in interpret's tables: 0 is the bin of missing values."""
    if isinstance(bins, dict):
        return int(bins.get(str(cell), max(bins.values(), default=0) + 1))
    return int(np.searchsorted(bins, float(cell), side="right")) + 1
