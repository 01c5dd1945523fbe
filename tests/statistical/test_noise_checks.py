"""The checks of noise are tests that can fail: levels and powers are measured here."""

import numpy as np
import pytest

from tests.statistical.noise_checks import LEVEL, all_p

pytestmark = pytest.mark.statistical

N = 20_000
SIGMA = 2.0**12


def true_draws(rng, n=N, sigma=SIGMA):
    """Return rounded normals: at this scale no test of this size tells them apart."""
    return np.rint(rng.normal(scale=sigma, size=n)).astype(np.int64)


def test_p_values_of_true_noise_are_uniform():
    """Level 1e-6 of the test here: 400 samples of 2,000 draws, seeds fixed.

    The number of p-values below 0.1 is Binomial(400, 0.1): mean 40, standard deviation 6; that
    below 0.01 is Poisson-like with mean 4.
    """
    rng = np.random.default_rng(7)
    samples = [all_p(true_draws(rng, 2000), SIGMA) for _ in range(400)]
    for name in samples[0]:
        values = np.array([sample[name] for sample in samples])
        assert 11 <= np.count_nonzero(values < 0.1) <= 73, name
        assert np.count_nonzero(values < 0.01) <= 18, name
        assert abs(np.mean(values) - 0.5) < 0.08, name


def wrong_scale(factor):
    return lambda rng: true_draws(rng, sigma=factor * SIGMA)


def shifted(rng):
    return true_draws(rng) + int(SIGMA / 15)


def laplace(rng):
    """Return draws of the right variance and the wrong shape."""
    return np.rint(rng.laplace(scale=SIGMA / np.sqrt(2), size=N)).astype(np.int64)


def coarse(rng):
    """Half precision: the last bits of large draws are zero."""
    return true_draws(rng).astype(np.float16).astype(np.int64)


def clipped(rng):
    """Lose the tails, which is where privacy is lost first."""
    return np.clip(true_draws(rng), -2 * int(SIGMA), 2 * int(SIGMA))


def repeated(rng):
    """Every draw twice, as a generator that is copied would give."""
    return np.repeat(true_draws(rng, N // 2), 2)


WRONG_DRAWS = [
    (wrong_scale(2 / 3), {"variance", "shape"}),
    (wrong_scale(3 / 2), {"variance", "shape"}),
    (wrong_scale(0.95), {"variance"}),
    (wrong_scale(1.05), {"variance"}),
    (shifted, {"mean"}),
    (laplace, {"shape"}),
    (coarse, {"residues"}),
    (clipped, {"variance"}),
    (repeated, {"lag 1"}),
]


@pytest.mark.parametrize(("draw", "caught_by"), WRONG_DRAWS)
def test_wrong_noise_is_rejected(draw, caught_by):
    """At level 1e-6 with 20,000 draws, in each of twenty samples: the power is above 0.9."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        values = all_p(draw(rng), SIGMA)
        assert caught_by <= {name for name, value in values.items() if value < LEVEL}
