"""How features hang together: what a row adds to it, and what is made of what was released."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.backends.base import PRODUCT_UNIT
from interpret_dp.backends.local import LocalBinaryRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import (
    group_functions,
    orthonormal_scores,
    release_correlations,
)


class Door:
    """Adds normal noise of a given share of the sensitivity, and notes what it was asked."""

    neighbourhood = Neighbourhood()

    def __init__(self, noise: float = 0.0) -> None:
        self.noise, self.asked = noise, []

    def gaussian(self, name, exact, *, row_norm, aligned):
        self.asked.append((name, exact, row_norm, aligned))
        sigma = self.noise * row_norm
        noisy = exact + np.random.default_rng(1).normal(scale=sigma, size=exact.shape)
        return np.rint(noisy).astype(np.int64), sigma


def released(columns, is_ordered, *, noise=0.0, weights=None, terms=None, mu=1e3):
    codes = [np.asarray(column, dtype=np.uint8) for column in columns]
    labels = np.zeros(len(codes[0]), dtype=np.int16)
    rows = LocalBinaryRows(codes, labels, weights=weights)
    counts = [np.bincount(c, minlength=int(c.max()) + 2).astype(float) for c in codes]
    bins = [Bins(np.arange(len(c), dtype=np.uint16), c, None) for c in counts]
    door = Door(noise)
    terms = range(len(columns)) if terms is None else terms
    config = TrainerConfig(mu=mu, n_features=max(len(columns), 2), max_bins=32)
    return release_correlations(rows, bins, is_ordered, terms, len(labels), config, door), door


def normal_columns(correlation, n_rows=20_000, n_bins=16):
    """Two columns with a normal copula, in bins of as many rows; codes from 1."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n_rows)
    z = correlation * x + math.sqrt(1 - correlation**2) * rng.standard_normal(n_rows)
    return [1 + (np.argsort(np.argsort(v)) * n_bins // n_rows) for v in (x, z)]


@given(
    weights=st.lists(st.floats(0, 1e6), min_size=2, max_size=40),
    is_ordered=st.booleans(),
)
def test_no_vector_is_longer_than_the_unit(weights, is_ordered):
    found = group_functions(np.array(weights), is_ordered)
    assert found.dtype == np.int64
    assert len(found) == len(weights)
    assert (found**2).sum(axis=1).max() <= PRODUCT_UNIT**2


def test_an_ordered_feature_has_two_halves_and_a_missing_value_is_in_neither():
    found = group_functions(np.array([500.0, 10, 20, 30, 40, 0]), is_ordered=True)
    assert abs(found[:, 0]).tolist() == [0, 16, 16, 16, 16, 0]
    assert len({*found[1:4, 0]}) == 1  # 60 of 100 rows are nearer to half of them than 30
    assert found[4, 0] == -found[1, 0]


def test_common_levels_are_as_far_from_each_other_as_from_the_rest():
    found = group_functions(np.array([0.0, 400, 300, 200, 20, 20, 0]), is_ordered=False)
    assert found.shape == (7, 3)
    assert (found[4] == found[5]).all()
    assert (found[4] == found[0]).all()
    four = found[[1, 2, 3, 4]].astype(float)
    apart = np.linalg.norm(four[:, np.newaxis] - four, axis=2)[np.triu_indices(4, 1)]
    # 1.63 units but for truncation to whole numbers.
    assert apart == pytest.approx([PRODUCT_UNIT * (8 / 3) ** 0.5] * 6, rel=0.07)


@pytest.mark.parametrize("weights", [[0.0, 90, 0, 0], [0.0, 0.0], [0.0, 0, 0, 0]])
def test_a_feature_with_one_group_has_no_vector(weights):
    for is_ordered in (False, True):
        assert not group_functions(np.array(weights), is_ordered).any()


@pytest.mark.parametrize("is_ordered", [False, True])
def test_functions_are_orthonormal(is_ordered):
    weights = np.array([30.0, 400, 300, 200, 20, 50, 0])
    shares = weights / weights.sum()
    found = orthonormal_scores(shares, group_functions(weights, is_ordered), is_ordered)
    # Six levels have a group of their own, of which one says what the others do not.
    assert found.shape == (7, 3 if is_ordered else 5)
    assert shares @ found == pytest.approx(0, abs=1e-12)
    assert found.T @ (shares[:, np.newaxis] * found) == pytest.approx(
        np.eye(found.shape[1]), abs=1e-9
    )


@pytest.mark.parametrize("correlation", [-0.95, -0.4, 0.0, 0.7])
@pytest.mark.parametrize("n_bins", [2, 16])
def test_correlations_of_a_normal_copula_are_found(correlation, n_bins):
    columns = normal_columns(correlation, n_bins=n_bins)
    found, _ = released(columns, [True, True])
    exact = [f[c] for f, c in zip(found.functions, columns, strict=True)]
    n_known = min(2, exact[0].shape[1])
    for order in range(n_known):
        true = float(np.mean(exact[0][:, order] * exact[1][:, order]))
        # Of few bins, squares are a little less alike than those of the normal scores.
        near = [0.03, 0.09][order]
        assert found.matrix[order, len(found.matrix) // 2 + order] == pytest.approx(true, abs=near)
    assert (found.matrix == found.matrix.T).all()
    assert not found.matrix[:n_known, :n_known].any()


def test_levels_that_mean_the_same_are_found():
    rng = np.random.default_rng(0)
    level = rng.choice([1, 2, 3], 20_000, p=[0.5, 0.3, 0.2])
    other = np.where(rng.random(20_000) < 0.7, level, rng.choice([1, 2, 3], 20_000))
    number = 1 + (level == 2) + 2 * (rng.random(20_000) < 0.5)
    columns = [level, other, number]
    found, _ = released(columns, [False, False, True])
    vectors = np.concatenate([f[c] for f, c in zip(found.functions, columns, strict=True)], axis=1)
    exact = vectors.T @ vectors / len(vectors)
    first = exact[:4, :4] - np.eye(4)
    assert found.matrix[:4, :4] == pytest.approx(first, abs=0.04)
    # No half of the number tells of the level: it is not guessed.
    assert abs(found.matrix[:4, 4:]).max() < 0.05


def test_noise_is_taken_for_no_correlation_and_what_is_left_is_possible():
    columns = normal_columns(0.8, n_rows=200) + normal_columns(-0.8, n_rows=200)
    loud, _ = released(columns, [True] * 4, noise=100.0)
    assert abs(loud.matrix).max() < 0.7
    twelve = [normal_columns(0.99)[k % 2] for k in range(12)]
    found, _ = released(twelve, [True] * 12, noise=50.0)
    first = found.matrix[::3, ::3] + np.eye(12)
    assert np.linalg.eigvalsh(first)[0] > 0.0
    assert abs(found.matrix).max() <= 1.0


def test_columns_that_say_the_same_hardly_differ():
    """Or their bands would not know of the noise that they exchange."""
    column = normal_columns(0.0)[0]
    found, _ = released([column, column], [True, True])
    place = len(found.matrix) // 2
    assert 0.985 < found.matrix[0, place] < 1.0


def test_what_one_row_adds_is_the_declared_norm():
    """Sums of one row more, over the entries that are released: attained, and not passed."""
    columns = [np.array([*c, c[0]]) for c in [[1, 2, 1, 2], [1, 1, 2, 2], [2, 1, 1, 2]]]
    for weights in (None, np.full(5, LATTICE), np.array([LATTICE] * 4 + [LATTICE // 3])):
        weights = None if weights is None else weights.astype(np.int32)
        _, more = released(columns, [True, False, True], weights=weights)
        kept = None if weights is None else weights[:4]
        _, less = released([c[:4] for c in columns], [True, False, True], weights=kept)
        ((name, one, row_norm, aligned),) = more.asked
        change = math.sqrt(((one - less.asked[0][1]) ** 2).sum())
        assert (name, aligned) == ("correlations", False)
        assert change <= row_norm
        share = 1.0 if weights is None else weights[-1] / LATTICE
        # Half of what was declared would not hold.
        assert change == pytest.approx(share * math.sqrt(3) * LATTICE, rel=0.01)
        assert row_norm == pytest.approx(math.sqrt(3) * LATTICE, rel=1e-5)


@pytest.mark.parametrize("columns", [[[1, 2, 1, 2]], [[1, 2, 1, 2], [1, 1, 1, 1]]])
def test_one_term_hangs_together_with_nothing(columns):
    found, door = released(columns, [True] * len(columns))
    assert found is None
    assert door.asked == []


def test_nothing_is_asked_where_noise_would_hide_it():
    """Two columns and 20,000 rows; the release has 0.9 % of mu squared."""
    columns = normal_columns(0.9)
    for mu, is_seen in ((1 / 20_000 / 0.09, True), (1 / 20_000 / 0.1, False)):
        found, door = released(columns, [True, True], mu=mu)
        assert (found is not None) is is_seen
        assert len(door.asked) == is_seen


def test_of_many_terms_the_first_ones_are_known(monkeypatch):
    monkeypatch.setattr("interpret_dp.ebm.trainer.correlations._MOST_TERMS", 2)
    columns = [*normal_columns(0.9), *normal_columns(0.5)]
    found, door = released(columns, [True] * 4, terms=[3, 0, 1, 2])
    assert found.terms == [0, 3]
    assert door.asked[0][2] == LATTICE + 1


def test_what_rows_get_from_other_terms_is_that_of_the_rows():
    """Three columns of which two hang together, and curves of any form."""
    columns = [*normal_columns(0.7), np.random.default_rng(1).integers(1, 17, 20_000)]
    (correlations, _), rng = released(columns, [True] * 3), np.random.default_rng(2)
    steps = np.zeros((3, 18, 1))
    steps[:, 1:17, 0] = np.cumsum(rng.normal(size=(3, 16)), axis=1)
    weights = [np.bincount(c, minlength=18).astype(float) for c in columns]
    curves = [f - w @ f / w.sum() for f, w in zip(steps, weights, strict=True)]
    means, variances = correlations.seen_from(curves, weights)
    scores = [f[c, 0] for f, c in zip(curves, columns, strict=True)]
    for k, column in enumerate(columns):
        others = np.sum([s for other, s in enumerate(scores) if other != k], axis=0)
        per_bin = np.bincount(column, weights=others, minlength=18) / np.maximum(weights[k], 1.0)
        within = float(np.mean((others - per_bin[column]) ** 2))
        # Polynomials of three orders know of most that there is.
        assert float(np.mean((means[k][column, 0] - per_bin[column]) ** 2)) < 0.06 * others.var()
        assert variances[k, 0] == pytest.approx(within, rel=0.12)
    own = sum(score.var() for score in scores)
    whole = np.sum(scores, axis=0).var()
    assert correlations.shared_variance(curves, weights) == pytest.approx(whole - own, rel=0.1)
