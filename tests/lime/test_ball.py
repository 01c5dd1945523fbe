"""The minimum on the ball against its conditions of optimality and an independent solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from interpret_dp.lime.ball import Spectrum, minimum_on_ball

ENTRIES = st.floats(-1e3, 1e3).map(lambda value: 0.0 if abs(value) < 1e-6 else value)


def loss(second: Any, first: Any, phi: Any) -> float:
    return float(phi @ second @ phi - 2 * first @ phi)


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


@given(problems(), st.integers(0, 2**32 - 1))
def test_no_point_of_the_ball_is_better(problem: Any, seed: int) -> None:
    second, first = problem
    phi, _ = minimum_on_ball(second, first)
    rng = np.random.default_rng(seed)
    others = rng.normal(size=(400, len(first)))
    others *= (rng.uniform(size=400) ** 0.3 / np.linalg.norm(others, axis=1))[:, np.newaxis]
    size = max(np.abs(second).max(), np.abs(first).max())
    for other in (*others, *np.eye(len(first)), *-np.eye(len(first)), 0 * first):
        assert loss(second, first, phi) <= loss(second, first, other) + 1e-8 * size


@pytest.mark.thorough
@pytest.mark.parametrize("is_definite", [True, False])
def test_a_general_solver_finds_the_same(is_definite: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        half = rng.normal(size=(6, 6))
        second = half @ half.T if is_definite else half + half.T
        first = rng.normal(size=6) * rng.choice([0.01, 1, 10])
        found = [
            minimize(
                lambda phi, a=second, b=first: loss(a, b, phi),
                start / max(1, np.linalg.norm(start)),
                method="SLSQP",
                constraints={"type": "ineq", "fun": lambda phi: 1 - phi @ phi},
                options={"ftol": 1e-14, "maxiter": 500},
            ).fun
            for start in rng.normal(size=(8, 6))
        ]
        phi, _ = minimum_on_ball(second, first)
        assert loss(second, first, phi) == pytest.approx(min(found), abs=1e-6)


def test_the_hard_case_is_filled_up_to_length_one() -> None:
    phi, multiplier = minimum_on_ball(np.diag([-2.0, 1.0]), np.array([0.0, 0.6]))
    assert multiplier == pytest.approx(2)
    assert phi[1] == pytest.approx(0.2)
    assert np.linalg.norm(phi) == pytest.approx(1)


def test_nothing_known_is_explained_by_nothing() -> None:
    phi, multiplier = minimum_on_ball(np.zeros((3, 3)), np.zeros(3))
    assert phi.tolist() == [0.0] * 3
    assert multiplier == 0


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_unit_of_the_loss_does_not_matter(factor: float) -> None:
    second, first = np.diag([3.0, -1.0]), np.array([1.0, 0.5])
    plain, _ = minimum_on_ball(second, first)
    scaled, _ = minimum_on_ball(second * factor, first * factor)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_low_eigenvalues_are_raised_and_others_stay() -> None:
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    second = rotation @ np.diag([-3.0, 0.1, 2.0, 5.0]) @ rotation.T
    expected = rotation @ np.diag([1.0, 1.0, 2.0, 5.0]) @ rotation.T
    raised = Spectrum.of_matrix(second).raised(1.0)
    np.testing.assert_allclose(raised.shifted_inverse(0.0), np.linalg.inv(expected), atol=1e-12)
    np.testing.assert_allclose(
        raised.shifted_inverse(0.5), np.linalg.inv(expected + 0.5 * np.eye(4)), atol=1e-12
    )


def test_a_matrix_and_its_spectrum_have_one_minimum() -> None:
    rng = np.random.default_rng(5)
    half, first = rng.normal(size=(6, 6)), 3 * rng.normal(size=6)
    second = half + half.T
    by_matrix, by_spectrum = (
        minimum_on_ball(given, first) for given in (second, Spectrum.of_matrix(second))
    )
    np.testing.assert_array_equal(by_matrix[0], by_spectrum[0])
    assert by_matrix[1] == by_spectrum[1] > 0
