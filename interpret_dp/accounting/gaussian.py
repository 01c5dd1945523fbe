"""Gaussian differential privacy: mu to (epsilon, delta) and back, and noise on the lattice.

A mechanism is mu-GDP if telling two neighbouring tables apart from its output is at least as hard
as telling N(0, 1) from N(mu, 1) (Dong, Roth and Su 2019, Definition 2.6). Nothing here sees data.
Every function rounds so that the promise that follows is never stronger than the truth; the error
bound and its proof are in ``docs/proofs/gaussian-accounting.md``.

A mechanism is epsilon-bounded-range if its log-likelihood ratios for two neighbours differ by at
most epsilon among outcomes; the exponential mechanism is. Statement and proof:
``docs/proofs/exponential_mechanism.md``. Never sees data.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.lattice import sqrt_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MINIMUM_LATTICE_SIGMA = 2.0**10
"""Smallest noise scale, in lattice units, for which the lattice rule is stated."""

_SMOOTHING_VARIANCE = 9
"""The square of s = 3: the part of the variance that hides the lattice."""

_CALIBRATION_SLACK = 1e-10
"""Distance below the limit at which a request is calibrated, for its rounding errors."""

_BISECTION_WIDTH = 2.0**-51
_PROVABLY_NEGLIGIBLE = 40.0
"""Q(40) < 1e-349: below every float."""

SMALLEST_RANGE, LARGEST_RANGE = 1e-100, 100.0
"""Bounds epsilon to where the functions below are accurate; beyond, a choice is no secret."""

_RANGE_ROUNDING = 1e-12

# Up to here the middle of the normal distribution is inverted, above it the tail.
_MIDDLE = 2.0


def noise_share(sigma: float, n_shares: int) -> float:
    """Return the scale of each of some independent shares of noise, whose sum has ``sigma``.

    Parameters
    ----------
    sigma : float
        In lattice units.
    n_shares : int

    Returns
    -------
    float
        Rounded up, and at least ``MINIMUM_LATTICE_SIGMA``.
    """
    share = sqrt_up(Fraction(sigma) ** 2 / check_int("n_shares", n_shares, low=1))
    return max(share, MINIMUM_LATTICE_SIGMA)


def log10_excess_of_sum(sigma: float, n_shares: int) -> float:
    """Return the logarithm, to base 10, of how far a sum of shares is from a discrete Gaussian.

    Parameters
    ----------
    sigma : float
        Scale of each share, at least 1.
    n_shares : int

    Returns
    -------
    float
        Rounded up. At every integer the probabilities of the sum and of the discrete Gaussian of
        the same variance differ by a factor of at most exp(10 to this power); -inf for one share.

    Notes
    -----
    Kairouz, Liu and Steinke (2021): the logarithm of the factor is at most
    10 (sum over k = 1 ... n - 1 of exp(-2 pi^2 sigma^2 k / (k + 1))), where k / (k + 1) is at least
    1 / 2 (docs/proofs/sites.md).
    """
    sigma = check_real("sigma", sigma, low=1)
    n_shares = check_int("n_shares", n_shares, low=1)
    if n_shares == 1:
        return -math.inf
    # Both constants are rounded down: pi squared, and the logarithm of e.
    exponent = 9.8696 * 0.434294 * sigma * sigma * (1.0 - 2.0**-40)
    return math.log10(10 * (n_shares - 1)) + 2.0**-40 - exponent


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Return the delta that a mu-GDP mechanism has at this epsilon, rounded up.

    Parameters
    ----------
    mu : float
        Gaussian differential privacy, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        delta = Phi(-epsilon / mu + mu / 2) - exp(epsilon) Phi(-epsilon / mu - mu / 2).

    Notes
    -----
    Dong, Roth and Su (2019), Corollary 2.13. With a = epsilon / mu - mu / 2 and the Mills ratio R,
    delta = phi(a) (R(a) - R(a + mu)), which neither overflows nor cancels.

    Examples
    --------
    >>> f"{delta_of_mu(0.5, epsilon=1.0):.4f}"
    '0.0068'
    """
    mu = check_real("mu", mu, low=0)
    epsilon = check_real("epsilon", epsilon, low=0)
    return _delta(mu, epsilon)


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon that a mu-GDP mechanism has at this delta, rounded up.

    Parameters
    ----------
    mu : float
        Gaussian differential privacy, at least 0.
    delta : float
        Above 0 and below 1 (a Gaussian release has no finite epsilon at delta 0).

    Returns
    -------
    float
        0.0 if ``delta_of_mu(mu, 0) <= delta``.

    Examples
    --------
    >>> f"{epsilon_of_mu(0.5, delta=1e-6):.3f}"
    '2.254'
    """
    return _epsilon(check_real("mu", mu, low=0), _check_delta(delta))


# An explanation asks for the same public figures several times over.
@functools.lru_cache(maxsize=1024)
def _epsilon(mu: float, delta: float) -> float:
    """Compute :func:`epsilon_of_mu` for checked arguments."""
    if _delta(mu, 0.0) <= delta:
        return 0.0
    valid = 1.0
    while _delta(mu, valid) > delta:
        valid *= 2.0
    return bisected(lambda epsilon: _delta(mu, epsilon) <= delta, valid=valid, invalid=0.0)


_LARGEST_EPSILON = 1e12


def largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose GDP implies (epsilon, delta)-DP, rounded down.

    This is the limit that a budget fixes. A request is calibrated with :func:`mu_of_budget`.

    Parameters
    ----------
    epsilon : float
        At least 0 and at most 1e12: the squares of mu must stay finite.
    delta : float
        Above 0 and below 1.

    Examples
    --------
    >>> f"{largest_mu(1.0, 1e-6):.4f}"
    '0.2367'
    """
    mend = "So large an epsilon promises nothing; 1 is a usual start."
    epsilon = check_real("epsilon", epsilon, low=0, high=_LARGEST_EPSILON, mend=mend)
    delta = _check_delta(delta)
    invalid = 1.0
    while _delta(invalid, epsilon) <= delta:
        invalid *= 2.0
    valid = invalid / 2.0
    while _delta(valid, epsilon) > delta:
        invalid, valid = valid, valid / 2.0
    return bisected(lambda mu: _delta(mu, epsilon) <= delta, valid=valid, invalid=invalid)


