"""Losses of DP-EBM, and the registry by which an estimator finds them by name."""

from __future__ import annotations

import functools
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import TUNING, LossScale, TrainerConfig
from interpret_dp.ebm.shape import Shape, best_clip, cell_edges, errors_of_mean
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Continuous
from interpret_dp.schema.declarations import UndeclaredContinuous
from interpret_dp.schema.partial import PartialSchema

# Parts that every loss states: link, residual rule, clip, Hessian, dispersion, start of boosting.
#
# A loss is given public numbers alone. It names the rule by which ``backends`` compute the residual
# of a row. The rule clips that residual, so that no loss can change the sensitivity of a sum. What
# else a loss returns is post-processing of released numbers.

FloatArray = NDArray[np.float64]
Terms: TypeAlias = Sequence[FloatArray]  # one a term

#: Rules for the residual of a row, each clipped by the loop over rows: target minus score, target
#: minus exp(score), the latter times a function of exp(score), and any function of target minus
#: score or of log target minus score.
RULES = "difference", "mean", "weighted mean", "gap", "log gap"
_OF_LOG_LINK = "mean", "weighted mean", "log gap"

#: The least share of a target's variance that is taken for sampling error.
MIN_UNEXPLAINED = 0.05

# The clip of a loss that does not fit the mean, in standard deviations of the target, and at least
# of half the range: a target of one value with few outliers.
_SPREADS, _MIN_CLIP = 1.25, 0.01


@dataclass(frozen=True)
class Start:
    """Start of boosting, computed from the ``target`` release, in units of the score lattice.

    Attributes
    ----------
    n_rows : float
        A row of the largest weight counts as one.
    level : ndarray of float64, shape (n_scores,)
    scale : LossScale
    loss : Loss
        With its clip.
    has_scores : bool
        Whether rows start from scores of their own, of which nothing is released: no mean
        prediction is known then.
    exposure : float or None
        Released mean exposure, as a share of the largest. Scores are those of a row that has it.
    """

    n_rows: float
    level: FloatArray
    scale: LossScale
    loss: Loss
    has_scores: bool = False
    exposure: float | None = None

    @property
    def row_mass(self) -> float:
        """What a row counts in histograms on average: 1, or its exposure."""
        if self.exposure is None or not self.loss.counts_exposure:
            return 1.0
        return self.exposure


