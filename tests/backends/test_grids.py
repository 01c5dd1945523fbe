"""Grids of features: look-ups and sums per cell are those per feature."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.backends.grids import Grids

widths_of_features = st.lists(st.integers(1, 70), min_size=1, max_size=9)


@given(widths_of_features, st.integers(0, 5_000), st.randoms(use_true_random=False))
def test_every_feature_is_in_one_group_and_groups_are_small(widths, most_cells, random):
    order = random.sample(range(len(widths)), random.randint(0, len(widths)))
    found = Grids.of(np.array(order, dtype=np.int64), np.array(widths), most_cells=most_cells)
    assert [place for group in found.members for place in group] == list(range(len(order)))
    for group, shape, features in zip(found.members, found.shapes, found.features, strict=True):
        assert features[features >= 0].tolist() == [order[place] for place in group]
        assert list(shape) == [widths[order[place]] for place in group]
        assert len(group) == 1 or np.prod(shape) <= most_cells
