"""Small tables for DP-LLM's tests."""

import numpy as np

from interpret_dp import Categorical, Continuous, DPLocallyLinearClassifier, Schema

SCHEMA = Schema(default=Continuous(-3, 3), target=Categorical(["high", "low", "middle"]))


def three_classes(n_rows=1_500, seed=0):
    """Return numbers of four columns and one of three labels; no linear map separates them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0.2, "high", np.where(X[:, 2] > 0, "middle", "low"))
    return X, y


def classifier(**parameters):
    """Return a classifier that trains in a fraction of a second."""
    settings = {"epsilon": 4.0, "schema": SCHEMA, "n_maps": 3, "epochs": 2, "sampling_rate": 0.1}
    return DPLocallyLinearClassifier(**(settings | parameters))


class Stopped:
    """A progress bar that is interrupted before step ``at``."""

    def __init__(self, at):
        self.at = at

    def __call__(self, steps, **options):
        for step in steps:
            if step == self.at:
                raise KeyboardInterrupt
            yield step
