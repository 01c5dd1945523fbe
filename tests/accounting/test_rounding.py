"""Directed rounding never rounds in the direction that would strengthen a promise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting.rounding import ceil_text, reciprocal_down, reciprocal_up, sqrt_up

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


@given(st.floats(1e-30, 1e6), st.integers(1, 8))
def test_printed_figure_is_never_below_the_true_one(value: float, digits: int) -> None:
    printed = float(ceil_text(value, digits))
    assert value <= printed <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("value", "text"), [(math.e, "2.72"), (1.0001, "1.01"), (1.0, "1"), (1e-6, "1e-06"), (0.0, "0")]
)
def test_printed_examples(value: float, text: str) -> None:
    assert ceil_text(value) == text
