"""In which cells fine bins are counted, by public numbers alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp import DPExplainableBoostingRegressor, PrivacyWarning, Schema
from interpret_dp.ebm.config import TrainerConfig
from interpret_dp.ebm.trainer.binning import Counts
from interpret_dp.ebm.trainer.histograms import _cells, _edges, _expected, _summed
from interpret_dp.schema import Categorical, Continuous, fine_bin_count
from interpret_dp.schema.encode import encode_column

values = st.lists(st.floats(-20, 20) | st.just(float("nan")), min_size=1, max_size=30)


@given(values=values, n_bins=st.integers(1, 40), is_fine=st.booleans(), width=st.floats(0, 15))
def test_cells_are_what_their_edges_say(values, n_bins, is_fine, width):
    spec = Continuous(-width / 3, width)
    codes = encode_column(pd.Series(values), spec, n_bins)
    cells = _cells(spec, fine_bin_count(spec, n_bins) + 2, is_fine)
    edges = _edges(spec, n_bins, is_fine)
    assert edges is not None
    clipped = np.clip(np.array(values), spec.lower, spec.upper)
    expected = np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, clipped, side="right"))
    np.testing.assert_array_equal(cells[codes], expected)
    # Unseen has a cell of its own, the one after the last range.
    assert cells[-1] == len(edges) + 2
    counts = np.bincount(codes, minlength=len(cells)).astype(np.int64)
    np.testing.assert_array_equal(
        _summed(counts, cells), np.bincount(expected, minlength=len(edges) + 3)
    )


def test_levels_are_always_counted_one_by_one():
    spec = Categorical(["a", "b", "c"])
    np.testing.assert_array_equal(_cells(spec, 5, False), np.arange(5))
    assert _edges(spec, 8, False) is None


def test_fine_bins_are_counted_two_by_two_where_noise_is_louder_than_their_rows():
    config = TrainerConfig(mu=0.1, n_features=4, max_bins=64)
    mu = next(part.mu for part in config.plan().releases if part.name == "bins")
    # A deviation of the noise of a count, 1 / mu, in each of 254 bins.
    least = 254 / mu
    assert config.can_count_finely(1.001 * least, 1.0)
    assert not config.can_count_finely(0.999 * least, 1.0)
    assert not config.can_count_finely(1.001 * least, 2.0)


@pytest.mark.parametrize(("epsilon", "n_cells"), [(0.05, 15), (50.0, 30)])
def test_a_fit_cuts_where_fine_bins_were_counted(epsilon, n_cells):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 30, 500)})
    schema = Schema({"x": Continuous(0, 30)}, target=Continuous(0, 1))
    model = DPExplainableBoostingRegressor(
        epsilon=epsilon, delta=1e-6, schema=schema, max_bins=8, random_state=0
    )
    with pytest.warns(PrivacyWarning):
        model.fit(X, rng.uniform(0, 1, 500))
    cuts = model.bins_[0][0]
    width = 30 / n_cells
    np.testing.assert_allclose(cuts / width, np.rint(cuts / width), atol=1e-9)
    if n_cells == 30:
        assert (np.rint(cuts / width) % 2 == 1).any()


def test_levels_and_missing_cells_have_no_neighbours_to_be_smoothed_by():
    released = [Counts(np.array([5.0, 40.0, -30.0, 35.0, -40.0, 0.0]), 50.0)] * 2
    smoothed, levels = _expected(released, [np.arange(3.0), None])
    np.testing.assert_array_equal(levels, released[0].rows)
    np.testing.assert_array_equal(smoothed[[0, -1]], released[0].rows[[0, -1]])
    assert np.abs(smoothed[1:-1]).max() < 20.0
    assert released[0].rows[1] == 40.0
