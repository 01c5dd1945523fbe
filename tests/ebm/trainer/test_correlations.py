"""Correlations of features: what a row adds, and what follows from the released sums."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from interpret_dp.accounting.lattice import LATTICE, PRODUCT_UNIT
from interpret_dp.backends.local import LocalBinaryRows
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import group_functions, orthonormal_scores
from interpret_dp.ebm.trainer.releases import release_correlations
from tests.sessions import Session


def released(columns, is_ordered, *, noise=0.0, weights=None, terms=None, mu=1e3):
    codes = [np.asarray(column, dtype=np.uint8) for column in columns]
    labels = np.zeros(len(codes[0]), dtype=np.int16)
    rows = LocalBinaryRows(codes, labels, weights=weights)
    counts = [np.bincount(c, minlength=int(c.max()) + 2).astype(float) for c in codes]
    bins = [Bins(np.arange(len(c), dtype=np.uint16), c, None) for c in counts]
    session = Session(noise)
    terms = range(len(columns)) if terms is None else terms
    config = TrainerConfig(mu=mu, n_terms=max(len(columns), 2), max_bins=32)
    start = SimpleNamespace(n_rows=len(labels), row_mass=1.0)
    return release_correlations(rows, bins, is_ordered, terms, start, config, session), session


@given(weights=st.lists(st.floats(0, 1e6), min_size=2, max_size=40), is_ordered=st.booleans())
def test_no_vector_is_longer_than_the_unit(weights, is_ordered):
    found = group_functions(np.array(weights), is_ordered)
    assert found.dtype == np.int64
    assert len(found) == len(weights)
    assert (found**2).sum(axis=1).max() <= PRODUCT_UNIT**2


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
    assert found.T @ (shares[:, None] * found) == pytest.approx(np.eye(found.shape[1]), abs=1e-9)


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


def test_each_feature_is_named_with_those_that_it_is_most_correlated_with():
    rng = np.random.default_rng(0)
    common = rng.normal(size=20_000)
    columns = [
        np.digitize(sign * common + 0.75 * rng.normal(size=20_000), np.linspace(-2, 2, 9)) + 1
        for sign in (1.0, -1.0, 0.0)
    ]
    columns += [np.digitize(common, [-0.5, 0.5]) + 1] * 2  # nominal: Cramer's V of 1
    is_ordered = [True, True, True, False, False]
    found, _ = released(columns, is_ordered)
    values = {(i, j): value for i, j, value in found.strongest(is_ordered)}
    true = np.corrcoef(columns[:3])
    assert values[0, 1] == pytest.approx(true[0, 1], abs=0.03)
    assert values[0, 1] < -0.5
    assert abs(values.get((0, 2), 0.0)) < 0.05
    between = [columns[0][columns[3] == level].mean() for level in (1, 2, 3)]
    shares = np.bincount(columns[3])[1:] / 20_000
    spread = shares @ (np.array(between) - columns[0].mean()) ** 2
    assert values[0, 3] == pytest.approx(math.sqrt(spread / columns[0].var()), abs=0.05)
    assert values[3, 4] == pytest.approx(1.0, abs=0.02)
    assert values == {pair: round(value, 2) for pair, value in values.items()}
