"""How often a private search runs: a truncated negative binomial number, drawn exactly."""

from __future__ import annotations

from fractions import Fraction

from interpret_dp.accounting.repeated import Repetitions
from interpret_dp.mechanisms.coins import UniformSource

__all__ = ["draw_repetitions"]


def draw_repetitions(repetitions: Repetitions, below: UniformSource) -> int:
    """Draw a number of runs, at least 1. Private: a search does not publish it.

    Parameters
    ----------
    repetitions : Repetitions
        Its law; the figures are the rational numbers that the floats are.
    below : callable
        Returns a uniform integer from 0 to n - 1.

    Notes
    -----
    By rejection: k is geometric, and kept with probability (l + shape) / (l + 1) for each l from 1
    to k - 1, which are at most 1. No floating point takes part
    (docs/proofs/private_selection.md).
    """
    stopping, shape = Fraction(repetitions.stopping), Fraction(repetitions.shape)
    while True:
        runs = 1
        while not _heads(stopping, below):
            runs += 1
        if all(_heads((step + shape) / (step + 1), below) for step in range(1, runs)):
            return runs


def _heads(probability: Fraction, below: UniformSource) -> bool:
    """Return True with this probability, exactly."""
    return below(probability.denominator) < probability.numerator
