"""The minimum on the ball against its conditions of optimality and an independent solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from interpret_dp.lime.ball import minimum_on_ball

ENTRIES = st.floats(-1e3, 1e3).map(lambda value: 0.0 if abs(value) < 1e-6 else value)


@st.composite
def problems(draw: Any) -> Any:
    n = draw(st.integers(1, 5))
    half = draw(arrays(np.float64, (n, n), elements=ENTRIES))
    return half + half.T, draw(arrays(np.float64, n, elements=ENTRIES))


@given(problems())
def test_the_conditions_of_a_global_minimum_hold(problem: Any) -> None:
    second, first = problem
    phi, multiplier = minimum_on_ball(second, first)
    size = max(np.abs(second).max(), np.abs(first).max(), 1e-300)
    length = np.linalg.norm(phi)
    assert length <= 1 + 1e-12
    assert multiplier >= 0
    assert multiplier == 0 or length == pytest.approx(1, abs=1e-6)
    shifted = second + multiplier * np.eye(len(first))
    assert np.linalg.eigvalsh(shifted)[0] >= -1e-9 * size
    np.testing.assert_allclose(shifted @ phi, first, atol=1e-6 * size)


def test_the_hard_case_is_filled_up_to_length_one() -> None:
    phi, multiplier = minimum_on_ball(np.diag([-2.0, 1.0]), np.array([0.0, 0.6]))
    assert multiplier == pytest.approx(2)
    assert phi[1] == pytest.approx(0.2)
    assert np.linalg.norm(phi) == pytest.approx(1)
