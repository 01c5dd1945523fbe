"""Bins out of released histograms, and fine histograms without noise."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from interpret_dp.ebm.trainer.binning import merge_bins, smoothed_counts


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


# ------------------------------------------------------------------------------------ without noise


counts = hnp.arrays(np.float64, st.integers(1, 70), elements=st.floats(-1e7, 1e7))
histograms = st.lists(counts, min_size=1, max_size=4)


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
