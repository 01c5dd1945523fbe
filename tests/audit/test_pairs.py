"""Fits with pairs: a choice that must be found, and what adds up.

Replays on neighbours: test_units_and_relations.py and test_replay.py.
"""

import numpy as np
from hypothesis import given, strategies as st

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import replay
from interpret_dp.audit.replaying import Recording
from interpret_dp.ebm import pairs as pair_selection
from interpret_dp.mechanisms import use_randomness
from tests.audit.fits import base_records, classifier, frame, regressor


def fitted(fit, pairs):
    """Return a fit with little noise, so that many cells move."""
    return lambda table: fit(table, interactions=pairs, epsilon=300.0)


ADDED = (50, 1e3, "a", 2, 5)


@given(st.lists(st.integers(-(2**43), 2**43), min_size=16, max_size=16), st.integers(0, 15))
def test_an_entry_moves_the_size_of_an_interaction_by_no_more_than_itself(entries, cell):
    """Of all rows, one may be the only one: then by three quarters, on the largest grid."""
    for shape in ((4, 4), (2, 8), (2, 2), (1, 3)):
        sums = np.array(entries[: shape[0] * shape[1]]).reshape(shape)
        more = sums.copy()
        more.flat[cell % sums.size] += LATTICE
        change = pair_selection.interaction_size(more) - pair_selection.interaction_size(sums)
        assert abs(change) <= LATTICE
    alone = np.zeros((4, 4), dtype=np.int64)
    alone.flat[cell] = LATTICE
    assert pair_selection.interaction_size(alone) == 3 * LATTICE // 4


def test_a_choice_by_exact_sizes_without_their_projection_fails(monkeypatch):
    """A control: sizes that count squares move by more than the declared bound."""

    def squared(sums):
        return int((sums.astype(object) ** 2).sum() // LATTICE)

    monkeypatch.setattr(pair_selection, "interaction_size", squared)
    records = base_records("classification")
    table, neighbour = frame(records), frame([*records, (*ADDED, "yes")])
    report = replay(fitted(classifier, 2), table, neighbour)
    assert {" ".join(one.where.split()[:2]) for one in report.violations} == {"pair selection"}


def test_cells_count_rows_that_have_a_target_once():
    recording = Recording(0)
    with use_randomness(recording):
        fitted(regressor, [("age", "income"), ("site", 3), ("same", "age")])(
            frame(base_records("regression"))
        )
    cells = [entry.exact for entry in recording.record if entry.name == "pair bins"]
    [counted] = [entry.exact for entry in recording.record if entry.name == "target"]
    assert {int(exact.sum()) for exact in cells} == {int(counted[0, 0])}
