"""Events of a request as trees in JSON, as the ledger stores them, and the loss of Poisson samples.

Rules of evolution: the meaning of a kind never changes, a new kind gets a new name, and a reader
refuses what it does not know. The kinds are named as dp_accounting's events are. Nothing here sees
data; an event holds noise scales and counts of releases only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import check_keys, open_document
from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import LARGEST_RANGE, SMALLEST_RANGE, bisected
from interpret_dp.accounting.lattice import reciprocal_down, reciprocal_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# Gaussian releases of Poisson samples: their privacy loss distribution, as a (mu, delta) pair.
#
# This is the accounting of DP-SGD. Composition inside the request is by dp_accounting's privacy
# loss distributions; across requests only a pair composes (``docs/proofs/ledger-filter.md``), so
# the whole privacy profile is covered by that of a pair. Statement and proof:
# ``docs/proofs/sampled_gaussian.md``.

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
    valid = 1e-6
    while not _covers(valid, delta, epsilons, profile):
        valid *= 2.0
        if valid > 1e6:
            return math.inf
    valid = bisected(
        lambda mu: _covers(mu, delta, epsilons, profile),
        valid=valid,
        invalid=valid / 2.0,
        width=_MU_PRECISION,
    )
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
            f"mu is {mu:.3g} for {count} steps at sampling probability {sampling_probability:.3g}, "
            f"which needs noise of more than {_LARGEST_MULTIPLIER:g} times what one row adds. Ask "
            "for a larger epsilon or delta, or for fewer epochs."
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
    check_own_delta("The pair's own delta", delta)


def check_own_delta(name: str, delta: float) -> None:
    """Raise unless the steps of a sampling may have this delta of their own."""
    mend = "Ask for a larger delta."
    check_real(name, delta, low=SMALLEST_OWN_DELTA, high=1, high_open=True, mend=mend)


def _profile(
    noise_multiplier: float, sampling_probability: float, count: int, delta: float
) -> tuple[Floats, Floats]:
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


def _covers(mu: float, delta: float, epsilons: Floats, profile: Floats) -> bool:
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


EVENT_FORMAT = "interpret_dp.event"
EVENT_VERSION = 1
SMALLEST_MU = 1e-100
"""Bounds mu and the noise multiplier to a range in which squares neither over- nor underflow."""

_MAXIMUM_DEPTH = 32

Node = dict[str, Any]


def check_event_json(document: Mapping[str, Any]) -> None:
    """Raise unless ``document`` is an event document that this version understands.

    Raises
    ------
    TypeError, ValueError
        If the document is of another format or version, names an unknown kind, or holds a number
        that is out of range.
    """
    writer = "gaussian_events_json(parts)"
    content = open_document(
        "event", document, EVENT_FORMAT, (EVENT_VERSION,), ("event",), writer=writer
    )
    _check_node("event", content["event"], 0)


def gaussian_events_json(parts: Sequence[tuple[float, int]]) -> Node:
    """Return the JSON document of a composition of Gaussian releases.

    Does not import dp_accounting, so that a fit does not pay for that import.

    Parameters
    ----------
    parts : sequence of (mu, count)
        ``count`` releases that are mu-GDP each. mu is between 1e-100 and 1e100; the stored
        noise multiplier is 1 / mu, rounded down.

    Raises
    ------
    TypeError, ValueError
        If a mu or a count is out of range, or ``parts`` is empty.

    Examples
    --------
    >>> from interpret_dp.accounting import gaussian_events_json
    >>> sorted(gaussian_events_json([(0.5, 3)]))  # three releases of mu 0.5 each
    ['event', 'format', 'version']
    """
    if not parts:
        raise ValueError("parts is empty; give at least one (mu, count) pair.")
    return composed_json([(gaussian_node(mu), count) for mu, count in parts])


def composed_json(parts: Sequence[tuple[Node, int]]) -> Node:
    """Return the JSON document of a composition of repeated events.

    Parameters
    ----------
    parts : sequence of (node, count)
        At least one event, as :func:`gaussian_node` or :func:`thresholding_node` returns it, and
        how often it is repeated.

    Raises
    ------
    TypeError, ValueError
        If a count or a figure is out of range.
    """
    events = []
    for node, count in parts:
        count = check_int("count", count, low=1)
        events.append(
            {"kind": "self_composed", "event": node, "count": count} if count > 1 else node
        )
    document = _document(events[0] if len(events) == 1 else {"kind": "composed", "events": events})
    check_event_json(document)
    return document


def gaussian_node(mu: float) -> Node:
    """Return the event of one mu-GDP Gaussian release; the multiplier 1 / mu is rounded down."""
    mu = check_real("mu", mu, low=SMALLEST_MU, high=1 / SMALLEST_MU)
    return {"kind": "gaussian", "noise_multiplier": reciprocal_down(mu)}


def thresholding_node(mu: float, delta: float) -> Node:
    """Return the event of one partition selection with the pair (mu, delta)."""
    return gaussian_node(mu) | {"kind": "gaussian_thresholding", "delta": float(delta)}


def sampled_gaussian_node(
    noise_multiplier: float, sampling_probability: float, count: int, delta: float
) -> Node:
    """Return the event of so many noisy sums over Poisson samples, and their pair's own delta."""
    return {
        "kind": "sampled_gaussian",
        "noise_multiplier": float(noise_multiplier),
        "sampling_probability": float(sampling_probability),
        "count": int(count),
        "delta": float(delta),
    }


