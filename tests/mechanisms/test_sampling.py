"""Poisson samples, and releases of their sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from interpret_dp.mechanisms import SeededRandomness, SystemRandomness
from interpret_dp.mechanisms.additive import sampled_gaussian_mechanism
from interpret_dp.mechanisms.entropy import sampled_rows
from tests.statistical.noise_checks import LEVEL, binomial_p


def given_bytes(*found):
    """Return a source that hands out these bytes and must be asked for all of them."""

    def source(count):
        assert count == len(found)
        return np.array(found, dtype=np.uint8)

    return source


def test_a_row_is_sampled_where_its_word_is_below_the_rate():
    def sampled(probability, words):
        """Hand out words of 64 bits, the bytes after the first one only where they are needed."""
        threshold = int(Fraction(probability) * 2**64)
        digits = [word.to_bytes(8, "big") for word in words]
        is_open = [one[0] == threshold >> 56 for one in digits]
        rest = [byte for one, left in zip(digits, is_open, strict=True) if left for byte in one[1:]]
        first = [one[0] for one in digits]
        return sampled_rows(
            len(words), probability, given_bytes(*first), given_bytes(*rest)
        ).tolist()

    assert sampled(0.25, [0, 2**62 - 1, 2**62, 2**64 - 1]) == [0, 1]
    assert sampled(2.0**-70, [0, 1, 2**64 - 1]) == []
    assert sampled(2.0**-64, [0, 1, 2**64 - 1]) == [0]
    for rate in (0.1, 1 / 15, 1 / 3, 2.0**-20, 0.999, 1 - 2.0**-53):
        threshold = int(Fraction(rate) * 2**64)
        near = [threshold + step for step in (-(2**50), -257, -1, 0, 1, 255, 2**50)]
        rng = np.random.default_rng(0)
        words = [word % 2**64 for word in near] + [int(n) for n in rng.integers(2**63, size=500)]
        expected = [row for row, word in enumerate(words) if word < threshold]
        assert sampled(rate, words) == expected
    assert sampled_rows(4, 1.0, given_bytes(), given_bytes()).tolist() == [0, 1, 2, 3]


@pytest.mark.statistical
def test_samples_are_poisson():
    """Sizes and pairs of 4,000 samples of 200 rows at rate 0.1, each against its binomial law.

    Level 1e-9 each. Samples of a fixed size would have no variance of their sizes, and shuffled
    batches no row twice in ten samples: both fail with certainty (the controls below).
    """
    randomness = SystemRandomness()
    n_samples, n_rows, rate = 4_000, 200, 0.1
    inside = np.zeros((n_samples, n_rows), dtype=np.bool_)
    for row in inside:
        row[randomness.sample(n_rows, rate)] = True
    assert binomial_p(int(inside.sum()), n_samples * n_rows, rate) > LEVEL
    # Rows are independent of each other in a sample, and samples of one row of each other.
    assert binomial_p(int((inside[:, ::2] & inside[:, 1::2]).sum()), n_samples * 100, 0.01) > LEVEL
    assert binomial_p(int((inside[::2] & inside[1::2]).sum()), 2_000 * n_rows, 0.01) > LEVEL
    assert _size_variance_p(inside) > LEVEL
    shuffled = np.zeros_like(inside)
    for start in range(0, n_samples, 10):
        order = np.random.default_rng(start).permutation(n_rows).reshape(10, 20)
        for offset, rows in enumerate(order):
            shuffled[start + offset, rows] = True
    assert _size_variance_p(shuffled) < LEVEL
    repeats = int((shuffled[::2] & shuffled[1::2]).sum())
    assert binomial_p(repeats, 2_000 * n_rows, 0.01) < LEVEL


def _size_variance_p(inside):
    """Two-sided p-value of 'sizes have the binomial's variance', by the normal approximation."""
    n_samples, n_rows = inside.shape
    true = n_rows * 0.1 * 0.9
    found = float(((inside.sum(axis=1) - 0.1 * n_rows) ** 2).mean())
    return float(2 * norm.sf(abs(found / true - 1) * math.sqrt(n_samples / 2)))


def test_seeded_samples_do_not_change_when_a_row_is_added_at_the_end():
    short, long = SeededRandomness(3), SeededRandomness(3)
    for _ in range(5):
        one, other = short.sample(1_000, 0.1), long.sample(1_001, 0.1)
        assert one.tolist() == other[other < 1_000].tolist()


def test_release_adds_noise_to_the_sums_of_a_fresh_sample():
    seen = []

    def sums(positions):
        seen.append(positions.tolist())
        return np.array([len(positions) * 2**40], dtype=np.int64)

    request = {"sensitivity": 2**30, "noise_multiplier": 2.0, "probability": 0.1}
    found = []
    for _ in range(2):
        noisy, sigma = sampled_gaussian_mechanism(
            "sums", 1_000, sums, randomness=SystemRandomness(), **request
        )
        found.append(int(noisy[0]))
    assert sigma == pytest.approx(2.0 * 2**30)
    assert sigma >= 2.0 * 2**30
    assert seen[0] != seen[1]
    assert [round(value / 2**40) for value in found] == [len(positions) for positions in seen]
    # Noise of this scale is 0 with probability 2e-10.
    assert all(value % 2**40 for value in found)


def test_release_refuses_sums_off_the_lattice_and_noise_off_the_integers():
    settings = {"probability": 0.5, "randomness": SeededRandomness(0)}
    with pytest.raises(TypeError, match="must be int64"):
        sampled_gaussian_mechanism(
            "sums", 5, lambda _: np.zeros(2), sensitivity=2**20, noise_multiplier=2.0, **settings
        )
    with pytest.raises(ValueError, match=r"Noise of 'sums' .* must be at most"):
        sampled_gaussian_mechanism(
            "sums", 5, lambda _: np.zeros(2), sensitivity=2**50, noise_multiplier=128.0, **settings
        )
