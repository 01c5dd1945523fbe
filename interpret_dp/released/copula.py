"""A Gaussian copula from released sums: how the columns of a background depend on each other.

Each column is split in two halves. The sum over rows of the products of two columns' signs, 1 in
the upper half and -1 in the lower one, is released. The correlation of two normal variables that
are split in the same way follows from it (tetrachoric correlation; Pearson 1900). For halves of
equal size it is ``sin(pi / 2 r)`` (Sheppard 1899).

A nominal column is split into its most common levels and the others. Within its halves levels are
drawn independently of other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.released.arrays import LARGEST_COUNT, frozen

FloatArray = NDArray[np.float64]

# A column with fewer rows than this share in one of its halves says next to nothing.
_LEAST_SHARE = 0.02
_LEAST_EIGENVALUE = 0.01
# Angles at which the normal distribution is tabulated; the ends are correlations of -1 and 1.
_ANGLES = np.linspace(-0.995, 0.995, 201) * np.pi / 2.0


@dataclass(frozen=True, eq=False)
class ColumnDependence:
    """Released sums over rows of the products of two columns' signs.

    Attributes
    ----------
    places : tuple of int
        Columns with two halves, in increasing order; of the others nothing is known.
    products : ndarray of float64, shape (n_pairs,)
        In rows, with their noise. Pairs are in the order of ``numpy.triu_indices``.
    noise : float
        Standard deviation of the noise of each product, above 0.
    """

    places: tuple[int, ...]
    products: FloatArray
    noise: float

    def __post_init__(self) -> None:
        """Freeze the products and check that the parts fit together."""
        n_pairs = len(self.places) * (len(self.places) - 1) // 2
        places = tuple(check_int("a place of a column", place, low=0) for place in self.places)
        object.__setattr__(self, "places", places)
        products = frozen(self.products, (n_pairs,), "products", largest=LARGEST_COUNT)
        object.__setattr__(self, "products", products)
        low, high = 1 / LARGEST_COUNT, LARGEST_COUNT
        noise = check_real("noise of the products", self.noise, low=low, high=high)
        object.__setattr__(self, "noise", noise)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; they are the arguments."""
        return {
            "places": list(self.places),
            "products": self.products.tolist(),
            "noise": self.noise,
        }


def half_signs(counts: FloatArray, *, is_ordered: bool) -> NDArray[np.int8]:
    """Return the sign of each cell's half.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_codes,)
        Released; missing first, undeclared last.
    is_ordered : bool
        Whether the halves lie below and above the median. Otherwise the lower half holds the
        most common levels.

    Returns
    -------
    ndarray of int8, shape (n_codes,)
        -1 or 1; 0 for missing and undeclared cells, and for all cells where there are no two
        halves. Only additions and comparisons decide, so that all computers agree.
    """
    signs = np.zeros(len(counts), dtype=np.int8)
    inner = np.maximum(counts[1:-1], 0.0)
    order = np.arange(len(inner)) if is_ordered else np.argsort(-inner, kind="stable")
    below = inner[order].cumsum()
    if below[-1] <= 0:
        return signs
    last = int(np.abs(below / below[-1] - 0.5).argmin())
    if _LEAST_SHARE <= below[last] / below[-1] <= 1.0 - _LEAST_SHARE:
        signs[1:-1] = 1
        signs[1 + order[: last + 1]] = -1
    return signs


def copula_correlations(
    dependence: ColumnDependence,
    shares: Sequence[FloatArray],
    signs: Sequence[NDArray[np.int8]],
    n_rows: float,
) -> FloatArray:
    """Return the correlation matrix of the copula, which is positive definite.

    Parameters
    ----------
    dependence : ColumnDependence
    shares : sequence of ndarray of float64, shape (n_counted,) each
        Of the counted cells of the columns that ``dependence`` is about.
    signs : sequence of ndarray of int8, shape (n_counted,) each
        Of these cells.
    n_rows : float
        Released number of rows.
    """
    from scipy.special import ndtri

    lower = np.array([part[own < 0].sum() for part, own in zip(shares, signs, strict=True)])
    upper = np.array([part[own > 0].sum() for part, own in zip(shares, signs, strict=True)])
    present = np.maximum(lower + upper, 1e-3)
    # Released shares may differ from the counts that a column was split by.
    thresholds = ndtri(np.clip(lower / present, _LEAST_SHARE / 2, 1.0 - _LEAST_SHARE / 2))
    densities = np.exp(-0.5 * thresholds**2) / np.sqrt(2.0 * np.pi)
    first, second = np.triu_indices(len(lower), 1)
    both_present = present[first] * present[second]
    means = (upper - lower) / present
    covariances = dependence.products / (n_rows * both_present) - means[first] * means[second]
    # Near independence the covariance of the signs grows by this with the correlation.
    slopes = 4.0 * densities[first] * densities[second]
    deviations = dependence.noise / (n_rows * both_present * slopes)
    shrunk = slopes * _shrunk(covariances / slopes, deviations)
    matrix = np.eye(len(lower))
    matrix[first, second] = [
        _tetrachoric(*pair)
        for pair in zip(shrunk, thresholds[first], thresholds[second], strict=True)
    ]
    matrix[second, first] = matrix[first, second]
    values, vectors = np.linalg.eigh(matrix)
    nearest = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scales = np.sqrt(np.diagonal(nearest))
    return np.asarray(nearest / np.outer(scales, scales))


