"""Weights obey the paper's bound whatever function is given, and the norms are suprema."""

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from interpret_dp.lime.coordinates import UNITS, exponential_weight, stable_weight, weight_table

FUNCTIONS = {
    "stable": stable_weight,
    "exponential": exponential_weight,
    "wide": lambda d: np.exp(-((d / 3.0) ** 2)),
    "pole": lambda d: 1 / (d + 1e-12) ** 9,
    "growing": lambda d: d**4,
    "wave": lambda d: 1 + np.sin(9 * d),
}
SQUARES = st.integers(1, 60).map(lambda n: n * UNITS**2)
STRETCHES = st.integers(1, 8)
CONSTANTS = st.floats(2.0**-9, 2.0**9)


def possible_table(name, c, largest, stretch):
    """Return the table; functions that are next to 0 at every possible distance are refused."""
    try:
        return weight_table(FUNCTIONS[name], c, largest, stretch)
    except ValueError as error:
        if "0, or nearly so, at every distance" not in str(error):
            raise
        reject()


@pytest.mark.thorough
@settings(max_examples=60)
@given(st.sampled_from(sorted(FUNCTIONS)), CONSTANTS, SQUARES, STRETCHES)
def test_the_norms_bound_what_a_row_can_add_and_are_nearly_reached(name, c, largest, stretch):
    """In exact integers: (w s)^2 + (w unit)^2 s for (A, b), and w (s + unit sqrt(s))."""
    table = possible_table(name, c, largest, stretch)
    cells = np.arange(len(table.weights) - 1)
    squares = ((cells + 1) << table.shift) - 1
    norms = table.weights[:-1] * np.sqrt(squares * (squares + float(table.unit**2)))
    for place in {int(np.argmax(norms)), 0, len(cells) - 1, len(cells) // 2}:
        weight, square = int(table.weights[place]), int(squares[place])
        assert weight**2 * (square**2 + table.unit**2 * square) <= table.moments_norm**2
        # w unit sqrt(s) <= gradient_norm - w s, squared.
        left = table.gradient_norm - weight * square
        assert left >= 0
        assert weight**2 * table.unit**2 * square <= left**2
    assert table.moments_norm <= norms.max() * (1 + 1e-11) + 1
    assert table.gradient_norm <= c / 2 * table.scale + 1
    assert table.moments_norm <= table.gradient_norm


def test_the_papers_exponential_breaks_the_papers_bound_and_is_cut():
    """exp(-d^2) is said to be in F(1); the largest value of 2 d (d + 1) exp(-d^2) is 1.527."""
    distances = np.linspace(0, 4, 100_001)
    needed = 2 * distances * (distances + 1) * exponential_weight(distances)
    assert needed.max() == pytest.approx(1.527, abs=1e-3)
    cut = weight_table(exponential_weight, 1.0, 9 * UNITS**2, 1)
    whole = weight_table(exponential_weight, 1.6, 9 * UNITS**2, 1)
    square = np.array([int(UNITS**2 * 0.85)])
    assert cut.of_squares(square)[0] / 2**cut.bits < 0.96 * np.exp(-0.85)
    assert whole.of_squares(square)[0] / 2**whole.bits == pytest.approx(np.exp(-0.85), rel=1e-3)


def test_the_function_sees_public_distances_only_and_once():
    seen = []

    def weight(distances):
        seen.append(distances.copy())
        distances[:] = 0.0  # its own copy
        return np.ones_like(distances)

    weight_table(weight, 0.5, UNITS**2, 1)
    assert len(seen) == 1
    assert seen[0].max() >= 1.0


WRONG_WEIGHTS = [
    (lambda d: np.where(d > 1, np.nan, 1.0), "returned nan at distance 1"),
    (lambda d: 1.0, "returned shape \\(\\)"),
    (lambda d: 0 * d, "above 0 at some"),
]


@pytest.mark.parametrize(("weight", "message"), WRONG_WEIGHTS)
def test_a_wrong_function_is_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        weight_table(weight, 0.5, 4 * UNITS**2, 1)


def test_what_is_no_function_or_no_constant_is_refused():
    with pytest.raises(TypeError, match="must be a function from distances"):
        weight_table("stable", 0.5, UNITS**2, 1)
