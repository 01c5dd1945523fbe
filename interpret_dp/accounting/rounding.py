"""Directed rounding of floats: a promise is only ever rounded to a weaker one."""

from __future__ import annotations

import math
from fractions import Fraction


def sqrt_up(square: Fraction) -> float:
    """Return the smallest float whose exact square is at least ``square``.

    Parameters
    ----------
    square : Fraction
        A number of at least 0, exact; its root must lie within the range of floats.
    """
    if square < 0:
        raise ValueError(f"square is {float(square)!r}; it must be at least 0.")
    if square == 0:
        return 0.0
    # Scaled by a power of four, so that neither the square nor its float under- or overflows.
    shift = (square.denominator.bit_length() - square.numerator.bit_length()) // 2
    root = math.ldexp(math.sqrt(float(square * Fraction(4) ** shift)), -shift)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    while Fraction(below := math.nextafter(root, 0.0)) ** 2 >= square:
        root = below
    return root


def reciprocal_up(value: float) -> float:
    """Return a float that is at least 1 / ``value`` and at most one step above it."""
    nearest = 1.0 / value
    return (
        nearest if Fraction(nearest) * Fraction(value) >= 1 else math.nextafter(nearest, math.inf)
    )


def reciprocal_down(value: float) -> float:
    """Return a float that is at most 1 / ``value`` and at most one step below it."""
    nearest = 1.0 / value
    return nearest if Fraction(nearest) * Fraction(value) <= 1 else math.nextafter(nearest, 0.0)