def mu_of_budget(epsilon: float, delta: float) -> float:
    """Return the mu to which a request for (epsilon, delta) is calibrated.

    It lies a relative 1e-10 below :func:`largest_mu`: a request splits its mu over many releases,
    and the rounding errors of that split must still fit under the limit of a budget that was
    fixed for the same epsilon and delta.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        Above 0 and below 1.

    Examples
    --------
    >>> f"{mu_of_budget(1.0, 1e-6):.4f}"
    '0.2367'
    """
    return largest_mu(epsilon, delta) * (1.0 - _CALIBRATION_SLACK)


def classic_mu(epsilon: float, delta: float) -> float:
    """Return the mu that the strong composition formula allows, never above the exact one.

    Adding noise of variance 8 k Delta^2 log(e + epsilon / delta) / epsilon^2 to each of k releases
    of sensitivity Delta is a mu of epsilon / sqrt(8 log(e + epsilon / delta)) over all of them.

    Parameters
    ----------
    epsilon : float
        Above 0. The formula is proved for epsilon up to 0.9; above that the exact limit of
        :func:`mu_of_budget` guards it.
    delta : float
        Above 0 and below 1.

    Notes
    -----
    Kairouz, Oh and Viswanath (2017), Theorem 4.3; Theorem 2 of Nori et al. (2021). Kept for
    comparison with older fits: it spends more noise than the promise needs.

    Examples
    --------
    >>> classic_mu(1.0, 1e-6) < mu_of_budget(1.0, 1e-6)  # more noise for the same promise
    True
    """
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True)
    delta = _check_delta(delta)
    formula = epsilon / math.sqrt(8.0 * math.log(math.e + epsilon / delta))
    return min(formula * (1.0 - _CALIBRATION_SLACK), mu_of_budget(epsilon, delta))


