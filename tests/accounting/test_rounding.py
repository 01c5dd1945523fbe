"""Directed rounding never rounds in the direction that would strengthen a promise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting.rounding import reciprocal_down, reciprocal_up, sqrt_up

POSITIVE = st.floats(1e-150, 1e150)


@given(POSITIVE, POSITIVE)
def test_root_is_the_smallest_float_that_is_large_enough(first: float, second: float) -> None:
    square = Fraction(first) ** 2 + Fraction(second) ** 2
    root = sqrt_up(square)
    assert Fraction(root) ** 2 >= square
    assert Fraction(math.nextafter(root, 0.0)) ** 2 < square


@given(POSITIVE)
def test_root_of_an_exact_square_is_exact(value: float) -> None:
    assert sqrt_up(Fraction(value) ** 2) == value


def test_root_of_zero_and_of_less() -> None:
    assert sqrt_up(Fraction(0)) == 0.0
    with pytest.raises(ValueError, match="at least 0"):
        sqrt_up(Fraction(-1))


@given(POSITIVE)
def test_reciprocals_enclose_the_true_value(value: float) -> None:
    exact = 1 / Fraction(value)
    assert Fraction(reciprocal_down(value)) <= exact <= Fraction(reciprocal_up(value))
    assert reciprocal_up(value) <= math.nextafter(reciprocal_down(value), math.inf)
