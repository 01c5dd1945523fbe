"""The one-run audit: the theorem's formula, its coverage, its sharpness, and its guesses."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom

from interpret_dp.audit import (
    judge_guesses,
    one_run_epsilon,
    one_run_p_value,
)


def test_the_formula_term_by_term() -> None:
    m, r, v, epsilon, delta = 60, 25, 19, 0.7, 1e-3
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    mass = [math.comb(r, w) * q**w * (1 - q) ** (r - w) for w in range(r + 1)]
    steepest = max(2 / i * sum(mass[max(v - i, 0) : v]) for i in range(1, m + 1))
    expected = sum(mass[v:]) + m * delta * steepest
    found = one_run_p_value(m, r, v, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(expected, rel=1e-12)


guessed = st.integers(1, 300).flatmap(
    lambda m: st.tuples(st.just(m), st.integers(1, m)).flatmap(
        lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), st.integers(0, pair[1]))
    )
)


@given(numbers=guessed, delta=st.sampled_from([0.0, 1e-6, 1e-3, 0.2, 1.0]))
def test_bounds_follow_from_p_values(numbers: Any, delta: float) -> None:
    m, r, v = numbers
    bound = one_run_epsilon(m, r, v, delta=delta)
    assert 0.0 <= bound < 64.0
    if bound:
        assert one_run_p_value(m, r, v, epsilon=bound, delta=delta) <= 0.05
    p_values = [one_run_p_value(m, r, v, epsilon=e, delta=delta) for e in (0.0, 0.5, 2.0, 8.0)]
    assert all(0.0 <= p <= 1.0 for p in p_values)
    if delta == 0.0:
        assert p_values == sorted(p_values)
    if v:
        fewer = one_run_epsilon(m, r, v - 1, delta=0.0)
        assert fewer <= one_run_epsilon(m, r, v, delta=0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("r", [1, 12, 150])
def test_coverage_for_randomised_response_is_exact(epsilon: float, r: int) -> None:
    """The extreme mechanism: every guess is right with probability e^epsilon / (1 + e^epsilon).

    Summed over all outcomes, no sampling: the bound exceeds the truth with at most 5 %.
    """
    missed = sum(
        binom.pmf(v, r, expit(epsilon))
        for v in range(r + 1)
        if one_run_epsilon(500, r, v, delta=0.0) > epsilon
    )
    assert missed <= 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_randomised_response_is_bounded_sharply_and_truly(epsilon: float) -> None:
    """Audit 1,000 canaries behind randomised response, 2,000 times, without abstention.

    Level: each bound exceeds the truth with 5 % at most; 2,000 audits show more than 6.9 % with a
    probability below 1e-4. Sharpness: the expected bound lies 1.645 standard errors of the number
    of right guesses below the truth, which is 0.12 at epsilon 0.5 and 0.36 at epsilon 4.
    """
    rng = np.random.default_rng(11)
    bounds = np.empty(2000)
    table = {v: one_run_epsilon(1000, 1000, v, delta=0.0) for v in range(500, 1001)}
    for number in range(len(bounds)):
        coins = rng.random(1000) < 0.5
        truthful = rng.random(1000) < expit(epsilon)
        answers = np.where(truthful, coins, ~coins)
        correct = int((answers == coins).sum())
        bounds[number] = table[max(correct, 500)]
    missed = float((bounds > epsilon).mean())
    assert missed <= 0.069
    accuracy = expit(epsilon)
    error = 1 / math.sqrt(1000 * accuracy * (1 - accuracy))
    assert bounds.mean() == pytest.approx(epsilon - 1.645 * error, abs=0.5 * error)


@pytest.mark.parametrize(
    ("numbers", "error"),
    [
        ((0, 0, 0), "n_canaries is 0"),
        ((5, 6, 0), "n_guesses is 6"),
        ((5, 4, 5), "n_correct is 5"),
        ((5, 4, -1), "n_correct is -1"),
    ],
)
def test_counts_are_checked(numbers: tuple[int, int, int], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        one_run_p_value(*numbers, epsilon=1.0, delta=0.0)


def test_scores_are_checked() -> None:
    coins = np.array([True, False])
    for scores, included in itertools.product(([], [math.nan, 1.0], [[1.0, 2.0]]), (coins,)):
        with pytest.raises(ValueError, match="scores is of shape"):
            judge_guesses(scores, included, n_guesses=1, delta=0.0)
    with pytest.raises(ValueError, match="included is of shape"):
        judge_guesses([1.0, 2.0], [1, 0], n_guesses=1, delta=0.0)
    with pytest.raises(ValueError, match="n_guesses is 3"):
        judge_guesses([1.0, 2.0], coins, n_guesses=3, delta=0.0)
    with pytest.raises(ValueError, match="confidence is 1"):
        one_run_epsilon(5, 4, 3, delta=0.0, confidence=1)
