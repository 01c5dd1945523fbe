"""Exact discrete Gaussian noise for long vectors: rejection sampling over whole arrays.

Proposal: a block number k with probability 2**-(k+1), a place u in a block of w integers and a
sign, all three from fair bits, give z = +-(k w + u). It is kept with probability
2**k exp(-z**2 / (2 sigma**2)). Only that last probability is a real number. It is computed in
floating point together with a bound on its error; a uniform that falls within the bound is
extended, and compared with the probability in integer arithmetic, until the comparison is
decided. So no rounding takes part in the law of a draw (docs/proofs/vectorised_sampler.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real

__all__ = ["vectorised_discrete_gaussian"]

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
WordSource = Callable[[int], Words]

# Blocks have at least sqrt(2 log 2) sigma = 1.17741... sigma integers: that is what keeps the
# probability of keeping a proposal at or below 1.
_WIDTH_OVER_SIGMA = Fraction(471, 400)

# A difference of uniform and probability is believed beyond this. The proof needs probabilities
# that are right to half of it, which leaves exp 2,048 units in the last place; libraries err by
# at most four.
_MARGIN = 2.0**-40

# Bits of the uniforms that floating point compares; a float64 holds all of them.
_UNIFORM_BITS = 53

# Proposals at a time: their arrays together stay within a few megabytes.
_BATCH = 2**15

# At the largest scale the farthest draw that can be proposed is 63 w < 2**62.3. The smallest
# scale only keeps z / sigma in range.
_SMALLEST_SIGMA = 2.0**-10
_LARGEST_SIGMA = 2.0**56


def vectorised_discrete_gaussian(sigma: float, size: int) -> Integers:
    """Draw exact discrete Gaussian noise, some millions of draws a second.

    Parameters
    ----------
    sigma : float
        Scale, in lattice units, between 2**-10 and 2**56. It is taken as the rational number that
        the float is.
    size : int
        Number of independent draws.

    Returns
    -------
    ndarray of int64, shape (size,)
        Probability proportional to ``exp(-z**2 / (2 sigma**2))`` at every integer ``z`` with
        ``abs(z) < 63 w``, where ``w = ceil(1.1775 sigma)``; probability zero beyond, where the
        discrete Gaussian has less than 2**-3900 in all.

    Raises
    ------
    TypeError
        If ``sigma`` is not a real number or ``size`` not an integer.
    ValueError
        If ``sigma`` lies outside the limits, or ``size`` is negative.

    Notes
    -----
    All bits come from the operating system's cryptographic generator; nobody can reproduce a
    draw, and processes that were forked share no state. Besides its result a call holds a few
    megabytes, whatever ``size`` is. Its running time depends on how many proposals were dropped,
    and is not protected.

    Rejection from a geometric staircase, after von Neumann, "Various Techniques Used in Connection
    with Random Digits" (1951); Karney, "Sampling Exactly from the Normal Distribution" (2016),
    and Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
    propose alike and flip exact coins for the rest.
    """
    scale = check_real(
        "sigma",
        sigma,
        low=_SMALLEST_SIGMA,
        high=_LARGEST_SIGMA,
        mend="Choose a coarser or a finer lattice.",
    )
    return _draw(scale, check_int("size", size, low=0), _system_words)


def _system_words(count: int) -> Words:
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def _draw(sigma: float, size: int, source: WordSource) -> Integers:
    """Return the first ``size`` proposals that are kept, in the order they were proposed."""
    draws = np.empty(size, dtype=np.int64)
    width = _block_width(sigma)
    filled = 0
    while filled < size:
        # How many are proposed depends on how many were kept, never on which.
        count = min(_BATCH, 2 * (size - filled) + 64)
        kept = _kept_proposals(sigma, width, count, source)[: size - filled]
        draws[filled : filled + len(kept)] = kept
        filled += len(kept)
    return draws


def _block_width(sigma: float) -> int:
    """Return w = ceil(1.1775 sigma), in integer arithmetic."""
    numerator, denominator = sigma.as_integer_ratio()
    return -(
        -numerator * _WIDTH_OVER_SIGMA.numerator // (denominator * _WIDTH_OVER_SIGMA.denominator)
    )


def _kept_proposals(sigma: float, width: int, count: int, source: WordSource) -> Integers:
    places, coins, uniforms = source(3 * count).reshape(3, count)
    magnitude, negative, power, valid = _propose(width, places, coins)
    prefix = uniforms >> np.uint64(64 - _UNIFORM_BITS)
    kept = valid & _accept(sigma, magnitude, power, prefix, source)
    return np.where(negative, -magnitude, magnitude)[kept]


def _propose(
    width: int, places: Words, coins: Words, bits: int = 64
) -> tuple[Integers, Flags, Floats, Flags]:
    """Return magnitude, sign and 2**k of each proposal, and which of them count.

    Parameters
    ----------
    width : int
        Number of integers in a block.
    places : ndarray of uint64, shape (n,)
        Random words of ``bits`` bits, for the place in the block.
    coins : ndarray of uint64, shape (n,)
        Random words: the sign in the last bit, the block number in the others.
    bits : int
        Length of a word of ``places``; tests enumerate short ones.
    """
    place, valid = _uniform_below(width, places, bits)
    negative = (coins & np.uint64(1)).astype(np.bool_)
    block, power = _geometric(coins >> np.uint64(1))
    magnitude = block * width + place
    # Zero has two signs and counts once; a word without heads says nothing about the block.
    valid &= (power > 0) & ~(negative & (magnitude == 0))
    return magnitude, negative, power, valid


def _uniform_below(n: int, words: Words, bits: int) -> tuple[Integers, Flags]:
    """Return words modulo ``n``, and which of them to use: each remainder equally often."""
    remainder = words - words // np.uint64(n) * np.uint64(n)
    last = 2**bits // n * n - 1
    return remainder.astype(np.int64), words <= np.uint64(last)


def _geometric(words: Words) -> tuple[Integers, Floats]:
    """Return the number k of zero bits before the first one bit, and 2**k; 2**k = 0 if none is."""
    signed = words.astype(np.int64)
    power = (signed & -signed).astype(np.float64)
    _, exponent = np.frexp(power)
    return exponent.astype(np.int64) - 1, power


def _accept(
    sigma: float, magnitude: Integers, power: Floats, prefix: Words, source: WordSource
) -> Flags:
    """Return True with probability ``power * exp(-magnitude**2 / (2 sigma**2))`` exactly."""
    difference = prefix.astype(np.float64) * 2.0**-_UNIFORM_BITS
    difference -= _probability(sigma, magnitude, power)
    accepted = difference < -_MARGIN
    for undecided in np.flatnonzero(np.abs(difference) <= _MARGIN):
        accepted[undecided] = _accept_exactly(
            sigma, int(magnitude[undecided]), int(power[undecided]), int(prefix[undecided]), source
        )
    return accepted


def _probability(sigma: float, magnitude: Integers, power: Floats) -> Floats:
    """Return ``power * exp(-magnitude**2 / (2 sigma**2))``, right to half of ``_MARGIN``."""
    probability = magnitude / sigma
    probability *= probability
    probability *= -0.5
    np.exp(probability, out=probability)
    probability *= power
    return probability


def _accept_exactly(
    sigma: float,
    magnitude: int,
    power: int,
    prefix: int,
    source: WordSource,
    bits: int = _UNIFORM_BITS,
) -> bool:
    """Compare a uniform, known to its first ``bits`` bits, with a probability.

    Both are bounded in integers of ever more bits until they are apart. That happens at once but
    for a chance that falls by 2**-64 each time.
    """
    exponent = Fraction(magnitude) ** 2 / (2 * Fraction(sigma) ** 2)
    while True:
        # 64 bits finer than the uniform is known.
        low, high = _exp_bounds(exponent, bits + 64)
        if (prefix + 1) << 64 <= power * low:
            return True
        if prefix << 64 >= power * high:
            return False
        prefix = prefix << 64 | int(source(1)[0])
        bits += 64


def _exp_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers ``low <= 2**bits * exp(-exponent) <= high``, for ``exponent >= 0``.

    Every step rounds ``low`` down and ``high`` up. The series of exp is taken at an argument of
    at most one half, which the squarings at the end make up for.
    """
    squarings = (exponent.numerator // exponent.denominator).bit_length() + 1
    numerator, denominator = exponent.numerator, exponent.denominator << squarings
    one = 1 << bits
    low_term = high_term = low_sum = high_sum = one
    index = 1
    while high_term > 1:
        low_term = low_term * numerator // (index * denominator)
        high_term = _divide_up(high_term * numerator, index * denominator)
        low_sum += low_term
        high_sum += high_term
        index += 1
    # Each further term is at most half of the one before, so that together they are at most the
    # last one.
    high_sum += high_term
    low, high = one * one // high_sum, _divide_up(one * one, low_sum)
    for _ in range(squarings):
        low, high = low * low // one, _divide_up(high * high, one)
    return low, high


def _divide_up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)
