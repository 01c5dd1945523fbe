"""Squared error (``"rmse"``): residual y - f, clipped; Hessian 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from interpret_dp.ebm.losses.base import RegressionLoss


@dataclass(frozen=True)
class SquaredError(RegressionLoss):
    """Squared error of any target; the clip makes it Huber's loss."""

    name = "rmse"
    fits_mean = True
    rule = "difference"

    def mean_slope(self, explained: float) -> float:
        """Return the share of the rows whose residuals the clip leaves as they are."""
        return math.erf(1.0 / self.unexplained(explained) / math.sqrt(2.0))

    def dispersion(self, level: float, explained: float) -> float:
        """Return the variance of a clipped normal residual over the share that is not clipped."""
        spread = self.unexplained(explained)
        at = 1.0 / spread
        inside = math.erf(at / math.sqrt(2.0))
        inner = inside - 2.0 * at * math.exp(-(at**2) / 2.0) / math.sqrt(2.0 * math.pi)
        return (spread**2 * inner + 1.0 - inside) / inside
