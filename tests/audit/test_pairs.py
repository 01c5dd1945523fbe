"""Fits with pairs: replays on awkward neighbours, named pairs and chosen ones, and what adds up."""

import math

import numpy as np
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
ADDED_ROWS = {
    "ordinary": (50, 1e3, "a", 2, 5),
    "missing cells": (math.nan, None, None, None, math.nan),
    "out of range": (math.inf, -1e300, "undeclared", 17, -5),
}


def fitted(task, pairs, **settings):
    exclude = [(0, "income"), ("grade", "same")] if pairs.endswith("excluded") else None
    # With little noise, so that many cells move.
    settings |= {"interactions": PAIRS[pairs], "exclude": exclude, "epsilon": 300.0}
    return lambda table: FITS[task](table, **settings)


@pytest.mark.parametrize("kind", ADDED_ROWS)
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("task", FITS)
def test_one_row_changes_nothing_that_was_not_charged(task, pairs, kind):
    records = base_records(task)
    added = (*ADDED_ROWS[kind], TARGETS[task])
    tables = frame(records), frame([*records[:20], added, *records[20:]])
    report, _ = check_both_ways(fitted(task, pairs), *tables)
    names = {check.name for check in report.releases}
    assert {"pair bins", "pairs"} <= names
    if kind == "ordinary":
        largest = max(check.ratio for check in report.releases if check.name == "pairs")
        assert largest > 0.1
    assert ("pair selection" in names) == (pairs != "named")


@pytest.mark.parametrize("task", FITS)
def test_replacement_and_weights(task):
    records = base_records(task)
    changed = [*records[:-1], (*ADDED_ROWS["ordinary"], TARGETS[task])]
    weights = np.linspace(0.0, 2.0, len(records))
    fit = fitted(task, "named", privacy_weight_max=2.0, neighboring="replace_one")
    report = replay(fit, (*frame(records), weights), (*frame(changed), weights))
    assert report.ok, str(report)


def test_a_choice_by_exact_sizes_without_their_projection_fails(monkeypatch):
    """A control: sizes that count squares move by more than the declared bound."""

    def squared(sums):
        return int((sums.astype(object) ** 2).sum() // LATTICE)

    monkeypatch.setattr(pair_selection, "interaction_size", squared)
    records = base_records("classification")
    table, neighbour = frame(records), frame([*records, (*ADDED_ROWS["ordinary"], "yes")])
    report = replay(fitted("classification", "chosen"), table, neighbour)
    assert {" ".join(one.where.split()[:2]) for one in report.violations} == {"pair selection"}


def test_cells_count_rows_that_have_a_target_once():
    recording = Recording(0)
    with use_randomness(recording):
        fitted("regression", "named")(frame(base_records("regression")))
    cells = [entry.exact for entry in recording.record if entry.name == "pair bins"]
    [counted] = [entry.exact for entry in recording.record if entry.name == "target"]
    assert {int(exact.sum()) for exact in cells} == {int(counted[0, 0])}