def _shrunk(estimates: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return noisy estimates, shrunk towards zero (empirical Bayes, normal prior).

    The variance of the prior is estimated from all of them, by their precision. Two standard errors
    are taken off: correlations that noise alone makes up do more harm than true ones left out.
    """
    noise = deviations**2
    weights = noise**-2.0
    signal = float(np.average(estimates**2 - noise, weights=weights))
    signal = max(signal - 2.0 * float(np.sqrt(2.0 / weights.sum())), 0.0)
    return np.asarray(estimates * (signal / (signal + noise)))


def _tetrachoric(covariance: float, first: float, second: float) -> float:
    """Return the correlation at which signs beyond two thresholds have this covariance.

    The derivative of the bivariate normal distribution function by the correlation is its density.
    """
    sines, cosines = np.sin(_ANGLES), np.cos(_ANGLES)
    distances = (first**2 - 2.0 * first * second * sines + second**2) / cosines**2
    density = np.exp(-0.5 * distances) / (2.0 * np.pi)
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(_ANGLES)
    areas = np.concatenate(([0.0], steps.cumsum()))
    areas -= areas[len(areas) // 2]
    return float(np.interp(covariance, 4.0 * areas, sines))


def copula_places(
    correlations: FloatArray,
    shares: Sequence[FloatArray],
    signs: Sequence[NDArray[np.int8]],
    is_ordered: Sequence[bool],
    n_rows: int,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw from the copula, one column a column of the background.

    Parameters
    ----------
    correlations : ndarray of float64, shape (n_columns, n_columns)
    shares : sequence of ndarray of float64, shape (n_codes - 1,) each
        Of the cells that rows are drawn from; missing first.
    signs : sequence of ndarray of int8, shape (n_codes - 1,) each
        Of these cells.
    is_ordered : sequence of bool
    n_rows : int
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of float64, shape (n_rows, n_columns)
        Where the value of each row lies in its column, from 0 to 1, if cells lie side by side and
        are as wide as their shares.
    """
    from scipy.special import ndtr

    normal = generator.standard_normal((n_rows, len(shares)))
    ranks = np.asarray(ndtr(normal @ np.linalg.cholesky(correlations).T))
    places = np.empty(ranks.shape)
    for k, (part, own) in enumerate(zip(shares, signs, strict=True)):
        missing = part[0]
        if is_ordered[k]:
            places[:, k] = missing + (1.0 - missing) * ranks[:, k]
        else:
            is_lower = ranks[:, k] * part[own != 0].sum() < part[own < 0].sum()
            places[:, k] = _within(part, own, is_lower, generator)
        # Missing cells depend on nothing.
        places[generator.random(n_rows) < missing, k] = 0.0
    return places


def _within(
    shares: FloatArray,
    signs: NDArray[np.int8],
    is_lower: NDArray[np.bool_],
    generator: np.random.Generator,
) -> FloatArray:
    """Return the middle of a cell of each row's half, drawn by the shares."""
    middles = shares.cumsum() - shares / 2.0
    places = np.empty(len(is_lower))
    for half, chosen in ((-1, is_lower), (1, ~is_lower)):
        ends = (shares * (signs == half)).cumsum()
        drawn = generator.random(int(chosen.sum())) * ends[-1]
        places[chosen] = middles[
            np.minimum(np.searchsorted(ends, drawn, side="right"), len(ends) - 1)
        ]
    return places
