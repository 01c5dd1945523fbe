"""One number for how well a model predicts the rows that it was fitted on: a sum of losses.

A row adds an integer between 0 and LATTICE, by a rule that sees that row alone, as the cells of
:mod:`interpret_dp.ebm.cells` do. All runs of a search have the same rows, so that sums compare as
means do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.cells import CERTAIN, label_shares
from interpret_dp.schema import Categorical, Continuous, Table, encode_classes, encode_target
from interpret_dp.schema.tables import Values

__all__ = ["SCORINGS", "Scoring", "scoring_of"]

SCORINGS = {
    "classification": ("neg_log_loss", "accuracy"),
    "regression": ("neg_mean_squared_error", "neg_mean_absolute_error"),
}
"""Names as scikit-learn has them, the first by default; high is good."""

# Losses of a label in octaves: a probability of 2**-6 or less counts as that.
_OCTAVES, _STEPS = 6, 64
_LOSS_EDGES = np.floor(CERTAIN * 2.0 ** (-np.arange(_OCTAVES * _STEPS, 0, -1) / _STEPS))

_SHARE_OF_RANGE = 0.25


class Scoring:
    """A bounded loss of each row, and the score that its sum stands for.

    Parameters
    ----------
    name : str
        One of :data:`SCORINGS`.
    target : Continuous or Categorical
        Bounds of the target, or the classes in the model's order.
    """

    def __init__(self, name: str, target: Continuous | Categorical) -> None:
        self.name = name
        self._target = target

    def losses(self, model: Any, table: Table, y: Values) -> NDArray[np.int64]:
        """Return each row's loss, shape (n_rows,), from 0 to LATTICE; 0 without a target. Private.

        Parameters
        ----------
        model : fitted DPExplainableBoosting*
        table : Table
        y : Values, shape (n_rows,)
        """
        if isinstance(self._target, Continuous):
            target = encode_target(y, self._target, table.n_rows)
            clip = _largest_error(self._target)
            # Comparisons with NaN are false: a row without a target keeps the 0.
            error = np.minimum(np.abs(model.predict(table) - target) / clip, 1.0)
            loss = error * error if self.name == "neg_mean_squared_error" else error
            return np.where(np.isnan(loss), 0.0, np.trunc(loss * LATTICE)).astype(np.int64)
        labels = encode_classes(y, self._target, table.n_rows).astype(np.int64)
        scores = np.asarray(model.decision_function(table), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        shares, is_right = label_shares(scores, labels)
        if self.name == "accuracy":
            found = np.where(is_right, 0, LATTICE)
        else:
            steps = len(_LOSS_EDGES) - np.searchsorted(_LOSS_EDGES, shares, side="right")
            found = steps * LATTICE // len(_LOSS_EDGES)
        return np.where(labels < 0, 0, found).astype(np.int64)

    def score(self, noisy: int, n_rows: float) -> float:
        """Return the score of a released sum of losses over a released number of rows."""
        share = noisy / LATTICE / max(n_rows, 1.0)
        if self.name == "accuracy":
            return 1.0 - share
        if isinstance(self._target, Categorical):
            return -share * _OCTAVES * float(np.log(2.0))
        clip = _largest_error(self._target)
        return -share * (clip * clip if self.name == "neg_mean_squared_error" else clip)


def _largest_error(target: Continuous) -> float:
    """Return a quarter of the declared range: larger errors count as that."""
    width = target.upper - target.lower
    return _SHARE_OF_RANGE * width if width > 0 else 1.0


def scoring_of(name: str | None, target: Any) -> Scoring:
    """Return the scoring of a name for a target; None: the default of its kind.

    Raises
    ------
    ValueError
        If the name is none of that kind.
    """
    kind = "regression" if isinstance(target, Continuous) else "classification"
    names = SCORINGS[kind]
    if name is None:
        return Scoring(names[0], target)
    mend = "They are the scores of which one row can change only a bounded share."
    return Scoring(check_choice("scoring", name, names, mend=mend), target)
