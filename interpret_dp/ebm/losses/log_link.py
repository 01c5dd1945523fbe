"""Parts that losses with a log link share: the start, the mean of each bin, the target's bounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import LossScale
from interpret_dp.ebm.losses.base import MIN_UNEXPLAINED, Loss, RegressionLoss
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Continuous
from interpret_dp.schema.declarations import UndeclaredContinuous
from interpret_dp.schema.partial import PartialSchema

FloatArray = NDArray[np.float64]

# With the smallest steps and leaves, noise of this level is about half a unit of a curve's score.
_MAX_NOISE_LEVEL = 0.125
# The loss of correlated terms bends more than the mean of each of them says.
_MAX_STEP = 0.2
_MAX_EXPLAINED = 100.0
# No mean is believed to be a smaller share of the upper bound: about -14 on the log scale.
_MIN_SHARE = 2.0**-20
# No total is believed to be wrong by more than this factor.
_LARGEST_FACTOR = 3.0


@dataclass(frozen=True)
class LogLinkLoss(RegressionLoss):
    """A loss whose scores are logarithms of the mean."""

    link = "log"
    score_unit = Loss.score_unit
    score_origin = Loss.score_origin

    @abstractmethod
    def hessian(self, mean: float) -> float:
        """Return the expected second derivative by the score at a mean, in units of the target."""

    @abstractmethod
    def dispersion_at(self, mean: float, variance: float, growth: float) -> float:
        """Return the dispersion, before the clip divides it.

        Parameters
        ----------
        mean : float
            Where boosting starts.
        variance : float
            That the scores leave, relative to the square of the mean.
        growth : float
            Mean square of the means over the rows, relative to the square of the mean.
        """

    @classmethod
    def with_target(cls, partial: PartialSchema) -> PartialSchema:
        """Return the declaration with a lower bound of 0 where none is declared.

        Raises
        ------
        SchemaError
            If the declared bounds do not suit the loss.
        """
        target = partial.target
        if not isinstance(target, Continuous | UndeclaredContinuous):
            return partial
        lower, upper = target.lower, target.upper
        cls.check_lower(lower)
        if lower is not None and lower < 0:
            raise SchemaError(
                f"objective is {cls.name!r} and the target's lower bound is {lower!r}; it must be "
                "0 or more. Declare Continuous(0, upper), by which negative targets count as 0, "
                "or use objective='rmse'."
            )
        if upper is not None and upper <= 0:
            raise SchemaError(
                f"objective is {cls.name!r} and the target's upper bound is {upper!r}; it must be "
                "above 0. Declare the largest value that a target may have."
            )
        if lower is not None:
            return partial
        known = UndeclaredContinuous(0.0) if upper is None else Continuous(0.0, upper)
        return replace(partial, target=known)

    @classmethod
    def check_lower(cls, lower: float | None) -> None:
        """Raise SchemaError if the loss needs another lower bound of the target."""

    def level(self, ratio: float, deviation: float, norm: float) -> tuple[float, LossScale]:
        """Return the logarithm of the released mean, and the meaning of a unit of score."""
        # A mean may be smaller than its noise: none is believed to be below one noise unit.
        largest = self.upper if self.upper > 0 else 1.0
        mean = max(
            self.middle + ratio * self.half,
            self.lower + self.half * deviation,
            largest * _MIN_SHARE,
        )
        mean = min(mean, largest)
        curvature = self.hessian(mean) / self.clip
        step = 1.0 / curvature
        return math.log(mean), LossScale(
            curvature=curvature,
            step=step,
            per_rate=step,
            max_noise_level=_MAX_NOISE_LEVEL,
            max_step=_MAX_STEP,
            norm=norm,
        )

    def shift(self, shortfall: float, mean: float) -> float:
        """Return the logarithm of the factor by which the mean prediction falls short."""
        return math.log(min(max(1.0 + shortfall / mean, 1.0 / _LARGEST_FACTOR), _LARGEST_FACTOR))

    def mean_slope(self, explained: float) -> float:
        """Return 1: few residuals are clipped under a log link."""
        return 1.0

    def dispersion(self, level: float, explained: float) -> float:
        """Return the variance of a row's residual over the curvature of its loss."""
        mean = math.exp(level)
        total = (self.spread / mean) ** 2
        # Of normal scores: variance of the means, and mean of their squares.
        growth = math.exp(min(explained, _MAX_EXPLAINED))
        left = max(total - (growth - 1.0), MIN_UNEXPLAINED * total)
        return self.dispersion_at(mean, left, growth) / self.clip


def relative_means(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean prediction of each bin over that of all rows.

    Parameters
    ----------
    scores, weights : ndarray of float64, shape (n_codes,)
        Of a term as released; other terms are taken as independent of it.
    """
    odds = np.exp(scores - scores.max())
    total = float(weights.sum())
    mean = float(weights @ odds) / total if total > 0 else 1.0
    return np.asarray(odds / max(mean, np.finfo(float).tiny))
