"""Rows in pairs: the cells' sums are those of plain loops, and what a table answers adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends import local
from interpret_dp.backends.local import LocalBinaryRows, LocalRegressionRows

WIDTHS = (3, 2, 40)
PAIRS = [(0, 1), (2, 0), (1, 2)]
COARSE = (2, 2, 17)
MAPS = [(np.arange(w) % c).astype(np.uint16) for w, c in zip(WIDTHS, COARSE, strict=True)]

rows_drawn = st.lists(
    st.tuples(
        *(st.integers(0, width - 1) for width in WIDTHS),
        st.integers(-1, 1),
        st.integers(0, LATTICE),
    ),
    max_size=9,
)


def build(rows: list[tuple[int, ...]], task: str, n_threads: int = 1) -> Any:
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 5)
    codes = [table[:, k].astype(np.uint8) for k in range(3)]
    weights = table[:, 4].astype(np.int32)
    if task == "binary":
        labels = table[:, 3].astype(np.int16)
        return LocalBinaryRows(codes, labels, weights=weights, n_threads=n_threads)
    target = np.where(table[:, 3] < 0, np.nan, table[:, 3].astype(np.float64))
    return LocalRegressionRows(
        codes, target, lower=-1.0, upper=1.0, clip=0.5, weights=weights, n_threads=n_threads
    )


def answers(rows: Any) -> list[np.ndarray[Any, Any]]:
    """Ask what a trainer of pairs asks, with updates that differ from cell to cell."""
    rows.begin(np.array([LATTICE // 3]))
    updates = np.arange(3 * 40, dtype=np.int32).reshape(3, 40, 1) * 3001
    nothing = np.zeros(0, dtype=np.int64)
    rows.advance(np.arange(3), updates, nothing, 40)
    found = rows.pair_sums(PAIRS, MAPS, COARSE)
    rows.pair_up(PAIRS, MAPS, COARSE)
    cells = [COARSE[a] * COARSE[b] for a, b in PAIRS]
    found += rows.bin_counts(cells)
    rows.begin(np.zeros(1, dtype=np.int64))
    wanted = np.arange(3)
    found.append(rows.advance(nothing, np.zeros((0, 40, 1), np.int32), wanted, max(cells)))
    changes = np.arange(3 * max(cells), dtype=np.int32).reshape(3, -1, 1) * -2003
    found.append(rows.advance(wanted, changes, wanted[::-1].copy(), max(cells)))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["binary", "regression"])
@given(rows=rows_drawn)
def test_a_table_answers_the_sum_of_its_rows(task: str, rows: list[tuple[int, ...]]) -> None:
    whole = answers(build(rows, task))
    parts = [answers(build([row], task)) for row in rows]
    for position, total in enumerate(whole):
        single = sum((part[position] for part in parts), np.zeros_like(total))
        assert np.array_equal(total, single)


@pytest.mark.parametrize("task", ["binary", "regression"])
@given(row=rows_drawn.filter(lambda rows: len(rows) == 1))
def test_a_row_is_in_one_cell_of_each_pair(task: str, row: list[tuple[int, ...]]) -> None:
    rows = build(row, task)
    found = answers(rows)
    is_counted = row[0][3] >= 0
    for (first, second), table, counts in zip(PAIRS, found[:3], found[3:6], strict=True):
        cell = int(MAPS[first][row[0][first]]), int(MAPS[second][row[0][second]])
        assert table.shape == (COARSE[first], COARSE[second], 1)
        outside = table.copy()
        outside[cell] = 0
        assert not outside.any()
        assert abs(int(table[(*cell, 0)])) <= rows.residual_norm
        assert counts[cell[0] * COARSE[second] + cell[1]] == is_counted * row[0][4]
        assert counts.sum() == is_counted * row[0][4]


def test_pairs_start_where_the_features_ended() -> None:
    rows = [(2, 1, 17, 1, LATTICE), (0, 0, 3, 0, LATTICE)]
    found = answers(build(rows, "binary"))
    # The first sums after pairing up are those before it.
    for slot, (first, second) in enumerate(PAIRS):
        n_cells = COARSE[first] * COARSE[second]
        assert np.array_equal(found[6][slot, :n_cells], found[slot].reshape(n_cells, 1))


def test_threads_and_chunks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (*(int(rng.integers(width)) for width in WIDTHS), int(rng.integers(-1, 2)), LATTICE)
        for _ in range(50)
    ]
    expected = answers(build(rows, "regression"))
    monkeypatch.setattr(local, "_ROWS_PER_THREAD", 1)
    monkeypatch.setattr(local, "_PAIRS_AT_ONCE", 1)
    for one, other in zip(expected, answers(build(rows, "regression", 3)), strict=True):
        assert np.array_equal(one, other)
