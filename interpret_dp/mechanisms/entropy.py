"""The sources of random numbers, and exact draws from their bits.

A :class:`Randomness` answers two needs that must not be mixed up. ``public`` makes choices that
are published with the model and protect nobody (where a random split falls). ``perturb`` is the
noise that the guarantee rests on.
"""

from __future__ import annotations

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from interpret_dp.mechanisms.vectorised import Integers, discrete_gaussian

# Exact draws from uniform bits: coins, exponential choices, Poisson samples of rows.
#
# A coin falls heads with probability exp(-x), from integers alone. No floating point takes part:
# whatever a draw's probability is said to be, it is exactly that.

#: Returns a uniform integer from 0 to n - 1.
UniformSource = Callable[[int], int]
ByteSource = Callable[[int], NDArray[np.uint8]]


def falls_heads(exponent: Fraction, below: UniformSource) -> bool:
    """Return True with probability exp(-exponent), exactly.

    Parameters
    ----------
    exponent : Fraction
        At least 0.
    below : callable
        Returns a uniform integer from 0 to n - 1.

    Notes
    -----
    Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm
    1, after von Neumann: for x up to 1, the first k at which a coin of probability x / k falls
    tails is odd with probability exp(-x). Larger exponents are a product: 1 for every whole.
    """
    floor, rest = divmod(exponent, 1)
    # Ends at the first tails, after one or two coins, however large the exponent is.
    for _ in range(floor):
        if not _heads_at_most_one(Fraction(1), below):
            return False
    return _heads_at_most_one(rest, below)


def _heads_at_most_one(exponent: Fraction, below: UniformSource) -> bool:
    k = 1
    while below(exponent.denominator * k) < exponent.numerator:
        k += 1
    return k % 2 == 1


def draw_exponentially(costs: Sequence[int], rate: Fraction, below: UniformSource) -> int:
    """Return index i with probability proportional to exp(-rate * costs[i]), exactly.

    Parameters
    ----------
    costs : sequence of int, shape (n,)
        At least one.
    rate : Fraction
        At least 0.
    below : callable
        Returns a uniform integer from 0 to n - 1.

    Notes
    -----
    Rejection: a uniform proposal i is kept with probability exp(-rate (costs[i] - the least)).
    At least one in n proposals is kept on average. Which, and so the running time, depends on
    the costs, and is not protected.
    """
    least = min(costs)
    while True:
        proposal = below(len(costs))
        if falls_heads(rate * (costs[proposal] - least), below):
            return proposal


def system_bytes(count: int) -> NDArray[np.uint8]:
    """Return independent uniform bytes from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(count), dtype=np.uint8)


def sampled_rows(n_rows: int, probability: float, first: ByteSource, more: ByteSource) -> Integers:
    """Return the positions of a Poisson sample.

    Parameters
    ----------
    n_rows : int
    probability : float
        Above 0 and at most 1. A row is in the sample with exactly this probability, rounded down
        to a multiple of 2**-64, independently of all others.
    first, more : callable
        Return as many independent uniform bytes, uint8, as they are asked for. Of ``first`` each
        row takes one; of ``more`` seven are taken by each row whose first byte leaves it open
        whether its number of 64 bits is below the probability, in order.

    Returns
    -------
    ndarray of int64, shape (n_sampled,)
        Increasing. Private, and so is their number.
    """
    threshold = int(Fraction(probability) * 2**64)
    if threshold >= 2**64:
        return np.arange(n_rows, dtype=np.int64)
    highest, rest = divmod(threshold, 2**56)
    leading = first(n_rows)
    inside = leading < highest
    open_rows = np.flatnonzero(leading == highest)
    digits = more(7 * len(open_rows)).reshape(-1, 7).astype(np.uint64)
    numbers = np.zeros(len(open_rows), dtype=np.uint64)
    for place in range(7):
        numbers = numbers << np.uint64(8) | digits[:, place]
    inside[open_rows] = numbers < rest
    return np.flatnonzero(inside).astype(np.int64, copy=False)


class Randomness(ABC):
    """Source of all random numbers of one request.

    Attributes
    ----------
    public : numpy.random.Generator
        For choices that are public and carry no part of the privacy argument.
    tests_only : bool
        True if the noise can be reproduced, so that no promise holds.
    """

    public: np.random.Generator
    tests_only: bool

    @abstractmethod
    def noise(self, sigma: float, size: int) -> Integers:
        """Draw ``size`` independent integers of the discrete Gaussian of scale ``sigma``."""

    @abstractmethod
    def sample(self, n_rows: int, probability: float) -> Integers:
        """Draw a Poisson sample of ``n_rows`` rows: positions, increasing. Private."""

    @abstractmethod
    def below(self, bound: int) -> int:
        """Draw a uniform integer from 0 to ``bound - 1``."""

    def perturb(self, name: str, exact: Integers, sensitivity: int, sigma: float) -> Integers:
        """Add noise to exact sums; audits override this to watch or to replay a release.

        Parameters
        ----------
        name : str
            Name of the release.
        exact : ndarray of int64
            The private sums. The first axis stacks releases of equal sensitivity.
        sensitivity : int
            Declared L2 sensitivity of each release, in lattice units.
        sigma : float
            Noise scale, in lattice units.
        """
        noise = self.noise(sigma, exact.size).reshape(exact.shape)
        # A sum that wraps around would still be protected, being a function of the true sum.
        return exact + noise

    def perturb_sampled(
        self, name: str, exact: Integers, sensitivity: int, sigma: float
    ) -> Integers:
        """Add noise to the exact sums of a sample; audits override this as well.

        Parameters
        ----------
        name, exact, sensitivity, sigma
            As for :meth:`perturb`; all of ``exact`` is one release.
        """
        stacked = self.perturb(name, exact[np.newaxis], sensitivity, sigma)
        return stacked.reshape(exact.shape)

    def perturb_occurring(
        self,
        name: str,
        keys: Sequence[str | float],
        exact: Integers,
        *,
        newcomer: int,
        sensitivity: int,
        sigma: float,
    ) -> Integers:
        """Add noise to the counts of the values that occur; audits override this as well.

        Which values occur may differ between neighbouring tables: that is what the delta of a
        selection pays for, as long as such a value's count is at most ``newcomer``.

        Parameters
        ----------
        name : str
            Name of the release.
        keys : sequence of str or float, shape (n_occurring,)
            The values, private until their noisy count has passed the threshold.
        exact : ndarray of int64, shape (n_occurring,)
            Their private counts, in lattice units.
        newcomer : int
            Largest count of a value that only one of two neighbouring tables has, in lattice
            units.
        sensitivity : int
            Declared L2 sensitivity of all counts together, in lattice units.
        sigma : float
            Noise scale, in lattice units.
        """
        return exact + self.noise(sigma, exact.size)

    def choose(self, name: str, scores: Sequence[int], sensitivity: int, epsilon: float) -> int:
        """Choose a candidate by the exponential mechanism; audits override this as well.

        Parameters
        ----------
        name : str
            Name of the release.
        scores : sequence of int, shape (n_candidates,)
            Private; low ones are good.
        sensitivity : int
            Declared bound on the change of each score.
        epsilon : float
            Bounded range of the choice.
        """
        return draw_exponentially(scores, Fraction(epsilon) / (2 * sensitivity), self.below)


class SystemRandomness(Randomness):
    """Noise that is sampled exactly.

    Its bits come from the operating system, or from OpenSSL's generator, which the system seeds.
    """

    tests_only = False

    def __init__(self) -> None:
        self.public = np.random.default_rng()

    def noise(self, sigma: float, size: int) -> Integers:
        """Draw exact discrete Gaussian noise."""
        return discrete_gaussian(sigma, size)

    def below(self, bound: int) -> int:
        """Draw from the operating system's cryptographic generator, exactly uniform."""
        return secrets.randbelow(bound)

    def sample(self, n_rows: int, probability: float) -> Integers:
        """Draw a sample with bits of the operating system's cryptographic generator."""
        return sampled_rows(n_rows, probability, system_bytes, system_bytes)


