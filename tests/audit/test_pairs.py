"""Fits with pairs: replays on awkward neighbours, named pairs and chosen ones, and what adds up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    PrivacyUnit,
    Schema,
)
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.audit import replay
from interpret_dp.audit.replaying import Recording
from interpret_dp.ebm.pairs import training as pair_selection
from interpret_dp.mechanisms import use_randomness
from tests.audit.fits import (
    COSTS,
    FEATURES,
    LABELS,
    Fit,
    base_records,
    classifier,
    frame,
    regressor,
)

FITS: dict[str, Fit] = {"classification": classifier, "regression": regressor}
MODELS: dict[str, Any] = {
    "classification": DPExplainableBoostingClassifier,
    "regression": DPExplainableBoostingRegressor,
}
SCHEMAS = {"classification": LABELS, "regression": COSTS}
TARGETS: dict[str, Any] = {"classification": "yes", "regression": 30.0}
PAIRS: dict[str, Any] = {
    "named": [("age", "income"), ("site", 3), ("same", "age")],
    "chosen": 2,
    "chosen and excluded": "0.4x",
}
ADDED_ROWS: dict[str, tuple[Any, ...]] = {
    "ordinary": (50, 1e3, "a", 2, 5),
    "missing cells": (math.nan, None, None, None, math.nan),
    "out of range": (math.inf, -1e300, "undeclared", 17, -5),
}


def fitted(task: str, pairs: str, **settings: Any) -> Any:
    exclude = [(0, "income"), ("grade", "same")] if pairs.endswith("excluded") else None
    return lambda table: FITS[task](
        # With little noise, so that many cells move.
        table,
        interactions=PAIRS[pairs],
        exclude=exclude,
        epsilon=300.0,
        **settings,
    )


@pytest.mark.parametrize("kind", ADDED_ROWS)
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("task", FITS)
def test_one_row_changes_nothing_that_was_not_charged(task: str, pairs: str, kind: str) -> None:
    records = base_records(task)
    added = (*ADDED_ROWS[kind], TARGETS[task])
    tables = frame(records), frame([*records[:20], added, *records[20:]])
    for first, second in (tables, tables[::-1]):
        report = replay(fitted(task, pairs), first, second)
        assert report.ok, str(report)
        assert report.worst_ratio <= 1.0
    names = {check.name for check in report.releases}
    assert {"pair bins", "pairs"} <= names
    if kind == "ordinary":
        largest = max(check.ratio for check in report.releases if check.name == "pairs")
        assert largest > 0.1
    assert ("pair selection" in names) == (pairs != "named")


@pytest.mark.parametrize("task", FITS)
def test_replacement_and_weights(task: str) -> None:
    records = base_records(task)
    changed = [*records[:-1], (*ADDED_ROWS["ordinary"], TARGETS[task])]
    weights = np.linspace(0.0, 2.0, len(records))

    def fit(table: Any) -> Any:
        model = MODELS[task](
            schema=SCHEMAS[task],
            interactions=PAIRS["named"],
            privacy_weight_max=2.0,
            neighboring="replace_one",
            epsilon=300.0,
            max_rounds=2,
            feature_names=list(FEATURES),
            ledger=PrivacyLedger.in_memory(),
            dataset="audit",
        )
        return model.fit(*table, sample_weight=weights)

    report = replay(fit, frame(records), frame(changed))
    assert report.ok, str(report)


def test_a_choice_by_exact_sizes_without_their_projection_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A control: sizes that count squares move by more than the declared bound."""

    def squared(sums: Any) -> int:
        return int((sums.astype(object) ** 2).sum() // LATTICE)

    monkeypatch.setattr(pair_selection, "interaction_size", squared)
    records = base_records("classification")
    table, neighbour = frame(records), frame([*records, (*ADDED_ROWS["ordinary"], "yes")])
    report = replay(fitted("classification", "chosen"), table, neighbour)
    assert report.violations
    assert all(found.where.startswith("pair selection") for found in report.violations)


def _releases(fit: Any, table: Any) -> dict[str, Any]:
    recording = Recording(0)
    with use_randomness(recording):
        fit(table)
    return {f"{entry.name} {at}": entry.exact for at, entry in enumerate(recording.record)}


def test_cells_count_rows_that_have_a_target_once() -> None:
    records = base_records("regression")
    sums = _releases(fitted("regression", "named"), frame(records))
    cells = [exact for name, exact in sums.items() if name.startswith("pair bins")]
    counted = [exact for name, exact in sums.items() if name.startswith("target")]
    assert {int(exact.sum()) for exact in cells} == {int(counted[0][0, 0])}


def _people(n_people: int) -> list[dict[str, Any]]:
    """Return up to three rows of each person, interleaved."""
    return [
        {
            "person": f"p{person}",
            "age": float((17 * person + 31 * visit) % 100),
            "site": "abc"[(person + visit) % 3],
            "y": ["no", "yes"][(person * visit) % 2],
        }
        for visit in range(3)
        for person in range(n_people)
        if visit <= person % 3
    ]


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
@pytest.mark.parametrize("pairs", [[("age", "site")], 1])
def test_people_are_protected_with_all_their_rows(relation: str, pairs: Any) -> None:
    schema = Schema(
        {"age": Continuous(0, 100), "site": Categorical(["a", "b", "c"]), "dose": Continuous(0, 1)},
        target=Categorical(["no", "yes"]),
        unit=PrivacyUnit("person", 2),
    )

    def fit(rows: list[dict[str, Any]]) -> Any:
        table = pd.DataFrame(rows, columns=["person", "age", "site", "y"])
        table["dose"] = table["age"] / 100
        model = DPExplainableBoostingClassifier(
            schema=schema,
            interactions=pairs,
            epsilon=300.0,
            max_rounds=2,
            neighboring=relation,
            ledger=PrivacyLedger.in_memory(),
            dataset="audit",
        )
        return model.fit(table[["person", "age", "site", "dose"]], table["y"])

    extreme = [{"person": "extreme", "age": 100.0, "site": "c", "y": "yes"}] * 4
    other = [{"person": "other", "age": 0.0, "site": "a", "y": "no"}] * 4
    rows = _people(30)
    neighbour = rows if relation == "add_or_remove_one" else [*rows, *other]
    for first, second in (([*rows, *extreme], neighbour), (neighbour, [*rows, *extreme])):
        report = replay(fit, first, second)
        assert report.ok, str(report)
    largest = {check.name: check.ratio for check in report.releases}
    # Two rows in one cell, which is all that a person may do.
    assert largest["pair bins"] > 0.99
