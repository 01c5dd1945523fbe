"""Fine histograms without noise: what is taken away, what is kept, and what it does to bins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from interpret_dp.ebm.trainer import binning
from interpret_dp.ebm.trainer.binning import smoothed_counts

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


@given(noisy=histograms)
def test_wavelets_that_are_kept_add_up_to_the_counts(noisy):
    for one in noisy:
        details, widest = binning._transformed(one)
        whole = [binning._knots()] * len(details)
        back = binning._summed(details, widest, whole)
        np.testing.assert_allclose(back[: len(one)], one, rtol=1e-9, atol=1e-9 * np.abs(one).max())
