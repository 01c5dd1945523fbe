"""Fits with pairs: a choice that must be found, and what adds up.

More replays on neighbours: test_units_and_relations.py and test_replay.py.
"""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interpret_dp as dp
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import replay
from interpret_dp.audit.replaying import Recording
from interpret_dp.ebm import pairs as pair_selection
from interpret_dp.mechanisms import use_randomness
from interpret_dp.release import ReleaseSession
from tests.audit.fits import (
    FEATURES,
    base_records,
    check_both_ways,
    classifier,
    frame,
    regressor,
    releases_broken,
)


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
    # Of a class each; a row of the first one, where both have half a chance.
    sums = np.array(entries).reshape(2, 4, 2)
    more = sums.copy()
    more[cell % 2, cell % 4] += (LATTICE // 2, -LATTICE // 2)
    change = pair_selection.interaction_size(more) - pair_selection.interaction_size(sums)
    assert abs(change) <= math.isqrt(LATTICE**2 // 2) + 1
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


# The row that is added has the largest count, or a class that no other row has.
COUNTS = dp.Schema(FEATURES, target=dp.Continuous(0, 40))
CLASSES = dp.Schema(FEATURES, target=dp.Categorical(["no", "perhaps", "yes"]))
KINDS = {
    "poisson_deviance": (regressor, {"schema": COUNTS, "objective": "poisson_deviance"}, 40),
    "classes": (classifier, {"schema": CLASSES}, "perhaps"),
}


def kind_of_pairs(kind, pairs):
    """Return a fit of that kind, a table, and the table with one row more."""
    fit, settings, added = KINDS[kind]
    task = "classification" if kind == "classes" else "regression"
    records = [
        (*record[:-1], abs(record[-1]) if task == "regression" else record[-1])
        for record in base_records(task)
    ]
    more = [*records, (*ADDED, added)]
    return fitted(lambda t, **own: fit(t, **settings, **own), pairs), frame(records), frame(more)


@pytest.mark.parametrize("pairs", [[("age", "income"), ("site", "grade")], 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_moves_pairs_of_counts_and_classes_by_no_more_than_its_norm(kind, pairs):
    reports = check_both_ways(*kind_of_pairs(kind, pairs))
    for name in ("pairs", "pair bins"):
        assert max(check.ratio for check in reports[0].releases if check.name == name) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_a_norm_of_one_class_or_of_a_narrower_clip_fails(kind, monkeypatch):
    """A control: residuals of several classes are longer than one, and counts reach their clip."""
    honest, share = ReleaseSession.gaussian, 1 / math.sqrt(2.0) if kind == "classes" else 0.5

    def careless(self, name, exact, *, row_norm, aligned):
        norm = int(row_norm * share) if name == "pairs" else row_norm
        return honest(self, name, exact, row_norm=norm, aligned=aligned)

    monkeypatch.setattr(ReleaseSession, "gaussian", careless)
    report = replay(*kind_of_pairs(kind, [("age", "income")]))
    assert releases_broken(report) == {"pairs"}
