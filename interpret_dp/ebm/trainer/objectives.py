"""Objectives of a regression: link, clipping bound, and where boosting starts.

Gradients by the score f, for a target y: ``y - f`` (rmse), ``y - exp(f)`` (Poisson deviance) and
``y exp(-f) - 1`` (gamma deviance). The last two are not bounded, so that they are clipped; the
second derivatives that steps are divided by follow from released numbers (docs/proofs/dp_ebm.md).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_choice
from interpret_dp.ebm.config import Unit, residual_clip
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Continuous
from interpret_dp.schema.declarations import UndeclaredContinuous
from interpret_dp.schema.partial import PartialSchema

__all__ = [
    "OBJECTIVES",
    "Start",
    "TargetScale",
    "checked_objective",
    "link_of",
    "mean_gains",
    "relative_means",
    "with_target_of",
]

FloatArray = NDArray[np.float64]

#: By the names of interpret 0.7.8, which files hold, with the link.
OBJECTIVES = {"rmse": "identity", "poisson_deviance": "log", "gamma_deviance": "log"}
# What interpret's development branch of August 2026 calls them.
_LATER_NAMES = {"poisson": "poisson_deviance", "gamma": "gamma_deviance"}

# Relative residuals y / mean - 1 are clipped here; they are never below -1.
_GAMMA_CLIP = 2.0
# With the smallest steps and leaves, noise of this level is about half a unit of a curve's score.
_MAX_NOISE_LEVEL = 0.125
# The loss of correlated terms bends more than the mean of each of them says.
_MAX_STEP = 0.2
# The least share of a target's variance that is taken for sampling error.
_LEAST_LEFT = 0.05
_MOST_EXPLAINED = 100.0
# No mean is believed to be a smaller share of the upper bound: about -14 on the log scale.
_SMALLEST_SHARE = 2.0**-20
# A leaf whose mean is small moves as if it were this share of the average: with less, the noise of
# few expected counts would be blown up.
_SMALLEST_RELATIVE_MEAN = 0.25


def link_of(objective: str) -> str:
    """Return the link of a regression's objective, in interpret's words."""
    return OBJECTIVES[objective]


def checked_objective(objective: object) -> str:
    """Return the name of a regression's objective in OBJECTIVES, or raise ValueError."""
    name = check_choice(
        "objective",
        objective,
        (*OBJECTIVES, *_LATER_NAMES),
        mend="Others have no proof of privacy here; 'rmse' suits any target, 'poisson_deviance' "
        "counts, 'gamma_deviance' positive amounts.",
    )
    return _LATER_NAMES.get(name, name)


def with_target_of(objective: str, partial: PartialSchema) -> PartialSchema:
    """Return the declaration with what the objective itself says of the target.

    Counts are not negative, which needs no declaration. Of amounts the lower bound must be declared
    above 0: their relative errors have no bound without it.

    Raises
    ------
    SchemaError
        If the declared bounds do not suit the objective.
    """
    target = partial.target
    if link_of(objective) != "log" or not isinstance(target, Continuous | UndeclaredContinuous):
        return partial
    lower, upper = target.lower, target.upper
    if objective == "gamma_deviance" and (lower is None or lower <= 0):
        raise SchemaError(
            f"objective is 'gamma_deviance' and the target's lower bound is {lower!r}; it must be "
            "declared above 0, since relative errors have no bound near 0. Declare the smallest "
            "amount that matters, Schema(..., target=Continuous(1.0, upper)) or "
            "privacy_target_min=1.0; what is below it counts as that."
        )
    if lower is not None and lower < 0:
        raise SchemaError(
            f"objective is {objective!r} and the target's lower bound is {lower!r}; it must be 0 "
            "or more. Declare Continuous(0, upper), by which negative targets count as 0, or use "
            "objective='rmse'."
        )
    if upper is not None and upper <= 0:
        raise SchemaError(
            f"objective is {objective!r} and the target's upper bound is {upper!r}; it must be "
            "above 0. Declare the largest value that a target may have."
        )
    if lower is not None:
        return partial
    known = UndeclaredContinuous(0.0) if upper is None else Continuous(0.0, upper)
    return replace(partial, target=known)


