"""Losses with a parameter, and the way from ``objective`` to a registered loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice
from interpret_dp.ebm.config import LossScale, TrainerConfig
from interpret_dp.ebm.losses import (
    LATER_NAMES,
    LOSSES,
    PoissonDeviance,
    RegressionLoss,
    Start,
    register_loss,
)
from interpret_dp.ebm.shape import Shape
from interpret_dp.ebm.survival import SurvivalCox
from interpret_dp.schema import Continuous

FloatArray = NDArray[np.float64]

# Tweedie deviance of amounts of which many are zero, such as claims: variance phi mean^p.
#
# The residual y mean^(1-p) - mean^(2-p) is divided by the start's mean^(1-p), so that it is in
# units of the target: (y - mean) (mean / start)^(1-p), clipped. Its expected Hessian is
# mean^(2-p) start^(p-1): at the start that of counts.


@dataclass(frozen=True)
class TweedieDeviance(PoissonDeviance):
    """Tweedie deviance of a power between 1, Poisson's, and 2, gamma's.

    Attributes
    ----------
    variance_power : float
        Power p of the mean to which the variance is in proportion.
    """

    name = "tweedie_deviance"
    parameter = "variance_power"
    limits = (1.0, 2.0)
    rule = "weighted mean"
    # Few rows hold much of the total: that of pure premiums, at epsilon 1 from 50,000 rows, has a
    # spread of 7 % over fits (``python -m benchmarks.premiums_and_quantiles``), and of 10 % with
    # the usual share of the target's sums and cells. Curves are as right with both.
    target_parts = 5.0

    variance_power: float = 1.5

    def residual(self, gap: FloatArray, clip: float) -> FloatArray:  # type: ignore[override]
        """Return the weight of target minus mean, ``gap`` being log mean minus log start."""
        return np.asarray(np.exp((1.0 - self.variance_power) * gap))

    @property
    def hessian_power(self) -> float:
        """Power of the mean of a row to which its Hessian is in proportion."""
        return 2.0 - self.variance_power

    def dispersion_at(self, mean: float, variance: float, growth: float) -> float:
        """Return phi mean^(p-1), the same at every mean."""
        # Of normal scores: the mean of the p-th powers of the means, relative to the mean's.
        power = self.variance_power
        return float(variance * mean / growth ** (power * (power - 1.0) / 2.0))


# Quantiles: the pinball loss, smoothed.
#
# Its residual alpha - 1{y < f} has no slope, and where a bin's residuals cancel cannot be found by
# steps in proportion to them. Averaged over scores within half a kink, it falls evenly there, and
# its mean slope is the share of the rows within half a kink of their score, over the kink: the
# density of the rows at their quantile. That share is released, with the target and in the middle
# of the rounds.

# Of the clip, which is the unit of score. The kink has 32 steps of the residual's table.
_KINK = 0.125
# Half a kink on both sides of the start has so many of the rows, times alpha (1 - alpha): 0.16
# standard deviations of a normal target for the median, 0.12 for a tenth. Smoothing then moves
# what share of the rows lies below a prediction by 0.01 at most, if the spread of the target, given
# the features, is 0.3 times that of all targets or more.
_WITHIN = 0.25
_RATIO = 2.0**0.5
# No density is taken to be less than this share of that at the start: noise.
_LEAST_DENSITY = 0.5


@dataclass(frozen=True)
class Quantile(RegressionLoss):
    """Pinball loss of a quantile, smoothed.

    Attributes
    ----------
    alpha : float
        Share of the rows below their prediction.
    density : float
        Released density of the rows at their prediction, per unit of the clip.
    """

    name = "quantile"
    parameter = "alpha"
    limits = (1e-4, 1.0 - 1e-4)  # beyond, no table has rows enough for the noise
    n_shapes = 2
    fits_mean = False

    alpha: float = 0.5
    density: float = 1.0

    def residual(self, gap: FloatArray, clip: float) -> FloatArray:  # type: ignore[override]
        """Return alpha where the target is far above the score, alpha - 1 where it is below."""
        return np.clip(gap / _KINK - 0.5, -1.0, 0.0) + self.alpha

    def start(
        self, sums: FloatArray, noise: float, norm: float, config: TrainerConfig, has_scores: bool
    ) -> Start:
        """Return the start of boosting: the quantile of the released targets."""
        n_rows, loss, level = max(float(sums[0]), noise), self, 0.0
        if self.shape is not None:
            borders = self.shape.borders
            below = np.concatenate([[0.0], np.cumsum(self.shape.shares)])
            level = float(np.interp(self.alpha, below, borders))
            # The narrowest first.
            clips = self.clips()[::-1]
            ends = level + np.outer([-_KINK / 2.0, _KINK / 2.0], clips)
            shares = np.diff(np.interp(ends, borders, below), axis=0)[0]
            wanted = _WITHIN * self.alpha * (1.0 - self.alpha)
            place = min(int(np.searchsorted(shares, wanted)), len(clips) - 1)
            clip = float(clips[place])
            level = (level - self.middle) / clip
            density = max(float(shares[place]), _LEAST_DENSITY * wanted) / _KINK
            loss = replace(self, clip=clip, density=density)
        loss = replace(loss, bound=max(self.alpha, 1.0 - self.alpha))
        scale = loss.late_scale(LossScale(curvature=1.0, step=1.0, norm=loss.bound * norm))
        return Start(n_rows, np.array([level]), scale, loss, has_scores)

    def residual_edges(self) -> FloatArray:
        """Return cells of which the middle one is the kink."""
        n_cells = math.ceil(math.log(4.0 * self.half / self.clip / _KINK, _RATIO))
        edges = _KINK / 2.0 * _RATIO ** np.arange(max(n_cells, 3))
        return np.concatenate([-edges[::-1], edges])

    def narrowed(self, residuals: Shape, noise_level: float) -> Self:
        """Return the loss with the density of the rows at their prediction."""
        share = float(residuals.shares @ (np.abs(residuals.values) < _KINK / 2.0))
        density = max(share / _KINK, _LEAST_DENSITY * self.density)
        return replace(self, residuals=residuals, density=density)

    def late_scale(self, scale: LossScale) -> LossScale:
        """Return the scale with the released density; no residual is clipped any narrower."""
        step = 1.0 / self.density
        return replace(scale, curvature=self.density, step=step, per_rate=step)

    def mean_slope(self, explained: float) -> float:
        """Return 1: the density is the curvature, whatever a model explains."""
        return 1.0

    def dispersion(self, level: float, explained: float) -> float:
        """Return the variance of the pinball loss' residual over the density."""
        return self.alpha * (1.0 - self.alpha) / self.density

    def findings(self) -> tuple[str, ...]:
        """Say whether many rows seem to have one target: its quantiles are not unique."""
        peaks = [] if self.shape is None else self.shape.peaks()
        if not peaks:
            return ()
        cells = ", ".join(f"{100 * p:.0f} % between {low:.4g} and {up:.4g}" for low, up, p in peaks)
        return (
            f"The target: many rows seem to have one value: of all rows {cells}, and far fewer "
            "beside. Quantiles there are not smooth, and bands do not hold. Fit a classifier of "
            "the rows that have such a value, and quantiles of the others.",
        )


