"""The Gaussian mechanism on an integer lattice, and private selection."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import (
    LARGEST_RANGE,
    SMALLEST_RANGE,
    lattice_sigma,
    noise_share,
)
from interpret_dp.accounting.lattice import LATTICE, reciprocal_down
from interpret_dp.mechanisms.entropy import Randomness
from interpret_dp.mechanisms.vectorised import LARGEST_SIGMA, Integers


def gaussian_mechanism(
    name: str,
    exact: Integers,
    *,
    sensitivity: int,
    mu: float,
    randomness: Randomness,
) -> tuple[Integers, float]:
    """Release integer sums with discrete Gaussian noise; each release is mu-GDP.

    Parameters
    ----------
    name : str
        Name of the release, for audits.
    exact : ndarray of int64, shape (n_releases, ...)
        Private sums on the lattice; the first axis stacks releases.
    sensitivity : int
        Bound on the L2 norm of the change of one release between neighbouring tables, in lattice
        units. It must hold for the integers themselves.
    mu : float
        Gaussian-DP parameter of each release.
    randomness : Randomness
        Source of the noise.

    Returns
    -------
    noisy : ndarray of int64, same shape
        Released.
    sigma : float
        Scale of the noise in lattice units; public.

    Raises
    ------
    TypeError
        If ``exact`` holds anything but 64-bit integers, for which nothing is proved.
    ValueError
        If sigma would be above 2**56.

    Notes
    -----
    sigma = sqrt((sensitivity / mu)**2 + 9), and at least 2**10: the discrete Gaussian of scale
    sigma is a post-processing of a continuous Gaussian of variance sigma**2 - 9, up to 1e-60 in
    delta (docs/proofs/lattice_gaussian.md).
    """
    _refuse_other_types(name, exact)
    sigma = noise_scale(name, sensitivity, mu)
    return randomness.perturb(name, exact, sensitivity, sigma), sigma


def shared_gaussian_mechanism(
    name: str,
    exact: Sequence[Integers],
    *,
    sensitivities: Sequence[int],
    mu: float,
    n_shares: int,
    total: Callable[[Integers, Mapping[str, Any]], Integers],
    randomness: Randomness,
) -> tuple[list[Integers], list[float]]:
    """Release sums of all sites' integer sums, to each of which the site adds noise itself.

    Parameters
    ----------
    name : str
        Name of the releases, for audits.
    exact : sequence of ndarray of int64, shape (n_releases, ...) each
        Private sums of this site.
    sensitivities : sequence of int
        Of each, as for :func:`gaussian_mechanism`, of the sum of all sites.
    mu : float
        Of each release, for whoever knows the noise of all but ``n_shares`` sites.
    n_shares : int
        Shares of noise that suffice.
    total : callable
        Given this site's noisy sums, ndarray of int64, shape (n,), and public facts about them,
        returns the sum of all sites.
    randomness : Randomness

    Returns
    -------
    noisy : list of ndarray of int64, same shapes
        Released: the sums over all sites.
    shares : list of float
        Scale of the noise of one site, in lattice units; public.

    Notes
    -----
    Statement and proof: ``docs/proofs/sites.md``.
    """
    own, shares = [], []
    for sums, sensitivity in zip(exact, sensitivities, strict=True):
        _refuse_other_types(name, sums)
        shares.append(noise_share(noise_scale(name, sensitivity, mu), n_shares))
        # Noise comes first: what goes to the others, masked or not, holds it.
        own.append(randomness.perturb(name, sums, sensitivity, shares[-1]))
    shapes = [list(sums.shape) for sums in exact]
    facts = {"release": name, "sensitivity": list(sensitivities), "noise": shares, "sums": shapes}
    whole = total(np.concatenate([noisy.ravel() for noisy in own]), facts)
    ends = np.cumsum([noisy.size for noisy in own])[:-1]
    parts = np.split(whole, ends)
    return [part.reshape(sums.shape) for part, sums in zip(parts, exact, strict=True)], shares


def sampled_gaussian_mechanism(
    name: str,
    n_rows: int,
    sums: Callable[[Integers], Integers],
    *,
    sensitivity: int,
    noise_multiplier: float,
    probability: float,
    randomness: Randomness,
) -> tuple[Integers, float]:
    """Release integer sums over a fresh Poisson sample of the rows, with Gaussian noise.

    Parameters
    ----------
    name : str
        Name of the release, for audits.
    n_rows : int
        Private number of rows.
    sums : callable
        Gives the sums, ndarray of int64, of the rows at the positions that it is handed (ndarray
        of int64, increasing). Whatever it does with them must not depend on other rows.
    sensitivity : int
        Bound on the L2 norm of what one row adds, in lattice units. It must hold for the integers.
    noise_multiplier : float
        Noise scale over the sensitivity.
    probability : float
        With which each row is in the sample.
    randomness : Randomness

    Returns
    -------
    noisy : ndarray of int64
        Released.
    sigma : float
        Scale of the noise in lattice units; public.

    Raises
    ------
    TypeError
        If the sums are not of 64-bit integers.
    ValueError
        If sigma would be above 2**56.

    Notes
    -----
    Statement and proof: ``docs/proofs/sampled_gaussian.md``.
    """
    sigma = noise_scale(name, sensitivity, reciprocal_down(noise_multiplier))
    exact = sums(randomness.sample(n_rows, probability))
    _refuse_other_types(name, exact)
    return randomness.perturb_sampled(name, exact, sensitivity, sigma), sigma


def _refuse_other_types(name: str, exact: NDArray[Any]) -> None:
    if exact.dtype != np.int64:
        raise TypeError(
            f"The sums {name!r} are of type {exact.dtype}; they must be int64. Round them towards "
            "zero on the lattice first."
        )


def noise_scale(name: str, sensitivity: int, mu: float) -> float:
    """Return the scale of the noise of one release, in lattice units.

    Parameters
    ----------
    name : str
        Name of the release, for the message.
    sensitivity : int
        L2 sensitivity, in lattice units.
    mu : float
        Gaussian-DP parameter of the release.

    Raises
    ------
    ValueError
        If it would be above 2**56.
    """
    sigma = lattice_sigma(sensitivity, mu)
    if sigma > LARGEST_SIGMA:
        raise ValueError(
            f"Noise of {name!r} for sensitivity {sensitivity} at mu {mu:.6g} has sigma "
            f"{sigma:.6g} in lattice units; it must be at most {LARGEST_SIGMA:g} to fit into 64 "
            "bits. Ask for a larger epsilon or delta, or choose a coarser lattice."
        )
    return sigma


# Private selection: of a candidate, of values that occur often, and of an occupied range.
#
# The exponential mechanism chooses a candidate by its integer score. Gaussian thresholding
# (partition selection) names the values that occur often enough. Approximate bounds of a column
# follow from a released histogram over signed powers of two, by post-processing.

#: The key of an occurring value: a text, or a number.
Key = str | float

_ROUNDING = 1e-12
_FOUND_QUANTILE = 1.6449  # of the normal distribution, at 95 %


@dataclass(frozen=True)
class Selection:
    """Values that were released, sorted, with the noisy counts that decided it; public.

    Attributes
    ----------
    keys : tuple of str or float, shape (n_released,)
        Numbers before texts, each sorted by value.
    counts : ndarray of int64, shape (n_released,)
        Noisy counts in lattice units, each above ``threshold``.
    sigma : float
        Noise scale, in lattice units.
    threshold : int
        In lattice units.
    """

    keys: tuple[Key, ...]
    counts: Integers
    sigma: float
    threshold: int


def exponential_mechanism(
    name: str,
    scores: Sequence[int],
    *,
    sensitivity: int,
    epsilon: float,
    randomness: Randomness,
) -> int:
    """Release the index of a candidate, the likelier the lower its score.

    Parameters
    ----------
    name : str
        Name of the release, for audits.
    scores : sequence of int, shape (n_candidates,)
        Private; the number of candidates is public. Python's or 64-bit integers.
    sensitivity : int
        Bound on the change of any one score between neighbouring tables. It must hold for the
        integers themselves.
    epsilon : float
        Bounded range of the choice, 1e-100 to 100.
    randomness : Randomness
        Source of the draw.

    Returns
    -------
    int
        i with a probability proportional to ``exp(-epsilon * scores[i] / (2 * sensitivity))``,
        exactly; epsilon is the rational number that the float is.

    Raises
    ------
    TypeError
        If a score is anything but an integer, for which nothing is proved.
    ValueError
        If there is no candidate, or a figure is out of range.

    Notes
    -----
    McSherry and Talwar (2007). Epsilon-bounded-range, hence mu-GDP with the mu of
    :func:`~interpret_dp.accounting.gaussian.mu_of_range` (docs/proofs/exponential_mechanism.md).
    Mechanisms that are only epsilon-differentially private, such as permute-and-flip or noisy
    maxima with exponential noise, would cost up to twice as much.
    """
    sensitivity = check_int("sensitivity", sensitivity, low=1)
    epsilon = check_real("epsilon", epsilon, low=SMALLEST_RANGE, high=LARGEST_RANGE)
    if len(scores) == 0:
        raise ValueError(
            f"The choice {name!r} has no candidates; it must have at least one. Leave the choice "
            "out where there is nothing to choose from."
        )
    integers = [operator.index(score) for score in scores]
    return randomness.choose(name, integers, sensitivity, epsilon)


def gaussian_thresholding(
    name: str,
    counts: Mapping[Key, int],
    *,
    unit_rows: int,
    sensitivity: int,
    mu: float,
    delta: float,
    randomness: Randomness,
) -> Selection:
    """Release the values whose noisy count exceeds the threshold, with these noisy counts.

    Parameters
    ----------
    name : str
        Name of the release, for audits.
    counts : mapping of str or float to int
        Private: exact number of rows of each value that occurs. Values that do not occur are not
        listed, so that there is no need for a public list of what could.
    unit_rows : int
        Most rows of one unit.
    sensitivity : int
        Bound on the L2 norm of the change of all counts together for neighbouring tables, in
        lattice units: ``unit_rows * LATTICE`` for adding or removing a unit.
    mu : float
        Gaussian differential privacy of the noisy counts.
    delta : float
        Largest probability that a value which only one of two neighbouring tables has is released.
    randomness : Randomness
        Source of the noise.

    Returns
    -------
    Selection

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Notes
    -----
    The result has the pair (mu, delta): its privacy profile lies below
    ``delta + (1 - delta) delta_G(epsilon; mu)`` (docs/proofs/partition_selection.md). One noise
    draw per value serves for both the test and the released count: testing with a draw of its own
    would cost twice.
    """
    unit_rows = check_int("unit_rows", unit_rows, low=1)
    sigma = noise_scale(name, sensitivity, mu)
    limit = threshold(unit_rows, sigma, delta)
    # The order is that of the values, never that of the rows.
    keys = sorted(counts, key=_order)
    exact = np.array([counts[key] for key in keys], dtype=np.int64) * LATTICE
    noisy = randomness.perturb_occurring(
        name, keys, exact, newcomer=unit_rows * LATTICE, sensitivity=sensitivity, sigma=sigma
    )
    passed = np.flatnonzero(noisy > limit)
    return Selection(tuple(keys[at] for at in passed), noisy[passed], sigma, limit)


def threshold(unit_rows: int, sigma: float, delta: float) -> int:
    """Return the threshold, in lattice units, rounded up.

    Parameters
    ----------
    unit_rows : int
        Most rows of one unit.
    sigma : float
        Noise scale in lattice units.
    delta : float
        Of the whole selection, above 0 and below 1.

    Returns
    -------
    int
        ``unit_rows * LATTICE + sigma Phi^-1(1 - delta / unit_rows)``: one unit may bring as many
        new values as it has rows, and each of them has at most that many rows.
    """
    delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    quantile = normal_tail_quantile(delta / unit_rows)
    return unit_rows * LATTICE + math.ceil(sigma * quantile * (1.0 + _ROUNDING))


def rows_to_be_found(unit_rows: int, sensitivity: int, mu: float, delta: float) -> int:
    """Return how many rows a value needs to be released with a probability of 95 %.

    Parameters
    ----------
    unit_rows, sensitivity, mu, delta
        As :func:`gaussian_thresholding` takes them. All are public, and so is the result.
    """
    sigma = noise_scale("rows to be found", sensitivity, mu)
    needed = threshold(unit_rows, sigma, delta) + _FOUND_QUANTILE * sigma
    return math.ceil(needed / LATTICE)


def normal_tail_quantile(probability: float) -> float:
    """Return z >= 0 with ``P(N(0, 1) > z) <= probability``, rounded up.

    Parameters
    ----------
    probability : float
        Above 0 and below 1.
    """
    # The upper tail, by symmetry: 1 - probability would lose the digits that matter.
    z = max(0.0, -NormalDist().inv_cdf(probability)) * (1.0 + _ROUNDING)
    while 0.5 * math.erfc(z / math.sqrt(2.0)) > probability:
        z *= 1.0 + _ROUNDING
    return z


def _order(key: Key) -> tuple[bool, Key]:
    return isinstance(key, str), key


#: Probability that an empty bin anywhere in the grid is taken for an occupied one, per column.
FALSE_ALARM = 1e-4

_NEIGHBOUR_FALSE_ALARM = 1e-3


def occupied_range(noisy: Integers, sigma: float) -> tuple[int, int] | None:
    """Return the first and the last bin of a noisy histogram that hold rows beyond doubt.

    Parameters
    ----------
    noisy : ndarray of int64, shape (n_bins,)
        Released counts, of bins in the order of their values, in lattice units.
    sigma : float
        Noise scale of each, in lattice units.

    Returns
    -------
    tuple of int, or None
        Indices from 0; None if no bin rises above the noise.

    Notes
    -----
    Two thresholds (docs/proofs/approximate_bounds.md). A bin anywhere must pass the one that all
    empty bins together pass with probability at most ``FALSE_ALARM``. From there the range grows
    while the next bin passes a lower one, since rows are likely next to rows, and a false alarm
    there widens the range by one bin only.
    """
    quantile = normal_tail_quantile(FALSE_ALARM / len(noisy))
    certain = np.flatnonzero(noisy > sigma * quantile)
    if not len(certain):
        return None
    likely = noisy > sigma * normal_tail_quantile(_NEIGHBOUR_FALSE_ALARM)
    first, last = int(certain[0]), int(certain[-1])
    while first > 0 and likely[first - 1]:
        first -= 1
    while last < len(noisy) - 1 and likely[last + 1]:
        last += 1
    return first, last
