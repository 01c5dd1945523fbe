"""Squared error (``"rmse"``): residual y - f, clipped; Hessian 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.losses.base import MIN_UNEXPLAINED, RegressionLoss

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SquaredError(RegressionLoss):
    """Squared error of any target; the clip makes it Huber's loss."""

    name = "rmse"
    rule = "difference"
    n_shapes = 2

    def mean_slope(self, explained: float) -> float:
        """Return the share of the rows whose residuals the clip leaves as they are."""
        places, shares = self._places(explained)
        return max(float(shares @ (np.abs(places) <= self.bound)), MIN_UNEXPLAINED)

    def dispersion(self, level: float, explained: float) -> float:
        """Return the variance of a clipped residual over the share that is not clipped."""
        places, shares = self._places(explained)
        clipped = np.clip(places, -self.bound, self.bound)
        return float(shares @ clipped**2) / self.mean_slope(explained)

    def _places(self, explained: float) -> tuple[FloatArray, FloatArray]:
        """Return residuals in units of the clip, and how common they are."""
        if self.residuals is not None:
            return self.residuals.values, self.residuals.shares
        spread = self.unexplained(explained)
        if self.shape is None:
            return np.array([-spread, spread]), np.array([0.5, 0.5])
        # As the target, with a smaller spread.
        gaps = (self.shape.values - self.shape.mean) / self.spread
        return spread * gaps, self.shape.shares
