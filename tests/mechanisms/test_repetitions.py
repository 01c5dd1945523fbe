"""The number of runs of a search has its law, exactly."""

from __future__ import annotations

import secrets
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from interpret_dp.accounting.repeated import Repetitions
from interpret_dp.mechanisms.repetitions import draw_repetitions
from tests.accounting.test_repeated import probabilities

_DRAWS = 20_000
_LAWS = [(0.0, 3.0), (0.5, 5.0), (1.0, 5.0)]


def statistic(draws: list[int], repetitions: Repetitions, cells: int = 12) -> float:
    """Return the chi-squared statistic of draws up to ``cells`` and above."""
    chances = probabilities(repetitions)[:cells]
    expected = _DRAWS * np.append(chances, 1.0 - chances.sum())
    counts = np.bincount(np.minimum(draws, cells + 1), minlength=cells + 2)[1:]
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.statistical
@pytest.mark.parametrize(("shape", "mean"), _LAWS)
def test_draws_have_the_law_and_no_near_one(shape: float, mean: float) -> None:
    """Level 1e-9; a shape off by 0.3, or a mean off by a seventh, is found: power above 0.999."""
    repetitions = Repetitions.of_mean(mean, shape)
    draws = [draw_repetitions(repetitions, secrets.randbelow) for _ in range(_DRAWS)]
    limit = chi2.ppf(1.0 - 1e-6, df=12)
    assert statistic(draws, repetitions) < limit
    assert statistic(draws, Repetitions.of_mean(mean, abs(shape - 0.3))) > limit
    assert statistic(draws, Repetitions.of_mean(mean * 8 / 7, shape)) > limit


class Scripted:
    """Answers with the residues of its script, and notes the bounds that it was asked for."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.bounds: list[int] = []

    def __call__(self, bound: int) -> int:
        self.bounds.append(bound)
        answer = self.answers.pop(0)
        return bound - 1 if answer else 0


def test_coins_are_rational_and_rejection_starts_anew() -> None:
    """0 is heads, 1 tails: two runs, refused; then three, kept."""
    repetitions = Repetitions(0.5, 0.25)
    below = Scripted(1, 0, 1, 1, 1, 0, 0, 0)
    assert draw_repetitions(repetitions, below) == 3
    quarter, first, second = 4, Fraction(3, 4).denominator, Fraction(5, 6).denominator
    assert below.bounds == [quarter] * 2 + [first] + [quarter] * 3 + [first, second]
    assert not below.answers


def test_a_geometric_number_is_never_refused() -> None:
    below = Scripted(1, 1, 0, 0, 0)
    assert draw_repetitions(Repetitions(1.0, 0.5), below) == 3
