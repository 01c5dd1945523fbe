"""The numerical part of the edits: projections and smoothing of one curve over its bins.

Each function takes the scores of the selected bins in order. Those whose result is linear in the
scores also return the matrix of that map, by which the covariance of the noise is carried along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released.isotonic import isotonic, positive_weights

FloatArray = NDArray[np.float64]

# Length scales that are tried, as a share of the feature's range, and ratios of the variances of
# curve and noise.
_LENGTHS = np.geomspace(0.02, 2.0, 12)
_RATIOS = np.geomspace(1e-3, 1e4, 57)
# Keeps kernels invertible, and how far the covariance of the noise is trusted; both relative.
_JITTER = 1e-9
_APPROXIMATION = 1e-3


def best_direction(scores: FloatArray, weights: FloatArray) -> bool:
    """Return whether the increasing fit is at least as near as the decreasing one."""
    weights = positive_weights(weights)
    distances = [
        float(weights @ (scores - isotonic(scores, weights, increasing=increasing)) ** 2)
        for increasing in (True, False)
    ]
    return distances[0] <= distances[1]


def convex(scores: FloatArray, weights: FloatArray, positions: FloatArray) -> FloatArray:
    """Return the convex curve of least weighted squared distance, shape (n_bins,).

    A convex curve is a straight line plus hinges with coefficients that are not negative. The line
    is projected out, and scipy's active-set solver ``nnls`` finds the hinges. Concave is minus the
    convex fit of minus the scores.
    """
    spans = positions[-1] - positions[0] if len(positions) else 0.0
    if len(scores) < 3 or spans <= 0:
        return scores
    points = (positions - positions[0]) / spans
    gaps = np.maximum(np.diff(points), np.finfo(float).tiny)
    if (np.diff(np.diff(scores) / gaps) >= 0).all():
        return scores
    from scipy.optimize import nnls

    relative = positive_weights(weights)
    root = np.sqrt(relative / relative.max())
    straight = _straight_lines(points, root)
    hinges = np.maximum(points[:, np.newaxis] - points[1:-1], 0.0)
    weighted = root[:, np.newaxis] * hinges
    bent = weighted - straight @ (straight.T @ weighted)
    lengths = np.maximum(np.linalg.norm(bent, axis=0), np.finfo(float).tiny)
    target = root * scores
    coefficients, _ = nnls(
        bent / lengths, target - straight @ (straight.T @ target), maxiter=30 * len(scores)
    )
    kinks = hinges @ (coefficients / lengths)
    rest = root * (scores - kinks)
    fitted: FloatArray = kinks + (straight @ (straight.T @ rest)) / root
    return fitted


def _straight_lines(points: FloatArray, root: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the weighted straight lines, shape (n_bins, 2)."""
    basis, _ = np.linalg.qr(root[:, np.newaxis] * np.column_stack([np.ones_like(points), points]))
    return np.asarray(basis)


def line(
    scores: FloatArray,
    weights: FloatArray,
    positions: FloatArray,
    *,
    method: str,
    steps: int | None = None,
) -> FloatArray:
    """Return a straight line, shape (n_bins,): through both ends, or by weighted least squares.

    With ``steps`` the line between the ends becomes so many steps, of equal width and height.
    """
    points = (positions - positions[0]) / (positions[-1] - positions[0])
    if method == "ends":
        if steps is not None:
            points = np.minimum(np.floor(points * steps), steps - 1) / (steps - 1)
        return np.asarray((1.0 - points) * scores[0] + points * scores[-1])
    root = np.sqrt(positive_weights(weights))
    straight = _straight_lines(points, root)
    fitted: FloatArray = straight @ (straight.T @ (root * scores)) / root
    return fitted


@dataclass(frozen=True)
class Smoothing:
    """Settings of one smoothing.

    Attributes
    ----------
    length : float
        Length scale of the curve, as a share of the feature's range on its declared scale.
    amplitude : float
        Standard deviation of the curve around its mean, in units of score.
    noise : float or None
        Standard deviation of the noise of a bin of average weight; None if its covariance is
        known.
    """

    length: float
    amplitude: float
    noise: float | None


def _kernel(positions: FloatArray, length: float) -> FloatArray:
    """Matern kernel of order 3/2: curves whose slope has no jumps."""
    gaps = np.abs(positions[:, np.newaxis] - positions)
    if gaps.ndim == 3:  # cells of a heat map
        gaps = np.sqrt((gaps**2).sum(axis=2))
    distance = np.sqrt(3.0) * gaps / length
    kernel: FloatArray = (1.0 + distance) * np.exp(-distance)
    kernel[np.diag_indices_from(kernel)] += _JITTER
    return kernel


