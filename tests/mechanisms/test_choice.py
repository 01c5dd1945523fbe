"""The exponential mechanism: exactly the distribution that it says, and replayed by the harness."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from interpret_dp.accounting.gaussian import mu_of_range
from interpret_dp.audit import ReleaseCheck, replay
from interpret_dp.mechanisms import (
    SeededRandomness,
    SystemRandomness,
    active_randomness,
    exponential_mechanism,
)
from interpret_dp.mechanisms.entropy import draw_exponentially, falls_heads
from tests.statistical.noise_checks import LEVEL

SCORES = [7_000, 7_300, 6_500, 9_000, 6_501]


def choose(scores, randomness, **changes):
    settings = {"sensitivity": 500, "epsilon": 1.0}
    return exponential_mechanism("start", scores, randomness=randomness, **(settings | changes))


# ------------------------------------------------------------------------------------- exactness


@pytest.mark.parametrize("exponent", ["0", "1/7", "1/2", "6/7", "1"])
def test_the_coin_s_probability_by_enumeration(exponent):
    """Every sequence of j heads of the inner coins and a tails, weighted by its probability."""
    x = Fraction(exponent)
    rest = x - x.numerator // x.denominator
    total = Fraction(0)
    # An exponent of 1 needs a whole coin of exponent 1, and then one of exponent 0.
    inner = x if x == 1 else rest
    for heads in range(20):
        weight = Fraction(1)
        for k in range(1, heads + 1):
            weight *= inner / k
        weight *= 1 - inner / (heads + 1)
        calls = iter([True] * heads + [False])

        def below(n, calls=calls):
            return 0 if next(calls, False) else n - 1

        if weight:
            total += weight * falls_heads(x, below)
    assert float(total) == pytest.approx(math.exp(-x), abs=1e-15)


@given(st.fractions(0, 40), st.integers(0, 2**32))
def test_an_inner_coin_gets_integers_below_its_bound_only(exponent, seed):
    randomness = SeededRandomness(seed)

    def below(n):
        drawn = randomness.below(n)
        assert 0 <= drawn < n
        return drawn

    assert falls_heads(exponent, below) in (True, False)


def expected(scores, epsilon, sensitivity):
    weights = np.exp(-epsilon * (np.array(scores, float) - min(scores)) / (2 * sensitivity))
    return np.asarray(weights / weights.sum())


def p_value(draw, chances, n_draws):
    counts = np.bincount([draw() for _ in range(n_draws)], minlength=len(chances))
    return float(stats.chisquare(counts, chances * n_draws).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("make", [SystemRandomness, lambda: SeededRandomness(3)])
def test_the_distribution_is_the_exponential_mechanism_s(make):
    """Level 1e-9, 40,000 draws; the controls below show the power."""
    randomness = make()
    assert p_value(lambda: choose(SCORES, randomness), expected(SCORES, 1.0, 500), 40_000) > LEVEL


@pytest.mark.statistical
def test_controls_other_distributions_are_told_apart():
    """A tenth more epsilon, and permute-and-flip, which is private but has another mu."""
    randomness = SeededRandomness(4)
    chances = expected(SCORES, 1.0, 500)
    sharper = p_value(lambda: choose(SCORES, randomness, epsilon=1.1), chances, 40_000)
    assert sharper < LEVEL
    generator = np.random.default_rng(5)

    def permute_and_flip():
        for index in generator.permutation(len(SCORES)):
            if generator.random() < math.exp(-(SCORES[index] - min(SCORES)) / 1000):
                return int(index)
        raise AssertionError

    assert p_value(permute_and_flip, chances, 40_000) < LEVEL


def test_proposals_are_uniform_where_every_score_is_the_same():
    drawn = [draw_exponentially([3, 3, 3], Fraction(10), lambda n, i=i: i % n) for i in range(6)]
    assert drawn == [0, 1, 2, 0, 1, 2]


# ----------------------------------------------------------------------------------------- checks


NOT_COVERED = [
    ([], {}, ValueError),
    ([1.5, 2.0], {}, TypeError),
    ([1, 2], {"sensitivity": 0}, ValueError),
    ([1, 2], {"sensitivity": 1.5}, TypeError),
    ([1, 2], {"epsilon": 0.0}, ValueError),
    ([1, 2], {"epsilon": 101.0}, ValueError),
    ([1, 2], {"epsilon": math.nan}, ValueError),
]


@pytest.mark.parametrize(("scores", "changes", "error"), NOT_COVERED)
def test_what_the_proof_does_not_cover_is_refused(scores, changes, error):
    with pytest.raises(error):
        choose(scores, SeededRandomness(1), **changes)


# ---------------------------------------------------------------------------------------- harness


def scores_of(table):
    """Return how many rows exceed 1, 5 and 9: one row changes each by one."""
    return [sum(row > at for row in table) for at in (1, 5, 9)]


def honest(table, randomness, **lies):
    return choose(scores_of(table), randomness, **({"sensitivity": 1} | lies))


def replayed(rule, first, second):
    """Replay an explainer that publishes what a rule chooses."""

    def fit(table):
        randomness = active_randomness()
        assert randomness is not None
        return SimpleNamespace(chosen_=rule(table, randomness))

    return replay(fit, first, second, published=vars)


def test_a_choice_can_be_replayed():
    report = replayed(honest, [1, 2, 7], [1, 2, 7, 8])
    assert report.ok, str(report)
    assert report.releases == (ReleaseCheck("start", 1, 1, 0.0, 1.0, 1.0),)
    assert report.mu == mu_of_range(1.0)


def a_choice_or_a_sum(table, randomness):
    if len(table) > 2:
        return honest(table, randomness)
    return int(randomness.perturb("start", np.zeros((1, 1), int), 1, 2.0**11)[0, 0])


WRONG_CHOICES = [
    (honest, [7, 8], "it changed by 2 of what was declared"),
    (honest, [9] * 40, "it changed by 40 of what was declared"),
    (lambda t, r: honest(t, r, epsilon=1.0 + len(t)), [7], "its epsilon differs"),
    (lambda t, r: honest(t, r, sensitivity=1 + len(t)), [7], "its sensitivity differs"),
    (lambda t, r: choose([0] * len(t), r), [7], "its number of candidates differs"),
    (a_choice_or_a_sum, [7], "its kind differs"),
]


@pytest.mark.parametrize(
    ("rule", "added", "detail"),
    WRONG_CHOICES,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_control_choices_that_the_proof_does_not_cover(rule, added, detail):
    """Scores that change too much, and settings that depend on the rows."""
    for pair in (([1, 2], [1, 2, *added]), ([1, 2, *added], [1, 2])):
        report = replayed(rule, *pair)
        assert detail in [violation.detail for violation in report.violations]
        kinds = {violation.kind for violation in report.violations}
        assert kinds == {"sensitivity"} or rule is not honest
