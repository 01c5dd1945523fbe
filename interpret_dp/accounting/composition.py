"""One request's events reduced to a (mu, delta) pair, and the composition of such pairs.

A pair (mu, delta) stands for "a mu-GDP mechanism, or with probability delta everything": a
mechanism is charged as the pair if its privacy profile lies, in both directions, below
delta + (1 - delta) delta_G(epsilon; mu) for every epsilon >= 0. The ledger filters pairs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_real
from interpret_dp.accounting.events import (
    SMALLEST_MU,
    check_event_json,
    covering_mu,
    event_to_json,
    smallest_cover,
)
from interpret_dp.accounting.gaussian import delta_of_mu, epsilon_of_mu, mu_of_range
from interpret_dp.accounting.lattice import reciprocal_up, sqrt_up

if TYPE_CHECKING:
    import numpy as np
    from dp_accounting import dp_event
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# The best of a random number of runs: what publishing it costs, as Gaussian differential privacy.
#
# Each run is mu-GDP; their number is drawn from a truncated negative binomial distribution, and the
# best run alone is published. The privacy profile is computed for the worst order of outcomes that
# a mu-GDP run can have, and covered by that of one Gaussian release. Never sees data.
#
# No request plans this event any more; new ones are refused. This module composes those that old
# ledgers and guarantees hold. Their proof is docs/proofs/private_selection.md in commit 258b9ec.

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

    def rank_density(self, worse: Floats) -> Floats:
        """Return f'(1 - u), the density of the best of the runs at the rank u; 0 is the top.

        f is the probability generating function of the number of runs. Defined for all u >= 0.
        """
        mixed = self.stopping + (1.0 - self.stopping) * worse
        density: Floats = self._scale * mixed ** -(self.shape + 1.0)
        return density

    def slope(self, worse: Floats) -> Floats:
        """Return minus the logarithmic derivative of :meth:`rank_density`."""
        rest = 1.0 - self.stopping
        slope: Floats = (self.shape + 1.0) * rest / (self.stopping + rest * worse)
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


def selection_profile(mu: float, repetitions: Repetitions, epsilons: Floats) -> Floats:
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


def _rounding_up(z: Floats, above: Floats | None, repetitions: Repetitions) -> Floats:
    """Return by how much the counted density may exceed its interpolation between grid points."""
    rows = 1.0 + abs(z) * _relative_slope(z, repetitions)
    error = _WITHIN_CELL * _STEP**2 / 8.0 * rows
    if above is None:
        return error
    columns = abs(above) * _relative_slope(above, repetitions)
    return error[:, None] + _WITHIN_CELL * _WORST_STEP**2 / 8.0 * columns


def _rounding_down(z: Floats, above: Floats, repetitions: Repetitions) -> Floats:
    """Return by how much the neighbour's density may fall below its interpolation."""
    rows, columns = _relative_slope(z, repetitions), _relative_slope(above, repetitions)
    error = (abs(z) + rows) ** 2 + rows**2 + abs(z) * rows
    spread = 2.0 * columns**2 + abs(above) * columns
    return _WITHIN_CELL / 8.0 * (_STEP**2 * error[:, None] + _WORST_STEP**2 * spread)


def _relative_slope(z: Floats, repetitions: Repetitions) -> Floats:
    """Return a bound on how fast the rank's density falls along one quantile, relative to it."""
    import numpy as np
    from scipy.special import ndtr

    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    slope: Floats = repetitions.slope(ndtr(z)) * density
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


def reduce_event(event: Mapping[str, Any] | dp_event.DpEvent) -> GdpPair:
    """Return the pair that a request is charged: exact sums, rounded up.

    Parameters
    ----------
    event : JSON document or dp_accounting.dp_event.DpEvent
        The event tree of one request. A JSON document is read without importing dp_accounting.

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
    document = event if isinstance(event, Mapping) else event_to_json(event)
    check_event_json(document)
    return compose_repeated(_leaves(document["event"], 1))


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
        case "private_selection":
            law = Repetitions(float(node["shape"]), float(node["stopping"]))
            run = reciprocal_up(float(node["noise_multiplier"]))
            yield GdpPair(selection_mu(run, law)), count
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
