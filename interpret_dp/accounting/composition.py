"""One request's events reduced to a (mu, delta) pair, and the composition of such pairs.

A pair (mu, delta) stands for "a mu-GDP mechanism, or with probability delta everything": a
mechanism is charged as the pair if its privacy profile lies, in both directions, below
delta + (1 - delta) delta_G(epsilon; mu) for every epsilon >= 0. The ledger filters pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from interpret_dp._validate import check_real
from interpret_dp.accounting.events import (
    SMALLEST_MU,
    check_event_json,
    covering_mu,
)
from interpret_dp.accounting.gaussian import epsilon_of_mu, mu_of_range
from interpret_dp.accounting.lattice import reciprocal_up, sqrt_up

SELECTIONS_SHARE = 0.1
"""Part of delta that fits use, and budgets keep, for selections of undeclared levels and labels."""


@dataclass(frozen=True)
class GdpPair:
    """A mu-GDP mechanism that leaks all with probability delta.

    Attributes
    ----------
    mu : float
        Gaussian differential privacy, between 0 and 1e100.
    delta : float
        At least 0 and at most 1; 0 for purely Gaussian requests, 1 where nothing is promised.

    Examples
    --------
    >>> GdpPair(0.5)  # as good as telling N(0, 1) from N(0.5, 1)
    GdpPair(mu=0.5, delta=0.0)
    """

    mu: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Check both figures."""
        object.__setattr__(self, "mu", check_real("mu", self.mu, low=0, high=1 / SMALLEST_MU))
        object.__setattr__(self, "delta", check_real("delta", self.delta, low=0, high=1))

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon that the pair means at this delta; infinite if delta is too small."""
        left = gaussian_part(delta, self.delta)
        return epsilon_of_mu(self.mu, left) if left > 0 else math.inf


def gaussian_part(delta: float, delta_x: float) -> float:
    """Return the largest d with delta_x + (1 - delta_x) d <= delta, rounded down.

    It is what a pair's own delta leaves of a total delta for its Gaussian part; 0 or less if
    nothing is left.

    Parameters
    ----------
    delta : float
        The total, above 0 and below 1.
    delta_x : float
        The pair's own delta, between 0 and 1.

    Examples
    --------
    >>> from interpret_dp.accounting import gaussian_part
    >>> round(gaussian_part(1e-6, 1e-7), 12)
    9e-07
    """
    delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    if delta_x == 0.0:
        return delta
    if delta_x >= delta:
        return 0.0
    exact = (Fraction(delta) - Fraction(delta_x)) / (1 - Fraction(delta_x))
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def mu_of_group(mu: float, n_units: int) -> float:
    """Return the mu that protects a group of ``n_units`` units, each of them by mu; rounded up.

    Parameters
    ----------
    mu : float
    n_units : int
        At least 1.

    Notes
    -----
    Dong, Roth and Su (2019), Theorem 2.14. Mechanisms with a delta of their own have no such rule.
    """
    return mu if n_units == 1 else math.nextafter(n_units * mu, math.inf)


def compose(pairs: Iterable[GdpPair]) -> GdpPair:
    """Return the pair of a composition: mu^2 = sum mu_i^2 and delta = sum delta_i, rounded up.

    Holds for requests whose pairs are fixed in advance; across requests that are chosen after
    seeing outputs, the ledger's filter is what holds (``docs/proofs/ledger-filter.md``).

    Parameters
    ----------
    pairs : iterable of GdpPair
        May be empty, which is the pair (0, 0).

    Returns
    -------
    GdpPair
        Its delta is at most 1: what adds up to more promises nothing either.

    Notes
    -----
    Dong, Roth and Su (2019), Corollary 3.3, for mu; a union bound for delta.

    Examples
    --------
    >>> pair = compose([GdpPair(0.3), GdpPair(0.4)])
    >>> round(pair.mu, 12)  # the squares add up
    0.5
    """
    return compose_repeated((pair, 1) for pair in pairs)


def compose_repeated(pairs: Iterable[tuple[GdpPair, int]]) -> GdpPair:
    """Return :func:`compose` of pairs that are each repeated so many times."""
    square, delta = Fraction(0), Fraction(0)
    for pair, count in pairs:
        square += Fraction(pair.mu) ** 2 * count
        delta += Fraction(pair.delta) * count
    return _rounded_up(square, delta)


def compose_each(pairs: Iterable[GdpPair]) -> Iterator[GdpPair]:
    """Yield :func:`compose` of the first pair, of the first two, and so on, from running sums."""
    square, delta = Fraction(0), Fraction(0)
    for pair in pairs:
        square += Fraction(pair.mu) ** 2
        delta += Fraction(pair.delta)
        yield _rounded_up(square, delta)


def _rounded_up(square: Fraction, delta: Fraction) -> GdpPair:
    nearest = float(delta)
    rounded = nearest if Fraction(nearest) >= delta else math.nextafter(nearest, math.inf)
    return GdpPair(sqrt_up(square), min(1.0, rounded))


def reduce_event(event: Mapping[str, Any]) -> GdpPair:
    """Return the pair that a request is charged: exact sums, rounded up.

    Parameters
    ----------
    event : JSON document
        The event tree of one request, such as :func:`gaussian_events_json` returns it.

    Raises
    ------
    TypeError, ValueError
        If the event is malformed, or holds a kind whose reduction to a pair is not known.

    Examples
    --------
    >>> from interpret_dp.accounting import gaussian_events_json
    >>> round(reduce_event(gaussian_events_json([(0.1, 25)])).mu, 6)  # 25 releases of mu 0.1
    0.5
    """
    check_event_json(event)
    return compose_repeated(_leaves(event["event"], 1))


def _leaves(node: Mapping[str, Any], count: int) -> Iterator[tuple[GdpPair, int]]:
    """Yield the pair and the number of repetitions of every release below ``node``."""
    match node["kind"]:
        case "no_op":
            return
        case "gaussian":
            yield GdpPair(reciprocal_up(float(node["noise_multiplier"]))), count
        case "gaussian_thresholding" | "dominated":
            mu = reciprocal_up(float(node["noise_multiplier"]))
            yield GdpPair(mu, float(node["delta"])), count
        case "sampled_gaussian":
            delta = float(node["delta"])
            steps = int(node["count"])
            multiplier, rate = float(node["noise_multiplier"]), float(node["sampling_probability"])
            yield GdpPair(covering_mu(multiplier, rate, steps, delta), delta), count
        case "exponential_mechanism":
            yield GdpPair(mu_of_range(float(node["epsilon"]))), count
        case "self_composed":
            yield from _leaves(node["event"], count * node["count"])
        case "composed":
            for part in node["events"]:
                yield from _leaves(part, count)
        case kind:
            raise ValueError(
                f"An event of kind {kind!r} has no exact reduction to a (mu, delta) pair; those "
                "of docs/proofs have. Use a newer version of interpret_dp."
            )
