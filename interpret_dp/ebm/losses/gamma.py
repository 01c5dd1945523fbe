"""Gamma deviance of positive amounts: residual y exp(-f) - 1, clipped; expected Hessian 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.losses.log_link import LogLinkLoss
from interpret_dp.exceptions import SchemaError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class GammaDeviance(LogLinkLoss):
    """Gamma deviance; the target's lower bound is above 0."""

    name = "gamma_deviance"
    n_shapes = 1
    is_relative = True
    rule = "log gap"

    @staticmethod
    def residual(gap: FloatArray, clip: float) -> FloatArray:
        """Return the relative error of a target ``exp(gap)`` times the mean."""
        return np.asarray(np.expm1(gap) / clip)

    @classmethod
    def check_lower(cls, lower: float | None) -> None:
        """Refuse a lower bound that is not above 0: relative errors have no bound without it."""
        if lower is None or lower <= 0:
            raise SchemaError(
                f"objective is 'gamma_deviance' and the target's lower bound is {lower!r}; it must "
                "be declared above 0, since relative errors have no bound near 0. Declare the "
                "smallest amount that matters, Schema(..., target=Continuous(1.0, upper)) or "
                "privacy_target_min=1.0; what is below it counts as that."
            )

    def hessian(self, mean: float) -> float:
        """Return 1."""
        return 1.0

    def dispersion_at(self, mean: float, variance: float, growth: float) -> float:
        """Return the variance relative to the square of each row's mean."""
        return variance / growth
