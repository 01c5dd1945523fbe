"""The exponential mechanism over integer scores: which of some public candidates is good."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.choices import LARGEST_RANGE, SMALLEST_RANGE

if TYPE_CHECKING:
    from interpret_dp.mechanisms.entropy import Randomness

__all__ = ["choice_rate", "exponential_mechanism"]


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
