"""Leaf sums that are released without most of their total: norms, rounding, and what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.noise.propagation import noises_of_sums
from interpret_dp.ebm.trainer.contrasts import LeafRelease
from interpret_dp.ebm.trainer.partitions import Partition, TermUpdate, centred_change, without_total


def release_of(n_leaves, n_terms, still=(), unevenness=0.0, seed=0):
    gain = np.exp(unevenness * np.random.default_rng(seed).normal(size=n_leaves))
    gain[list(still)] = 0.0
    return LeafRelease.of(gain, n_terms), gain


def update_of(release, gain):
    part = Partition(np.arange(len(gain), dtype=np.uint16), len(gain))
    return TermUpdate(part, gain, by_contrasts=release.by_contrasts)


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


def variance_of_curve(stiffness, n_terms, removed, n_draws=200_000):
    """Simulate one full step of one term, the intercept told by the totals of all like it."""
    rng = np.random.default_rng(0)
    n_leaves = len(stiffness)
    release = LeafRelease(np.arange(n_leaves), removed)
    size = release.row_norm(LATTICE, 1) / LATTICE
    level = rng.normal(size=n_draws) * (release.total_variance(size) / n_terms) ** 0.5
    heard = np.outer(stiffness, level / stiffness.sum())
    update = TermUpdate(
        Partition(np.arange(n_leaves, dtype=np.uint16), n_leaves),
        1.0 / stiffness,
        by_contrasts=release.by_contrasts,
    )
    sums = without_total(update, size * rng.normal(size=heard.shape) - heard)
    return stiffness @ centred_change(update, stiffness, sums).var(axis=1)


@pytest.mark.parametrize("stiffness", [[1.0, 30.0], [1.0, 9.0, 90.0, 400.0], [5.0, 6.0, 7.0]])
@pytest.mark.parametrize("n_terms", [4, 30])
def test_what_remains_of_the_mean_makes_the_noise_of_a_curve_small(stiffness, n_terms):
    """A standard error of a variance of 200,000 draws is 0.3 %."""
    stiffness = np.array(stiffness)
    removed = LeafRelease.of(1.0 / stiffness, n_terms).removed
    found = variance_of_curve(stiffness, n_terms, removed)
    # Never so much that all terms together know less of the total than one plain sum would.
    most = int(16 * (1 - n_terms**-0.5))
    assert removed <= most
    others = [variance_of_curve(stiffness, n_terms, other) for other in range(most + 1)]
    assert found < 1.03 * min(others)
    assert found < 0.95 * max(others)


@pytest.mark.parametrize(("n_leaves", "n_terms"), [(2, 10), (2, 1_000), (4, 20), (16, 20)])
def test_the_norm_is_that_of_a_vertex_of_a_simplex(n_leaves, n_terms):
    """Noise is made for it; a share of 1 / sqrt(n_terms) of the mean remains, to a 16th."""
    release, _ = release_of(n_leaves, n_terms)
    share = (release.row_norm(LATTICE, 1) / LATTICE) ** 2
    kept = 1 - release.removed / 16
    assert 0 <= kept - n_terms**-0.5 < 1 / 16
    assert share == pytest.approx(1 - (1 - kept**2) / n_leaves, rel=1e-4)


def test_one_term_and_many_leaves_are_released_as_they_are():
    sums = np.arange(60, dtype=np.int64)[:, np.newaxis]
    for n_leaves, n_terms in [(6, 1), (60, 20)]:
        release, _ = release_of(n_leaves, n_terms)
        assert not release.by_contrasts
        assert release.row_norm(LATTICE, 1) == LATTICE
        assert (release.exact(sums[:n_leaves]) == sums[:n_leaves]).all()


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


def test_an_update_gets_what_leaves_differ_by_and_the_intercept_the_total():
    rng = np.random.default_rng(0)
    sums = rng.integers(-(2**40), 2**40, (7, 2))
    release, gain = release_of(7, 12, still=[3, 6])
    moved = gain > 0
    released = release.exact(sums)
    assert not released[~moved].any()
    np.testing.assert_allclose(release.total(released), sums[moved].sum(axis=0), rtol=1e-9)
    found = without_total(update_of(release, gain), released)
    expected = sums[moved] - sums[moved].mean(axis=0)
    np.testing.assert_allclose(found[moved], expected, rtol=1e-9)


def test_noise_of_contrasts_has_no_part_in_their_mean():
    release, gain = release_of(5, 12, still=[4])
    one = [update_of(release, gain)]
    noise = next(noises_of_sums(one, np.ones(5), np.ones(5), 20_000, np.random.default_rng(0)))
    np.testing.assert_allclose(noise[:4].mean(axis=0), 0.0, atol=1e-12)
    # Standard error of a variance of 20,000 draws: 1 %.
    assert noise[:4].var() == pytest.approx(0.75, rel=0.05)