def _noise_matrix(
    covariance: FloatArray | None, weights: FloatArray, noise: float | None
) -> FloatArray:
    """Return the covariance of the noise, with a thousandth of it as independent noise on top.

    The released covariance is a first-order figure: without that part, differences between bins
    that it says are almost free of noise would be kept at any price.
    """
    if covariance is None:
        weights = positive_weights(weights)
        covariance = np.diag((noise or 0.0) ** 2 * weights.mean() / weights)
    matrix: FloatArray = covariance + _APPROXIMATION * np.trace(covariance) / len(
        covariance
    ) * np.eye(len(covariance))
    return matrix


def choose_smoothing(
    scores: FloatArray,
    weights: FloatArray,
    positions: FloatArray,
    covariance: FloatArray | None,
    *,
    length: float | None,
) -> Smoothing:
    """Return the settings of largest marginal likelihood.

    The scores are taken as a constant, plus a Gaussian process, plus the known noise. If the
    covariance of the noise is not known, it is taken as independent, with variances inversely
    proportional to the weights and of a size that is chosen along with the rest.

    Parameters
    ----------
    scores, weights, positions : ndarray of float64, shape (n_bins,)
        Positions lie between 0 and 1; those of cells of a heat map have shape (n_bins, 2).
    covariance : ndarray of float64, shape (n_bins, n_bins), or None
    length : float or None
        Length scale to keep; None to choose it.
    """
    from scipy.linalg import eigh

    size = len(scores)
    is_known = covariance is not None
    noise = _noise_matrix(covariance, weights, 1.0)
    typical = float(np.trace(noise)) / size
    if typical <= 0.0 or (scores == scores[0]).all():
        # No noise was added, or there is nothing to smooth: the curve is kept as it is.
        return Smoothing(length or 1.0, 1.0 + 1e3 * float(np.std(scores)), None)
    best, settings = -np.inf, Smoothing(1.0, 1.0, None)
    ratios = _RATIOS[:, np.newaxis]
    for candidate in _LENGTHS if length is None else np.array([length]):
        # In these coordinates kernel and noise are both diagonal, so that every ratio of their
        # sizes costs O(n_bins).
        values, vectors = eigh(_kernel(positions, float(candidate)), noise)
        variances = 1.0 + ratios * typical * np.maximum(values, 0.0)
        ones, observed = vectors.sum(axis=0), vectors.T @ scores
        information = (ones**2 / variances).sum(axis=1)
        mean = (ones * observed / variances).sum(axis=1) / information
        squares = ((observed - mean[:, np.newaxis] * ones) ** 2 / variances).sum(axis=1)
        scale = np.ones_like(squares) if is_known else squares / (size - 1)
        # Restricted likelihood: the constant was estimated from the same scores.
        likelihoods = -0.5 * (
            np.log(variances).sum(axis=1)
            + np.log(information)
            + (size - 1) * np.log(scale)
            + squares / scale
        )
        index = int(np.argmax(likelihoods))
        if likelihoods[index] > best:
            best, own = float(likelihoods[index]), float(scale[index])
            settings = Smoothing(
                length=float(candidate),
                amplitude=float(np.sqrt(_RATIOS[index] * typical * own)),
                noise=None if is_known else float(np.sqrt(own)),
            )
    return settings


def smooth(
    scores: FloatArray,
    weights: FloatArray,
    positions: FloatArray,
    covariance: FloatArray | None,
    settings: Smoothing,
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mean of the curve given the scores, and the matrix of that map.

    Generalised least squares for the constant, kriging for the rest (Rasmussen and Williams,
    Gaussian Processes for Machine Learning, 2006, section 2.7).
    """
    size = len(scores)
    if (scores == scores[0]).all():
        return scores, np.eye(size)
    noise = _noise_matrix(covariance, weights, settings.noise)
    kernel = settings.amplitude**2 * _kernel(positions, settings.length)
    total = kernel + noise
    total = total + (_JITTER * np.trace(total) / size + np.finfo(float).tiny) * np.eye(size)
    inverse = np.linalg.inv(total)
    mean_row = inverse.sum(axis=0) / inverse.sum()
    constant = np.tile(mean_row, (size, 1))
    matrix = constant + kernel @ inverse @ (np.eye(size) - constant)
    return matrix @ scores, matrix