def dominated_node(mu: float, delta: float) -> Node:
    """Return the event of releases that stay below the pair (mu, delta), whatever they are."""
    return gaussian_node(mu) | {"kind": "dominated", "delta": float(delta)}


def exponential_node(epsilon: float) -> Node:
    """Return the event of one choice by the exponential mechanism, of this bounded range."""
    return {"kind": "exponential_mechanism", "epsilon": float(epsilon)}


def _document(node: Node) -> Node:
    return {"format": EVENT_FORMAT, "version": EVENT_VERSION, "event": node}


def _check_node(name: str, node: Any, depth: int) -> None:
    if depth > _MAXIMUM_DEPTH:
        raise ValueError(f"The event is nested more than {_MAXIMUM_DEPTH} levels deep.")
    if not isinstance(node, Mapping):
        raise TypeError(f"{name} must be a JSON object; a {type(node).__name__} was given.")
    kind = node.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(
            f"The event's kind is {kind!r}; known kinds are {', '.join(_KINDS)}. A file of a newer "
            "version needs a newer interpret_dp."
        )
    fields = _KINDS[kind]
    check_keys(f"An event of kind {kind!r}", node, ("kind", *fields))
    for key, check in fields.items():
        value = node[key]
        if check is not None:
            check(key, value)
        elif key == "events" and not isinstance(value, list | tuple):
            raise TypeError(f"{key} must be a list of events; a {type(value).__name__} was given.")
        else:
            for part in value if key == "events" else [value]:
                _check_node(key, part, depth + 1)


_NOISE_MULTIPLIER = functools.partial(check_real, low=SMALLEST_MU, high=1 / SMALLEST_MU)
_DELTA = functools.partial(check_real, low=0, high=1, low_open=True, high_open=True)
_RANGE = functools.partial(check_real, low=SMALLEST_RANGE, high=LARGEST_RANGE)
_PROBABILITY = functools.partial(check_real, low=0, high=1, low_open=True)
_COUNT = functools.partial(check_int, low=1, high=10**12)
_PAIR = {"noise_multiplier": _NOISE_MULTIPLIER, "delta": _DELTA}

# The attributes of each kind: with the check of a number, or None of an event or a list of them.
_KINDS: Mapping[str, Mapping[str, Callable[[str, Any], float] | None]] = {
    "no_op": {},
    "gaussian": {"noise_multiplier": _NOISE_MULTIPLIER},
    "self_composed": {"event": None, "count": _COUNT},
    "composed": {"events": None},
    "gaussian_thresholding": _PAIR,
    "sampled_gaussian": _PAIR | {"sampling_probability": _PROBABILITY, "count": _COUNT},
    "dominated": _PAIR,
    "exponential_mechanism": {"epsilon": _RANGE},
}
