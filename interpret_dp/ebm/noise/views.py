"""A released curve, in coordinates in which its noise is white and what curves are like diagonal.

Sources: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", section 2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


def noise_variances_of(curve: Curve) -> FloatArray:
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
    curve : Curve
    typical_variance : float
        Mean variance of a process of scale 1.

    Attributes
    ----------
    moved : ndarray of int
        The bins that noise was added to. Of fewer than two nothing can be said, and of none where
        noise grew from round to round beyond what can be decomposed: so large that nothing is known
        of the curve.
    """

    def __init__(self, curve: Curve, typical_variance: float) -> None:
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


def _blurred(curve: Curve, moved: NDArray[np.intp]) -> FloatArray:
    """Return the covariance of sampling error as it shows in the scores."""
    if curve.response is None:
        return np.diag(curve.sampling[moved])
    blur = curve.response[np.ix_(moved, moved)]
    return (blur * curve.sampling[moved]) @ blur.T


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
    """Return the position of each bin between 0 and 1."""
    inner = weights[1:-1]
    mass = np.full(len(inner), (1.0 - _DISTANCE_BY_ROWS) / len(inner))
    mass += _DISTANCE_BY_ROWS * inner / max(float(inner.sum()), 1e-300)
    places = np.zeros(len(weights))
    places[1:-1] = np.cumsum(mass) - mass / 2
    return places
