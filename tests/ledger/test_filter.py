"""The filter as arithmetic: valid where running totals are not, and no stricter than it must be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import ndtri

from interpret_dp.accounting import GdpPair, delta_of_mu, mu_of_budget
from interpret_dp.ledger import Account, DeltaExceededError, Request
from interpret_dp.ledger.account import (
    admits,
    fix_budget,
    largest_epsilon,
    refusal,
    remaining_mu,
    within_limits,
)

EPSILON, DELTA = 1.0, 1e-6
FIRST, SECOND, RESPONSE = 0.1, 0.2145, 0.613


def account(budget, *pairs):
    requests = (
        Request(number, "", "test", "", 1.0, 1e-6, mu, delta)
        for number, (mu, delta) in enumerate(pairs, start=1)
    )
    return Account("adult", budget, tuple(requests))


def gaussian_delta(mu, epsilon):
    """Return the hockey-stick divergence of N(mu, 1) from N(0, 1), for any sign of epsilon."""
    if epsilon >= 0:
        return delta_of_mu(mu, epsilon)
    return 1 - math.exp(epsilon) * (1 - delta_of_mu(mu, -epsilon))


def response_delta(response, epsilon):
    """Return the hockey-stick divergence of randomised response."""
    truth = math.exp(response) / (1 + math.exp(response))
    other = 1 - truth
    return max(truth - math.exp(epsilon) * other, 0) + max(other - math.exp(epsilon) * truth, 0)


def test_counterexample_a_running_total_is_no_filter_and_ours_is():
    """A Gaussian, then by its outcome another Gaussian or randomised response.

    Each path passes the check of a running total exactly, yet the analyst who chooses the path
    by the first outcome gets a delta of 1.98e-6 out of a budget of 1e-6.
    """
    truth = math.exp(RESPONSE) / (1 + math.exp(RESPONSE))
    path_with_gaussian = delta_of_mu(math.hypot(FIRST, SECOND), EPSILON)
    path_with_response = truth * gaussian_delta(FIRST, EPSILON - RESPONSE) + (
        1 - truth
    ) * gaussian_delta(FIRST, EPSILON + RESPONSE)
    assert path_with_gaussian <= DELTA * 1.001
    assert path_with_response <= DELTA * 1.001

    outcomes = np.linspace(-12, 12, 4001)
    density = np.exp(-0.5 * (outcomes - FIRST) ** 2) / math.sqrt(2 * math.pi)
    losses = FIRST * outcomes - 0.5 * FIRST**2
    worse = [
        max(gaussian_delta(SECOND, EPSILON - loss), response_delta(RESPONSE, EPSILON - loss))
        for loss in losses
    ]
    true_delta = float(np.sum(density * np.array(worse)) * (outcomes[1] - outcomes[0]))
    assert true_delta == pytest.approx(1.98e-6, rel=0.01)

    after_the_first = account(fix_budget("adult", EPSILON, DELTA), (FIRST, 0.0))
    assert admits(after_the_first, GdpPair(SECOND))
    # A pure epsilon mechanism is a post-processing of a Gaussian of this mu.
    response_mu = 2 * float(ndtri(truth))
    assert not admits(after_the_first, GdpPair(response_mu))


@given(st.floats(0.01, 20), st.floats(1e-12, 0.1), st.floats(0, 0.99))
def test_a_budget_used_up_keeps_its_promise(epsilon, delta, share):
    budget = fix_budget("adult", epsilon, delta, delta_x=share * delta)
    # Worst case of the comparison's tolerance, on both sides at once.
    mu, own = budget.mu * math.sqrt(1 + 1e-12), budget.delta_x * (1 + 1e-12)
    assert own + (1 - own) * delta_of_mu(mu, epsilon) <= delta


@given(st.floats(0.9, 1.1), st.floats(0, 1.1), st.floats(0, 0.99))
def test_the_first_request_may_use_the_whole_budget(mu, own, share):
    budget = fix_budget("adult", EPSILON, DELTA, delta_x=share * DELTA)
    pair = GdpPair(mu * mu_of_budget(EPSILON, DELTA), own * budget.delta_x)
    if admits(account(budget), pair):
        assert pair.delta + (1 - pair.delta) * delta_of_mu(pair.mu, EPSILON) <= DELTA
        after = account(budget, (pair.mu, pair.delta))
        assert within_limits(account(budget), pair) or not admits(after, GdpPair(0.0))


@given(st.lists(st.floats(0.001, 0.2), max_size=20), st.floats(1e-9, 1e-4))
def test_what_remains_fits_and_hardly_more_does(mus, delta):
    budget = fix_budget("adult", 3.0, 1e-6)
    used = account(budget, *((mu, 0.0) for mu in mus))
    left = remaining_mu(used)
    if left == 0:
        used_up = Fraction(budget.mu) ** 2 * (1 - Fraction(2, 10**9))
        assert sum(Fraction(mu) ** 2 for mu in mus) >= used_up
        return
    assert admits(used, GdpPair(left))
    assert not admits(used, GdpPair(left * (1 + 1e-9) + 1e-5))
    epsilon = largest_epsilon(left, delta)
    if epsilon > 0:
        assert admits(used, GdpPair(mu_of_budget(epsilon, delta)))
        assert mu_of_budget(epsilon * 1.001 + 1e-3, delta) > left


def test_without_a_budget_everything_is_admitted():
    free = account(None, (50.0, 0.9))
    assert admits(free, GdpPair(50.0, 0.9))
    assert remaining_mu(free) == math.inf
    assert largest_epsilon(math.inf, 1e-6) == math.inf


def test_a_refusal_for_delta_says_so():
    used = account(fix_budget("adult", 1.0, 1e-6, delta_x=3e-7), (0.0, 2e-7))
    error = refusal(used, GdpPair(0.01, 2e-7), 0.1, 1e-6)
    assert isinstance(error, DeltaExceededError)
    assert "needs delta 2e-07 for selections, and 1e-07 of the budget's" in str(error)


BAD_BUDGETS = [
    (0, 1e-6, 0, "epsilon is 0"),
    (-1, 1e-6, 0, "epsilon is -1"),
    (1, 0, 0, "delta is 0"),
    (1, 1, 0, "delta is 1"),
    (1, 1e-6, 1e-6, "delta_x is 1e-06"),
    (1, 1e-6, -1e-9, "delta_x is -1e-09"),
    (1, 1e-6, math.nextafter(1e-6, 0), "clearly below"),
]


@pytest.mark.parametrize(("epsilon", "delta", "delta_x", "message"), BAD_BUDGETS)
def test_bad_budgets_are_refused(epsilon, delta, delta_x, message):
    with pytest.raises(ValueError, match=message):
        fix_budget("adult", epsilon, delta, delta_x)


@pytest.mark.parametrize("parts", [2, 3, 7, 1000])
def test_equal_parts_use_the_budget_up_to_the_last(parts):
    budget = fix_budget("adult", 2.0, 1e-6, delta_x=3e-7)
    pair = (budget.mu / math.sqrt(parts), budget.delta_x / parts)
    assert admits(account(budget, *[pair] * (parts - 1)), GdpPair(*pair))
    full = account(budget, *[pair] * parts)
    assert not admits(full, GdpPair(1e-3))
    assert not admits(full, GdpPair(0.0, 1e-12))
    assert remaining_mu(full) < 1e-6
    assert refusal(full, GdpPair(0.0, 1e-6), 1.0, 1e-6).remaining_delta_part < 1e-18
