"""From boosting's noisy curves to denoised ones, with the covariance of their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.losses import RegressionLoss
from interpret_dp.ebm.noise.intercepts import balanced_intercept, balanced_intercepts
from interpret_dp.ebm.noise.uncertainty import (
    Expected,
    TermNoise,
    Terms,
    denoised_scores,
    expected_terms,
    term_noise,
)
from interpret_dp.ebm.noise.variances import (
    explained_variance,
    noise_variance,
    sampling_variances,
    with_coupling,
    with_noise_of_others,
)
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations
from interpret_dp.ebm.trainer.curves import Averaged, BoostingResult, BoostingTask

FloatArray = NDArray[np.float64]

# Curves are denoised as if there were this noise level at least. How boosting blurs a curve is
# known to first order only: taken as exact, it would be wrong by more than the noise.
_LEAST_LEVEL = 2e-5


@dataclass(frozen=True)
class _Estimates:
    """Estimates from released numbers once boosting is over.

    Attributes
    ----------
    correlations : Correlations or None
        How terms are correlated.
    mean_slope : float
        Mean slope of a regression's residuals by the score: clipped ones have none.
    """

    correlations: Correlations | None = None
    mean_slope: float = 1.0


class Boosted:
    """Curves as boosting released them; nothing here sees a row.

    Parameters
    ----------
    result : BoostingResult
    task : BoostingTask
    rng : numpy.random.Generator
        For public choices.
    """

    def __init__(
        self, result: BoostingResult, task: BoostingTask, rng: np.random.Generator
    ) -> None:
        self._result, self._task, self._start, self._rng = result, task, task.start, rng
        # What rows are scored with.
        self._active_curves = [
            np.zeros_like(curve) if k in result.pruned else curve
            for k, curve in enumerate(result.trained)
        ]

    def added_noise(self, estimates: _Estimates | None = None) -> list[TermNoise]:
        """Return the noise that was added to each curve, without that of any other."""
        return self._noise_of(self._result, estimates or _Estimates())

    def _noise_of(self, result: BoostingResult, estimates: _Estimates) -> list[TermNoise]:
        return term_noise(
            result,
            self._task.bins,
            self._task.directions,
            curvatures=self._curvatures(estimates),
            scale=self._start.loss.score_unit,
            rng=self._rng,
        )

    def denoised(
        self, correlations: Correlations | None
    ) -> tuple[list[FloatArray], list[TermNoise], list[Expected | None]]:
        """Return the denoised curves, the noise, and the posterior of each curve.

        Parameters
        ----------
        correlations : Correlations or None
            How terms are correlated, if that was released.

        Notes
        -----
        Predictions are sums of curves. Noise that correlated terms pass to each other cancels in
        the sum, so it is no reason to shrink a curve: scores are denoised as if terms were
        independent and every residual followed its row's score. Each curve contains that noise all
        the same, so its posterior uses the noise with all that is known.
        """
        bins, pruned = self._task.bins, self._result.pruned
        scores = _without_axis(self._result.scores, self._start.loss.score_unit)
        if not self._task.config.can_denoise(self._start.n_rows, self._start.scale):
            return scores, self._noise_of_all(_Estimates(correlations)), [None] * len(scores)
        independent = with_noise_of_others(self.added_noise(), bins, pruned)
        estimates, dispersion = self._estimates(correlations, scores, independent)
        noise = self._noise_of_all(estimates)
        sampling = [
            self._start.loss.score_unit**2 * sampling_variances(b.weights, curvature, dispersion)
            for b, curvature in zip(bins, self._curvatures(estimates), strict=True)
        ]
        times = max(1.0, _LEAST_LEVEL / self._task.settings().noise_level)
        own, total = ([one.scaled(times) for one in each] for each in (independent, noise))
        terms = Terms(scores, own, bins, self._task.is_ordered, sampling, pruned)
        return denoised_scores(terms), noise, expected_terms(replace(terms, noise=total))

    def balanced_intercept(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return the intercept at which other curves predict as much of each class on average."""
        before, intercept = _without_axis(self._active_curves, 1.0), self._result.intercept
        weights = [b.weights for b in self._task.bins]
        if len(intercept) > 1:
            return balanced_intercepts(before, intercept, scores, weights, self._rng)
        return np.array([balanced_intercept(before, float(intercept[0]), scores, weights)])

    def _estimates(
        self,
        correlations: Correlations | None,
        scores: Sequence[FloatArray],
        independent: Sequence[TermNoise],
    ) -> tuple[_Estimates, float]:
        """Return the estimates, and the dispersion: variance of a residual over its curvature."""
        loss = self._start.loss
        if not isinstance(loss, RegressionLoss):
            return _Estimates(correlations), 1.0
        used = self._used(scores, independent)
        explained = explained_variance(*used)
        if correlations is not None:
            weights = [b.weights for b in self._task.bins]
            shared = correlations.shared_variance(self._active_curves, weights)
            explained += loss.score_unit**2 * shared
        explained = max(explained, 0.0) / loss.score_unit**2
        # Noise in the scores makes residuals larger, as what is explained makes them smaller.
        added = noise_variance(*self._used(scores, self._noise_while_training())[1:])
        net = explained - added / loss.score_unit**2
        estimates = _Estimates(correlations, loss.mean_slope(net))
        return estimates, loss.dispersion(float(self._start.level[0]), explained)

    def _noise_while_training(self) -> list[TermNoise]:
        """Return the noise of curves in the middle of the rounds that are averaged.

        Rows are scored with curves of single rounds, which have more noise than their average, or
        less than an extrapolated average.
        """
        averaged = self._result.averaged
        updates = [
            done[: len(done) - average.rounds // 2]
            for done, average in zip(self._result.updates, averaged, strict=True)
        ]
        middle = replace(self._result, updates=updates, averaged=(Averaged(1),) * len(averaged))
        noise = self._noise_of(middle, _Estimates())
        return with_noise_of_others(noise, self._task.bins, self._result.pruned)

    def _used(
        self, scores: Sequence[FloatArray], noise: Sequence[TermNoise]
    ) -> tuple[list[FloatArray], list[TermNoise], list[Bins]]:
        """Return curves, noise and bins of the terms that rows are scored with."""
        kept = [k for k in range(len(scores)) if k not in self._result.pruned]
        bins = self._task.bins
        return [scores[k] for k in kept], [noise[k] for k in kept], [bins[k] for k in kept]

    def _noise_of_all(self, estimates: _Estimates) -> list[TermNoise]:
        """Return the noise in each curve, that from all others included."""
        noise, bins = self.added_noise(estimates), self._task.bins
        if estimates.correlations is not None:
            full_steps = estimates.mean_slope * self._result.total_step / self._start.scale.step
            noise = with_coupling(noise, bins, estimates.correlations, full_steps=full_steps)
        return with_noise_of_others(noise, bins, self._result.pruned)

    def _curvatures(self, estimates: _Estimates) -> list[FloatArray]:
        """Return the expected second derivative of the loss in each bin, from released numbers."""
        return self._start.loss.curvatures(
            self._active_curves,
            self._result.intercept,
            [b.weights for b in self._task.bins],
            self._start.scale.curvature * estimates.mean_slope,
        )


def _without_axis(scores: Sequence[FloatArray], unit: float) -> list[FloatArray]:
    """Return curves in other units; of one score a row, without an axis for it."""
    return [unit * (curve[:, 0] if curve.shape[1] == 1 else curve) for curve in scores]