class SeededRandomness(Randomness):
    """Reproducible noise, for tests only: whoever knows the seed can subtract it.

    The draws are rounded normal variates. At the scales in use (sigma >= 2**10) no test of
    feasible size tells them from the exact distribution, but nothing is promised about them.
    """

    tests_only = True

    def __init__(self, seed: int) -> None:
        public, noise, self._samples = np.random.SeedSequence(seed).spawn(3)
        self.public = np.random.default_rng(public)
        self._noise = np.random.default_rng(noise)

    def noise(self, sigma: float, size: int) -> Integers:
        """Draw rounded normal variates."""
        return np.rint(self._noise.normal(scale=sigma, size=size)).astype(np.int64)

    def below(self, bound: int) -> int:
        """Draw from 64 bits more than the bound has, so that the remainder is nearly uniform."""
        n_bytes = bound.bit_length() // 8 + 9
        return int.from_bytes(self._noise.bytes(n_bytes), "little") % bound

    def sample(self, n_rows: int, probability: float) -> Integers:
        """Draw a sample in which a row at the end changes nothing for those before it."""
        first, more = (np.random.default_rng(seed) for seed in self._samples.spawn(2))

        def drawn(generator: np.random.Generator) -> ByteSource:
            return lambda count: generator.integers(256, size=count, dtype=np.uint8)

        return sampled_rows(n_rows, probability, drawn(first), drawn(more))


def refuse_seed(randomness: Randomness, ledger: object) -> None:
    """Raise ValueError rather than charge what protects nobody to a ledger that is kept."""
    if randomness.tests_only:
        raise ValueError(
            f"random_state is set, so the noise can be recomputed; what is charged to {ledger!r} "
            "must be private. Nothing was spent. Leave random_state out; for tests on public data "
            "leave ledger out, or use PrivacyLedger.in_memory()."
        )


def shared_choices(seed: int) -> np.random.Generator:
    """Return random numbers that all sites have alike; no part of the privacy argument."""
    return np.random.default_rng(seed)


_active: ContextVar[Randomness | None] = ContextVar("interpret_dp_randomness", default=None)


def active_randomness() -> Randomness | None:
    """Return the source that an enclosing :func:`use_randomness` set, if any."""
    return _active.get()


@contextmanager
def use_randomness(randomness: Randomness) -> Iterator[Randomness]:
    """Make every request inside the block draw from ``randomness`` (audits and tests)."""
    token = _active.set(randomness)
    try:
        yield randomness
    finally:
        _active.reset(token)
