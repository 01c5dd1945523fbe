"""The exponential mechanism: exactly the distribution that it says, and replayed by the harness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from interpret_dp.accounting.gaussian import mu_of_range
from interpret_dp.audit import ReleaseCheck, replay
from interpret_dp.mechanisms import (
    Randomness,
    SeededRandomness,
    SystemRandomness,
    active_randomness,
    exponential_mechanism,
)
from interpret_dp.mechanisms.draws import draw_exponentially, falls_heads
from tests.statistical.noise_checks import LEVEL

SCORES = [7_000, 7_300, 6_500, 9_000, 6_501]


def choose(scores: Sequence[Any], randomness: Randomness, **changes: Any) -> int:
    settings: dict[str, Any] = {"sensitivity": 500, "epsilon": 1.0}
    return exponential_mechanism("start", scores, randomness=randomness, **(settings | changes))


# ------------------------------------------------------------------------------------- exactness


@pytest.mark.parametrize("exponent", ["0", "1/7", "1/2", "6/7", "1"])
def test_the_coin_s_probability_by_enumeration(exponent: str) -> None:
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

        def below(n: int, calls: Any = calls) -> int:
            return 0 if next(calls, False) else n - 1

        if weight:
            total += weight * falls_heads(x, below)
    assert float(total) == pytest.approx(math.exp(-x), abs=1e-15)


@given(st.fractions(0, 40), st.integers(0, 2**32))
def test_an_inner_coin_gets_integers_below_its_bound_only(exponent: Fraction, seed: int) -> None:
    randomness = SeededRandomness(seed)

    def below(n: int) -> int:
        drawn = randomness.below(n)
        assert 0 <= drawn < n
        return drawn

    assert falls_heads(exponent, below) in (True, False)


def expected(scores: Sequence[int], epsilon: float, sensitivity: int) -> np.ndarray:
    weights = np.exp(-epsilon * (np.array(scores, float) - min(scores)) / (2 * sensitivity))
    return np.asarray(weights / weights.sum())


def p_value(draw: Callable[[], int], chances: np.ndarray, n_draws: int) -> float:
    counts = np.bincount([draw() for _ in range(n_draws)], minlength=len(chances))
    return float(stats.chisquare(counts, chances * n_draws).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("make", [SystemRandomness, lambda: SeededRandomness(3)])
def test_the_distribution_is_the_exponential_mechanism_s(make: Callable[[], Randomness]) -> None:
    """Level 1e-9, 40,000 draws; the controls below show the power."""
    randomness = make()
    assert p_value(lambda: choose(SCORES, randomness), expected(SCORES, 1.0, 500), 40_000) > LEVEL


@pytest.mark.statistical
def test_controls_other_distributions_are_told_apart() -> None:
    """A tenth more epsilon, and permute-and-flip, which is private but has another mu."""
    randomness = SeededRandomness(4)
    chances = expected(SCORES, 1.0, 500)
    sharper = p_value(lambda: choose(SCORES, randomness, epsilon=1.1), chances, 40_000)
    assert sharper < LEVEL
    generator = np.random.default_rng(5)

    def permute_and_flip() -> int:
        for index in generator.permutation(len(SCORES)):
            if generator.random() < math.exp(-(SCORES[index] - min(SCORES)) / 1000):
                return int(index)
        raise AssertionError

    assert p_value(permute_and_flip, chances, 40_000) < LEVEL


def test_proposals_are_uniform_where_every_score_is_the_same() -> None:
    drawn = [draw_exponentially([3, 3, 3], Fraction(10), lambda n, i=i: i % n) for i in range(6)]
    assert drawn == [0, 1, 2, 0, 1, 2]


# ----------------------------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("scores", "changes", "error"),
    [
        ([], {}, ValueError),
        ([1.5, 2.0], {}, TypeError),
        ([1, 2], {"sensitivity": 0}, ValueError),
        ([1, 2], {"sensitivity": 1.5}, TypeError),
        ([1, 2], {"epsilon": 0.0}, ValueError),
        ([1, 2], {"epsilon": 101.0}, ValueError),
        ([1, 2], {"epsilon": math.nan}, ValueError),
    ],
)
def test_what_the_proof_does_not_cover_is_refused(
    scores: list[Any], changes: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        choose(scores, SeededRandomness(1), **changes)


# ---------------------------------------------------------------------------------------- harness


class Chooser:
    """An explainer that publishes which number is small, judged by how many rows exceed it."""

    def fit(self, table: list[int], **lies: Any) -> Chooser:
        randomness = active_randomness()
        assert randomness is not None
        scores = [sum(row > at for row in table) for at in (1, 5, 9)]
        self.chosen_ = choose(scores, randomness, **({"sensitivity": 1} | lies))
        return self


def test_a_choice_can_be_replayed() -> None:
    report = replay(lambda rows: Chooser().fit(rows), [1, 2, 7], [1, 2, 7, 8])
    assert report.ok, str(report)
    assert report.releases == (ReleaseCheck("start", 1, 1, 0.0, 1.0, 1.0),)
    assert report.mu == mu_of_range(1.0)


@pytest.mark.parametrize(
    ("first", "second", "detail"),
    [
        ([1, 2], [1, 2, 7, 8], "it changed by 2 of what was declared"),
        ([1], [1] + [9] * 40, "it changed by 40 of what was declared"),
    ],
)
def test_control_scores_that_change_too_much(
    first: list[int], second: list[int], detail: str
) -> None:
    report = replay(lambda rows: Chooser().fit(rows), first, second)
    assert [violation.detail for violation in report.violations] == [detail]
    assert report.violations[0].kind == "sensitivity"


@pytest.mark.parametrize(
    ("lie", "detail"),
    [
        (lambda rows: {"epsilon": 1.0 + len(rows)}, "its epsilon differs"),
        (lambda rows: {"sensitivity": 1 + len(rows)}, "its sensitivity differs"),
    ],
)
def test_control_settings_that_depend_on_the_rows(lie: Any, detail: str) -> None:
    report = replay(lambda rows: Chooser().fit(rows, **lie(rows)), [1, 2], [1, 2, 7])
    assert detail in [violation.detail for violation in report.violations]


def test_control_a_number_of_candidates_that_depends_on_the_rows() -> None:
    class Telling(Chooser):
        def fit(self, table: list[int], **lies: Any) -> Chooser:
            randomness = active_randomness()
            assert randomness is not None
            self.chosen_ = choose([0] * len(table), randomness)
            return self

    report = replay(lambda rows: Telling().fit(rows), [1, 2], [1, 2, 7], published=vars)
    assert "its number of candidates differs" in [v.detail for v in report.violations]


def test_control_a_choice_in_place_of_a_noisy_sum() -> None:
    class Either(Chooser):
        def fit(self, table: list[int], **lies: Any) -> Chooser:
            if len(table) > 2:
                return super().fit(table)
            randomness = active_randomness()
            assert randomness is not None
            self.chosen_ = int(randomness.perturb("start", np.zeros((1, 1), int), 1, 2.0**11)[0, 0])
            return self

    for pair in (([1, 2], [1, 2, 7]), ([1, 2, 7], [1, 2])):
        report = replay(lambda rows: Either().fit(rows), *pair, published=vars)
        assert "its kind differs" in [violation.detail for violation in report.violations]
