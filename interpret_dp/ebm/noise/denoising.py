"""All released curves are denoised together with their known noise: posterior means.

A released curve is ``y = f + e`` with normal noise e of known covariance. What curves are like is
learned from the curves themselves (empirical Bayes): each is a Gaussian process of one of a few
scales and lengths, and how common each of these is among the terms of this model is estimated from
all terms. Every curve is then averaged over scales and lengths, each weighted by its probability
given that curve. Nothing else is maximised, so that no curve hangs on one lucky pair; scale 0 is
among them, so a term that is all noise is dropped.

Sources: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", sections 2.2 and
5.4.1; Stephens (2017), "False discovery rates: a new deal", for a prior common to many effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "denoise"]

FloatArray = NDArray[np.float64]

# Lengths of an ordered feature's process, as shares of its bins and rows.
_LENGTHS = (0.05, 0.3, 2.0)
# Distance between bins: this share by rows, the rest by bins, so that the many light bins of a
# skewed feature's tail are not one point.
_DISTANCE_BY_ROWS = 0.5
# Bins with less than this share of an average bin's rows have no larger effects than that.
_RAREST = 1e-3
# How much of a curve is kept where its noise is typical; 0 drops it. Before any curve is seen, each
# share is as likely as another (a uniform shrinkage prior): to believe in tiny scales from the
# start would drop the many small effects that only together are above the noise.
_KEPT_BORDERS = np.concatenate(
    (np.linspace(0.0, 0.9, 10), [0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 1.0])
)
_KEPT = np.concatenate(([0.0], (_KEPT_BORDERS[1:-1] + _KEPT_BORDERS[:-2]) / 2, [0.99997]))
_SCALES = _KEPT / (1.0 - _KEPT)
_SCALE_PRIOR = np.concatenate(([0.05], 0.95 * np.diff(_KEPT_BORDERS)))
# What the estimate of common scales and lengths starts from weighs as much as so many curves.
_PRIOR_CURVES = 2.0
_STEPS = 30
# A posterior is nearer to zero than the curve. One that is so much farther comes from a covariance
# that grew from round to round beyond what its last digits can hold.
_LARGEST_GROWTH = 10.0


@dataclass(frozen=True)
class Curve:
    """A released curve and its noise.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_codes,)
        With mean zero over ``weights``; missing first, unseen last.
    noise : ndarray of float64, shape (n_codes, n_codes) or (n_codes,)
        Covariance of the noise, or variances of independent noise (of a nominal feature).
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    is_ordered : bool
        Whether bins that lie side by side are alike. Levels, the missing and the unseen bin are
        independent of all others.
    response : ndarray of float64, shape (n_codes, n_codes), optional
        How boosting blurs the curve; by default not at all.
    """

    scores: FloatArray
    noise: FloatArray
    weights: FloatArray
    is_ordered: bool
    response: FloatArray | None = None


def denoise(curves: Sequence[Curve]) -> list[FloatArray]:
    """Return the posterior mean of every curve, shape (n_codes,) each.

    Parameters
    ----------
    curves : sequence of Curve
        Of one model, all scores in the same unit.
    """
    unit = _typical_variance(curves)
    views = [_View(curve, unit) for curve in curves]
    noisy = [view for view in views if len(view.moved) > 1]
    length_prior = np.full(len(_LENGTHS), 1.0 / len(_LENGTHS))
    scale_shares, length_shares = _SCALE_PRIOR, length_prior
    # Expectation-maximisation of the shares, the same number of steps for every model.
    for _ in range(_STEPS if noisy else 0):
        likely = [view.posterior(scale_shares, length_shares) for view in noisy]
        scales = np.sum([p.sum(axis=0) for p in likely], axis=0)
        scale_shares = _shares(scales, _SCALE_PRIOR)
        lengths = [p.sum(axis=1) for p in likely if len(p) == len(_LENGTHS)]
        if lengths:
            length_shares = _shares(np.sum(lengths, axis=0), length_prior)
    return [view.denoised(scale_shares, length_shares) for view in views]


def _shares(counts: FloatArray, prior: FloatArray) -> FloatArray:
    counts = counts + _PRIOR_CURVES * prior
    shares: FloatArray = counts / counts.sum()
    return shares


def _variances(curve: Curve) -> FloatArray:
    return np.diagonal(curve.noise) if curve.noise.ndim == 2 else curve.noise


def _typical_variance(curves: Sequence[Curve]) -> float:
    """Return the median over the curves of their mean variance over the rows."""
    means = [float(c.weights @ _variances(c) / max(float(c.weights.sum()), 1e-300)) for c in curves]
    positive = [mean for mean in means if mean > 0]
    return float(np.median(positive)) if positive else 1.0


class _View:
    """One curve in coordinates in which its noise is white, and the process is diagonal.

    With C the noise's covariance (root L), K the process's and ``L^-1 K L'^-1 = V diag(d) V'``, the
    posterior mean under scale s is ``L V diag(s d / (1 + s d)) V' L^-1 y``: one decomposition a
    length serves all scales.
    """

    def __init__(self, curve: Curve, unit: float) -> None:
        self._curve = curve
        variances = _variances(curve)
        self.moved = np.flatnonzero(variances > 0)
        if len(self.moved) < 2:
            return
        y = curve.scores[self.moved]
        self._bases: list[tuple[FloatArray, FloatArray | None, FloatArray]] = []
        if curve.noise.ndim == 1:
            self._root = np.sqrt(variances[self.moved])
            self._bases.append((unit / variances[self.moved], None, y / self._root))
        else:
            noise = curve.noise[np.ix_(self.moved, self.moved)]
            # Along the direction that centring takes away there is no noise: a little makes a root.
            ridge = 1e-8 * float(np.trace(noise)) / len(noise)
            try:
                self._root = np.linalg.cholesky(noise + ridge * np.eye(len(noise)))
                inverse = np.linalg.inv(self._root)
                white = inverse @ y
                for kernel in _kernels(curve, self.moved):
                    values, vectors = np.linalg.eigh(unit * (inverse @ kernel @ inverse.T))
                    self._bases.append((np.maximum(values, 0.0), vectors, vectors.T @ white))
            except np.linalg.LinAlgError:
                # Noise that grew from round to round beyond what can be decomposed: so large that
                # nothing is known of the curve. It stays as it is.
                self.moved = self.moved[:0]
                return
        # Probability of the curve under each length and scale, and what is kept of each direction.
        self._kept = [
            np.minimum(
                _SCALES[:, np.newaxis] * values / (1.0 + _SCALES[:, np.newaxis] * values),
                1.0 - np.finfo(float).eps,
            )
            for values, _, _ in self._bases
        ]
        self._evidence = np.array(
            [
                0.5 * (np.log1p(-kept) - (1.0 - kept) * z**2).sum(axis=1)
                for kept, (_, _, z) in zip(self._kept, self._bases, strict=True)
            ]
        )

    def posterior(self, scale_shares: FloatArray, length_shares: FloatArray) -> FloatArray:
        """Return the probability of each length and scale, shape (n_lengths or 1, n_scales)."""
        logs = self._evidence + np.log(scale_shares)
        if len(logs) > 1:
            logs = logs + np.log(length_shares)[:, np.newaxis]
        likely = np.exp(logs - logs.max())
        return np.asarray(likely / likely.sum())

    def denoised(self, scale_shares: FloatArray, length_shares: FloatArray) -> FloatArray:
        scores = self._curve.scores
        if len(self.moved) < 2:
            return scores
        likely = self.posterior(scale_shares, length_shares)
        middle = np.zeros(len(self.moved))
        for share, kept, (_, vectors, z) in zip(likely, self._kept, self._bases, strict=True):
            mean = share @ (kept * z)
            middle += mean if vectors is None else vectors @ mean
        found = scores.copy()
        found[self.moved] = self._root * middle if self._root.ndim == 1 else self._root @ middle
        if not np.abs(found).max() <= _LARGEST_GROWTH * np.abs(scores).max():
            return scores
        return found


def _kernels(curve: Curve, moved: NDArray[np.intp]) -> list[FloatArray]:
    """Return the process's covariances, centred as the scores are, with mean variance 1."""
    shares = curve.weights[moved] / curve.weights[moved].sum()
    inner = np.zeros(len(curve.weights), dtype=bool)
    inner[1:-1] = curve.is_ordered
    inner = inner[moved]
    amplitude = 1.0 / np.sqrt(np.maximum(shares, _RAREST / len(shares)))
    kernels = []
    for length in _LENGTHS if inner.sum() > 1 else (None,):
        kernel = np.eye(len(moved))
        if length is not None:
            place = _places(curve.weights)[moved][inner]
            distance = np.abs(place[:, np.newaxis] - place)
            kernel[np.ix_(inner, inner)] = np.exp(-distance / length)
        # Effects are larger where rows are few: in tails, and in rare levels.
        kernel *= np.outer(amplitude, amplitude)
        kernel -= shares @ kernel
        kernel -= (kernel @ shares)[:, np.newaxis]
        kernel /= max(float(shares @ np.diagonal(kernel)), 1e-300)
        if curve.response is not None:
            blur = curve.response[np.ix_(moved, moved)]
            kernel = blur @ kernel @ blur.T
        kernels.append(kernel)
    return kernels


def _places(weights: FloatArray) -> FloatArray:
    """Return where each bin lies between 0 and 1."""
    inner = weights[1:-1]
    mass = np.full(len(inner), (1.0 - _DISTANCE_BY_ROWS) / len(inner))
    mass += _DISTANCE_BY_ROWS * inner / max(float(inner.sum()), 1e-300)
    places = np.zeros(len(weights))
    places[1:-1] = np.cumsum(mass) - mass / 2
    return places