@dataclass(frozen=True)
class TargetScale:
    """Range of a regression's target and its clipping bound; public.

    Attributes
    ----------
    objective : str
    lower, upper : float
        In units of the target.
    clip : float
        Bound on the residual: in units of the target, or relative to the mean for gamma deviance.
        Until :meth:`clipped`, half of the range (gamma deviance: as it stays).
    spread : float
        Standard deviation of the target, in units of it, one of the noise of the released variance
        included. Until :meth:`clipped`, half of the range.
    doubt : float
        Share of the spread's square that is there for that noise.
    """

    objective: str
    lower: float
    upper: float
    clip: float
    spread: float
    doubt: float = 0.0

    @classmethod
    def of(cls, objective: str, target: Continuous, *, has_start: bool) -> TargetScale:
        """Return the scale of a declared target.

        Where rows start from scores of their own, what is left to learn is a difference of two
        numbers of the declared range.
        """
        lower, upper = target.lower, target.upper
        if objective == "gamma_deviance":
            return cls(objective, lower, upper, _GAMMA_CLIP, (upper - lower) / 2)
        if has_start:
            lower, upper = lower - upper, upper - lower
        half = (upper - lower) / 2
        return cls(objective, lower, upper, half if half > 0 else 1.0, half)

    def clipped(self, ratio: float, square: float, deviation: float, level: float) -> TargetScale:
        """Return the scale with what a released mean and mean square say: variance and clip.

        Parameters
        ----------
        ratio, square : float
            Released means of (target - middle) / half and of its square.
        deviation : float
            Standard deviation of the noise in each.
        level : float
            :attr:`BoostingSettings.noise_level` of a squared loss.
        """
        ratio = min(max(ratio, -1.0), 1.0)
        # Noise of a mean square and of a squared mean, which is a second order smaller.
        noise = math.hypot(deviation, 2.0 * ratio * deviation)
        # That of two rows at both ends of the range is the largest there is.
        variance = min(max(square - ratio**2, 0.0) + noise, 1.0)
        doubt = min(noise / variance, 1.0) if variance > 0 else 0.0
        known = replace(self, spread=math.sqrt(variance) * self.half, doubt=doubt)
        if self.objective == "gamma_deviance":
            return known
        is_count = self.objective == "poisson_deviance"
        return replace(known, clip=residual_clip(self.half, variance, level, is_count=is_count))

    @property
    def has_log_link(self) -> bool:
        """Whether scores are logarithms of the target's unit."""
        return link_of(self.objective) == "log"

    @property
    def middle(self) -> float:
        """Middle of the range, in units of the target."""
        return (self.lower + self.upper) / 2

    @property
    def half(self) -> float:
        """Half of the width of the range, in units of the target."""
        return (self.upper - self.lower) / 2

    @property
    def score_unit(self) -> float:
        """Released score of one unit of the score lattice."""
        return 1.0 if self.has_log_link else self.clip

    @property
    def score_origin(self) -> float:
        """Released score of a score of 0."""
        return 0.0 if self.has_log_link else self.middle

    def start(self, ratio: float, deviation: float, norm: float) -> tuple[FloatArray, Unit]:
        """Return the score where boosting starts, shape (1,), and what a unit of it means.

        Parameters
        ----------
        ratio : float
            Released mean of (target - middle) / half.
        deviation : float
            Standard deviation of the noise in it.
        norm : float
            Sensitivity of a residual sum, in units of the clipping bound.
        """
        ratio = min(max(ratio, -1.0), 1.0)
        if not self.has_log_link:
            level = ratio * self.half / self.clip
            return np.array([level]), Unit(curvature=1.0, step=1.0, norm=norm)
        # A mean may be smaller than its noise: none is believed to be below one noise unit.
        largest = self.upper if self.upper > 0 else 1.0
        mean = max(
            self.middle + ratio * self.half,
            self.lower + self.half * deviation,
            largest * _SMALLEST_SHARE,
        )
        mean = min(mean, largest)
        # Second derivative of the deviance by the score, in units of the clipping bound.
        curvature = (mean if self.objective == "poisson_deviance" else 1.0) / self.clip
        step = 1.0 / curvature
        return np.array([math.log(mean)]), Unit(
            curvature=curvature,
            step=step,
            per_rate=step,
            max_noise_level=_MAX_NOISE_LEVEL,
            max_step=_MAX_STEP,
            norm=norm,
        )

    def inside(self, explained: float) -> float:
        """Return the share of the rows whose residuals the bound leaves as they are.

        Parameters
        ----------
        explained : float
            Variance of the scores over the rows, less that of the noise in them.

        Returns
        -------
        float
            Of normal residuals. Under a log link 1: bounds are far out there.
        """
        if self.has_log_link:
            return 1.0
        return math.erf(1.0 / self._residual(explained) / math.sqrt(2.0))

    def _residual(self, explained: float) -> float:
        """Return the standard deviation of what is not explained, in units of the clip."""
        most = (self.spread / self.clip) ** 2
        left = (1.0 - self.doubt) * most - explained
        return math.sqrt(max(left, _LEAST_LEFT * most, sys.float_info.min))

    def dispersion(self, level: float, explained: float) -> float:
        """Return the variance of a row's residual over the curvature of its loss.

        Parameters
        ----------
        level : float
            Score where boosting starts.
        explained : float
            Variance of the scores over the rows.

        Returns
        -------
        float
            In units of the clipping bound, as curvatures are. No model is believed to explain more
            than 95 % of a variance, and counts vary at least as Poisson's do.
        """
        if not self.has_log_link:
            spread = self._residual(explained)
            at = 1.0 / spread
            inside = math.erf(at / math.sqrt(2.0))
            # Variance of a clipped normal variable, over the share that answers.
            inner = inside - 2.0 * at * math.exp(-(at**2) / 2.0) / math.sqrt(2.0 * math.pi)
            return (spread**2 * inner + 1.0 - inside) / inside
        mean = math.exp(level)
        whole = (self.spread / mean) ** 2
        # Of normal scores: variance of the means, and mean of their squares.
        growth = math.exp(min(explained, _MOST_EXPLAINED))
        left = max(whole - (growth - 1.0), _LEAST_LEFT * whole)
        if self.objective == "poisson_deviance":
            return max(left * mean, 1.0) / self.clip
        return left / growth / self.clip


