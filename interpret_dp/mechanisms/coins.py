"""Exact draws from integers alone: coins that fall heads with probability exp(-x), and choices.

No floating point takes part: whatever a draw's probability is said to be, it is exactly that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

__all__ = ["UniformSource", "draw_exponentially", "falls_heads"]

#: Returns a uniform integer from 0 to n - 1.
UniformSource = Callable[[int], int]


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
    whole, rest = divmod(exponent, 1)
    # Ends at the first tails, after one or two coins, however large the exponent is.
    for _ in range(whole):
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
