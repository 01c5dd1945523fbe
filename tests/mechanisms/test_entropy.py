"""Sources of randomness: which one is in force, what a seed means, what is added to what."""

import numpy as np
import pytest

from interpret_dp.accounting.gaussian import lattice_sigma
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.mechanisms import (
    SeededRandomness,
    SystemRandomness,
    active_randomness,
    use_randomness,
)

SIGMA = lattice_sigma(LATTICE, 0.0112)


def test_a_seed_decides_everything():
    exact = np.arange(12).reshape(3, 4)
    first, again, other = SeededRandomness(1), SeededRandomness(1), SeededRandomness(2)
    assert first.tests_only
    noisy = first.perturb("a", exact, 1, SIGMA)
    assert np.array_equal(noisy, again.perturb("a", exact, 1, SIGMA))
    assert not np.array_equal(noisy, other.perturb("a", exact, 1, SIGMA))
    assert first.public.random() == again.public.random() != other.public.random()


def test_public_coin_flips_and_noise_do_not_share_a_stream():
    """How many coins were flipped must not change the noise."""
    first, second = SeededRandomness(1), SeededRandomness(1)
    first.public.random(100)
    assert np.array_equal(first.noise(SIGMA, 5), second.noise(SIGMA, 5))


def test_system_randomness_does_not_repeat_itself():
    first, second = SystemRandomness(), SystemRandomness()
    noise = [source.noise(SIGMA, 20).tolist() for source in (first, second, first)]
    assert len({value for draws in noise for value in draws}) == 60
    assert not first.tests_only
    assert first.public.integers(2**60) != second.public.integers(2**60)


def test_the_innermost_source_is_in_force_and_is_taken_back():
    outer, inner = SeededRandomness(1), SeededRandomness(2)
    assert active_randomness() is None
    with use_randomness(outer) as given:
        assert given is active_randomness() is outer
        with use_randomness(inner):
            assert active_randomness() is inner
        assert active_randomness() is outer
    assert active_randomness() is None
    with pytest.raises(ValueError, match="inside"), use_randomness(outer):
        raise ValueError("inside")
    assert active_randomness() is None
