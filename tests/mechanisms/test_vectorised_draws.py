"""The sampler's draws: against the exact probabilities, moments and tails.

Each step is checked without chance in test_vectorised.py. Every p-value here is held against the
level of noise_checks, and every check has controls that it must reject.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import chi2, norm

from interpret_dp.accounting import lattice_sigma
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.mechanisms import vectorised
from interpret_dp.mechanisms.vectorised import discrete_gaussian, layers_of
from tests.statistical.noise_checks import LEVEL, all_p, binomial_p, check_scale, residue_p

pytestmark = pytest.mark.statistical

SIGMA = 2.0**20


def exact_p(draws, sigma):
    """Chi-square p-value against exp(-z^2 / (2 sigma^2)) at every integer.

    The farthest integers of each sign share a cell, so that at least 10 draws are expected in it.
    With n draws, a relative error r of the scale gives a noncentrality of about 2 n r^2.
    """
    reach = math.ceil(40 * sigma)
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-(points**2) / (2 * sigma**2))
    expected = len(draws) * weights / weights.sum()
    last = int(np.max(points[np.cumsum(expected[::-1])[::-1] >= 10]))
    expected = np.bincount(np.clip(points, -last, last) + last, weights=expected)
    counts = np.bincount(np.clip(draws, -last, last) + last, minlength=len(expected))
    return float(chi2.sf(np.sum((counts - expected) ** 2 / expected), len(expected) - 1))


@pytest.mark.parametrize("sigma", [0.5, 3.3])
def test_p_values_of_true_draws_are_uniform(sigma):
    """Level 1e-9 of the test here: 300 samples of 20,000 draws from the probabilities themselves.

    The number of p-values below 0.1 is Binomial(300, 0.1): mean 30, standard deviation 5.2.
    """
    rng = np.random.default_rng(9)
    points = np.arange(-200, 201)
    weights = np.exp(-(points**2) / (2 * sigma**2))
    values = np.array(
        [exact_p(rng.choice(points, 20_000, p=weights / weights.sum()), sigma) for _ in range(300)]
    )
    assert 7 <= np.count_nonzero(values < 0.1) <= 59
    assert np.count_nonzero(values < 0.01) <= 15
    assert abs(np.mean(values) - 0.5) < 0.09


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.3, 17.9, 60.0, 1000.0])
def test_small_scales_have_the_exact_probabilities(sigma):
    """4,000,000 draws. Two thirds and three halves of the scale: noncentrality above 10,000."""
    assert exact_p(discrete_gaussian(sigma, 4_000_000), sigma) > LEVEL
    for factor in (2 / 3, 3 / 2):
        assert exact_p(discrete_gaussian(factor * sigma, 100_000), sigma) < LEVEL


def test_exact_probabilities_notice_a_scale_that_is_off_by_three_percent():
    """400,000 draws: noncentrality 720 with some 80 degrees of freedom, 11 deviations beyond."""
    for factor in (0.97, 1.03):
        assert exact_p(discrete_gaussian(factor * 8.1, 400_000), 8.1) < LEVEL


def narrow_layers(layers):
    """Let each layer end a few steps before the curve does."""
    return dataclasses.replace(layers, widths=np.maximum(layers.widths // np.uint64(16) * 15, 1))


def keep_the_corners(layers):
    """Ask nothing of points whose layer the curve crosses."""
    return dataclasses.replace(layers, inner=layers.widths)


def lift_the_layers(layers):
    """Compare points half of a layer's height above where they are."""
    return dataclasses.replace(layers, bottoms=layers.bottoms + layers.heights / 2)


@pytest.mark.parametrize("spoil", [narrow_layers, keep_the_corners, lift_the_layers])
@pytest.mark.parametrize("sigma", [17.9, 60.0])
def test_control_well_known_mistakes_are_rejected(spoil, sigma):
    """4,000,000 draws. The subtlest, lifted layers at 60, had p-values of 1e-55 to 1e-69."""
    spoiled = spoil(layers_of(sigma))
    draws = vectorised._draw(spoiled, 4_000_000, vectorised._system_words)
    assert exact_p(draws, sigma) < LEVEL


