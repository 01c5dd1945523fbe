"""Fine histograms without noise: what is taken away, what is kept, and what it does to bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from interpret_dp.ebm.trainer import smoothing
from interpret_dp.ebm.trainer.binning import merge_bins
from interpret_dp.ebm.trainer.smoothing import smoothed_counts

NOISE = 50.0
counts = hnp.arrays(np.float64, st.integers(1, 70), elements=st.floats(-1e7, 1e7))
histograms = st.lists(counts, min_size=1, max_size=4)


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


def slope_with_a_spike(n_cells=127):
    """Return an empty range, a smooth hill and one value of 15 noises."""
    places = np.linspace(0.0, 1.0, n_cells)
    exact = np.where(places < 0.3, 0.0, 80.0 * np.exp(-((places - 0.6) ** 2) / 0.02))
    exact[100] += 15 * NOISE
    return exact


@given(noisy=histograms, noise=st.floats(1e-9, 1e6))
def test_any_counts_are_smoothed(noisy, noise):
    before = [one.copy() for one in noisy]
    found = smoothed_counts(noisy, noise)
    for one, own, kept in zip(found, noisy, before, strict=True):
        assert one.shape == own.shape
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(own, kept)
        # A mean of neighbours is between them, and a coefficient never grows.
        assert np.abs(one).max() <= len(own) * np.abs(own).max() + 1e-9


@given(noisy=histograms)
def test_wavelets_that_are_kept_add_up_to_the_counts(noisy):
    for one in noisy:
        details, widest = smoothing._transformed(one)
        whole = [smoothing._knots()] * len(details)
        back = smoothing._summed(details, widest, whole)
        np.testing.assert_allclose(back[: len(one)], one, rtol=1e-9, atol=1e-9 * np.abs(one).max())


def test_noise_alone_is_taken_away():
    rng = np.random.default_rng(0)
    noisy = [NOISE * rng.standard_normal(127) for _ in range(10)]
    assert root_mean_square(smoothed_counts(noisy, NOISE)) < 0.25 * NOISE


def test_counts_far_above_the_noise_stay():
    rng = np.random.default_rng(1)
    exact = rng.integers(500, 3000, size=254).astype(float)
    found = smoothed_counts([exact + rng.standard_normal(254)], 1.0)[0]
    assert root_mean_square(found - exact) < 1.2


def test_the_share_that_is_kept_is_learned():
    """Coefficients of 3 noises: Bayes' rule keeps nine tenths, where all have that spread."""
    rng = np.random.default_rng(2)
    drawn = [np.hypot(3.0, 1.0) * rng.standard_normal(4000) for _ in range(3)]
    means = smoothing._posterior_means(drawn, 0)
    for size in (3.0, 6.0):
        assert np.interp(size, smoothing._knots(), means) == pytest.approx(0.9 * size, rel=0.1)


def test_a_slope_an_empty_range_and_a_spike_are_told_apart():
    rng = np.random.default_rng(3)
    exact = slope_with_a_spike()
    noisy = [exact + NOISE * rng.standard_normal(len(exact)) for _ in range(20)]
    errors = np.array(smoothed_counts(noisy, NOISE)) - exact
    assert root_mean_square(errors[:, :30]) < 0.3 * NOISE
    assert root_mean_square(errors[:, 30:90]) < 0.5 * NOISE
    # Smeared over a neighbour it would be off by half of itself: by seven noises.
    assert np.abs(errors[:, 100]).mean() < 1.5 * NOISE


def test_bins_hold_more_even_shares_of_the_rows():
    rng = np.random.default_rng(4)
    exact = slope_with_a_spike()
    total, edges = exact.sum(), np.arange(1.0, len(exact))
    noisy = [exact + NOISE * rng.standard_normal(len(exact)) for _ in range(40)]
    spread = {}
    for name, seen in (("smoothed", smoothed_counts(noisy, NOISE)), ("as released", noisy)):
        found = []
        for released, expected in zip(noisy, seen, strict=True):
            whole, shown = (np.concatenate(([0.0], part, [0.0])) for part in (released, expected))
            bins = merge_bins(whole, edges, 20, total, expected=shown)
            rows = np.bincount(bins.code_map[1:-1], weights=exact)[1:]
            # The expected share of a row's bin: 1 / 20 at least.
            found.append(np.sum((rows / total) ** 2))
        spread[name] = np.mean(found)
    assert spread["smoothed"] < 0.9 * spread["as released"]