register_loss(SurvivalCox)
register_loss(TweedieDeviance)
register_loss(Quantile)


# What an estimator is given as ``objective``: a name, and a parameter behind a colon as interpret
# writes it.


def class_of(objective: str) -> tuple[type[RegressionLoss], dict[str, float]]:
    """Return the class of a checked objective, and its parameter by name."""
    name, _, setting = objective.partition(":")
    parameter, _, value = setting.partition("=")
    return LOSSES[name], {parameter: float(value)} if setting else {}


def loss_of(objective: str, target: Continuous, *, has_init_scores: bool) -> RegressionLoss:
    """Return the loss of a checked objective and a declared target."""
    loss, parameters = class_of(objective)
    settings: dict[str, Any] = dict(parameters)
    return replace(loss.of(target, has_init_scores=has_init_scores), **settings)


def link_of(objective: str) -> str:
    """Return the link of a regression's objective, in interpret's words."""
    return class_of(objective)[0].link


def checked_objective(objective: object) -> str:
    """Return a regression's objective by its name in LOSSES, with its parameter if it has one.

    Raises
    ------
    ValueError
        If it is not registered, or its parameter is of another name or beyond its limits.
    """
    given, colon, setting = (
        objective.partition(":") if isinstance(objective, str) else (objective, "", "")
    )
    name = check_choice(
        "objective",
        given,
        (*LOSSES, *LATER_NAMES),
        mend="'rmse' suits any target, 'poisson_deviance' counts, 'gamma_deviance' positive "
        "amounts, 'tweedie_deviance' amounts of which many are zero, 'quantile:alpha=0.9' is for "
        "quantiles, 'survival_cox' for times of events. Others: register them in Python by "
        "interpret_dp.ebm.losses.register_loss.",
    )
    name = LATER_NAMES.get(name, name)
    loss = LOSSES[name]
    known, _, text = (part.strip() for part in setting.partition("="))
    if loss.parameter is None:
        if colon:
            raise ValueError(
                f"objective is {objective!r}; {name!r} has no parameter. Write {name!r}."
            )
        return name
    low, high = loss.limits
    try:
        value = float(text) if colon else float(getattr(loss, loss.parameter))
    except ValueError:
        value = math.nan
    if (colon and known != loss.parameter) or not low < value < high:
        raise ValueError(
            f"objective is {objective!r}; its parameter must be {loss.parameter} between {low:g} "
            f"and {high:g}, both excluded, such as '{name}:{loss.parameter}={(low + high) / 2:g}'."
        )
    return f"{name}:{loss.parameter}={value!r}"


def name_in_interpret(objective: str) -> str:
    """Return the name that interpret 0.7.8 has for an objective; any other name as it is."""
    name, colon, setting = objective.partition(":")
    return LATER_NAMES.get(name, name) + colon + setting
