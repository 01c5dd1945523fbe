"""The best of a random number of runs: what publishing it costs, as Gaussian differential privacy.

Each run is mu-GDP; their number is drawn from a truncated negative binomial distribution, and the
best run alone is published. The privacy profile is computed for the worst order of outcomes that
a mu-GDP run can have, and covered by that of one Gaussian release. Never sees data.

No request plans this event any more; new ones are refused. This module composes those that old
ledgers and guarantees hold. Their proof is docs/proofs/private_selection.md in commit 258b9ec.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interpret_dp._validate import check_real
from interpret_dp.accounting.gaussian import delta_of_mu
from interpret_dp.accounting.sampled import smallest_cover

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SMALLEST_STOPPING = 2.0**-16
_SMALLEST_MU, _LARGEST_MU = 2.0**-10, 2.0**4

# Normal quantiles: beyond the last no outcome counts that is not counted below.
_RANGE = 9.0
_STEP, _WORST_STEP = 0.01, 0.02
# Second derivatives inside a cell, over what they are at its corners.
_WITHIN_CELL = 2.0
_INTERVALS = 96
# How far down the profile is computed; below it a bound in closed form takes over.
_LAST_DELTA = 1e-12
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Repetitions:
    """Law of a number of runs, at least 1: truncated negative binomial; public.

    Attributes
    ----------
    shape : float
        eta, between 0 (logarithmic) and 1 (geometric).
    stopping : float
        gamma, above 0 and below 1. K = k has a probability proportional to
        (1 - gamma)^k times the product of (l + eta) / (l + 1) over l from 0 to k - 1 (from 1, if
        eta is 0).

    Notes
    -----
    Papernot and Steinke (2022), Definition 1.
    """

    shape: float
    stopping: float

    def __post_init__(self) -> None:
        """Check the figures."""
        check_real("shape", self.shape, low=0, high=1, mend="1 is geometric, 0 logarithmic.")
        check_real("stopping", self.stopping, low=_SMALLEST_STOPPING, high=1, high_open=True)

    @property
    def mean(self) -> float:
        """The expected number of runs: the density of the best rank, of ranks from 0 to 1."""
        return float(self._scale * self.stopping ** -(self.shape + 1.0))

    @property
    def _scale(self) -> float:
        """The constant of :meth:`rank_density`."""
        log = math.log(self.stopping)
        if self.shape == 0.0:
            return (1.0 - self.stopping) / -log
        return self.shape * (1.0 - self.stopping) / math.expm1(-self.shape * log)

    def rank_density(self, worse: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return f'(1 - u), the density of the best of the runs at the rank u; 0 is the top.

        f is the probability generating function of the number of runs. Defined for all u >= 0.
        """
        mixed = self.stopping + (1.0 - self.stopping) * worse
        density: NDArray[np.float64] = self._scale * mixed ** -(self.shape + 1.0)
        return density

    def slope(self, worse: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return minus the logarithmic derivative of :meth:`rank_density`."""
        rest = 1.0 - self.stopping
        slope: NDArray[np.float64] = (self.shape + 1.0) * rest / (self.stopping + rest * worse)
        return slope


@functools.lru_cache(maxsize=256)
def selection_mu(mu: float, repetitions: Repetitions) -> float:
    """Return a mu so that publishing the best of the runs is mu-GDP.

    Parameters
    ----------
    mu : float
        Gaussian differential privacy of each run, its score and whatever else is known of it
        included; 2**-10 to 16.
    repetitions : Repetitions

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    The number of runs, their order, and all runs but the best are not published.
    """
    import numpy as np

    mu = check_real("mu of each run", mu, low=_SMALLEST_MU, high=_LARGEST_MU)
    last = 2.0 * mu
    while repetitions.mean * delta_of_mu(mu, last) > _LAST_DELTA:
        last *= 1.1
    last += _largest_shift(mu, repetitions)
    epsilons = np.linspace(0.0, last, _INTERVALS + 1)
    profile = selection_profile(mu, repetitions, epsilons)
    covering = max(smallest_cover(0.0, epsilons, profile), mu * 1.01)
    while not _tail_is_covered(mu, repetitions, covering, last):
        covering *= 1.01
    return covering


def selection_profile(
    mu: float, repetitions: Repetitions, epsilons: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return an upper bound on the privacy profile of the best of the runs.

    Parameters
    ----------
    mu : float
    repetitions : Repetitions
    epsilons : ndarray of float64, shape (n,)
        At least 0, increasing.

    Returns
    -------
    ndarray of float64, shape (n,)
        delta at each epsilon, for both directions of two neighbouring tables.
    """
    import numpy as np
    from scipy.special import ndtr

    # Quantiles of the outcomes that an attacker counts (rows), and of those ranked above (columns).
    z = np.arange(-_RANGE, _RANGE + _STEP, _STEP)
    above = np.arange(-_RANGE - mu, _RANGE + _WORST_STEP, _WORST_STEP)
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    shifted = np.exp(-0.5 * (z - mu) ** 2) / math.sqrt(2.0 * math.pi)
    with_row = repetitions.rank_density(ndtr(z)[:, np.newaxis] + ndtr(above))
    without = repetitions.rank_density(ndtr(z - mu)[:, np.newaxis] + ndtr(above + mu))
    with_row *= density[:, np.newaxis] * (1.0 + _rounding_up(z, above, repetitions))
    without *= shifted[:, np.newaxis] * (1.0 - _rounding_down(z - mu, above + mu, repetitions))
    # Fewer than the first column: none ranked above, by a bound that needs no derivatives.
    none = repetitions.rank_density(ndtr(z)) * density * (1.0 + _rounding_up(z, None, repetitions))
    with_row = np.concatenate((none[:, np.newaxis], with_row), axis=1)
    without = np.concatenate((without[:, :1], without), axis=1)
    profile = np.empty(len(epsilons))
    for index, epsilon in enumerate(epsilons):
        best = np.maximum(np.max(with_row - math.exp(epsilon) * without, axis=1), 0.0)
        profile[index] = _STEP * best.sum()
        positive = np.flatnonzero(best)
        # What is not positive now is not at a larger epsilon either.
        end = min(len(best), int(positive[-1]) + 2) if len(positive) else 1
        with_row, without = with_row[:end], without[:end]
    outside = 2.0 * repetitions.mean * float(ndtr(-_RANGE))
    return np.minimum(profile * (1.0 + _ROUNDING) + outside, 1.0)


def _rounding_up(
    z: NDArray[np.float64], above: NDArray[np.float64] | None, repetitions: Repetitions
) -> NDArray[np.float64]:
    """Return by how much the counted density may exceed its interpolation between grid points."""
    rows = 1.0 + abs(z) * _relative_slope(z, repetitions)
    error = _WITHIN_CELL * _STEP**2 / 8.0 * rows
    if above is None:
        return error
    columns = abs(above) * _relative_slope(above, repetitions)
    return error[:, None] + _WITHIN_CELL * _WORST_STEP**2 / 8.0 * columns


def _rounding_down(
    z: NDArray[np.float64], above: NDArray[np.float64], repetitions: Repetitions
) -> NDArray[np.float64]:
    """Return by how much the neighbour's density may fall below its interpolation."""
    rows, columns = _relative_slope(z, repetitions), _relative_slope(above, repetitions)
    error = (abs(z) + rows) ** 2 + rows**2 + abs(z) * rows
    spread = 2.0 * columns**2 + abs(above) * columns
    return _WITHIN_CELL / 8.0 * (_STEP**2 * error[:, None] + _WORST_STEP**2 * spread)


def _relative_slope(z: NDArray[np.float64], repetitions: Repetitions) -> NDArray[np.float64]:
    """Return a bound on how fast the rank's density falls along one quantile, relative to it."""
    import numpy as np
    from scipy.special import ndtr

    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    slope: NDArray[np.float64] = repetitions.slope(ndtr(z)) * density
    return slope


def _largest_shift(mu: float, repetitions: Repetitions) -> float:
    """Return how much ranking alone can add to the privacy loss of an outcome, rounded up."""
    import numpy as np
    from scipy.special import ndtr

    quantiles = np.linspace(-_RANGE - mu, _RANGE, 20_001)
    neighbours = np.append(ndtr(quantiles + mu), 1.0)
    ranks = np.append(0.0, ndtr(quantiles))
    # The neighbour's at the right end of each cell and the table's own at the left one.
    ratios = repetitions.rank_density(ranks) / repetitions.rank_density(neighbours)
    return float(np.log(ratios).max()) + _ROUNDING


def _tail_is_covered(mu: float, repetitions: Repetitions, covering: float, start: float) -> bool:
    """Return whether a Gaussian's profile is above that of the selection from ``start`` on.

    mean * delta_G(epsilon - shift; mu) <= mean * phi(a) / a is compared with
    phi(a_c) mu_c / (b_c^2 + 3) <= delta_G(epsilon; mu_c): the logarithm of their ratio is not
    negative at ``start``, and increases from there.
    """
    shifted = start - _largest_shift(mu, repetitions)
    a, a_c = shifted / mu - 0.5 * mu, start / covering - 0.5 * covering
    b_c = a_c + covering
    if a <= 0.0 or b_c <= 0.0 or covering <= mu:
        return False
    ratio = 0.5 * (a - a_c) * (a + a_c) + math.log(a * covering / (b_c * b_c + 3.0))
    growth = shifted / mu**2 - start / covering**2 - 1.0 / (math.sqrt(3.0) * covering)
    return ratio >= math.log(repetitions.mean) + _ROUNDING and growth >= 0.0