class Loss(ABC):
    """The loss of a fit; public.

    Attributes
    ----------
    link : {"logit", "identity", "log"}
    rule : str
        Rule for the residual of a row: ``"probability"``, or one of :data:`RULES`.
    is_classification : bool
        Whether residuals are bounded by themselves, as those of probabilities are.
    counts_exposure : bool
        Whether histograms add exposures, to which second derivatives are proportional.
    """

    link: ClassVar[str]
    rule: ClassVar[str]
    is_classification: ClassVar[bool]
    counts_exposure: ClassVar[bool] = False

    @property
    def score_unit(self) -> float:
        """Released score of one unit of the score lattice."""
        return 1.0

    @property
    def score_origin(self) -> float:
        """Released score of a score of 0."""
        return 0.0

    @abstractmethod
    def start(
        self, sums: FloatArray, noise: float, norm: float, config: TrainerConfig, has_scores: bool
    ) -> Start:
        """Return the start of boosting.

        Parameters
        ----------
        sums : ndarray of float64
            Released sums of the target, in rows, as
            :meth:`interpret_dp.backends.base.AdditiveRows.target_sums` describes them.
        noise : float
            Standard deviation of the noise in each.
        norm : float
            Sensitivity of a residual sum, in units of the clipping bound.
        config : TrainerConfig
        has_scores : bool
            Whether rows start from scores of their own.
        """

    @abstractmethod
    def curvatures(
        self, scores: Terms, level: FloatArray, weights: Terms, average: float, rough: bool = False
    ) -> list[FloatArray]:
        """Return the expected second derivative of the loss in each bin, terms being independent.

        Parameters
        ----------
        scores : sequence of ndarray of float64, shape (n_codes, n_scores) each
            Released curves, in units of the score lattice.
        level : ndarray of float64, shape (n_scores,)
            Intercept.
        weights : sequence of ndarray of float64, shape (n_codes,) each
            Released bin weights.
        average : float
            Mean second derivative over all rows.
        rough : bool
            Whether it only sets the length of a step.

        Returns
        -------
        list of ndarray of float64, shape (n_codes, n_scores) each
            In units of the clipping bound.
        """

    def leaf_steps(
        self, steps: FloatArray, leaf: NDArray[np.uint16], scores: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return the step of each leaf, given those of leaves of average Hessian.

        Parameters
        ----------
        steps : ndarray of float64, shape (n_leaves,)
        leaf : ndarray of uint16, shape (n_codes,)
        scores : ndarray of float64, shape (n_codes, n_scores)
            Of the term as released so far.
        weights : ndarray of float64, shape (n_codes,)
        """
        return steps

    def findings(self) -> tuple[str, ...]:
        """Return what released numbers say against the loss, in sentences."""
        return ()


@dataclass(frozen=True)
class RegressionLoss(Loss):
    """A loss of a numeric target, with the target's public range and the clip of residuals.

    As it stands it is a loss of the difference of target and score: ``residual`` is all that such a
    loss adds. Scores and residuals are in units of the clip.

    Attributes
    ----------
    name : str
        As ``objective`` of an estimator; files hold it.
    link : {"identity", "log"}
        Scores are means, or their logarithms.
    rule : {"difference", "gap", "mean", "weighted mean", "log gap"}
        Residuals are target minus score, ``residual`` of it, target minus exp(score), the latter
        times ``residual`` of score minus its value at the start, or ``residual`` of log target
        minus score. The latter three belong to the link ``"log"``.
    lower, upper : float
        In units of the target.
    clip : float
        Bound on the absolute residual: in units of the target, or relative to the mean for gamma
        deviance. Until :meth:`clipped`, half of the range.
    spread : float
        Standard deviation of the target, in units of it. Until :meth:`clipped`, half of the range.
    shape : Shape or None
        Of the target, once it is released.
    residuals : Shape or None
        Of the residuals after half of the rounds, in units of the clip.
    bound : float
        At which residuals are clipped from then on, in units of the clip.
    n_shapes : int
        How many of the two are released, and let the clip follow: none unless the loss without a
        clip is least at the mean, and only the first where residuals are not differences.
    fits_mean : bool
        Whether the total is released where there is a shape: a quantile is no mean.
    n_baselines : int
        How many histograms of time are released, of losses of survival.
    target_parts : float
        How many times their usual share of the budget the releases of the target alone have.
    largest_shortfall : float
        Of the mean, as a share of it.
    is_relative : bool
        Whether residuals are relative to the mean.
    parameter : str or None
        Field that ``objective`` may set, as interpret writes it: ``"quantile:alpha=0.9"``.
    limits : (float, float)
        Between which the parameter lies, both excluded.
    """

    name: ClassVar[str]
    parameter: ClassVar[str | None] = None
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    n_shapes: ClassVar[int] = 0
    fits_mean: ClassVar[bool] = True
    n_baselines: ClassVar[int] = 0
    target_parts: ClassVar[float] = 1.0
    largest_shortfall: ClassVar[float] = 0.5
    is_relative: ClassVar[bool] = False
    link: ClassVar[str] = "identity"
    rule: ClassVar[str] = "gap"
    is_classification: ClassVar[bool] = False

    lower: float
    upper: float
    clip: float
    spread: float
    shape: Shape | None = None
    residuals: Shape | None = None
    bound: float = 1.0

    @staticmethod
    def residual(gap: FloatArray, clip: float) -> FloatArray:
        """Return the residual at a gap of target and score, for the rules of a gap.

        For the rule "weighted mean", the weight of a residual by score minus that of the start.

        Parameters
        ----------
        gap : ndarray of float64
            In units of the clip, or of the log scale for ``"log gap"``.
        clip : float
            In units of the target, so that ``gap * clip`` is, too. The released variance sets it.

        Returns
        -------
        ndarray of float64
            In units of the clip; beyond 1 it is clipped. Its slope is 1 at most.
        """
        raise NotImplementedError

    @classmethod
    def with_target(cls, partial: PartialSchema) -> PartialSchema:
        """Return a declaration with what the loss itself says of the target.

        Raises
        ------
        SchemaError
            If the declared bounds do not suit the loss.
        """
        return partial

    @classmethod
    def of(cls, target: Continuous, *, has_init_scores: bool) -> Self:
        """Return the loss of a declared target.

        Where rows start from scores of their own, what is left to learn is a difference of two
        numbers of the declared range.
        """
        lower, upper = target.lower, target.upper
        if has_init_scores:
            lower, upper = lower - upper, upper - lower
        half = (upper - lower) / 2
        return cls(lower, upper, half if half > 0 else 1.0, half)

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
        return self.clip

    @property
    def score_origin(self) -> float:
        """Released score of a score of 0."""
        return self.middle

    def cell_edges(self, sums: FloatArray, noise: float) -> FloatArray:
        """Return the cells in which targets are counted, given the sums of :meth:`start`."""
        n_rows = max(float(sums[0]), noise)
        ratio = min(max(float(sums[1]) / n_rows, -1.0), 1.0)
        return cell_edges(self.middle + ratio * self.half, self.lower, self.upper)

    @classmethod
    def gaps(cls, values: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the residuals of some targets at a predicted mean, before the clip."""
        return (values - mean) / mean if cls.is_relative else values - mean

    def clips(self) -> FloatArray:
        """Return the clips from which the best one is chosen, the widest first."""
        mean = self.shape.mean if self.is_relative and self.shape is not None else 1.0
        return _steps(2.0 * self.half / mean)

    def shift(self, shortfall: float, mean: float) -> float:
        """Return the change of the intercept that adds the shortfall of a mean prediction."""
        return shortfall

    def start(
        self, sums: FloatArray, noise: float, norm: float, config: TrainerConfig, has_scores: bool
    ) -> Start:
        """Return the start of boosting, with the clip.

        ``sums`` are rows, target and its square; and exposure and its square, if there is any.
        """
        n_rows = max(float(sums[0]), noise)
        deviation = noise / n_rows
        ratio = min(max(float(sums[1]) / n_rows, -1.0), 1.0)
        squared_error = LossScale(curvature=1.0, step=1.0, norm=norm)
        noise_level = config.boosting(n_rows, squared_error).noise_level
        loss = self.clipped(ratio, float(sums[2]) / n_rows, deviation, noise_level)
        level, scale = loss.level(ratio, deviation, norm)
        exposure = None
        if len(sums) > 3:
            exposure = min(max(float(sums[3]), noise) / n_rows, 1.0)
            loss = loss.with_exposure(exposure, float(sums[4]) / n_rows)
        return Start(n_rows, np.array([level]), scale, loss, has_scores, exposure)

    def with_exposure(self, mean: float, square: float) -> Self:
        """Return the loss for rows with exposures of a mean and a mean square."""
        return self

    def clipped(self, ratio: float, square: float, deviation: float, noise_level: float) -> Self:
        """Return the loss with the spread and the clip that follow from released moments.

        Parameters
        ----------
        ratio, square : float
            Released means of (target - middle) / half, from -1 to 1, and of its square.
        deviation : float
            Standard deviation of the noise in each.
        noise_level : float
            :attr:`BoostingSettings.noise_level` of a squared loss.
        """
        # Noise of a mean square and of a squared mean, which is a second order smaller.
        noise = math.hypot(deviation, 2.0 * ratio * deviation)
        # That of two rows at both ends of the range is the largest there is.
        variance = min(max(square - ratio**2, 0.0) + noise, 1.0)
        if self.shape is not None:
            # Noise of far cells is not in it.
            variance = max(self.shape.spread / self.half, _MIN_CLIP) ** 2
        if self.shape is None:
            clip = max(_SPREADS * math.sqrt(variance), _MIN_CLIP) * self.half or 1.0
        else:
            noise = TUNING.clip_noise * noise_level
            clip = best_clip(self.shape, self.clips(), noise, self.gaps)
        return replace(self, spread=math.sqrt(variance) * self.half, clip=clip)

    def residual_edges(self) -> FloatArray:
        """Return the cells in which residuals are counted, in units of the clip."""
        width = 2.0 * self.half / self.clip
        return cell_edges(0.0, -width, width)

    def late_scale(self, scale: LossScale) -> LossScale:
        """Return the meaning of a unit of score once the residuals' shape is released."""
        return replace(scale, norm=self.bound * scale.norm)

    def narrowed(self, residuals: Shape, noise_level: float) -> Self:
        """Return the loss with the bound that the shape of the residuals asks for."""
        bounds, noise = _steps(1.0), TUNING.clip_noise * noise_level
        bound = best_clip(residuals, bounds, noise, RegressionLoss.gaps)
        return replace(self, residuals=residuals, bound=bound)

    def error_left(self, noise: float) -> float:
        """Return the error of the mean that the clip of boosting leaves, in units of a residual.

        Parameters
        ----------
        noise : float
            As for :func:`errors_of_mean`.
        """
        if self.residuals is not None:
            own = np.array([self.bound])
            error = errors_of_mean(self.residuals, own, noise, RegressionLoss.gaps)
            return self.clip * float(error[0])
        if self.shape is None:
            return 0.0
        return float(errors_of_mean(self.shape, np.array([self.clip]), noise, self.gaps)[0])

    def level_error(self) -> float:
        """Return the error of the mean that noise of a baseline leaves, in units of a residual."""
        return 0.0

    def errors_of_total(self, clips: FloatArray, noise: float, start: float) -> FloatArray:
        """Return the error of the mean prediction with each clip of the total's residuals.

        Parameters
        ----------
        clips, noise, start
            As for :func:`errors_of_mean`.
        """
        assert self.shape is not None
        return errors_of_mean(self.shape, clips, noise, self.gaps, start)

    def level(self, ratio: float, deviation: float, norm: float) -> tuple[float, LossScale]:
        """Return the score where boosting starts, and the meaning of a unit of it.

        Parameters
        ----------
        ratio, deviation : float
            As for :meth:`clipped`.
        norm : float
            Sensitivity of a residual sum, in units of the clipping bound.
        """
        return ratio * self.half / self.clip, LossScale(curvature=1.0, step=1.0, norm=norm)

    def curvatures(
        self, scores: Terms, level: FloatArray, weights: Terms, average: float, rough: bool = False
    ) -> list[FloatArray]:
        """Return the average in every bin."""
        return [np.full_like(curve, average) for curve in scores]

    def unexplained(self, explained: float) -> float:
        """Return the standard deviation of target minus score, in units of the clip.

        Parameters
        ----------
        explained : float
            Variance of the scores over the rows, less that of the noise in them.
        """
        most = (self.spread / self.clip) ** 2
        return math.sqrt(max(most - explained, MIN_UNEXPLAINED * most, sys.float_info.min))

    def mean_slope(self, explained: float) -> float:
        """Return the mean slope of the residual by the score over the rows, as a share of 1.

        Parameters
        ----------
        explained : float
            As for :meth:`unexplained`.

        Returns
        -------
        float
            Of normal gaps, by Stein's identity: the mean of gap times residual, over the variance.
        """
        deviation = self.unexplained(explained)
        gaps, probabilities = _normal_gaps()
        residual = self._clipped_residual(deviation * gaps)
        return float(probabilities @ (gaps * residual)) / deviation

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
            In units of the clipping bound, as curvatures are. No model is assumed to explain more
            than 95 % of a variance.
        """
        gaps, probabilities = _normal_gaps()
        residual = self._clipped_residual(self.unexplained(explained) * gaps)
        return float(probabilities @ residual**2) / self.mean_slope(explained)

    def _clipped_residual(self, gaps: FloatArray) -> FloatArray:
        return np.clip(self.residual(gaps, self.clip), -1.0, 1.0)


def _normal_gaps() -> tuple[FloatArray, FloatArray]:
    """Return standard normal gaps, and the probability of each."""
    gaps = np.linspace(-8.0, 8.0, 4_001)
    density = np.exp(-(gaps**2) / 2.0)
    return gaps, density / density.sum()


def _steps(widest: float) -> FloatArray:
    """Return clips from the widest one to about a thousandth of it."""
    return widest * 2.0 ** (-np.arange(21) / 2.0)


# Parts that losses with a log link share: the start, the mean of each bin, the target's bounds.

# With the smallest steps and leaves, noise of this level is about half a unit of a curve's score.
_MAX_NOISE_LEVEL = 0.125
# The loss of correlated terms bends more than the mean of each of them says.
_MAX_STEP = 0.2
_MAX_EXPLAINED = 100.0
# No mean is assumed to be a smaller share of the upper bound: about -14 on the log scale.
_MIN_SHARE = 2.0**-20
# No total is assumed to be wrong by more than this factor.
_LARGEST_FACTOR = 3.0


@dataclass(frozen=True)
class LogLinkLoss(RegressionLoss):
    """A loss whose scores are logarithms of the mean.

    Attributes
    ----------
    exposure_growth : float
        Mean square of the exposures over the square of their mean.
    """

    link = "log"
    counts_exposure = True
    score_unit = Loss.score_unit
    score_origin = Loss.score_origin

    exposure_growth: float = 1.0

    def with_exposure(self, mean: float, square: float) -> Self:
        """Return the loss for rows with exposures of a mean and a mean square."""
        # No mean square is below the square of the mean, nor above the mean: shares are at most 1.
        return replace(self, exposure_growth=min(max(square / mean**2, 1.0), 1.0 / mean))

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
        # A mean may be smaller than its noise: none is assumed to be below one noise unit.
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

    def expected_residuals(
        self, before: FloatArray, after: FloatArray, spread: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mean residuals at some scores where others are the truth, and their slopes.

        Parameters
        ----------
        before, after : ndarray of float64, shape (n_bins, n_scores)
            Scores at which residuals cancelled, and present ones.
        spread : ndarray of float64, shape (n_scores,)
            Standard deviation of the scores of other terms.

        Returns
        -------
        tuple of ndarray of float64, shape of the scores
            Up to one common factor: differences of means, or relative ones where residuals are.
        """
        unit = before if self.rule == "log gap" else np.full_like(before, after.max())
        own, present = np.exp(before - unit), np.exp(after - unit)
        return own - present, present

    def mean_slope(self, explained: float) -> float:
        """Return 1: few residuals are clipped under a log link."""
        return 1.0

    def dispersion(self, level: float, explained: float) -> float:
        """Return the variance of a row's residual over the curvature of its loss."""
        mean = math.exp(level)
        total = (self.spread / mean) ** 2
        # Of normal scores: variance of the means, and mean of their squares.
        growth = self.exposure_growth * math.exp(min(explained, _MAX_EXPLAINED))
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


# Squared error (``"rmse"``): residual y - f, clipped; Hessian 1.


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


# Log loss of two classes or more: residual 1{y} - p; Hessian p (1 - p).
#
# A full Newton step divides a leaf's residual sum by the sum of p (1 - p) over its rows. That sum
# would be a release; here the expected p (1 - p) of each bin takes its place, with the other terms'
# scores as independent and normal.

# Of the quadrature over the other terms' scores.
_NODES, _ROUGH_NODES = 32, 8


@dataclass(frozen=True)
class LogLoss(Loss):
    """Log loss, with one score for two classes and one a class for more."""

    link = "logit"
    rule = "probability"
    is_classification = True

    def start(
        self, sums: FloatArray, noise: float, norm: float, config: TrainerConfig, has_scores: bool
    ) -> Start:
        """Return the start of boosting; ``sums`` are the rows of each class."""
        # A class may be smaller than its noise: no count is assumed to be below one noise unit.
        counts = np.maximum(sums, noise)
        shares = counts / counts.sum()
        curvature = float(np.mean(shares * (1.0 - shares)))
        scale = LossScale(
            curvature=4.0 * curvature, step=1.0 / curvature, norm=norm, start_curvature=curvature
        )
        logs = np.log(counts)
        levels = logs[1:] - logs[0] if len(counts) == 2 else logs - logs.mean()
        # Scores that rows start from know of the classes' sizes already.
        level = np.zeros_like(levels) if has_scores else levels
        return Start(float(counts.sum()), level, scale, self, has_scores)

    def curvatures(
        self, scores: Terms, level: FloatArray, weights: Terms, average: float, rough: bool = False
    ) -> list[FloatArray]:
        """Return the expected p (1 - p) in each bin, terms being independent."""
        own = np.array(
            [
                w @ term**2 / max(float(w.sum()), 1e-300)
                for term, w in zip(scores, weights, strict=True)
            ]
        )
        variances = np.maximum(own.sum(axis=0) - own, 0.0)
        sizes = [len(term) for term in scores]
        spread = np.repeat(np.sqrt(variances), sizes, axis=0)
        n_nodes = _ROUGH_NODES if rough else _NODES
        curvature = self.mean_curvature(level + np.concatenate(scores), spread, n_nodes)
        return np.split(curvature, np.cumsum(sizes)[:-1])

    @staticmethod
    def mean_curvature(centres: FloatArray, spread: FloatArray, n_nodes: int) -> FloatArray:
        """Average p (1 - p) over normal scores around ``centres``, by Gauss-Hermite quadrature.

        With several classes the others' scores stay at their centres.

        Parameters
        ----------
        centres : ndarray of float64, shape (n_bins, n_scores)
        spread : ndarray of float64, shape (n_bins, n_scores)
            Standard deviation of the scores.
        n_nodes : int
        """
        nodes, weights = _quadrature(n_nodes)
        if centres.shape[1] > 1:
            # Against all other classes together.
            rest = np.logaddexp.reduce(centres, axis=1, keepdims=True)
            own = np.exp(np.minimum(centres - rest, -1e-12))
            centres = np.log(own) - np.log1p(-own)
        averaged = np.zeros_like(centres)
        for node, weight in zip(nodes, weights, strict=True):  # one at a time: bins may be many
            probabilities = 1.0 / (1.0 + np.exp(-np.clip(centres + spread * node, -500, 500)))
            averaged += weight * probabilities * (1.0 - probabilities)
        return averaged

    def expected_residuals(
        self, before: FloatArray, after: FloatArray, spread: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return differences of mean probabilities; see ``LogLinkLoss.expected_residuals``."""
        from scipy.special import softmax

        n_scores = before.shape[1]
        # The probit function in the place of the logistic one.
        both = np.stack([before, after]) / np.sqrt(1.0 + math.pi / 8.0 * spread**2)
        first = np.zeros((*both.shape[:2], int(n_scores == 1)))
        own, present = softmax(np.concatenate([first, both], axis=2), axis=2)[..., -n_scores:]
        return own - present, present * (1.0 - present)


#: Losses whose mean residual bends with the score.
CurvedLoss: TypeAlias = LogLinkLoss | LogLoss


@functools.cache
def _quadrature(n_nodes: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return nodes and weights, which add up to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return tuple(nodes.tolist()), tuple((weights / weights.sum()).tolist())


# Poisson deviance of counts: residual y - exp(f), clipped; Hessian exp(f).

# A leaf whose mean is small moves as if it were this share of the average: with less, the noise of
# few expected counts would be blown up.
_MIN_RELATIVE_MEAN = 0.25


@dataclass(frozen=True)
class PoissonDeviance(LogLinkLoss):
    """Poisson deviance."""

    name = "poisson_deviance"
    n_shapes = 1
    rule = "mean"

    @property
    def hessian_power(self) -> float:
        """Power of the mean of a row to which its Hessian is in proportion."""
        return 1.0

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
            average * relative_means(self.hessian_power * curve[:, 0], w)[:, np.newaxis]
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
        relative = relative_means(self.hessian_power * scores[:, 0], weights)
        sizes = np.bincount(leaf, weights, minlength=len(steps))
        sums = np.bincount(leaf, weights * relative, minlength=len(steps))
        means = np.divide(sums, sizes, out=np.ones(len(steps)), where=sizes > 0)
        return np.asarray(steps / np.maximum(means, _MIN_RELATIVE_MEAN))


# Gamma deviance of positive amounts: residual y exp(-f) - 1, clipped; expected Hessian 1.


@dataclass(frozen=True)
class GammaDeviance(LogLinkLoss):
    """Gamma deviance; the target's lower bound is above 0."""

    name = "gamma_deviance"
    counts_exposure = False
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


#: Losses of a regression, by the names of interpret 0.7.8, which files hold.
LOSSES: dict[str, type[RegressionLoss]] = {}

# At which a new loss is tried, in units of the target.
_CLIPS = (0.01, 1.0, 100.0)
_BY_RESIDUAL = "weighted mean", "gap", "log gap"
_ROUNDING = 1e-6

#: What interpret's development branch of August 2026 calls them.
LATER_NAMES = {name: f"{name}_deviance" for name in ("poisson", "gamma", "tweedie")}


def register_loss(loss: type[RegressionLoss]) -> type[RegressionLoss]:
    """Register a loss of a regression, so that ``objective`` takes its name.

    Parameters
    ----------
    loss : type
        With ``name``, ``link``, ``rule`` and, for the rules of a gap, ``residual``.

    Raises
    ------
    TypeError
        If it is no subclass of :class:`RegressionLoss`.
    ValueError
        If it has no name or another loss has it, its rule is none that bounds residuals or does not
        suit its link, or ``residual`` fails, is not finite, falls, or (with the rule "gap", if the
        loss sets no step sizes in a ``start`` of its own) rises faster than the gap. Of the rule
        "weighted mean", it must be above 0. Residuals are tried at gaps of 1/128.

    Notes
    -----
    No loss can break the guarantee. It sees public and released numbers alone; its ``residual`` is
    read into a table once, from gaps that are public. The loop over rows clips each residual to one
    unit of the clip, so that ``residual_norm`` holds for any table. A rule that is not among
    :data:`~interpret_dp.ebm.losses.RULES` belongs to ``backends`` and owes two steps of the
    proof in docs/proofs/dp_ebm.md: the residual follows from one row and public numbers alone, and
    the integers themselves stay within ``residual_norm``.
    """
    _check_declarations(loss)
    if loss.rule in _BY_RESIDUAL:
        # Found now, and not when a fit has paid for its first release.
        for clip in _CLIPS:
            _check_residual(loss, clip)
    known = LOSSES.get(loss.name)
    # A notebook's cell that runs again defines the same class anew.
    is_again = known is not None and (known.__module__, known.__qualname__) == (
        loss.__module__,
        loss.__qualname__,
    )
    if loss.name in (*LOSSES, *LATER_NAMES) and not is_again:
        raise ValueError(f"A loss named {loss.name!r} is registered; choose another name.")
    LOSSES[loss.name] = loss
    return loss


def _check_declarations(loss: type[RegressionLoss]) -> None:
    if not (isinstance(loss, type) and issubclass(loss, RegressionLoss)):
        raise TypeError(
            f"loss is {loss!r}; it must be a subclass of interpret_dp.ebm.losses.RegressionLoss, "
            "the class itself and not an instance."
        )
    name = getattr(loss, "name", None)
    if not isinstance(name, str) or ":" in name:
        raise ValueError(
            f"{loss.__name__} needs a class attribute name, as objective takes it: text without a "
            "colon, behind which interpret has parameters."
        )
    if loss.rule not in RULES:
        raise ValueError(
            f"{loss.__name__}.rule is {loss.rule!r}; it must be one of {', '.join(RULES)}, which "
            "clip each row's residual. Another rule needs a loop over rows in "
            "interpret_dp.backends and the proof of its bound, residual_norm."
        )
    if loss.link != ("log" if loss.rule in _OF_LOG_LINK else "identity"):
        raise ValueError(
            f"{loss.__name__}.link is {loss.link!r} and its rule {loss.rule!r}; the link 'log' "
            f"goes with the rules {', '.join(map(repr, _OF_LOG_LINK))}, 'identity' with "
            "'difference' and 'gap'."
        )
    if loss.rule in _BY_RESIDUAL and loss.residual is RegressionLoss.residual:
        raise ValueError(
            f"{loss.__name__} has the rule {loss.rule!r} and no residual; define residual(gap, "
            "clip), in units of the clip."
        )


def _check_residual(loss: type[RegressionLoss], clip: float) -> None:
    gaps = np.linspace(-16.0, 16.0, 4097)
    try:
        # Of a loss with a parameter, at its default.
        own = loss(-1.0, 1.0, clip, 1.0)
        residuals = np.asarray(own.residual(gaps, clip), dtype=np.float64)
    except Exception as error:
        raise ValueError(
            f"{loss.__name__}.residual fails for an array of gaps ({error}); it must be a "
            "staticmethod of (gap, clip) that returns an array like gap."
        ) from error
    if residuals.shape != gaps.shape or not np.isfinite(residuals).all():
        raise ValueError(
            f"{loss.__name__}.residual returns values that are not finite or of shape "
            f"{residuals.shape} for gaps of shape {gaps.shape} and clip={clip:g}; it must return a "
            "finite number for each gap from -16 to 16."
        )
    if loss.rule == "weighted mean":
        if residuals.min() <= 0.0:
            raise ValueError(
                f"{loss.__name__}.residual is {residuals.min():.3g} at some gap; with the rule "
                "'weighted mean' it is a weight, which must be above 0."
            )
        return
    slopes = np.diff(residuals) / np.diff(gaps)
    if slopes.min() < -_ROUNDING:
        raise ValueError(
            f"{loss.__name__}.residual falls as the gap grows (clip={clip:g}); it must be minus "
            "the derivative of a convex loss by the score, which never falls."
        )
    sets_steps = loss.start is not RegressionLoss.start
    if loss.rule == "gap" and slopes.max() > 1.0 + _ROUNDING and not sets_steps:
        raise ValueError(
            f"{loss.__name__}.residual has the slope {slopes.max():.3g} (clip={clip:g}); divide it "
            "so that no slope is above 1. A steeper one reaches the clip early, and the fit "
            "minimises another loss."
        )


register_loss(SquaredError)
register_loss(PoissonDeviance)
register_loss(GammaDeviance)
