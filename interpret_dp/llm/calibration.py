"""Temperature of the class scores of pixels, computed from released and public numbers alone.

Clipping makes scores too large. Where every gradient is cut to one length, training follows a loss
that stays linear until the probability of a row's own class is almost 1, like the hinge loss, and
scores grow until then. The clipping norm and the length of rows in training are public, so that the
clipped gradient of a row with any label follows from the released maps. If the true scores are
those of the maps over a temperature, training is at rest where the mean of these gradients along
the scores is 0. One temperature solves that equation (docs/proofs/dp_llm.md).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from interpret_dp.llm.config import TrainingSettings, rows_at_a_time

Floats = NDArray[np.float64]

_ROWS = 2_000
# Where no temperature in this range solves the equation, training ended before it was at rest.
_LARGEST = 10.0
_HALVINGS = 50


def temperature(
    weights: Floats,
    biases: Floats,
    settings: TrainingSettings,
    public: np.random.Generator,
) -> float:
    """Return the number by which to divide class scores: 1 to 10; post-processing.

    Parameters
    ----------
    weights : ndarray, shape (n_maps, n_classes, dimension)
        Released; of the centred features, as trained.
    biases : ndarray, shape (n_maps, n_classes)
    settings : TrainingSettings
    public : numpy.random.Generator
        Of simulated rows. They have the length of rows in training and random directions.
    """
    dimension = weights.shape[2]
    n_rows = min(_ROWS, rows_at_a_time(biases.size, dimension))
    rows = public.standard_normal((n_rows, dimension))
    rows *= settings.feature_length / math.sqrt(dimension)
    values = (rows @ weights.transpose(0, 2, 1) + biases[:, np.newaxis]).transpose(1, 2, 0)
    beta = settings.inverse_temperature
    shares = _softmax(beta * values)
    scores = (shares * values).sum(axis=2)
    slopes = shares * (1.0 + beta * (values - scores[:, :, np.newaxis]))
    # Squared length of the gradient by the maps of each class, for an error of 1.
    squares = (slopes**2).sum(axis=2) * (np.square(rows).sum(axis=1, keepdims=True) + 1.0)
    p = _softmax(scores)
    # One column a label: the errors are p, less 1 at the label.
    of_any_label = (p**2 * squares).sum(axis=1, keepdims=True)
    norms = np.sqrt(np.maximum(of_any_label + (1.0 - 2.0 * p) * squares, 1e-300))
    along_scores = (p * scores).sum(axis=1, keepdims=True) - scores
    gradients = along_scores * np.minimum(1.0, settings.clip_norm / norms)

    def mean_gradient(log_temperature: float) -> float:
        return float((_softmax(scores / math.exp(log_temperature)) * gradients).sum())

    low, high = 0.0, math.log(_LARGEST)
    if mean_gradient(low) >= 0 or mean_gradient(high) < 0:
        return 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean_gradient(middle) < 0 else (low, middle)
    return math.exp(low)


def _softmax(values: Floats) -> Floats:
    """Return the softmax over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
