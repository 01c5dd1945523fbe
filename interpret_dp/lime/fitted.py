"""A released local explanation: a linear function around one query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearFit"]


@dataclass(frozen=True)
class LinearFit:
    """Coefficients of the linear function phi.(x - z) that stands for the model near z; public.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (n_coordinates,)
        phi, in the unit ball: how the model's output, mapped to -1 to 1, changes when a coordinate
        moves by a distance of 1. ``LocalFeatures.per_feature`` puts it in units of the features.
    standard_errors : ndarray of float64, shape (n_coordinates,)
        What the added noise alone does to each.
    """

    coefficients: NDArray[np.float64]
    standard_errors: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Keep copies that cannot be written into: later explanations may start from this one."""
        for name in ("coefficients", "standard_errors"):
            kept = np.array(getattr(self, name), dtype=np.float64)
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)
