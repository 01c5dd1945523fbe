"""The model of a classifier whose labels did not reach two: it says the same of every row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.noise.uncertainty import no_noise
from interpret_dp.ebm.trainer.binning import public_bins
from interpret_dp.ebm.trainer.curves import Averaged
from interpret_dp.ebm.trainer.results import BoostingResult
from interpret_dp.ebm.training import TrainedTerms, TrainingTask
from interpret_dp.fitting.rows import PrivateRows
from interpret_dp.release import ReleaseSession
from interpret_dp.schema import (
    Categorical,
    encode_classes,
)
from interpret_dp.schema.encode import encode_weights

__all__ = ["has_one_class", "train_constant"]


def has_one_class(task: TrainingTask) -> bool:
    """Return whether there is nothing to tell apart."""
    return isinstance(task.target, Categorical) and len(task.target.levels) < 2


def train_constant(
    private: PrivateRows, task: TrainingTask, config: TrainerConfig, session: ReleaseSession
) -> TrainedTerms:
    """Return terms without effect, and the released number of rows of the only label.

    Parameters
    ----------
    private : PrivateRows
    task : TrainingTask
        With one label.
    config : TrainerConfig
    session : ReleaseSession
        Open, with the plan of ``config``. The histograms and the rounds are left unused; they are
        charged all the same, since whether they are used follows from the rows.
    """
    if not isinstance(task.target, Categorical):
        raise TypeError(f"The target is {task.target!r}; only a classifier can lack labels.")
    exact = private.total(_weight_of_the_label, task.target, task.largest_weight)
    released, sigma = session.gaussian("target", exact, row_norm=LATTICE, aligned=True)
    # One bin over all numbers, or one a level, without counts: none were released.
    bins = [
        public_bins(config.n_fine(spec), config.fine_edges(spec), np.zeros(0))
        for spec in task.specs
    ]
    scores = [np.zeros(b.n_codes) for b in bins]
    intercept = np.zeros(1)
    return TrainedTerms(
        bins=bins,
        scores=scores,
        noise=[no_noise(b.n_codes) for b in bins],
        expected=[None] * len(bins),
        intercept=intercept,
        n_rows=task.largest_weight * max(float(released[0, 0]), sigma) / LATTICE,
        count_noise=0.0,
        update_noise=0.0,
        boosting=BoostingResult(
            [s[:, np.newaxis] for s in scores],
            [s[:, np.newaxis] for s in scores],
            intercept,
            updates=[[] for _ in bins],
            averaged=(Averaged(0),) * len(bins),
            noise=0.0,
            step=0.0,
            way=0.0,
        ),
    )


def _weight_of_the_label(
    private: PrivateRows, target: Categorical, largest_weight: float
) -> NDArray[np.int64]:
    """Add the weights of the rows that have the only label; shape (1, 1), in lattice units."""
    has_label = encode_classes(private.y, target) == 0
    weights = np.full(len(has_label), LATTICE, dtype=np.int32)
    if private.weights is not None:
        weights = encode_weights(private.weights, largest_weight, LATTICE)
    return np.array([[weights[has_label].sum(dtype=np.int64)]])
