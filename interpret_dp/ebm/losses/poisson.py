"""Poisson deviance of counts: residual y - exp(f), clipped; Hessian exp(f)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.losses.base import Terms
from interpret_dp.ebm.losses.log_link import LogLinkLoss, relative_means

FloatArray = NDArray[np.float64]

# A leaf whose mean is small moves as if it were this share of the average: with less, the noise of
# few expected counts would be blown up.
_MIN_RELATIVE_MEAN = 0.25


@dataclass(frozen=True)
class PoissonDeviance(LogLinkLoss):
    """Poisson deviance."""

    name = "poisson_deviance"
    n_shapes = 1
    rule = "mean"

    def hessian(self, mean: float) -> float:
        """Return the mean."""
        return mean

    def dispersion_at(self, mean: float, variance: float, growth: float) -> float:
        """Return the variance over the mean: counts vary at least as Poisson's do."""
        return max(variance * mean, 1.0)

    def curvatures(
        self, scores: Terms, level: FloatArray, weights: Terms, average: float, rough: bool = False
    ) -> list[FloatArray]:
        """Return second derivatives in proportion to the mean of each bin."""
        return [
            average * relative_means(curve[:, 0], w)[:, np.newaxis]
            for curve, w in zip(scores, weights, strict=True)
        ]

    def leaf_steps(
        self, steps: FloatArray, leaf: NDArray[np.uint16], scores: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return steps divided by each leaf's mean prediction.

        The second derivative of the deviance by a leaf's score is the sum of its predictions. What
        is divided by only sets the length of a step: where the sum of residuals is zero, nothing
        moves.
        """
        relative = relative_means(scores[:, 0], weights)
        sizes = np.bincount(leaf, weights, minlength=len(steps))
        sums = np.bincount(leaf, weights * relative, minlength=len(steps))
        means = np.divide(sums, sizes, out=np.ones(len(steps)), where=sizes > 0)
        return np.asarray(steps / np.maximum(means, _MIN_RELATIVE_MEAN))