@functools.lru_cache(maxsize=64, typed=True)  # a training asks for one scale hundreds of times
def lattice_sigma(sensitivity: int, mu: float) -> float:
    """Return the noise scale of a discrete Gaussian, in lattice units, that is mu-GDP.

    Parameters
    ----------
    sensitivity : int
        L2 sensitivity of the integer vector in lattice units, at least 1.
    mu : float
        Gaussian differential privacy of the release, above 0.

    Returns
    -------
    float
        The smallest sigma with mu >= sensitivity / sqrt(sigma^2 - 9), rounded up, and at least
        2**10: for less noise the lattice rule is not stated, and more protects more.

    Notes
    -----
    "mu-GDP" holds up to 1e-60 in delta, in any dimension and adaptively: the release is a
    post-processing of continuous Gaussian noise of variance sigma^2 - 9 (Peikert 2010,
    Theorem 3.1, with s = 3; see ``docs/proofs/gaussian-accounting.md``).

    Examples
    --------
    >>> f"{lattice_sigma(1_000, 0.5):.4f}"
    '2000.0022'
    """
    sensitivity = check_int("sensitivity", sensitivity, low=1)
    mu = check_real("mu", mu, low=0, low_open=True)
    sigma = sqrt_up(Fraction(sensitivity) ** 2 / Fraction(mu) ** 2 + _SMOOTHING_VARIANCE)
    return max(sigma, MINIMUM_LATTICE_SIGMA)


def mu_of_lattice(sensitivity: int, sigma: float) -> float:
    """Return the mu of a discrete Gaussian release on the integer lattice, rounded up.

    Parameters
    ----------
    sensitivity : int
        L2 sensitivity of the integer vector in lattice units, at least 0.
    sigma : float
        Noise scale in lattice units, at least 2**10.

    Returns
    -------
    float
        sensitivity / sqrt(sigma^2 - 9); the reverse of :func:`lattice_sigma`.

    Examples
    --------
    >>> f"{mu_of_lattice(1_000, 2_000.0):.6f}"
    '0.500001'
    """
    sensitivity = check_int("sensitivity", sensitivity, low=0)
    sigma = check_real(
        "sigma", sigma, low=MINIMUM_LATTICE_SIGMA, mend="Choose a finer lattice for smaller noise."
    )
    return sqrt_up(Fraction(sensitivity) ** 2 / (Fraction(sigma) ** 2 - _SMOOTHING_VARIANCE))


def detection_power(mu: float, false_alarms: float = 0.05, delta: float = 0.0) -> float:
    """Return the largest probability of detecting a person's presence, rounded up.

    Parameters
    ----------
    mu : float
        Gaussian differential privacy, at least 0.
    false_alarms : float
        Share of absent persons whom the attacker is ready to accuse, between 0 and 1.
    delta : float
        Probability with which everything is revealed, at least 0; that of a (mu, delta) pair.

    Returns
    -------
    float
        Phi(mu + Phi^-1(false_alarms)), the power of the best test of that level. With a delta, the
        test always detects where everything is revealed, and spends its false alarms elsewhere.

    Notes
    -----
    Dong, Roth and Su (2019), section 2.2: the trade-off function of N(0, 1) against N(mu, 1).

    Examples
    --------
    >>> f"{detection_power(0.2368, false_alarms=0.05):.1%}"  # epsilon 1 at delta 1e-6
    '8.0%'
    """
    mu = check_real("mu", mu, low=0)
    false_alarms = check_real(
        "false_alarms", false_alarms, low=0, high=1, low_open=True, high_open=True
    )
    delta = check_real("delta", delta, low=0, high=1, high_open=True)
    if false_alarms >= 1.0 - delta:
        return 1.0
    shift = mu + NormalDist().inv_cdf(false_alarms / (1.0 - delta))
    power = 0.5 * math.erfc(-shift / math.sqrt(2.0)) * (1.0 + 1e-13 * (1.0 + shift * shift))
    return min(1.0, delta + (1.0 - delta) * power)


def _check_delta(delta: float) -> float:
    mend = "A Gaussian release needs a delta above 0; 1e-6 is common."
    return check_real("delta", delta, low=0, high=1, low_open=True, high_open=True, mend=mend)


def bisected(
    is_valid: Callable[[float], bool],
    *,
    valid: float,
    invalid: float,
    width: float = _BISECTION_WIDTH,
) -> float:
    """Return a point that is valid itself, next to the border between valid and invalid."""
    while abs(valid - invalid) > width * max(valid, invalid):
        middle = 0.5 * (valid + invalid)
        if middle in (valid, invalid):
            break
        if is_valid(middle):
            valid = middle
        else:
            invalid = middle
    return valid


