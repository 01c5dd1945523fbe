"""All released curves are denoised together with their known noise: posterior means.

A released curve is ``y = f + e`` with normal noise e of known covariance. What curves are like is
learned from the curves themselves (empirical Bayes): each is a Gaussian process of one of a few
scales and lengths, and how common each of these is among the terms of this model is estimated from
all terms. Every curve is then averaged over scales and lengths, each weighted by its probability
given that curve. Nothing else is maximised, so that no curve hangs on one lucky pair; scale 0 is
among them, so a term that is all noise is dropped.

What is then unknown of f takes one more thing into account. A fit without noise would not give a
smooth curve: its bins have few rows, and their luck is in f. How large that luck is follows from
the loss and the released counts. So the error of the released mean is taken under
``f = smooth process + luck of the sample``: the posterior covariance there, with that between
scales and lengths, and the square of how far the mean there is from the released one.

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
    """A curve without what is likely noise, and what is then unknown of it.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_codes,)
    unknown : ndarray of float64, shape (n_codes, n_codes) or (n_codes,), or None
        Covariance, or variances where the noise is given so, of the distance from ``scores`` to the
        curve without noise; variances are at most those of the noise, or, of a curve that is
        released as zero, of noise and curve. None where the luck of the
        sample is not known, or the curve stays as it is.
    """

    scores: FloatArray
    unknown: FloatArray | None = None


def denoise(curves: Sequence[Curve]) -> list[Denoised]:
    """Return the posterior mean of every curve, and how far the curve without noise may be.

    Parameters
    ----------
    curves : sequence of Curve
        Of one model, all scores in the same unit.
    """
    unit = _typical_variance(curves)
    views = [View(curve, unit) for curve in curves]
    found = []
    for curve, view, likely in zip(curves, views, _posteriors(views), strict=True):
        if curve.is_dismissed:
            found.append(Denoised(np.zeros_like(curve.scores)))
            continue
        scores = curve.scores.copy()
        if likely is not None:
            scores[view.moved] = view.process_mean(likely)
        sane = np.abs(scores).max() <= _LARGEST_GROWTH * np.abs(curve.scores).max()
        found.append(Denoised(scores) if likely is not None and sane else Denoised(curve.scores))
    known = [
        index
        for index, (curve, one) in enumerate(zip(curves, found, strict=True))
        if curve.sampling is not None and one.scores is not curve.scores
    ]
    rough = [View(curves[index], unit, with_sampling=True) for index in known]
    for index, view, likely in zip(known, rough, _posteriors(rough), strict=True):
        if likely is not None:
            scores = found[index].scores
            unknown = _unknown(curves[index], view, likely, scores)
            found[index] = Denoised(scores, unknown)
    return found


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


def _unknown(curve: Curve, view: View, likely: FloatArray, scores: FloatArray) -> FloatArray | None:
    """Return what is unknown of a curve's distance from the released scores."""
    mean, spread = view.moments(likely)
    apart = scores[view.moved] - mean
    noise = noise_variances_of(curve)[view.moved]
    spread = spread + (apart**2 if spread.ndim == 1 else np.outer(apart, apart))
    if not np.isfinite(spread).all():
        return None
    variances = np.maximum(spread if spread.ndim == 1 else np.diagonal(spread), 0.0)
    # Never more than the noise: the curve as it was before is no farther from the truth. A curve
    # that is released as zero may be: by as much as it was.
    largest = noise + curve.scores[view.moved] ** 2 if curve.is_dismissed else noise
    within = np.sqrt(np.minimum(1.0, largest / np.maximum(variances, 1e-300)))
    unknown = np.zeros_like(curve.noise)
    if spread.ndim == 1:
        unknown[view.moved] = within**2 * variances
    else:
        unknown[np.ix_(view.moved, view.moved)] = spread * np.outer(within, within)
    return unknown


def _typical_variance(curves: Sequence[Curve]) -> float:
    """Return the median over the curves of their mean variance over the rows."""
    means = [
        float(c.weights @ noise_variances_of(c) / max(float(c.weights.sum()), 1e-300))
        for c in curves
    ]
    positive = [mean for mean in means if mean > 0]
    return float(np.median(positive)) if positive else 1.0
