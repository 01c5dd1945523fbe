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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A released curve, in coordinates in which its noise is white and what curves are like diagonal.
#
# Sources: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", section 2.2.

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
SCALE_PRIOR = np.concatenate(([0.05], 0.95 * np.diff(_KEPT_BORDERS)))
#: How many lengths an ordered feature's process may have.
N_LENGTHS = len(_LENGTHS)


@dataclass(frozen=True)
class NoisyCurve:
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
    sampling : ndarray of float64, shape (n_codes,)
        Variance by which each bin's score, before it is blurred, differs from that of a smooth
        curve, since its rows are few: sampling error, which no noise was added to.
    response : ndarray of float64, shape (n_codes, n_codes), optional
        How boosting blurs the curve; by default not at all.
    is_pruned : bool
        Whether it is released as zero.
    """

    scores: FloatArray
    noise: FloatArray
    weights: FloatArray
    is_ordered: bool
    sampling: FloatArray
    response: FloatArray | None = None
    is_pruned: bool = False


def noise_variances_of(curve: NoisyCurve) -> FloatArray:
    """Return the variances of a curve's noise, shape (n_codes,)."""
    return np.diagonal(curve.noise) if curve.noise.ndim == 2 else curve.noise


class View:
    """One curve, and what its scores hold beside a smooth process: noise, and sampling error.

    With N the covariance of all that is not smooth (root L): the noise's covariance C, and sampling
    error (``curve.sampling``), blurred as boosting blurs. K is the process's; with
    ``L^-1 K L'^-1 = V diag(d) V'``, the posterior mean of the process under scale s is
    ``L V diag(s d / (1 + s d)) V' L^-1 y``: one decomposition a length serves all scales.

    Parameters
    ----------
    curve : NoisyCurve
    typical_variance : float
        Mean variance of a process of scale 1.

    Attributes
    ----------
    moved : ndarray of int
        The bins that noise was added to. Of fewer than two nothing can be said, and of none where
        noise grew from round to round beyond what can be decomposed: so large that nothing is known
        of the curve.
    """

    def __init__(self, curve: NoisyCurve, typical_variance: float) -> None:
        variances = noise_variances_of(curve)
        self.moved = np.flatnonzero(variances > 0)
        if len(self.moved) < 2:
            return
        self._scores = curve.scores[self.moved]
        self._bases: list[tuple[FloatArray, FloatArray | None, FloatArray]] = []
        if curve.noise.ndim == 1:
            self._noise = variances[self.moved]
            total = self._noise + curve.sampling[self.moved]
            self._root = np.sqrt(total)
            self._bases.append((typical_variance / total, None, self._scores / self._root))
        else:
            noise = curve.noise[np.ix_(self.moved, self.moved)]
            # Along the direction that centring takes away there is no noise: a little makes a root.
            ridge = 1e-8 * float(np.trace(noise)) / len(noise)
            self._noise = noise + ridge * np.eye(len(noise))
            total = self._noise + _blurred(curve, self.moved)
            try:
                self._root = np.linalg.cholesky(total)
                self._inverse = np.linalg.inv(self._root)
                white = self._inverse @ self._scores
                for kernel in _kernels(curve, self.moved):
                    values, vectors = np.linalg.eigh(
                        typical_variance * (self._inverse @ kernel @ self._inverse.T)
                    )
                    self._bases.append((np.maximum(values, 0.0), vectors, vectors.T @ white))
            except np.linalg.LinAlgError:
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

    def process_mean(self, likely: FloatArray) -> FloatArray:
        """Return the posterior mean of the smooth process in ``moved``.

        Parameters
        ----------
        likely : ndarray of float64, shape (n_lengths or 1, n_scales)
            Of :meth:`posterior`.
        """
        middle = np.zeros(len(self.moved))
        for share, kept, (_, vectors, z) in zip(likely, self._kept, self._bases, strict=True):
            mean = share @ (kept * z)
            middle += mean if vectors is None else vectors @ mean
        return self._root * middle if self._root.ndim == 1 else self._root @ middle

    def moments(self, likely: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of the curve without noise in ``moved``.

        That is the process and sampling error. Variances, where the noise is given so. The
        covariance holds that of each length and scale, and that of their means.

        Notes
        -----
        Under scale s the mean is ``y - A diag(1 / (1 + s d)) z`` and the covariance
        ``C - A diag(1 / (1 + s d)) A'``, with ``A = C L'^-1 V`` and ``z = V' L^-1 y``.
        """
        shrinkage_lost = [1.0 - kept for kept in self._kept]
        if self._noise.ndim == 1:
            map_ = self._noise / self._root
            removed = shrinkage_lost[0] * self._bases[0][2] * map_
            mean = likely[0] @ removed
            within = self._noise - likely[0] @ shrinkage_lost[0] * map_**2
            return self._scores - mean, within + likely[0] @ (removed - mean) ** 2
        covariance, removed_by = self._noise.copy(), []
        for share, part, (_, vectors, z) in zip(likely, shrinkage_lost, self._bases, strict=True):
            map_ = self._noise @ (self._inverse.T @ vectors)
            covariance -= (map_ * (share @ part)) @ map_.T
            removed_by.append((part * z) @ map_.T)
        shares, removed = likely.ravel(), np.concatenate(removed_by)
        mean = shares @ removed
        between = np.sqrt(shares)[:, np.newaxis] * (removed - mean)
        return self._scores - mean, covariance + between.T @ between


def _blurred(curve: NoisyCurve, moved: NDArray[np.intp]) -> FloatArray:
    """Return the covariance of sampling error as it shows in the scores."""
    if curve.response is None:
        return np.diag(curve.sampling[moved])
    blur = curve.response[np.ix_(moved, moved)]
    return (blur * curve.sampling[moved]) @ blur.T


def _kernels(curve: NoisyCurve, moved: NDArray[np.intp]) -> list[FloatArray]:
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
    """Return the position of each bin between 0 and 1."""
    inner = weights[1:-1]
    mass = np.full(len(inner), (1.0 - _DISTANCE_BY_ROWS) / len(inner))
    mass += _DISTANCE_BY_ROWS * inner / max(float(inner.sum()), 1e-300)
    places = np.zeros(len(weights))
    places[1:-1] = np.cumsum(mass) - mass / 2
    return places


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
    curve : NoisyCurve
    view : View
        Of that curve.
    likely : ndarray of float64, or None
        Probability of each length and scale; None where nothing can be said of the curve.
    """

    def __init__(self, curve: NoisyCurve, view: View, likely: FloatArray | None) -> None:
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


def denoise(curves: Sequence[NoisyCurve]) -> list[Denoised]:
    """Return the posterior mean of every curve, and what is expected of it without noise.

    Parameters
    ----------
    curves : sequence of NoisyCurve
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


def _typical_variance(curves: Sequence[NoisyCurve]) -> float:
    """Return the median over the curves of their mean variance over the rows."""
    means = [
        float(c.weights @ noise_variances_of(c) / max(float(c.weights.sum()), 1e-300))
        for c in curves
    ]
    positive = [mean for mean in means if mean > 0]
    return float(np.median(positive)) if positive else 1.0
