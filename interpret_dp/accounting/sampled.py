"""Gaussian releases of Poisson samples: their privacy loss distribution, as a (mu, delta) pair.

This is the accounting of DP-SGD. Composition inside the request is by dp_accounting's privacy loss
distributions; across requests only a pair composes (``docs/proofs/ledger-filter.md``), so the
whole privacy profile is covered by that of a pair. Statement and proof:
``docs/proofs/sampled_gaussian.md``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.rounding import reciprocal_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALLEST_OWN_DELTA = 1e-10
"""Smallest delta of its own that such a pair may have: a hundred times the slack below."""

# Below it a single step already gives a sampled row away, and its losses fill any memory.
_SMALLEST_MULTIPLIER = 0.05
_LARGEST_MULTIPLIER = 2.0**20
# Room for the rounding errors of the transforms by which dp_accounting convolves, which its bounds
# leave out: sums of some 1e5 masses of relative error 1e-16 or so, which powers multiply.
_SLACK = 1e-12
_SLACK_OF_A_STEP = 5e-17
# The grid of the privacy losses, over their standard deviation after all steps, and over that of
# one of them: what they cost is in the proof.
_GRID, _GRID_OF_A_STEP = 1e-3, 0.1
_INTERVALS = 512
_MU_PRECISION = 1e-9
_NOISE_PRECISION = 1e-4
MOST_STEPS = 10**6
"""Beyond it nothing was checked of how rounding errors add up."""


@functools.lru_cache(maxsize=256)
def covering_mu(
    noise_multiplier: float, sampling_probability: float, count: int, delta: float
) -> float:
    """Return the smallest mu so that the pair (mu, delta) covers sampled Gaussian releases.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over what one row adds to a sum at most.
    sampling_probability : float
        Probability with which each row is in a sample, on its own and anew in every step.
    count : int
        Number of steps.
    delta : float
        The pair's own delta, at least 1e-10. The larger it is the smaller is mu.

    Returns
    -------
    float
        Rounded up. Infinite below a noise multiplier of 1/20, and where no mu below 1e6 will do.

    Notes
    -----
    Neighbours differ by adding or removing one row. For all epsilon >= 0 and in both directions,
    the releases' privacy profile is at most delta + (1 - delta) delta_G(epsilon; mu).
    """
    _check(noise_multiplier, sampling_probability, count, delta)
    if sampling_probability == 1.0:
        return math.sqrt(count) * reciprocal_up(noise_multiplier) * (1.0 + _MU_PRECISION)
    if noise_multiplier < _SMALLEST_MULTIPLIER:
        return math.inf
    epsilons, profile = _profile(noise_multiplier, sampling_probability, count, delta)
    return smallest_cover(delta, epsilons, profile)


def smallest_cover(
    delta: float, epsilons: NDArray[np.float64], profile: NDArray[np.float64]
) -> float:
    """Return the smallest mu so that the pair (mu, delta) lies above a profile between its points.

    Parameters
    ----------
    delta : float
        The pair's own delta.
    epsilons, profile : ndarray of float64, shape (n,)
        Points of an upper bound on a privacy profile, which is convex in exp(epsilon).

    Returns
    -------
    float
        Rounded up; infinite where no mu below 1e6 will do.
    """
    valid = 1e-6
    while not _covers(valid, delta, epsilons, profile):
        valid *= 2.0
        if valid > 1e6:
            return math.inf
    invalid = valid / 2.0
    while valid - invalid > _MU_PRECISION * valid:
        middle = 0.5 * (valid + invalid)
        if _covers(middle, delta, epsilons, profile):
            valid = middle
        else:
            invalid = middle
    return valid * (1.0 + _MU_PRECISION)


def calibrated_noise(mu: float, delta: float, sampling_probability: float, count: int) -> float:
    """Return the noise multiplier at which the pair (mu, delta) covers the steps.

    Parameters
    ----------
    mu, delta : float
        The pair that may be spent.
    sampling_probability : float
    count : int
        Number of steps.

    Returns
    -------
    float
        At most a relative 1e-4 above the smallest one.

    Raises
    ------
    ValueError
        If that needs noise of more than 2**20 times what one row adds.
    """
    mu = check_real("mu", mu, low=0, low_open=True)

    def excess(multiplier: float) -> float:
        # Infinite where no mu will do; a large number serves the search as well.
        return math.log(min(covering_mu(multiplier, sampling_probability, count, delta), 1e9) / mu)

    upper = sampling_probability * math.sqrt(count) / mu + 0.5
    while upper <= _LARGEST_MULTIPLIER and excess(upper) > 0.0:
        upper *= 1.5
    if upper > _LARGEST_MULTIPLIER:
        raise ValueError(
            f"mu is {mu:.3g} for {count} steps at sampling probability "
            f"{sampling_probability:.3g}, which needs noise of more than "
            f"{_LARGEST_MULTIPLIER:g} times what one row adds. Ask for a larger epsilon or "
            "delta, or for fewer epochs."
        )
    lower = upper / 1.5
    while excess(lower) <= 0.0:
        upper, lower = lower, lower / 1.5
    return _smallest(excess, lower, upper)


def _smallest(excess: Callable[[float], float], lower: float, upper: float) -> float:
    """Return a point of no excess between the two, next to where excess ends."""
    from scipy.optimize import brentq

    root = brentq(
        lambda logarithm: excess(math.exp(logarithm)),
        math.log(lower),
        math.log(upper),
        xtol=0.25 * _NOISE_PRECISION,
    )
    point = math.exp(root)
    while excess(point) > 0.0:
        point *= 1.0 + 0.25 * _NOISE_PRECISION
    return min(point, upper)


def _check(noise_multiplier: float, sampling_probability: float, count: int, delta: float) -> None:
    check_real("noise_multiplier", noise_multiplier, low=0, low_open=True)
    check_real("sampling_probability", sampling_probability, low=0, high=1, low_open=True)
    check_int("count", count, low=1, high=MOST_STEPS)
    check_real(
        "The pair's own delta",
        delta,
        low=SMALLEST_OWN_DELTA,
        high=1,
        high_open=True,
        mend="Ask for a larger delta.",
    )


def _profile(
    noise_multiplier: float, sampling_probability: float, count: int, delta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points (epsilon, delta) of an upper bound on the profile, from 0 to below ``delta``.

    The bound is the profile of a discrete pair of distributions, hence convex in exp(epsilon).
    """
    import numpy as np
    from dp_accounting.pld import privacy_loss_distribution

    # By the central limit theorem for sampled Gaussians (Dong, Roth and Su 2019, section 5).
    spread = sampling_probability * math.sqrt(count * math.expm1(min(noise_multiplier**-2, 100.0)))
    # Where a single step already loses much, losses reach far and a coarser grid serves.
    grid = _GRID * min(max(spread, _GRID), max(1.0, 0.1 * noise_multiplier**-2))
    grid = min(grid, _GRID_OF_A_STEP * max(spread, _GRID) / math.sqrt(count))
    composed: Any = privacy_loss_distribution.from_gaussian_mechanism(
        noise_multiplier,
        sampling_prob=sampling_probability,
        value_discretization_interval=grid,
        use_connect_dots=True,
    ).self_compose(count)
    # A quarter, so that what is left of the profile there is below delta with its slack.
    last = float(composed.get_epsilon_for_delta(0.25 * delta))
    if not math.isfinite(last):
        return np.array([0.0]), np.array([math.inf])
    epsilons = np.linspace(0.0, max(last, grid), _INTERVALS + 1)
    profile = np.asarray(composed.get_delta_for_epsilon(epsilons), dtype=np.float64)
    return epsilons, profile + (_SLACK + _SLACK_OF_A_STEP * count)


def _covers(
    mu: float, delta: float, epsilons: NDArray[np.float64], profile: NDArray[np.float64]
) -> bool:
    """Return whether the pair's profile lies above the given one everywhere.

    Both are convex in u = exp(epsilon). So between two points the given one is below its chord,
    the pair's is above its tangent in the middle, and two lines compare at their ends.
    """
    import numpy as np
    from scipy.special import log_ndtr, ndtr

    if not np.isfinite(profile).all():
        return False
    middles = 0.5 * (epsilons[:-1] + epsilons[1:])
    ratios = middles / mu
    # The tangent's slope in u is minus this; both are scaled by exp(-middle) to stay in range.
    log_slopes = log_ndtr(-ratios - 0.5 * mu)
    heights = ndtr(0.5 * mu - ratios) - np.exp(middles + log_slopes)
    falls = np.exp(middles + log_slopes)
    at_left = heights - falls * np.expm1(epsilons[:-1] - middles)
    at_right = heights - falls * np.expm1(epsilons[1:] - middles)
    needed = (profile - delta) / (1.0 - delta)
    return bool((at_left >= needed[:-1]).all() and (at_right >= needed[1:]).all())
