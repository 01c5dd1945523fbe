"""The exponential mechanism's mu: above every pair of outcomes of its range, and no higher."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp.accounting import delta_of_mu, reduce_event
from interpret_dp.accounting.events import composed_json, exponential_node, gaussian_node
from interpret_dp.accounting.gaussian import mu_of_range, range_of_mu

EPSILONS = st.floats(-6, 1.9).map(lambda power: 10.0**power)


def extreme_pair(epsilon, t):
    """Return the probabilities of two outcomes in two tables, with ratios e^t and e^(t - epsilon).

    No probability is computed as one less another, which would lose the digits of a small one.
    """
    first = math.expm1(t - epsilon) / math.expm1(-epsilon)
    second = math.exp(-epsilon) * math.expm1(t) / -math.expm1(-epsilon)
    return (first, second), (first * math.exp(-t), second * math.exp(epsilon - t))


def profile(one, other, epsilon):
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(one, other, strict=True))


@given(EPSILONS, st.floats(0, 1), st.floats(0, 1))
def test_every_extreme_pair_lies_below_the_gaussian(epsilon, t, at):
    p, q = extreme_pair(epsilon, t * epsilon)
    mu, other = mu_of_range(epsilon), at * epsilon
    for one, two in ((p, q), (q, p)):
        assert profile(one, two, other) <= delta_of_mu(mu, other) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 1.99, 2.01, 10.0])
def test_a_smaller_mu_would_be_wrong(epsilon):
    """At the symmetric pair, for the epsilon' at which the vertex touches the Gaussian's curve."""
    p, q = extreme_pair(epsilon, epsilon / 2)
    mu = mu_of_range(epsilon)
    worst = max(
        profile(p, q, share * epsilon / 200) - delta_of_mu(mu * 0.999, share * epsilon / 200)
        for share in range(201)
    )
    assert worst > 0


@given(st.floats(-30, 2).map(lambda power: 10.0**power))
def test_a_mu_is_never_overspent(mu):
    epsilon = range_of_mu(mu)
    assert mu_of_range(epsilon) <= mu
    assert epsilon == 100.0 or mu_of_range(epsilon) >= mu * (1 - 1e-10)


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(-10, 10)), min_size=2, max_size=5),
    st.floats(0.01, 5),
    st.floats(0, 6),
)
def test_the_mechanism_itself_lies_below_the_gaussian(scores, epsilon, other):
    """Any scores, each changed by at most the sensitivity of 10."""
    first = np.array([score for score, _ in scores], float)
    second = first + [change for _, change in scores]
    chances = [np.exp(-epsilon * (one - one.min()) / 20) for one in (first, second)]
    p, q = (one / one.sum() for one in chances)
    bound = delta_of_mu(mu_of_range(epsilon), other) * (1 + 1e-9) + 1e-13
    assert np.maximum(p - np.exp(other) * q, 0).sum() <= bound
    assert np.maximum(q - np.exp(other) * p, 0).sum() <= bound


# ---------------------------------------------------------------------------------------- events


def test_choices_and_gaussians_compose():
    pair = reduce_event(composed_json([(exponential_node(0.3), 4), (gaussian_node(0.1), 1)]))
    assert pair.delta == 0.0
    assert pair.mu == pytest.approx(math.hypot(2 * mu_of_range(0.3), 0.1), rel=1e-15)
    assert Fraction(pair.mu) ** 2 >= 4 * Fraction(mu_of_range(0.3)) ** 2 + Fraction(1, 100)
