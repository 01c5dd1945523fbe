"""Partitions, and the linear map from noisy sums to a change of the curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from interpret_dp.ebm.boosting import TermUpdate, centred_spread, draw_partition

weights = hnp.arrays(np.float64, st.integers(3, 50), elements=st.floats(0, 1e5))


@given(weights=weights, ordered=st.booleans(), n_leaves=st.integers(1, 20), seed=st.integers(0, 9))
def test_partition_covers_every_bin_once(weights, ordered, n_leaves, seed):
    part = draw_partition(weights, ordered, n_leaves, np.random.default_rng(seed))
    assert part.leaf.shape == weights.shape
    assert set(part.leaf) == set(range(part.n_leaves))
    # Missing and unseen are leaves of their own.
    assert (part.leaf == part.leaf[0]).sum() == 1
    assert (part.leaf == part.leaf[-1]).sum() == 1
    assert part.n_leaves <= min(n_leaves, len(weights) - 2) + 3
    if ordered:
        assert (np.diff(part.leaf[1:-1].astype(int)) >= 0).all()


def test_partition_is_balanced_by_weight():
    weights = np.array([0.0, *[100.0] * 40, 0.0])
    part = draw_partition(weights, True, 4, np.random.default_rng(0))
    leaf_weights = np.bincount(part.leaf, weights)[:-2]
    assert leaf_weights.max() <= 1_100


@given(weights=weights, seed=st.integers(0, 9))
def test_updates_are_centred_and_skip_leaves_without_gain(weights, seed):
    rng = np.random.default_rng(seed)
    part = draw_partition(weights, True, 5, rng)
    gain = rng.uniform(0.1, 1.0, part.n_leaves)
    gain[part.leaf[0]] = 0.0
    spread = centred_spread(TermUpdate(part, gain), weights)
    change = spread @ rng.normal(size=part.n_leaves)
    assert change[0] == 0.0
    assert change @ weights == pytest.approx(0.0, abs=1e-6 * (1 + weights.sum()))