def test_control_counting_zero_twice_is_rejected():
    """400,000 draws at sigma 1, of which zero with its two signs has 57 % instead of 40 %."""
    draws = discrete_gaussian(1.0, 400_000)
    more = np.concatenate([draws, draws[draws == 0]])
    assert exact_p(more, 1.0) < LEVEL


@pytest.mark.parametrize("sigma", [2.0**10, lattice_sigma(LATTICE, 0.0112), 2.0**55])
def test_draws_follow_the_discrete_gaussian(sigma):
    """Six checks of 20,000 draws, at the scales in use; their power is in test_noise_checks."""
    check_scale(lambda factor: (discrete_gaussian(factor * sigma, 20_000), sigma))


def moment_p(draws, sigma):
    """Return two-sided p-values of the moments 1 to 6 of a normal distribution, by their order."""
    x = draws / sigma
    double_factorial = [1.0, 0, 1, 0, 3, 0, 15, 0, 105, 0, 945, 0, 10_395]
    values = {}
    power = np.ones(len(x))
    for order in range(1, 7):
        power *= x
        mean = double_factorial[order]
        deviation = math.sqrt((double_factorial[2 * order] - mean**2) / len(x))
        values[f"moment {order}"] = float(2 * norm.sf(abs(np.mean(power) - mean) / deviation))
    return values


def tail_p(draws, sigma):
    """Return two-sided p-values of the numbers of draws beyond 1, 1.5, ... 6 sigma, a side each."""
    values = {}
    for half_sigmas in range(2, 13):
        limit = math.floor(half_sigmas / 2 * sigma)
        probability = norm.sf((limit + 0.5) / sigma)
        for side, count in (
            ("above", np.count_nonzero(draws > limit)),
            ("below", np.count_nonzero(draws < -limit)),
        ):
            values[f"{side} {half_sigmas / 2}"] = binomial_p(count, len(draws), probability)
    return values


def test_moments_and_tails_of_four_million_draws():
    """Moments to the sixth and tails to six sigma at level 1e-9; 14 draws expected beyond 4.5.

    Controls: tails that end at 4 sigma a side (127 draws of 4,000,000 expected beyond), a scale
    that is off by half a percent, draws shifted by a hundredth of sigma.
    """
    draws = discrete_gaussian(SIGMA, 4_000_000)
    values = {**moment_p(draws, SIGMA), **tail_p(draws, SIGMA)}
    assert min(values.values()) > LEVEL, values
    clipped = np.clip(draws, -4 * int(SIGMA), 4 * int(SIGMA))
    assert tail_p(clipped, SIGMA)["above 4.0"] < LEVEL
    assert tail_p(clipped, SIGMA)["below 4.0"] < LEVEL
    for factor in (0.995, 1.005):
        assert moment_p(draws, factor * SIGMA)["moment 2"] < LEVEL
    assert moment_p(draws + int(SIGMA / 100), SIGMA)["moment 1"] < LEVEL


@pytest.mark.parametrize("sigma", [2.0**10, 165_241_405.99904764, 2.0**56])
def test_lowest_digits_are_uniform_at_every_scale(sigma):
    """400,000 draws modulo 256, which are uniform to 1e-100 from sigma = 2^10 on.

    Control: draws whose last bit is lost, as that of a float64 beyond 2^53.
    """
    draws = discrete_gaussian(sigma, 400_000)
    assert residue_p(draws, 256) > LEVEL
    assert residue_p(draws & ~1, 256) < LEVEL


def test_batches_are_independent(monkeypatch):
    """20,000 draws in batches of 50 proposals; control: the same batch of bits again and again."""
    monkeypatch.setattr(vectorised, "_BATCH", 50)
    values = all_p(discrete_gaussian(SIGMA, 20_000), SIGMA)
    assert min(values.values()) > LEVEL, values
    words = vectorised._system_words(50)
    repeated = vectorised._draw(layers_of(SIGMA), 20_000, lambda count: words[:count])
    assert min(all_p(repeated, SIGMA).values()) < LEVEL