def _delta(mu: float, epsilon: float) -> float:
    """Compute :func:`delta_of_mu` for checked arguments."""
    if mu == 0.0:
        return 0.0
    ratio = epsilon / mu
    a = ratio - 0.5 * mu
    if a > _PROVABLY_NEGLIGIBLE:
        return _SUBNORMAL_MARGIN
    b = ratio + 0.5 * mu
    # First-order bound on all rounding errors: those of a and b (relative 2^-52) are amplified by
    # the slope of log phi(a), at most 1 + |a|, and 1 - x R(x) loses a factor of about 1 + x^2.
    margin = 2.0**-52 * (64.0 + 16.0 * (1.0 + max(a, 0.0)) * (1.0 + b))
    value = _short_interval(a, mu) if mu <= 1.0 else _long_interval(a, b)
    return min(1.0, value * (1.0 + margin) + _SUBNORMAL_MARGIN)


_SUBNORMAL_MARGIN = 2.0**-1070
"""Sixteen of the smallest floats: covers what underflows."""


def _short_interval(a: float, mu: float) -> float:
    """Return phi(a) times the integral of -R' over [a, a + mu], for mu <= 1."""
    nodes, weights = _quadrature()
    x = a + mu * nodes
    slopes = 1.0 - x * _mills_ratio(x)
    return _density(a) * mu * float(weights @ slopes)


def _long_interval(a: float, b: float) -> float:
    """Return phi(a) (R(a) - R(b)) for b - a > 1; Q(a) replaces phi(a) R(a) where R is large."""
    from scipy.special import ndtr

    if a > 0.0:
        return _density(a) * (float(_mills_ratio(a)) - float(_mills_ratio(b)))
    return float(ndtr(-a)) - _density(a) * float(_mills_ratio(b))


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _mills_ratio(x: float | Floats) -> Floats:
    """Return R(x) = Q(x) / phi(x), which obeys R' = x R - 1."""
    from scipy.special import erfcx

    ratio: Floats = math.sqrt(math.pi / 2.0) * erfcx(x / math.sqrt(2.0))
    return ratio


@functools.cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on [0, 1]; exact to 1e-17 for R' over length 1."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(16)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def mu_of_range(epsilon: float) -> float:
    """Return the mu of an epsilon-bounded-range mechanism, rounded up.

    Parameters
    ----------
    epsilon : float
        Between 1e-100 and 100: the exponential mechanism chooses outcome i with probability
        proportional to ``exp(-epsilon * score_i / (2 * sensitivity))``.

    Returns
    -------
    float
        2 Phi^-1(e^(epsilon / 2) / (1 + e^(epsilon / 2))), too large by a relative 2e-12 at most.

    Notes
    -----
    Dong, Durfee and Rogers (2020) for bounded range; that the extreme pair of outcomes is the
    symmetric one is proved on the page.
    """
    epsilon = check_real("epsilon", epsilon, low=SMALLEST_RANGE, high=LARGEST_RANGE)
    upwards = 1.0 + _RANGE_ROUNDING
    if epsilon < _MIDDLE:
        from scipy.special import erfinv

        return 2.0 * math.sqrt(2.0) * float(erfinv(math.tanh(epsilon / 4.0))) * upwards
    # Q(mu / 2) = 1 / (1 + e^(epsilon / 2)).
    return -2.0 * NormalDist().inv_cdf(1.0 / (1.0 + math.exp(epsilon / 2.0))) * upwards


def range_of_mu(mu: float) -> float:
    """Return an epsilon, rounded down, that is mu-GDP: the reverse of :func:`mu_of_range`.

    Parameters
    ----------
    mu : float
        Above 0. What more than epsilon 100 would take is not used.
    """
    mu = check_real("mu", mu, low=0, low_open=True)
    half = mu / (2.0 * math.sqrt(2.0))
    if half < 1.0:
        epsilon = 4.0 * math.atanh(math.erf(half))
    else:
        # log of Phi / Q; erfc underflows beyond 26, where epsilon is far above its bound.
        tail = 0.5 * math.erfc(min(half, 25.0))
        epsilon = 2.0 * (math.log1p(-tail) - math.log(tail))
    epsilon = min(epsilon * (1.0 - 8.0 * _RANGE_ROUNDING), LARGEST_RANGE)
    return check_real("epsilon of a choice", epsilon, low=SMALLEST_RANGE, mend="Ask for more mu.")
