"""From boosting's noisy curves to denoised ones, with the covariance of their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.losses import RegressionLoss, Start
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

__all__ = ["Boosted"]

FloatArray = NDArray[np.float64]

# Curves are denoised as if there were this noise level at least. How boosting blurs a curve is
# known to first order only: taken as exact, it would be wrong by more than the noise.
_LEAST_LEVEL = 2e-5


@dataclass(frozen=True)
class _Facts:
    """Released numbers once boosting is over.

    Attributes
    ----------
    correlations : Correlations or None
        How terms are correlated.
    inside : float
        Share of a regression's rows whose residuals its bound leaves as they are: the others answer
        no change of a score.
    """

    correlations: Correlations | None = None
    inside: float = 1.0


class Boosted:
    """Curves as boosting released them; nothing here sees a row.

    Parameters
    ----------
    result : BoostingResult
    task : BoostingTask
    start : Start
    rng : numpy.random.Generator
        For public choices.
    """

    def __init__(
        self, result: BoostingResult, task: BoostingTask, start: Start, rng: np.random.Generator
    ) -> None:
        self._result, self._task, self._start, self._rng = result, task, start, rng
        # What rows are scored with.
        self._standing = [
            np.zeros_like(curve) if k in result.pruned else curve
            for k, curve in enumerate(result.trained)
        ]

    def added_noise(self, facts: _Facts | None = None) -> list[TermNoise]:
        """Return the noise that was added to each curve, without that of any other."""
        return self._noise_of(self._result, facts or _Facts())

    def _noise_of(self, result: BoostingResult, facts: _Facts) -> list[TermNoise]:
        return term_noise(
            result,
            self._task.bins,
            self._task.directions,
            curvatures=self._curvatures(facts),
            scale=self._start.loss.score_unit,
            rng=self._rng,
        )

    def denoised(
        self, correlations: Correlations | None
    ) -> tuple[list[FloatArray], list[TermNoise], list[Expected | None]]:
        """Return the curves without what is likely noise, the noise, and what is expected then.

        Parameters
        ----------
        correlations : Correlations or None
            How terms are correlated, if that was released.

        Notes
        -----
        Predictions are sums. Noise that one curve has from another is missing in the other, so that
        it is no reason to shrink either: scores are denoised as if terms were independent and every
        row answered changes of its score. It is in the curves all the same: what is expected of
        each is made with all that is known.
        """
        bins, pruned = self._task.bins, self._result.pruned
        scores = _without_axis(self._result.scores, self._start.loss.score_unit)
        if not self._task.config.can_denoise(self._start.n_rows, self._start.unit):
            return scores, self._noise_of_all(_Facts(correlations)), [None] * len(scores)
        apart = with_noise_of_others(self.added_noise(), bins, pruned)
        facts, dispersion = self._facts(correlations, scores, apart)
        noise = self._noise_of_all(facts)
        sampling = [
            self._start.loss.score_unit**2 * sampling_variances(b.weights, curvature, dispersion)
            for b, curvature in zip(bins, self._curvatures(facts), strict=True)
        ]
        times = max(1.0, _LEAST_LEVEL / self._task.settings().noise_level)
        believed, of_all = ([one.scaled(times) for one in both] for both in (apart, noise))
        terms = Terms(scores, believed, bins, self._task.is_ordered, sampling, pruned)
        return denoised_scores(terms), noise, expected_terms(replace(terms, noise=of_all))

    def balanced_intercept(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return the intercept at which other curves predict as much of each class on average."""
        before, intercept = _without_axis(self._standing, 1.0), self._result.intercept
        weights = [b.weights for b in self._task.bins]
        if len(intercept) > 1:
            return balanced_intercepts(before, intercept, scores, weights, self._rng)
        return np.array([balanced_intercept(before, float(intercept[0]), scores, weights)])

    def _facts(
        self,
        correlations: Correlations | None,
        scores: Sequence[FloatArray],
        apart: Sequence[TermNoise],
    ) -> tuple[_Facts, float]:
        """Return what is known, and the variance of a row's residual over its loss's curvature."""
        loss = self._start.loss
        if not isinstance(loss, RegressionLoss):
            return _Facts(correlations), 1.0
        used = self._used(scores, apart)
        explained = explained_variance(*used)
        if correlations is not None:
            weights = [b.weights for b in self._task.bins]
            explained += loss.score_unit**2 * correlations.shared_variance(self._standing, weights)
        explained = max(explained, 0.0) / loss.score_unit**2
        # Noise in the scores makes residuals larger, as what is explained makes them smaller.
        added = noise_variance(*self._used(scores, self._noise_while_training())[1:])
        net = explained - added / loss.score_unit**2
        facts = _Facts(correlations, loss.mean_slope(net))
        return facts, loss.dispersion(float(self._start.level[0]), explained)

    def _noise_while_training(self) -> list[TermNoise]:
        """Return the noise of curves in the middle of the rounds that are averaged.

        Rows are scored with curves of single rounds, which have more noise than their average, or
        less than the average of where longer steps would have led.
        """
        averaged = self._result.averaged
        updates = [
            done[: len(done) - how.rounds // 2]
            for done, how in zip(self._result.updates, averaged, strict=True)
        ]
        middle = replace(self._result, updates=updates, averaged=(Averaged(1),) * len(averaged))
        noise = self._noise_of(middle, _Facts())
        return with_noise_of_others(noise, self._task.bins, self._result.pruned)

    def _used(
        self, scores: Sequence[FloatArray], noise: Sequence[TermNoise]
    ) -> tuple[list[FloatArray], list[TermNoise], list[Bins]]:
        """Return curves, noise and bins of the terms that rows are scored with."""
        kept = [k for k in range(len(scores)) if k not in self._result.pruned]
        bins = self._task.bins
        return [scores[k] for k in kept], [noise[k] for k in kept], [bins[k] for k in kept]

    def _noise_of_all(self, facts: _Facts) -> list[TermNoise]:
        """Return the noise in each curve, that from all others included."""
        noise, bins = self.added_noise(facts), self._task.bins
        if facts.correlations is not None:
            full_steps = facts.inside * self._result.way / self._task.unit.step
            noise = with_coupling(noise, bins, facts.correlations, full_steps=full_steps)
        return with_noise_of_others(noise, bins, self._result.pruned)

    def _curvatures(self, facts: _Facts) -> list[FloatArray]:
        """Return the expected second derivative of the loss in each bin, from released numbers."""
        return self._start.loss.curvatures(
            self._standing,
            self._result.intercept,
            [b.weights for b in self._task.bins],
            average=self._start.unit.curvature * facts.inside,
        )


def _without_axis(scores: Sequence[FloatArray], unit: float) -> list[FloatArray]:
    """Return curves in other units; of one score a row, without an axis for it."""
    return [unit * (curve[:, 0] if curve.shape[1] == 1 else curve) for curve in scores]
