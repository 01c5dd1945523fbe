"""The exponential mechanism in Gaussian differential privacy: epsilon to mu and back.

A mechanism is epsilon-bounded-range if its log-likelihood ratios for two neighbours differ by at
most epsilon among outcomes; the exponential mechanism is. Statement and proof:
``docs/proofs/exponential_mechanism.md``. Never sees data.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from interpret_dp._validate import check_real

__all__ = ["LARGEST_RANGE", "SMALLEST_RANGE", "mu_of_range", "range_of_mu"]

SMALLEST_RANGE, LARGEST_RANGE = 1e-100, 100.0
"""Bounds epsilon to where the functions below are accurate; beyond, a choice is no secret."""

_ROUNDING = 1e-12

# Up to here the middle of the normal distribution is inverted, above it the tail.
_MIDDLE = 2.0


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
    if epsilon < _MIDDLE:
        return 2.0 * math.sqrt(2.0) * _inverse_erf(math.tanh(epsilon / 4.0)) * (1.0 + _ROUNDING)
    # Q(mu / 2) = 1 / (1 + e^(epsilon / 2)).
    return -2.0 * NormalDist().inv_cdf(1.0 / (1.0 + math.exp(epsilon / 2.0))) * (1.0 + _ROUNDING)


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
    return check_real(
        "epsilon of a choice",
        min(epsilon * (1.0 - 8.0 * _ROUNDING), LARGEST_RANGE),
        low=SMALLEST_RANGE,
        mend="Ask for a larger mu.",
    )


def _inverse_erf(value: float) -> float:
    """Return y with erf(y) = value, for values below one half: Newton's method from below."""
    slope = 2.0 / math.sqrt(math.pi)
    y = value / slope
    for _ in range(8):
        y += (value - math.erf(y)) / (slope * math.exp(-y * y))
    return y
