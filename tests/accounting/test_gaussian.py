"""Gaussian differential privacy against 60-digit arithmetic, and its round trips."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.special import ndtr

from interpret_dp.accounting import gaussian

EPSILONS = st.floats(0, 100)
DELTAS = st.floats(-30, math.log10(0.5)).map(lambda exponent: 10.0**exponent)


def exact_delta(mu, epsilon):
    """Return delta in enough digits for the subtraction to keep 40 of them."""
    with mpmath.workdps(60 + int((epsilon / mu + mu / 2) ** 2 / 4)):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        upper = mpmath.ncdf(-epsilon / mu + mu / 2)
        return +(upper - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2))


def relative_excess(value, mu, epsilon):
    exact = exact_delta(mu, epsilon)
    return float((mpmath.mpf(value) - exact) / exact)


@given(st.floats(-8, 1.2), st.floats(-3, 12))
def test_delta_is_rounded_up_and_tight(log_mu, distance):
    mu = 10.0**log_mu
    epsilon = max(0.0, mu * (distance + mu / 2))
    excess = relative_excess(gaussian.delta_of_mu(mu, epsilon), mu, epsilon)
    assert 0 <= excess < 1e-11


def test_control_the_textbook_formula_fails_the_same_check():
    mu, epsilon = 1e-6, 1e-6
    textbook = float(
        ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)
    )
    assert not 0 <= relative_excess(textbook, mu, epsilon) < 1e-11


@given(EPSILONS, DELTAS)
def test_largest_mu_keeps_the_promise_and_is_tight(epsilon, delta):
    mu = gaussian.largest_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-9), epsilon) > delta


@given(st.floats(1e-3, 12), DELTAS)
def test_epsilon_keeps_the_promise_and_is_tight(mu, delta):
    epsilon = gaussian.epsilon_of_mu(mu, delta)
    assume(epsilon <= 150)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 0:
        shorter = max(0.0, epsilon - 1e-9 * (epsilon + mu))
        assert exact_delta(mu, shorter) > delta


@given(st.floats(1e-3, 100), DELTAS)
def test_budget_to_mu_to_epsilon_returns_no_more_than_was_asked(epsilon, delta):
    back = gaussian.epsilon_of_mu(gaussian.mu_of_budget(epsilon, delta), delta)
    assert back <= epsilon
    # Where epsilon is small against mu, delta hardly depends on it and the inverse is looser.
    assert back >= epsilon - 1e-8 * (epsilon + gaussian.mu_of_budget(epsilon, delta))


def test_a_request_leaves_room_for_the_rounding_of_its_split():
    limit, mu = gaussian.largest_mu(1.0, 1e-6), gaussian.mu_of_budget(1.0, 1e-6)
    assert limit * (1 - 1.1e-10) < mu < limit * (1 - 0.9e-10)
    weights = np.random.default_rng(3).dirichlet(np.ones(500))
    parts = [Fraction(mu * math.sqrt(weight)) ** 2 for weight in weights]
    assert sum(parts) < Fraction(limit) ** 2


def test_extremes_neither_overflow_nor_hang():
    assert gaussian.delta_of_mu(0.0, 1.0) == 0.0
    for mu, epsilon in ((1e-3, 100.0), (0.1, 3.95)):
        assert 0 < gaussian.delta_of_mu(mu, epsilon) < 1e-300
    assert gaussian.delta_of_mu(1e5, 1.0) == 1.0
    assert [gaussian.epsilon_of_mu(mu, 1e-6) for mu in (0.0, 1e-9, 1e-90)] == [0.0] * 3
    assert gaussian.epsilon_of_mu(100.0, 1e-30) > 5000
    assert gaussian.largest_mu(1.0, 5e-324) == 0.0


def test_classic_formula_and_its_guard():
    formula = 0.5 / math.sqrt(8 * math.log(math.e + 0.5 / 1e-6))
    assert formula * (1 - 1e-9) < gaussian.classic_mu(0.5, 1e-6) < formula
    # So far out the formula would promise more than is true.
    unguarded = 100 / math.sqrt(8 * math.log(math.e + 100 / 0.4))
    assert unguarded > gaussian.largest_mu(100, 0.4)
    assert gaussian.classic_mu(100, 0.4) == gaussian.mu_of_budget(100, 0.4)


@given(st.floats(1e-2, 100), DELTAS)
def test_classic_never_spends_more_than_the_exact_conversion(epsilon, delta):
    assert gaussian.classic_mu(epsilon, delta) <= gaussian.mu_of_budget(epsilon, delta)


@given(st.integers(1, 2**40), st.floats(1e-4, 10))
def test_lattice_sigma_is_the_smallest_that_suffices(sensitivity, mu):
    assume(sensitivity / mu > 2**10)
    sigma = gaussian.lattice_sigma(sensitivity, mu)
    needed = Fraction(sensitivity) ** 2 / Fraction(mu) ** 2
    assert Fraction(sigma) ** 2 - 9 >= needed
    assert Fraction(math.nextafter(sigma, 0)) ** 2 - 9 < needed
    assert mu * (1 - 1e-12) < gaussian.mu_of_lattice(sensitivity, sigma) <= mu


def test_noise_is_never_below_the_lattice_rule():
    assert gaussian.lattice_sigma(1000, 1.0) == gaussian.lattice_sigma(1, 1e6) == 1024
    assert gaussian.lattice_sigma(2000, 1.0) > 1024
    with pytest.raises(ValueError, match="at least 1024"):
        gaussian.mu_of_lattice(1, 1023.0)


def lattice_delta(shift, sigma, epsilon):
    """Return the exact delta of discrete Gaussian noise at two integers ``shift`` apart."""
    reach = int(40 * sigma) + shift
    x = np.arange(-reach, reach + 1, dtype=float)
    here = np.exp(-0.5 * (x / sigma) ** 2)
    there = np.exp(-0.5 * ((x - shift) / sigma) ** 2)
    return float(np.maximum(there - math.exp(epsilon) * here, 0.0).sum() / here.sum())


@pytest.mark.parametrize("shift", [1, 7, 300, 2048])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
def test_lattice_rule_covers_the_exact_delta_of_discrete_noise(shift, epsilon):
    mu = gaussian.mu_of_lattice(shift, 1024.0)
    # The sum over 80,000 floats has its own error, relative to its largest term.
    assert lattice_delta(shift, 1024.0, epsilon) <= gaussian.delta_of_mu(mu, epsilon) + 1e-14


def test_control_discrete_noise_at_sigma_one_breaks_the_continuous_formula():
    ratios = [
        lattice_delta(1, 1.0, epsilon) / gaussian.delta_of_mu(1.0, epsilon)
        for epsilon in np.linspace(0, 4, 81)
    ]
    assert max(ratios) > 1.5


@pytest.mark.parametrize(("mu", "false_alarms"), [(0.0, 0.05), (0.2367, 0.05), (3.0, 1e-9)])
def test_detection_power(mu, false_alarms):
    with mpmath.workdps(40):
        level = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(false_alarms) - 1)
        exact = float(mpmath.ncdf(mu + level))
    assert gaussian.detection_power(mu, false_alarms) == pytest.approx(exact, rel=1e-9)
    assert gaussian.detection_power(mu, false_alarms) >= exact
    assert gaussian.detection_power(50.0) == 1.0


BAD_CALLS = [
    (lambda: gaussian.mu_of_budget(-1, 1e-6), ValueError, "epsilon is -1"),
    (lambda: gaussian.mu_of_budget(1, 0), ValueError, "delta above 0"),
    (lambda: gaussian.mu_of_budget(1, 1), ValueError, "below 1"),
    (lambda: gaussian.mu_of_budget("1", 1e-6), TypeError, "real number"),
    (lambda: gaussian.delta_of_mu(math.nan, 1), ValueError, "mu is nan"),
    (lambda: gaussian.classic_mu(0, 1e-6), ValueError, "above 0"),
    (lambda: gaussian.lattice_sigma(1.5, 1), TypeError, "integer"),
    (lambda: gaussian.detection_power(1, 0), ValueError, "false_alarms is 0"),
    (lambda: gaussian.mu_of_range(0.0), ValueError, "epsilon is 0"),
    (lambda: gaussian.mu_of_range(101.0), ValueError, "epsilon is 101"),
    (lambda: gaussian.range_of_mu(0.0), ValueError, "mu is 0"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
