"""Exact draws from uniform bits: coins, exponential choices, Poisson samples of rows.

A coin falls heads with probability exp(-x), from integers alone. No floating point takes part:
whatever a draw's probability is said to be, it is exactly that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

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


def choice_rate(sensitivity: int, epsilon: float) -> Fraction:
    """Return epsilon / (2 sensitivity), exactly."""
    return Fraction(epsilon) / (2 * sensitivity)


def system_bytes(count: int) -> NDArray[np.uint8]:
    """Return independent uniform bytes from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(count), dtype=np.uint8)


def sampled_rows(
    n_rows: int, probability: float, first: ByteSource, more: ByteSource
) -> NDArray[np.int64]:
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
