"""The lower bounds agree with closed forms, cover as they say, and catch weak mechanisms."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit
from scipy.stats import binom, norm

from interpret_dp.accounting import epsilon_of_mu, mu_of_budget
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import (
    attack_bound,
    epsilon_lower_bound,
    judge_guesses,
    mu_lower_bound,
    one_run_epsilon,
    one_run_p_value,
)
from interpret_dp.mechanisms import SystemRandomness, gaussian_mechanism

DELTA = 1e-5


@pytest.mark.parametrize(("mu", "n"), [(0.27, 40), (1.0, 40), (2.0, 25)])
def test_coverage_is_exact_over_all_outcomes(mu, n):
    """The probability that a bound exceeds the truth, summed over all outcomes, is at most 5 %.

    Exact, no sampling. The truth is the trade-off of the event itself: a bound for events that
    were fixed beforehand cannot exceed it more often.
    """
    q = 0.2
    p = norm.cdf(mu + norm.ppf(q))
    epsilon = math.log(p / q)
    miss_epsilon = miss_mu = 0.0
    for hits_p in range(n + 1):
        for hits_q in range(n + 1):
            weight = binom.pmf(hits_p, n, p) * binom.pmf(hits_q, n, q)
            miss_epsilon += weight * (epsilon_lower_bound(hits_p, n, hits_q, n, delta=0) > epsilon)
            miss_mu += weight * (mu_lower_bound(hits_p, n, hits_q, n) > mu)
    assert miss_epsilon <= 0.05
    assert miss_mu <= 0.05


WRONG_COUNTS = [((11, 10, 0, 10), "hits_present is 11"), ((1, 10, 0, 0), "trials_absent is 0")]


@pytest.mark.parametrize(("hits", "error"), WRONG_COUNTS)
def test_counts_are_checked(hits, error):
    with pytest.raises(ValueError, match=error):
        epsilon_lower_bound(*hits, delta=DELTA)
    with pytest.raises(ValueError, match=error):
        mu_lower_bound(*hits)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"delta is 1\.0"):
        epsilon_lower_bound(1, 2, 1, 2, delta=1.0)
    with pytest.raises(ValueError, match="confidence is 1"):
        mu_lower_bound(1, 2, 1, 2, confidence=1)
    for bad in ([], [math.nan], [[1.0]]):
        with pytest.raises(ValueError, match="sample of choice"):
            attack_bound((bad, [1.0]), ([1.0], [1.0]), delta=DELTA)
    with pytest.raises(ValueError, match="sample of evaluation"):
        attack_bound(([1.0], [1.0]), ([1.0], []), delta=DELTA)


def test_a_perfect_attack_and_a_blind_one():
    n = 200
    present, absent = np.ones(n), np.zeros(n)
    for samples in ((present, absent), (-present, -absent)):
        perfect = attack_bound(samples, samples, delta=DELTA)
        assert perfect.epsilon == epsilon_lower_bound(n, n, 0, n, delta=DELTA)
        assert perfect.mu == mu_lower_bound(n, n, 0, n)
    blind = attack_bound((present, present), (present, present), delta=DELTA)
    assert blind.epsilon == blind.mu == 0.0


# ------------------------------------------------------- against the mechanism, with controls


def attack_the_mechanism(mu_of_noise, runs, confidence):
    """Release a count of 0 or 1 rows; a claim of another mu than that of the noise is a lie."""
    randomness = SystemRandomness()
    present, absent = (
        gaussian_mechanism(
            "count",
            np.full((2 * runs, 1), rows * LATTICE, dtype=np.int64),
            sensitivity=LATTICE,
            mu=mu_of_noise,
            randomness=randomness,
        )[0].ravel()
        for rows in (1, 0)
    )
    return attack_bound(
        (present[:runs], absent[:runs]),
        (present[runs:], absent[runs:]),
        delta=DELTA,
        confidence=confidence,
    )


@pytest.mark.statistical
def test_an_audit_of_mu_tells_true_noise_from_two_thirds_and_from_half():
    """Claim mu = 1; 4,000 runs a side to choose and 4,000 to evaluate; confidence 1 - 1e-6.

    Level: a true claim is refuted with probability below 1e-6 by construction (1e-12 in fact).
    Power: an interval costs 0.21 of mu and the bound scatters by 0.03. It is expected at 0.79 for
    true noise, at 1.29 for two thirds of it and at 1.79 for half: six standard errors and more
    from the limits below.
    """
    honest = attack_the_mechanism(1.0, 4000, 1 - 1e-6)
    assert 0.6 <= honest.mu <= 1.0
    assert honest.epsilon <= epsilon_of_mu(1.0, DELTA)
    for mu_of_noise in (1.5, 2.0):
        assert attack_the_mechanism(mu_of_noise, 4000, 1 - 1e-6).mu > 1.0


@pytest.mark.statistical
@pytest.mark.slow
def test_an_audit_of_epsilon_catches_half_the_noise():
    """Claim epsilon = 1 at delta 1e-5 (mu = 0.27); 200,000 runs a side; confidence 95 %.

    Level: 5 % by construction. In fact no event of feasible probability reaches epsilon 1 at
    this mu: the expected bound is 0.6 with a standard error of 0.08. Power: with half the noise
    an event of probability 0.003 without the row has log odds 1.5; its interval costs 0.13, so
    that the bound is 1.37 with a standard error of 0.05.
    """
    mu = mu_of_budget(1.0, DELTA)
    assert attack_the_mechanism(mu, 200_000, 0.95).epsilon <= 1.0
    assert attack_the_mechanism(2 * mu, 200_000, 0.95).epsilon > 1.0


# ---------------------------------------------------------------------------------------- one run


def test_the_formula_term_by_term():
    m, r, v, epsilon, delta = 60, 25, 19, 0.7, 1e-3
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    mass = [math.comb(r, w) * q**w * (1 - q) ** (r - w) for w in range(r + 1)]
    steepest = max(2 / i * sum(mass[max(v - i, 0) : v]) for i in range(1, m + 1))
    expected = sum(mass[v:]) + m * delta * steepest
    found = one_run_p_value(m, r, v, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(expected, rel=1e-12)


guessed = st.tuples(*[st.integers(0, 300)] * 3).map(sorted).filter(lambda numbers: numbers[2])


@given(numbers=guessed, delta=st.sampled_from([0.0, 1e-6, 1e-3, 0.2, 1.0]))
def test_bounds_follow_from_p_values(numbers, delta):
    v, r, m = numbers
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


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("r", [1, 12, 150, 500])
def test_bounds_of_randomised_response_cover_and_are_sharp(epsilon, r):
    """The extreme mechanism: every guess is right with probability e^epsilon / (1 + e^epsilon).

    Summed over all outcomes, no sampling: the bound exceeds the truth with at most 5 %. Without
    abstention the expected bound is 1.645 standard errors of the number of right guesses below it.
    """
    accuracy = expit(epsilon)
    masses = binom.pmf(np.arange(r + 1), r, accuracy)
    bounds = np.array([one_run_epsilon(500, r, v, delta=0.0) for v in range(r + 1)])
    assert masses[bounds > epsilon].sum() <= 0.05
    if r == 500 and epsilon:
        error = 1 / math.sqrt(r * accuracy * (1 - accuracy))
        assert masses @ bounds == pytest.approx(epsilon - 1.645 * error, abs=0.5 * error)


def test_scores_are_checked():
    coins = np.array([True, False])
    for scores in ([], [math.nan, 1.0], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="scores is of shape"):
            judge_guesses(scores, coins, n_guesses=1, delta=0.0)
    with pytest.raises(ValueError, match="included is of shape"):
        judge_guesses([1.0, 2.0], [1, 0], n_guesses=1, delta=0.0)
    with pytest.raises(ValueError, match="n_guesses is 3"):
        judge_guesses([1.0, 2.0], coins, n_guesses=3, delta=0.0)
    with pytest.raises(ValueError, match="confidence is 1"):
        one_run_epsilon(5, 4, 3, delta=0.0, confidence=1)
    for numbers, error in (((5, 6, 0), "n_guesses is 6"), ((5, 4, 5), "n_correct is 5")):
        with pytest.raises(ValueError, match=error):
            one_run_p_value(*numbers, epsilon=1.0, delta=0.0)
