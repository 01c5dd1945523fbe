"""Parts that every loss states: link, residual rule, clip, Hessian, dispersion, start of boosting.

A loss is given public numbers alone. It names the rule by which ``backends`` compute the residual
of a row. The rule clips that residual, so that no loss can change the sensitivity of a sum. What
else a loss returns is post-processing of released numbers.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import LossScale, TrainerConfig
from interpret_dp.ebm.losses.shape import Shape, best_clip, cell_edges, errors_of_mean
from interpret_dp.ebm.tuning import TUNING
from interpret_dp.schema import Continuous
from interpret_dp.schema.partial import PartialSchema

FloatArray = NDArray[np.float64]
Terms: TypeAlias = Sequence[FloatArray]  # one a term

#: Rules for the residual of a row, each clipped by the loop over rows: target minus score, target
#: minus exp(score), and any function of target minus score or of log target minus score.
RULES = "difference", "mean", "gap", "log gap"

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
    """

    n_rows: float
    level: FloatArray
    scale: LossScale
    loss: Loss
    has_scores: bool = False


class Loss(ABC):
    """The loss of a fit; public.

    Attributes
    ----------
    link : {"logit", "identity", "log"}
    rule : str
        Rule for the residual of a row: ``"probability"``, or one of :data:`RULES`.
    is_classification : bool
        Whether residuals are bounded by themselves, as those of probabilities are.
    """

    link: ClassVar[str]
    rule: ClassVar[str]
    is_classification: ClassVar[bool]

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

    def mean_curvature(self, centres: FloatArray, spread: FloatArray) -> FloatArray:
        """Average the second derivative over normal scores around centres, shape of ``centres``.

        Parameters
        ----------
        centres : ndarray of float64, shape (n_bins, n_scores)
        spread : ndarray of float64, shape (n_bins, n_scores) or (n_scores,)
            Standard deviation of the scores.
        """
        return np.ones_like(centres)

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
    rule : {"difference", "gap", "mean", "log gap"}
        Residuals are target minus score, ``residual`` of it, target minus exp(score), or
        ``residual`` of log target minus score. The latter two belong to the link ``"log"``.
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
    is_relative : bool
        Whether residuals are relative to the mean.
    """

    name: ClassVar[str]
    n_shapes: ClassVar[int] = 0
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

    def shaped(self, edges: FloatArray, counts: FloatArray, noise: float, n_rows: float) -> Self:
        """Return the loss with the shape that the counts of :meth:`cell_edges` show."""
        shape = Shape.of(edges, self.lower, self.upper, counts, noise, n_rows)
        return replace(self, shape=shape)

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
        """Return the start of boosting, with the clip; ``sums`` are rows, target and its square."""
        n_rows = max(float(sums[0]), noise)
        deviation = noise / n_rows
        ratio = min(max(float(sums[1]) / n_rows, -1.0), 1.0)
        squared_error = LossScale(curvature=1.0, step=1.0, norm=norm)
        noise_level = config.boosting(n_rows, squared_error).noise_level
        loss = self.clipped(ratio, float(sums[2]) / n_rows, deviation, noise_level)
        level, scale = loss.level(ratio, deviation, norm)
        return Start(n_rows, np.array([level]), scale, loss, has_scores)

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
        return replace(
            self,
            spread=math.sqrt(variance) * self.half,
            clip=self.released_clip(variance, noise_level),
        )

    def released_clip(self, variance: float, noise_level: float) -> float:
        """Return the clip, given the released variance as a share of ``half**2``.

        Parameters
        ----------
        variance, noise_level : float
            As for :meth:`clipped`.
        """
        if self.shape is None:
            return max(_SPREADS * math.sqrt(variance), _MIN_CLIP) * self.half or 1.0
        return best_clip(self.shape, self.clips(), TUNING.clip_noise * noise_level, self.gaps)

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
            In units of the clipping bound, as curvatures are. No model is believed to explain more
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
