"""Bins out of released histograms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from interpret_dp.ebm.trainer.binning import (
    Counts,
    _share_beside_heavy,
    merge_bins,
    project_to_total,
    recounted,
)

counts = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e4, 1e4))


@given(counts=counts, total=st.floats(1e-3, 1e6))
def test_projection_is_a_histogram_of_the_total(counts, total):
    projected = project_to_total(counts, total)
    assert (projected >= 0).all()
    assert projected.sum() == pytest.approx(total, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(
        project_to_total(projected, total), projected, rtol=1e-6, atol=1e-6 * total
    )


def test_projection_is_the_nearest_histogram():
    noisy = np.array([30.0, -12.0, 55.0, 4.0, -3.0])
    found = minimize(
        lambda w: ((w - noisy) ** 2).sum(),
        np.full(5, 12.0),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 60.0},
    ).x
    np.testing.assert_allclose(project_to_total(noisy, 60.0), found, atol=1e-3)


def test_projection_shrinks_sums_of_many_cells_more():
    # The noise of a sum of 16 cells is four times as large, so it takes 16 times the shift.
    projected = project_to_total(np.array([100.0, 100.0]), 166.0, np.array([1.0, 16.0]))
    np.testing.assert_allclose(projected, [98.0, 68.0])


@given(
    counts=hnp.arrays(np.float64, st.integers(3, 60), elements=st.floats(-1e3, 1e4)),
    target=st.integers(1, 64),
    total=st.floats(1.0, 1e6),
    lightest=st.just(math.inf) | st.floats(0.0, 1e4),
)
def test_merging_keeps_order_and_weight(counts, target, total, lightest):
    n_fine = len(counts) - 2
    edges = np.arange(1.0, n_fine)
    bins = merge_bins(counts, edges, target, total, lightest=lightest)
    assert bins.n_codes - 2 <= target
    inner = bins.code_map[1:-1]
    assert inner[0] == 1
    assert set(np.diff(inner.astype(int))) <= {0, 1}
    assert bins.code_map[0] == 0
    assert bins.code_map[-1] == bins.n_codes - 1
    assert len(bins.cuts) == bins.n_codes - 3
    assert (bins.weights[1:-1] > 0).all()
    assert (bins.weights >= 0).all()
    assert bins.weights.sum() == pytest.approx(total)
    # interpret draws one bar too many for a continuous feature with weight in the unseen bin.
    assert bins.weights[-1] == 0.0
    # A cut separates exactly the fine bins below it from those above.
    for index, cut in enumerate(bins.cuts, start=1):
        assert (inner <= index).sum() == cut


def test_equal_counts_merge_into_equal_bins():
    bins = merge_bins(np.array([0.0, *[10.0] * 32, 0.0]), np.arange(1.0, 32.0), 8, 320.0)
    np.testing.assert_allclose(bins.weights, [0.0, *[40.0] * 8, 0.0])


def test_a_heavy_value_leaves_its_bins_to_the_others():
    # Nine tenths of the rows have the first value; of ten bins a tenth of the rows would get two.
    counts = np.array([0.0, 900.0, *[2.0] * 50, 0.0])
    edges, total = np.arange(1.0, 51.0), 1_000.0
    alike = merge_bins(counts, edges, 10, total)
    assert alike.n_codes - 2 == 2
    bins = merge_bins(counts, edges, 10, total, lightest=0.0)
    np.testing.assert_allclose(bins.weights[1:-1], [900.0, *[12.0] * 7, 16.0])
    coarser = merge_bins(counts, edges, 10, total, lightest=30.0)
    np.testing.assert_allclose(coarser.weights[1:-1], [900.0, 30.0, 30.0, 40.0])
    # What is lighter than its share may be no lighter than that; then all are as before.
    np.testing.assert_array_equal(
        merge_bins(counts, edges, 10, total, lightest=500.0).weights, alike.weights
    )


@given(
    counts=hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(0.0, 1e4)),
    target=st.integers(1, 80),
)
def test_the_share_beside_heavy_values_is_what_they_leave(counts, target):
    rest, bins = sorted(counts.tolist(), reverse=True), target
    while len(rest) > 1 and bins > 1 and rest[0] >= math.fsum(rest) / bins:
        rest, bins = rest[1:], bins - 1
    assert _share_beside_heavy(counts, target) == pytest.approx(
        math.fsum(rest) / bins, rel=1e-6, abs=1e-9 * max(counts.sum(), 1.0)
    )


def test_noise_where_nobody_is_cancels():
    rng = np.random.default_rng(0)
    counts = np.concatenate(([0.0], np.full(32, 500.0), np.zeros(96), [0.0]))
    noisy = counts + rng.normal(scale=20.0, size=len(counts))
    bins = merge_bins(noisy, np.arange(1.0, 128.0), 32, 16_000.0)
    empty = bins.weights[1:-1][bins.cuts.searchsorted(40.0) + 1 :]
    assert empty.sum() < 0.05 * 16_000


def test_bins_that_are_counted_again_know_their_rows():
    # Statistical: 200 draws; the ratio of two standard deviations has an error of 7 %.
    rng = np.random.default_rng(1)
    edges, noise = np.arange(1.0, 101.0), 20.0
    rows = np.concatenate(([0.0], np.full(20, 400.0), np.full(80, 5.0), [0.0]))
    once, twice = [], []
    for _ in range(200):
        first = Counts(rows + rng.normal(scale=noise, size=len(rows)), noise)
        bins = merge_bins(first.rows, edges, 20, 8_400.0)
        exact = np.bincount(bins.code_map, weights=rows, minlength=bins.n_codes)
        second = Counts(exact + rng.normal(scale=noise, size=bins.n_codes), noise)
        again = recounted(bins, first, second, 8_400.0)
        assert again.weights.sum() == pytest.approx(8_400.0)
        assert (again.weights[1:-1] > 0).all()
        assert again.weights[-1] == 0.0
        once.append(float(np.mean((bins.weights - exact) ** 2)))
        twice.append(float(np.mean((again.weights - exact) ** 2)))
    # Bins of the thin range hold tens of fine bins, and so tens of variances in the first count.
    assert np.mean(twice) < 0.5 * np.mean(once)


def test_counts_are_averaged_by_their_precision():
    # Bins of one and of four fine bins.
    first = Counts(np.array([0.0, 100.0, 30.0, 20.0, 30.0, 20.0, 0.0]), 10.0)
    bins = merge_bins(first.rows, np.arange(1.0, 5.0), 2, 200.0)
    np.testing.assert_array_equal(bins.code_map, [0, 1, 2, 2, 2, 2, 3])
    second = Counts(np.array([0.0, 110.0, 90.0, 0.0]), 20.0)
    found = recounted(bins, first, second, 200.0).weights
    # A fifth of the second count, whose variance is four times the first's, and half of it: 0, 102
    # and 95 rows. The three that miss go where the variances are, 80, 80 and 200.
    np.testing.assert_allclose(found, [3 * 2 / 9, 102 + 3 * 2 / 9, 95 + 3 * 5 / 9, 0.0], rtol=1e-6)
    # With hardly any noise the second count alone remains.
    exact = recounted(bins, first, Counts(second.rows, 1e-9), 200.0).weights
    np.testing.assert_allclose(exact, second.rows, atol=1e-6)


def test_levels_of_a_categorical_feature_stay_apart():
    bins = merge_bins(np.array([1.0, 5.0, 0.0, 9.0, 2.0]), None, 1, 17.0)
    np.testing.assert_array_equal(bins.code_map, np.arange(5))
    np.testing.assert_allclose(bins.weights, [1.0, 5.0, 0.0, 9.0, 2.0], atol=1e-6)
    assert bins.cuts is None


def test_an_empty_histogram_is_a_few_light_bins():
    bins = merge_bins(np.zeros(10), np.arange(1.0, 8.0), 1, 1e-3)
    assert bins.n_codes == 3
    assert bins.weights.sum() == pytest.approx(1e-3)
