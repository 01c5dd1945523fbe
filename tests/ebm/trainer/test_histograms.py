"""In which cells fine bins are counted, by public numbers alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.trainer.histograms import _cells, _edges, _summed
from interpret_dp.schema import Continuous, fine_bin_count
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
