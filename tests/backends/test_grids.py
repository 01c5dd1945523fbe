"""Grids of features: look-ups and sums per cell are those per feature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends import local
from interpret_dp.backends.base import MAX_SCORE
from interpret_dp.backends.grids import Grids
from interpret_dp.backends.local import LocalBinaryRows

widths_of_features = st.lists(st.integers(1, 70), min_size=1, max_size=9)


def cells_of(grids: Grids, group: int, codes: np.ndarray) -> np.ndarray:
    """Return the cell of each row by the definition, the first feature slowest."""
    places, shape = grids.members[group], grids.shapes[group]
    return np.ravel_multi_index([codes[place] for place in places], shape)


@given(widths_of_features, st.integers(0, 5_000), st.randoms(use_true_random=False))
def test_every_feature_is_in_one_group_and_groups_are_small(widths, most_cells, random):
    order = random.sample(range(len(widths)), random.randint(0, len(widths)))
    found = Grids.of(np.array(order, dtype=np.int64), np.array(widths), most_cells=most_cells)
    assert [place for group in found.members for place in group] == list(range(len(order)))
    for group, shape, features in zip(found.members, found.shapes, found.features, strict=True):
        assert features[features >= 0].tolist() == [order[place] for place in group]
        assert list(shape) == [widths[order[place]] for place in group]
        assert len(group) == 1 or np.prod(shape) <= most_cells


@given(widths_of_features, st.integers(0, 2**32 - 1))
def test_cells_carry_what_features_carry(widths, seed):
    rng = np.random.default_rng(seed)
    n_rows, n_bins = 50, max(widths)
    codes = np.array([rng.integers(0, width, n_rows) for width in widths])
    updates = rng.integers(-1000, 1000, (len(widths), n_bins)).astype(np.int32)
    residuals = rng.integers(-LATTICE, LATTICE, n_rows)
    grids = Grids.of(np.arange(len(widths)), np.array(widths))
    changes = grids.changes(updates)
    cells = np.zeros((len(grids.members), grids.n_cells), dtype=np.int64)
    moved = np.zeros(n_rows, dtype=np.int64)
    for group in range(len(grids.members)):
        rows = cells_of(grids, group, codes)
        moved += changes[group, rows]
        np.add.at(cells[group], rows, residuals)
    assert (moved == sum(own[code] for own, code in zip(updates, codes, strict=True))).all()
    sums = grids.sums(cells, n_bins)
    for feature, code in enumerate(codes):
        assert (sums[feature] == np.bincount(code, residuals, n_bins)).all()


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
