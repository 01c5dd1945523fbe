"""Fits with pairs: replays on neighbours, named pairs and chosen ones, and what adds up."""

import pytest

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import replay
from interpret_dp.audit.replaying import Recording
from interpret_dp.ebm.pairs import training as pair_selection
from interpret_dp.mechanisms import use_randomness
from tests.audit.fits import base_records, check_both_ways, classifier, frame, regressor

FITS = {"classification": classifier, "regression": regressor}
TARGETS = {"classification": "yes", "regression": 30.0}
PAIRS = {
    "named": [("age", "income"), ("site", 3), ("same", "age")],
    "chosen": 2,
    "chosen and excluded": "0.4x",
}


def fitted(task, pairs, **settings):
    exclude = [(0, "income"), ("grade", "same")] if pairs.endswith("excluded") else None
    # With little noise, so that many cells move.
    settings |= {"interactions": PAIRS[pairs], "exclude": exclude, "epsilon": 300.0}
    return lambda table: FITS[task](table, **settings)


ADDED = (50, 1e3, "a", 2, 5)


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("task", FITS)
def test_one_row_changes_nothing_that_was_not_charged(task, pairs):
    records = base_records(task)
    added = (*ADDED, TARGETS[task])
    tables = frame(records), frame([*records[:20], added, *records[20:]])
    report, _ = check_both_ways(fitted(task, pairs), *tables)
    names = {check.name for check in report.releases}
    assert {"pair bins", "pairs"} <= names
    assert max(check.ratio for check in report.releases if check.name == "pairs") > 0.1
    assert ("pair selection" in names) == (pairs != "named")


def test_a_choice_by_exact_sizes_without_their_projection_fails(monkeypatch):
    """A control: sizes that count squares move by more than the declared bound."""

    def squared(sums):
        return int((sums.astype(object) ** 2).sum() // LATTICE)

    monkeypatch.setattr(pair_selection, "interaction_size", squared)
    records = base_records("classification")
    table, neighbour = frame(records), frame([*records, (*ADDED, "yes")])
    report = replay(fitted("classification", "chosen"), table, neighbour)
    assert {" ".join(one.where.split()[:2]) for one in report.violations} == {"pair selection"}


def test_cells_count_rows_that_have_a_target_once():
    recording = Recording(0)
    with use_randomness(recording):
        fitted("regression", "named")(frame(base_records("regression")))
    cells = [entry.exact for entry in recording.record if entry.name == "pair bins"]
    [counted] = [entry.exact for entry in recording.record if entry.name == "target"]
    assert {int(exact.sum()) for exact in cells} == {int(counted[0, 0])}
