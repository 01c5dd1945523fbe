"""Method "statistics": one noisy release of the moments a query, and a minimum on the ball."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime.ball import Spectrum, minimum_on_ball
from interpret_dp.lime.features import Centering
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.moments import ExactMoments, ExplanationData, Queries, exact_moments
from interpret_dp.lime.weighting import WeightTable
from interpret_dp.mechanisms.additive import noise_scale
from interpret_dp.release import PlannedRelease, ReleaseDoor

__all__ = ["NoisyMoments", "moments_release", "release_moments"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_RELEASE = "moments"

# The triangle of a symmetric matrix has the matrix's Frobenius norm if what is off the diagonal
# counts sqrt(2) times. 41 / 29 is just below that (41**2 = 2 * 29**2 - 1), and integers stay
# integers.
_DIAGONAL, _BESIDE = 29, 41

# Exact moments of so many entries are held at a time, 8 bytes each.
_MOST_ENTRIES = 2**24


@dataclass(frozen=True)
class NoisyMoments:
    """Released moments of one query; public.

    Attributes
    ----------
    second : ndarray of float64, shape (n_coordinates, n_coordinates)
        A with noise: symmetric, not always positive semidefinite.
    first : ndarray of float64, shape (n_coordinates,)
        b with noise.
    sigma : float
        Standard deviation of the noise on the diagonal of A and on b; off the diagonal it is
        29 / 41 of that.
    """

    second: Floats
    first: Floats
    sigma: float

    @property
    def noise_edge(self) -> float:
        """Size of the eigenvalues that noise alone has: sqrt(2 n) sigma (Wigner's semicircle)."""
        return math.sqrt(2 * len(self.first)) * self.sigma

    def solve(self, centered: Centering | None = None, radius: float = 1.0) -> LinearFit:
        """Return the explanation that these moments make likely.

        Eigenvalues of A below the noise's own are raised to them: what cannot be told from noise
        moves the explanation no further than noise would. Then the loss is minimised over a ball.
        Post-processing, as everything here: what is released does not depend on the ball.

        Parameters
        ----------
        centered : Centering, default=None
            Of the query: the explanation is sought where it projects to.
        radius : float, default=1
            Of the ball; the paper's is 1, which shrinks whatever is steeper.
        """
        second, first = self.second, self.first
        if centered is not None:
            second, first = centered(centered(second).T), centered(first)
        spectrum = Spectrum.of_matrix(second).raised(self.noise_edge)
        phi, multiplier = minimum_on_ball(spectrum, first, radius)
        inverse = spectrum.shifted_inverse(multiplier)
        inverse = inverse if centered is None else centered(inverse.T).T
        errors = self._standard_errors(inverse, phi, multiplier)
        # No coefficient of a vector in the ball is uncertain by more.
        return LinearFit(phi, np.minimum(errors, radius))

    def _standard_errors(self, inverse: Floats, phi: Floats, multiplier: float) -> Floats:
        """Return what noise of this size does to phi, to first order.

        With H = A + multiplier I, a change (dA, db) moves phi by H^-1 (db - dA phi), from which on
        the sphere the part is taken that would leave it. The covariance of db - dA phi follows
        from the independent entries of dA and db. ``inverse`` is H^-1.
        """
        squares = phi**2
        beside = self.sigma * _DIAGONAL / _BESIDE
        # The covariance is beside^2 phi phi' and these on its diagonal.
        own = self.sigma**2 + beside**2 * squares.sum() + (self.sigma**2 - 2 * beside**2) * squares
        if multiplier > 0.0:
            outward = inverse @ phi
            inverse = inverse - np.outer(outward, outward) / (phi @ outward)
        variances = inverse**2 @ own + (beside * (inverse @ phi)) ** 2
        errors: Floats = np.sqrt(np.maximum(variances, 0.0))
        return errors


def moments_release(
    weights: WeightTable, neighbourhood: Neighbourhood, mu: float, n_queries: int
) -> PlannedRelease:
    """Return the planned releases of ``n_queries`` queries that cost ``mu`` together.

    Parameters
    ----------
    weights : WeightTable
    neighbourhood : Neighbourhood
    mu : float
        Gaussian differential privacy of all queries together.
    n_queries : int

    Raises
    ------
    TypeError, ValueError
        If there is no query, or the noise would not fit into 64 bits. Nothing was read or spent.
    """
    n_queries = check_int("n_queries", n_queries, low=1)
    each = PlannedRelease(_RELEASE, mu / math.sqrt(n_queries), n_queries)
    noise_scale(_RELEASE, neighbourhood.sensitivity(_row_norm(weights), aligned=False), each.mu)
    return each


def release_moments(
    door: ReleaseDoor, data: ExplanationData, queries: Queries, weights: WeightTable
) -> list[NoisyMoments]:
    """Release the moments of each query, one planned release a query.

    Parameters
    ----------
    door : ReleaseDoor
        Open, with :func:`moments_release` in its plan.
    data : ExplanationData
        Private.
    queries : Queries
    weights : WeightTable

    Returns
    -------
    list of NoisyMoments, one a query
        Public.
    """
    n_coordinates = queries.points.shape[1]
    scale = _DIAGONAL * weights.scale
    released = []
    for some in queries.parts(_MOST_ENTRIES // n_coordinates**2):
        exact = np.stack([_packed(one) for one in exact_moments(data, some, weights)])
        # Two rows in opposite directions whose labels differ have a negative inner product.
        noisy, sigma = door.gaussian(_RELEASE, exact, row_norm=_row_norm(weights), aligned=False)
        released += [
            NoisyMoments(*_unpacked(one, n_coordinates, weights.scale), sigma / scale)
            for one in noisy
        ]
    return released


def _row_norm(weights: WeightTable) -> int:
    return _DIAGONAL * weights.moments_norm


def _packed(moments: ExactMoments) -> Integers:
    """Return b and the upper triangle of A as one vector, whose norm is 29 times theirs or less."""
    second = moments.second * _BESIDE
    np.fill_diagonal(second, moments.second.diagonal() * _DIAGONAL)
    return np.concatenate([moments.first * _DIAGONAL, second[_upper(len(second))]])


def _unpacked(released: Integers, n_coordinates: int, scale: float) -> tuple[Floats, Floats]:
    """Return A and b of a released vector, in units of 1."""
    first = released[:n_coordinates] / (_DIAGONAL * scale)
    second = np.zeros((n_coordinates, n_coordinates))
    second[_upper(n_coordinates)] = released[n_coordinates:] / (_BESIDE * scale)
    diagonal = np.diag(second) * (_BESIDE / _DIAGONAL)
    second = second + second.T
    np.fill_diagonal(second, diagonal)
    return second, first


def _upper(n_coordinates: int) -> NDArray[np.bool_]:
    """Return the mask of the upper triangle, diagonal included."""
    return np.triu(np.ones((n_coordinates, n_coordinates), dtype=np.bool_))
