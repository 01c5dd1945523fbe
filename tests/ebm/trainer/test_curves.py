"""Curves on their way, and their averages."""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.curves import Averaged, Curves
from interpret_dp.ebm.trainer.partitions import Partition, TermUpdate


@pytest.mark.parametrize(("direction", "unmoved"), [(0, 0.0), (1, 1.125)])
def test_bins_that_never_move_stay_at_zero_where_a_change_is_cut_off(direction, unmoved):
    # Else their bands, which have no width, would miss the same fit without noise.
    bins = [Bins(np.arange(4, dtype=np.uint16), np.array([1.0, 2.0, 1.0, 0.0]), None)]
    curves = Curves(bins, 1, [direction])
    part = Partition(np.arange(4, dtype=np.uint16), 4)
    sums = np.array([-3.0, -2.0, 9.0, 9.0])[:, np.newaxis] * LATTICE
    change = curves.add(0, TermUpdate(part, np.array([1.0, 1.0, 1.0, 0.0])), sums, 4.0 * LATTICE)
    np.testing.assert_array_equal(change[:, 0] / LATTICE, [-3.5, -2.5, 4.0, 0.0])
    expected = [-2.375, -1.375, 5.125, unmoved]
    np.testing.assert_allclose(curves.averages()[0][:, 0], expected)


def curves_through(marks):
    """Return the curves of two terms with three bins that have been at these places."""
    bins = [Bins(np.arange(3, dtype=np.uint16), np.array([1.0, 2.0, 0.0]), None)] * 2
    curves = Curves(bins, 1, [0, 0])
    for mark in marks:
        curves.scores = [np.array(part, dtype=float)[:, np.newaxis] for part in mark]
        curves.mark()
    return curves


def test_drift_is_the_cosine_of_two_movements_over_the_rows():
    start, then = [[0, 0, 0], [0, 0, 0]], [[2, -1, 9], [0, 1, 0]]
    same_way = [[4, -2, 9], [0, 2, 0]]
    assert curves_through([start, then, same_way]).drift() == pytest.approx(1.0)
    assert curves_through([start, then, start]).drift() == pytest.approx(-1.0)
    # (2, -1, 0, 1) and (1, 1, 0, -1) with weights (1, 2, 1, 2): 2 - 2 - 2 over the two lengths.
    other = [[3, 0, 9], [0, 0, 0]]
    assert curves_through([start, then, other]).drift() == pytest.approx(-2 / np.sqrt(8 * 5))
    assert curves_through([start, then]).drift() == 0.0
    assert curves_through([start, start, start]).drift() == 0.0


def test_the_last_iterates_count():
    np.testing.assert_array_equal(Averaged(2).counts(4), [0.0, 0.0, 0.5, 0.5])
    np.testing.assert_array_equal(Averaged(3, 2.0).counts(3), np.full(3, 1 / 3))
    assert not Averaged(0).counts(3).any()


@pytest.mark.parametrize("direction", [0, 1])
def test_averages_go_ahead_along_the_last_change_but_of_monotone_curves(direction):
    """A share of a quarter of each step: three times the change is missing to a full one."""
    bins = [Bins(np.arange(4, dtype=np.uint16), np.array([0.0, 1.0, 1.0, 0.0]), None)]
    curves = Curves(bins, 1, [direction])
    update = TermUpdate(Partition(np.arange(4, dtype=np.uint16), 4), np.array([0.0, 0.25, 0.25, 0]))

    def step(change):
        curves.add(0, update, LATTICE * np.array([[0.0], [-4 * change], [4 * change], [0.0]]), 1e9)

    step(5.0)
    curves.forget()
    step(1.0)
    curves.remember()
    step(-2.0)
    curves.remember()
    assert curves.averaging(3.0) == (Averaged(2, 0.0 if direction else 3.0),)
    # Where it was, 6 and 4, and three times the changes of 1 and -2.
    expected = 5.0 if direction else (6.0 + 3.0 + 4.0 - 6.0) / 2
    np.testing.assert_allclose(curves.averages(3.0)[0][1:3, 0], [-expected, expected])
    np.testing.assert_allclose(curves.averages()[0][1:3, 0], [-5.0, 5.0])