@dataclass(frozen=True)
class Start:
    """Start of boosting: released by the first request, in units of the score lattice.

    Attributes
    ----------
    n_rows : float
        A row of the largest weight counts as one.
    level : ndarray of float64, shape (n_scores,)
    unit : Unit
    scale : TargetScale, optional
        Of a regression.
    has_scores : bool
        Whether rows start from scores of their own, of which nothing is released: no mean
        prediction is known then.
    """

    n_rows: float
    level: FloatArray
    unit: Unit
    scale: TargetScale | None = None
    has_scores: bool = False

    @property
    def score_unit(self) -> float:
        """Released score of one unit of the score lattice."""
        return 1.0 if self.scale is None else self.scale.score_unit

    @property
    def bends_with_means(self) -> bool:
        """Whether the loss bends in proportion to the mean."""
        return self.scale is not None and self.scale.objective == "poisson_deviance"


def relative_means(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean prediction of each bin over that of all rows, under a log link.

    Parameters
    ----------
    scores, weights : ndarray of float64, shape (n_codes,)
        Of a term as released; other terms are taken as independent of it.
    """
    odds = np.exp(scores - scores.max())
    total = float(weights.sum())
    mean = float(weights @ odds) / total if total > 0 else 1.0
    relative: FloatArray = odds / max(mean, np.finfo(float).tiny)
    return relative


def mean_gains(
    gain: FloatArray, leaf: NDArray[np.uint16], scores: Sequence[float], weights: FloatArray
) -> FloatArray:
    """Return gains divided by each leaf's mean prediction, as Poisson deviance needs them.

    Parameters
    ----------
    gain : ndarray of float64, shape (n_leaves,)
        For leaves of the average mean.
    leaf : ndarray of uint16, shape (n_codes,)
    scores, weights : ndarray of float64, shape (n_codes,)
        Of the term as released so far.

    Notes
    -----
    The second derivative of the deviance by a leaf's score is the sum of its predictions. What is
    divided by only sets the length of a step: where the sum of residuals is zero, nothing moves.
    """
    relative = relative_means(np.asarray(scores), weights)
    sizes = np.bincount(leaf, weights, minlength=len(gain))
    sums = np.bincount(leaf, weights * relative, minlength=len(gain))
    means = np.divide(sums, sizes, out=np.ones(len(gain)), where=sizes > 0)
    found: FloatArray = gain / np.maximum(means, _SMALLEST_RELATIVE_MEAN)
    return found
