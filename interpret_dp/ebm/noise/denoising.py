"""All released curves are denoised together with their known noise: posterior means.

A released curve is ``y = f + e`` with normal noise e of known covariance. The curve without noise,
f, is a smooth process and sampling error: its bins have few rows. How large that error is
follows from the loss and the released counts. What the process is like is learned from the curves
themselves (empirical Bayes): each is a Gaussian process of one of a few scales and lengths, and how
common each of these is among the terms of this model is estimated from all terms. Every curve is
then averaged over scales and lengths, each weighted by its probability given that curve. No pair
is picked, so that no curve depends on a single one; scale 0 is included, so a term that is all
noise is dropped.

What is released is the posterior mean of the process, which is what other rows will follow. What
bands need is that of f, with its covariance: a fit without noise has its sampling error as well.

Sources: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", sections 2.2 and
5.4.1; Stephens (2017), "False discovery rates: a new deal", for a prior common to many effects.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.views import N_LENGTHS, SCALE_PRIOR, Curve, View, noise_variances_of

__all__ = ["Curve", "Denoised", "denoise"]

FloatArray = NDArray[np.float64]

# What the estimate of common scales and lengths starts from weighs as much as so many curves.
_PRIOR_CURVES = 2.0
_STEPS = 30
# A posterior is nearer to zero than the curve. One that is so much farther comes from a covariance
# that grew from round to round beyond what its last digits can hold.
_LARGEST_GROWTH = 10.0


class Denoised:
    """A curve without what is likely noise, and what is expected of it; each made when asked for.

    Parameters
    ----------
    curve : Curve
    view : View
        Of that curve.
    likely : ndarray of float64, or None
        Probability of each length and scale; None where nothing can be said of the curve.
    """

    def __init__(self, curve: Curve, view: View, likely: FloatArray | None) -> None:
        self._curve, self._view, self._likely = curve, view, likely

    @functools.cached_property
    def scores(self) -> FloatArray:
        """Released scores, shape (n_codes,); bins that never move keep theirs."""
        curve = self._curve
        kept = np.zeros_like(curve.scores) if curve.is_pruned else curve.scores
        if self._likely is None or curve.is_pruned:
            return kept
        scores = kept.copy()
        scores[self._view.moved] = self._view.process_mean(self._likely)
        return scores if self._is_posterior(scores) else kept

    @functools.cached_property
    def moments(self) -> tuple[FloatArray, FloatArray] | None:
        """Posterior mean and covariance of the curve without noise, sampling error included.

        Variances in place of the covariance where the noise is given so. None where the curve stays
        as it is.
        """
        if self._likely is None:
            return None
        curve, moved = self._curve, self._view.moved
        mean, spread = curve.scores.copy(), np.zeros_like(curve.noise)
        mean[moved], moved_spread = self._view.moments(self._likely)
        if not np.isfinite(moved_spread).all() or not self._is_posterior(mean):
            return None
        if spread.ndim == 1:
            spread[moved] = np.maximum(moved_spread, 0.0)
        else:
            spread[np.ix_(moved, moved)] = moved_spread
        return mean, spread

    def _is_posterior(self, mean: FloatArray) -> bool:
        return bool(np.abs(mean).max() <= _LARGEST_GROWTH * np.abs(self._curve.scores).max())


def denoise(curves: Sequence[Curve]) -> list[Denoised]:
    """Return the posterior mean of every curve, and what is expected of it without noise.

    Parameters
    ----------
    curves : sequence of Curve
        Of one model, all scores in the same unit.
    """
    typical_variance = _typical_variance(curves)
    views = [View(curve, typical_variance) for curve in curves]
    likely = _posteriors(views)
    return [Denoised(*one) for one in zip(curves, views, likely, strict=True)]


def _posteriors(views: Sequence[View]) -> list[FloatArray | None]:
    """Return the probability of each length and scale for each view; None of those not to be seen.

    How common they are is estimated from all views.
    """
    noisy = [view for view in views if len(view.moved) > 1]
    length_prior = np.full(N_LENGTHS, 1.0 / N_LENGTHS)
    scale_shares, length_shares = SCALE_PRIOR, length_prior
    # Expectation-maximisation of the shares, the same number of steps for every model.
    for _ in range(_STEPS if noisy else 0):
        likely = [view.posterior(scale_shares, length_shares) for view in noisy]
        scales = np.sum([p.sum(axis=0) for p in likely], axis=0)
        scale_shares = _shares(scales, SCALE_PRIOR)
        lengths = [p.sum(axis=1) for p in likely if len(p) == N_LENGTHS]
        if lengths:
            length_shares = _shares(np.sum(lengths, axis=0), length_prior)
    return [
        view.posterior(scale_shares, length_shares) if len(view.moved) > 1 else None
        for view in views
    ]


def _shares(counts: FloatArray, prior: FloatArray) -> FloatArray:
    counts = counts + _PRIOR_CURVES * prior
    return np.asarray(counts / counts.sum())


def _typical_variance(curves: Sequence[Curve]) -> float:
    """Return the median over the curves of their mean variance over the rows."""
    means = [
        float(c.weights @ noise_variances_of(c) / max(float(c.weights.sum()), 1e-300))
        for c in curves
    ]
    positive = [mean for mean in means if mean > 0]
    return float(np.median(positive)) if positive else 1.0
