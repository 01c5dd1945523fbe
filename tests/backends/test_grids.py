"""Grids of features: look-ups and sums per cell are those per feature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.backends import local
from interpret_dp.backends.base import MAX_SCORE
from interpret_dp.backends.grids import Grids
from interpret_dp.backends.local import LocalBinaryRows

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


@pytest.mark.parametrize("far", [False, True])
def test_scores_are_added_at_once_only_where_none_can_saturate(monkeypatch, far):
    """A public bound decides, so that the answer is that of one feature after another."""
    made = []

    def noted(*arguments, **settings):
        made.append(settings.get("most_cells"))
        return Grids.of(*arguments, **settings)

    monkeypatch.setattr(local, "Grids", type("Noted", (), {"of": staticmethod(noted)}))
    rows = LocalBinaryRows([np.zeros(2, np.uint8)] * 2, np.array([0, 1], np.int16))
    rows.merge_bins([np.zeros(1, np.uint16)] * 2)
    rows.begin(np.zeros(1, dtype=np.int64))
    up = MAX_SCORE if far else MAX_SCORE // 2
    updates = np.array([[[up]], [[up]]], dtype=np.int32)
    rows.advance(np.array([0, 1]), updates, np.array([0]), 1)
    assert made[0] == (0 if far else None)
    assert (rows._scores == MAX_SCORE).all()
