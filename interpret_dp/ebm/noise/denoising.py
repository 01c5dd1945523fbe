"""All released curves are denoised together with their known noise: posterior means.

A released curve is ``y = f + e`` with normal noise e of known covariance. The curve without noise,
f, is a smooth process and the luck of the sample: its bins have few rows. How large that luck is
follows from the loss and the released counts. What the process is like is learned from the curves
themselves (empirical Bayes): each is a Gaussian process of one of a few scales and lengths, and how
common each of these is among the terms of this model is estimated from all terms. Every curve is
then averaged over scales and lengths, each weighted by its probability given that curve. Nothing
else is maximised, so that no curve hangs on one lucky pair; scale 0 is among them, so a term that
is all noise is dropped.

What is released is the posterior mean of the process, which is what other rows will follow. What
bands need is that of f, with its covariance: a fit without noise has its luck as well.

Sources: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", sections 2.2 and
5.4.1; Stephens (2017), "False discovery rates: a new deal", for a prior common to many effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.views import (
    N_LENGTHS,
    SCALE_PRIOR,
    Curve,
    View,
    noise_variances_of,
)

__all__ = ["Curve", "Denoised", "denoise"]

FloatArray = NDArray[np.float64]

# What the estimate of common scales and lengths starts from weighs as much as so many curves.
_PRIOR_CURVES = 2.0
_STEPS = 30
# A posterior is nearer to zero than the curve. One that is so much farther comes from a covariance
# that grew from round to round beyond what its last digits can hold.
_LARGEST_GROWTH = 10.0


@dataclass(frozen=True)
class Denoised:
    """A curve without what is likely noise, and what is expected of it.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_codes,)
    mean : ndarray of float64, shape (n_codes,), or None
        Posterior mean of the curve without noise, the luck of its sample included; None where the
        curve stays as it is.
    spread : ndarray of float64, shape (n_codes, n_codes) or (n_codes,), or None
        Its posterior covariance, or variances where the noise is given so.
    """

    scores: FloatArray
    mean: FloatArray | None = None
    spread: FloatArray | None = None


def denoise(curves: Sequence[Curve]) -> list[Denoised]:
    """Return the posterior mean of every curve, and what is expected of it without noise.

    Parameters
    ----------
    curves : sequence of Curve
        Of one model, all scores in the same unit.
    """
    unit = _typical_variance(curves)
    views = [View(curve, unit) for curve in curves]
    return [
        _denoised(curve, view, likely)
        for curve, view, likely in zip(curves, views, _posteriors(views), strict=True)
    ]


def _denoised(curve: Curve, view: View, likely: FloatArray | None) -> Denoised:
    """Return one curve's posterior; bins that never move are known."""
    kept = np.zeros_like(curve.scores) if curve.is_dismissed else curve.scores
    if likely is None:
        return Denoised(kept)
    scores = kept.copy()
    if not curve.is_dismissed:
        scores[view.moved] = view.process_mean(likely)
    mean, spread = curve.scores.copy(), np.zeros_like(curve.noise)
    mean[view.moved], moved_spread = view.moments(likely)
    largest = _LARGEST_GROWTH * np.abs(curve.scores).max()
    if not np.isfinite(moved_spread).all() or np.abs([scores, mean]).max() > largest:
        return Denoised(kept)
    if spread.ndim == 1:
        spread[view.moved] = np.maximum(moved_spread, 0.0)
    else:
        spread[np.ix_(view.moved, view.moved)] = moved_spread
    return Denoised(scores, mean, spread)


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
    shares: FloatArray = counts / counts.sum()
    return shares


def _typical_variance(curves: Sequence[Curve]) -> float:
    """Return the median over the curves of their mean variance over the rows."""
    means = [
        float(c.weights @ noise_variances_of(c) / max(float(c.weights.sum()), 1e-300))
        for c in curves
    ]
    positive = [mean for mean in means if mean > 0]
    return float(np.median(positive)) if positive else 1.0
