"""Leaf sums that are released without most of their total: norms, rounding, and what they say."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.trainer.partitions import LeafRelease


def release_of(n_leaves, n_terms, still=(), unevenness=0.0, seed=0):
    gain = np.exp(unevenness * np.random.default_rng(seed).normal(size=n_leaves))
    gain[list(still)] = 0.0
    return LeafRelease.of(gain, n_terms), gain


@given(
    n_leaves=st.integers(1, 60),
    n_terms=st.integers(1, 10**6),
    n_scores=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
    unevenness=st.floats(0.0, 20.0),
    largest=st.sampled_from([1, 1_000, 2**62]),
    n_moving=st.integers(0, 60),
)
def test_no_row_moves_a_release_by_more_than_its_norm(
    n_leaves, n_terms, n_scores, seed, unevenness, largest, n_moving
):
    rng = np.random.default_rng(seed)
    still = range(min(n_moving, n_leaves), n_leaves)
    release, _ = release_of(n_leaves, n_terms, still, unevenness, seed)
    assert 0 <= release.removed < 16
    # The leaves of one score together stay in int64, as sums over rows do.
    each = max(largest // n_leaves, 1)
    sums = rng.integers(-each, each, (n_leaves, n_scores), dtype=np.int64, endpoint=True)
    residual = rng.normal(size=n_scores)
    residual = np.trunc(residual / np.linalg.norm(residual) * LATTICE).astype(np.int64)
    before = release.exact(sums)
    for leaf in range(n_leaves):
        more = sums.copy()
        more[leaf] += residual
        change = (release.exact(more) - before).astype(np.float64)
        assert np.linalg.norm(change) <= release.row_norm(LATTICE, n_scores)


@pytest.mark.parametrize(("n_leaves", "n_terms"), [(2, 10), (2, 1_000), (4, 20), (16, 20)])
def test_the_norm_is_that_of_a_vertex_of_a_simplex(n_leaves, n_terms):
    """Noise is made for it; a share of 1 / sqrt(n_terms) of the mean remains, to a 16th."""
    release, _ = release_of(n_leaves, n_terms)
    share = (release.row_norm(LATTICE, 1) / LATTICE) ** 2
    kept = 1 - release.removed / 16
    assert 0 <= kept - n_terms**-0.5 < 1 / 16
    assert share == pytest.approx(1 - (1 - kept**2) / n_leaves, rel=1e-4)


@pytest.mark.parametrize("n_moving", [0, 1])
def test_where_no_curve_can_move_the_total_of_all_leaves_is_released_alone(n_moving):
    sums = np.random.default_rng(0).integers(-(2**40), 2**40, (5, 3))
    release, _ = release_of(5, 12, still=range(n_moving, 5))
    assert not release.has_leaves
    assert not release.by_contrasts
    released = release.exact(sums)
    np.testing.assert_array_equal(released, [sums.sum(axis=0)])
    np.testing.assert_array_equal(release.total(released), sums.sum(axis=0))
    # As loud as one leaf: of sums it would be the variance of all of them together.
    assert release.row_norm(LATTICE, 3) == LATTICE
    assert release.total_variance(0.5) == 0.25
