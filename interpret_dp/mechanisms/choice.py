"""The exponential mechanism over integer scores, and the exact draws that it is made of.

Coins fall heads with probability exp(-x), from integers alone. No floating point takes part:
whatever a draw's probability is said to be, it is exactly that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.choices import LARGEST_RANGE, SMALLEST_RANGE

if TYPE_CHECKING:
    from interpret_dp.mechanisms.entropy import Randomness

__all__ = [
    "UniformSource",
    "choice_rate",
    "draw_exponentially",
    "exponential_mechanism",
    "falls_heads",
]

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
    :func:`~interpret_dp.accounting.choices.mu_of_range` (docs/proofs/exponential_mechanism.md).
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
    whole = [operator.index(score) for score in scores]
    return randomness.choose(name, whole, sensitivity, epsilon)


def choice_rate(sensitivity: int, epsilon: float) -> Fraction:
    """Return epsilon / (2 sensitivity), exactly."""
    return Fraction(epsilon) / (2 * sensitivity)
