"""Features that all maps share: their centre's cost and worth, and that it changes no model."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.llm import training
from interpret_dp.llm.training import released_frame
from tests.llm.tables import classifier
from tests.sessions import Session

SCHEMA = Schema(default=Continuous(0, 255), target=Categorical([0, 1]))


def pictures(n_rows, seed=0):
    """Return images of a bright spot at the left or at the right, on a common background."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    images = 100 + rng.normal(0, 8, size=(n_rows, 6, 6))
    for label, columns in ((0, slice(0, 2)), (1, slice(4, 6))):
        images[y == label, 2:4, columns] += 15
    return images, y


@given(scale=st.sampled_from([0.0, 1e-6, 0.3, 1.0, 1.7, 1e6, 1e30]), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_a_row_of_any_size_adds_at_most_what_is_accounted(scale, seed):
    rows = (scale * np.random.default_rng(seed).normal(size=(1, 7))).astype(np.float32)
    added = training._lattice_sums(rows, bound=1.0).astype(np.float64)
    session = Session(noise=1.0)
    released_frame(rows, None, 7, session, length=1.0)
    ((_, _, row_norm, _),) = session.asked
    assert np.linalg.norm(added) <= row_norm <= 3**0.5 * LATTICE + 1
    assert added[-1] == LATTICE


@pytest.mark.parametrize("n_inputs", [1, 32_767, 32_768, 70_000, 2**18])
@pytest.mark.parametrize("entry", [1.0, 30.0, -(2.0**20), 3e38, np.inf, np.nan])
def test_rows_of_many_inputs_add_at_most_what_is_accounted(n_inputs, entry):
    """In Python's integers. Squares of 32,768 entries at their limit left 64 bits."""
    beside = np.random.default_rng(0).normal(size=(2, n_inputs)).astype(np.float32)
    extreme = np.full(n_inputs, entry, dtype=np.float32)
    finite_but_one = np.where(np.arange(n_inputs) == n_inputs // 2, extreme, np.float32(1))
    bound = training.LONGEST * n_inputs**0.5
    before = training._lattice_sums(beside, bound)
    for row in (extreme, finite_but_one):
        after = training._lattice_sums(np.vstack([beside[:1], row, beside[1:]]), bound)
        added = [int(entry) for entry in after - before]
        assert sum(entry**2 for entry in added) <= (math.isqrt(3 * LATTICE**2) + 1) ** 2
        assert np.array_equal(added, training._lattice_sums(row[np.newaxis], bound))
        if not np.isfinite(row).all():
            assert added == [0] * (n_inputs + 1) + [LATTICE]


# In the estimator


def test_random_projections_are_not_centred():
    X, y = pictures(100)
    model = classifier(schema=SCHEMA, projection="gaussian", projection_dim=5).fit(X, y)
    assert model.settings_.centring == 0
    assert [share.name for share in model.guarantee_.releases] == ["gradients"]
    with pytest.raises(ValueError, match=r"each map has a random projection"):
        classifier(schema=SCHEMA, projection="gaussian", centring=0.01).fit(X, y)
    with pytest.raises(ValueError, match="projection is 'cosine', and rows are no images"):
        classifier(projection="cosine").fit(np.zeros((10, 4)), np.repeat("low", 10))
