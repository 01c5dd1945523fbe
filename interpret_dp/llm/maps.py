"""The released model: several linear maps a class, weighted by a softmax; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LocallyLinearMaps", "softmax"]

Floats = NDArray[np.float64]

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class LocallyLinearMaps:
    """f_k(x) = sum_m s_km(x) g_km(x), with g_km(x) = w_km.x + b_km; public.

    The weights s_k(x) are the softmax of ``inverse_temperature * g_k(x)`` over the maps of class
    k, so that near an input every class score is a linear function.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_classes, n_maps, n_inputs)
        In the space of the standardised inputs; a projection is multiplied out.
    biases : ndarray of float64, shape (n_classes, n_maps)
    inverse_temperature : float

    Notes
    -----
    Harder, Bauer and Park (2020), equations 3 to 5.
    """

    weights: Floats
    biases: Floats
    inverse_temperature: float

    def map_values(self, inputs: NDArray[np.floating]) -> Floats:
        """Return g, shape (n_rows, n_classes, n_maps), of standardised inputs."""
        flat = self.weights.reshape(-1, self.weights.shape[-1])
        values: Floats = np.asarray(inputs, dtype=np.float64) @ flat.T
        return values.reshape(-1, *self.biases.shape) + self.biases

    def map_shares(self, inputs: NDArray[np.floating]) -> Floats:
        """Return s, shape (n_rows, n_classes, n_maps): how much each map counts at each row."""
        return softmax(self.inverse_temperature * self.map_values(inputs))

    def scores(self, inputs: NDArray[np.floating]) -> Floats:
        """Return f, shape (n_rows, n_classes)."""
        found = np.empty((len(inputs), self.weights.shape[0]))
        for start in range(0, len(inputs), _ROWS_AT_A_TIME):
            values = self.map_values(inputs[start : start + _ROWS_AT_A_TIME])
            shares = softmax(self.inverse_temperature * values)
            found[start : start + _ROWS_AT_A_TIME] = (shares * values).sum(axis=2)
        return found


def softmax(values: Floats) -> Floats:
    """Return the softmax over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
