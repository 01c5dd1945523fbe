"""The released shape of a target, and the clip that follows from it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp.ebm.losses import GammaDeviance, RegressionLoss
from interpret_dp.ebm.shape import Shape, best_clip, cell_edges, errors_of_mean

N_ROWS = 40_000
CLIPS = 2.0 ** (-np.arange(21) / 2.0)


def shape_of(y, lower, upper, noise=0.0, seed=0):
    """Return the shape of targets that are counted with noise."""
    edges = cell_edges(y.mean(), lower, upper)
    counts = np.histogram(y, np.concatenate([[lower], edges, [upper]]))[0].astype(float)
    counts += noise * np.random.default_rng(seed).normal(size=len(counts))
    return Shape.of(edges, lower, upper, counts, max(noise, 1e-9), counts.sum())


def rare():
    return (np.arange(N_ROWS) < 0.06 * N_ROWS).astype(float)


def normal():
    return np.random.default_rng(0).normal(size=N_ROWS)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e9), st.floats(0, 1))
def test_cells_are_cut_between_the_bounds_and_are_few(lower, width, share):
    upper = lower + width
    edges = cell_edges(lower + share * width, lower, upper)
    # Both halves of each cell have a width.
    assert (np.diff([lower, *edges, upper]) > 1e-10 * width).all()
    assert len(edges) <= 48


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_a_shape_has_the_moments_of_the_target(scale):
    y = scale * np.random.default_rng(0).gamma(2.0, size=N_ROWS).clip(0, 20)
    shape = shape_of(y, 0.0, 20 * scale)
    assert shape.mean == pytest.approx(y.mean(), rel=0.05)
    assert shape.spread == pytest.approx(y.std(), rel=0.05)


def test_noise_in_far_cells_is_not_believed():
    """Of 44 cells, most lie where no row is; each has the noise of 30 rows."""
    y = normal()
    for seed in range(20):
        assert shape_of(y, -60.0, 60.0, noise=30.0, seed=seed).spread == pytest.approx(1, abs=0.3)


def test_a_rare_event_is_not_clipped_and_a_normal_target_is():
    of_rare, of_normal = shape_of(rare(), 0.0, 1.0), shape_of(normal(), -6.0, 6.0)
    assert best_clip(of_rare, CLIPS, 0.01, RegressionLoss.gaps) == 1.0
    clip = best_clip(of_normal, 12.0 * CLIPS, 0.05, RegressionLoss.gaps)
    assert 0.75 <= clip <= 2.0


@pytest.mark.parametrize("gaps", [RegressionLoss.gaps, GammaDeviance.gaps])
def test_the_more_noise_the_closer_the_clip(gaps):
    y = np.random.default_rng(0).lognormal(sigma=1.5, size=N_ROWS).clip(0.01, 100)
    shape = shape_of(y, 0.01, 100.0)
    clips = [best_clip(shape, 64 * CLIPS, noise, gaps) for noise in (1e-4, 1e-2, 1.0)]
    assert clips == sorted(clips, reverse=True)
    assert clips[0] > 4 * clips[-1]


def test_a_clip_leaves_the_mean_too_low_by_what_the_shape_says():
    """The root of clipped residuals, found by stochastic steps over the rows themselves."""
    y = np.random.default_rng(0).lognormal(size=N_ROWS).clip(0, 50)
    shape, clips = shape_of(y, 0.0, 50.0), np.array([50.0, 1.0])
    found, means = shape.means(clips, RegressionLoss.gaps)
    roots = found[:, -1] - means[-1]
    mean = y.mean()
    for _ in range(200):
        mean += np.clip(y - mean, -1.0, 1.0).mean()
    assert roots == pytest.approx([0.0, mean - y.mean()], abs=0.03)
    assert roots[1] < -0.2
    # Effects, that is to say other means, are clipped as well.
    assert (found[1, :2] < means[:2]).all()


def test_the_error_of_a_total_has_bias_noise_and_what_is_not_seen():
    y = np.random.default_rng(0).lognormal(size=N_ROWS).clip(0, 50)
    exact, noisy = shape_of(y, 0.0, 50.0), shape_of(y, 0.0, 50.0, noise=30.0)
    errors = errors_of_mean(exact, np.array([50.0, 1.0]), 0.001, RegressionLoss.gaps)
    assert errors[0] == pytest.approx(0.05)
    assert errors[1] > 0.2
    unseen = noisy.unseen(np.array([50.0, 12.0, 3.0]), RegressionLoss.gaps)
    assert unseen[0] == 0.0
    assert 0 < unseen[1] < unseen[2]
