"""Replays of whole fits where a person has several rows, or is replaced, and rows have weights."""

import dataclasses

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
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.audit import replay
from interpret_dp.fitting import rows as rows_module
from tests.audit.fits import check_both_ways, kinds

FEATURES = {
    "age": Continuous(0, 100),
    "site": Categorical(["a", "b", "c"]),
    "dose": Continuous(0, 1),
}
LABELS = {"binary": ["no", "yes"], "multiclass": ["no", "yes", "perhaps"]}
TARGETS = {task: Categorical(levels) for task, levels in LABELS.items()}
TARGETS["regression"] = Continuous(-10, 30)
N_SCORES = {"binary": 1, "multiclass": 3, "regression": 1}
RELATIONS = ["add_or_remove_one", "replace_one"]
UNIT = PrivacyUnit("person", max_rows=2)


def person(name, n_rows, task, seed):
    """Return the rows of one person: cells, target, weight and starting score."""
    rng = np.random.default_rng(seed)
    is_number = task == "regression"
    return [
        {
            "person": name,
            "age": float(rng.uniform(0, 100)),
            "site": str(rng.choice(["a", "b", "c"])),
            "y": float(rng.uniform(-10, 30)) if is_number else str(rng.choice(LABELS[task])),
            "weight": float(rng.uniform(0, 3)),
            "start": rng.normal(size=N_SCORES[task]).tolist(),
        }
        for _ in range(n_rows)
    ]


def people(task):
    return [person(f"p{n}", 1 + n % 4, task, seed=n) for n in range(12)]


def mixed(persons):
    """Return all rows, those of different people interleaved."""
    longest = max(map(len, persons), default=0)
    return [rows[at] for at in range(longest) for rows in persons if at < len(rows)]


# The person in which the two tables differ: as many extreme rows as can be.
def extreme(task, sign):
    target = (30.0 if sign > 0 else -10.0) if task == "regression" else LABELS[task][sign > 0]
    row = {"person": "extreme", "age": 100.0 * (sign > 0), "site": "c" if sign > 0 else "a"}
    start = [0.0] * N_SCORES[task]
    return [row | {"y": target, "weight": 9.0, "start": start}] * 5


def odd(task):
    row = {"person": "odd", "age": None, "site": "never seen", "weight": np.nan}
    target = np.nan if task == "regression" else "never seen"
    return [row | {"y": target, "start": [np.inf] * N_SCORES[task]}] * 3


def fit_of(task, relation, **options):
    """Return a fit of rows; options say what it uses of them."""
    kind = (
        DPExplainableBoostingRegressor if task == "regression" else DPExplainableBoostingClassifier
    )
    has_start, is_weighted = options.pop("start", False), options.pop("weighted", False)
    is_declared = options.pop("declared", True)
    # How many scores a row starts from is known only if the labels are.
    target = TARGETS[task] if is_declared or has_start else None
    schema = Schema(FEATURES if is_declared else {}, target=target, unit=UNIT)
    settings = {"schema": schema, "max_rounds": 2, "max_bins": 8, "n_jobs": 1} | options

    def fit(rows):
        names = ["person", "age", "site", "y", "weight", "start"]
        cells = {name: [row[name] for row in rows] for name in names}
        frame = pd.DataFrame({name: pd.Series(cells[name], dtype=object) for name in names})
        frame = frame.astype({"age": float, "weight": float}).assign(dose=frame["age"] / 100)
        scores = np.array(cells["start"], dtype=float).reshape(len(rows), N_SCORES[task])
        ledger = PrivacyLedger.in_memory()
        model = kind(neighboring=relation, ledger=ledger, dataset="audit", **settings)
        unit = ["person"] * (settings["schema"].unit is not None)
        return model.fit(
            frame[[*unit, *FEATURES]],
            frame["y"],
            sample_weight=frame["weight"] if is_weighted else None,
            init_score=scores if has_start else None,
        )

    return fit


OPTIONS = {
    "plain": {},
    "declared weights": {"weighted": True, "privacy_weight_max": 4.0},
    "undeclared weights": {"weighted": True},
    "starting scores": {"start": True},
    "weights and scores": {"weighted": True, "privacy_weight_max": 4.0, "start": True},
    "nothing declared": {"declared": False, "epsilon": 20.0},
    "nothing declared, weights": {"declared": False, "weighted": True, "epsilon": 20.0},
    "named pair": {"interactions": [("age", "site")], "epsilon": 300.0},
    "chosen pair": {"interactions": 1, "epsilon": 300.0},
}
# Each option of the others with each task, and with one relation at least.
CASES = [
    *(("binary", relation, options) for relation in RELATIONS for options in OPTIONS),
    ("multiclass", "add_or_remove_one", "undeclared weights"),
    ("multiclass", "replace_one", "starting scores"),
    ("multiclass", "add_or_remove_one", "weights and scores"),
    ("multiclass", "add_or_remove_one", "nothing declared, weights"),
    ("regression", "replace_one", "undeclared weights"),
    ("regression", "replace_one", "weights and scores"),
    ("regression", "add_or_remove_one", "nothing declared"),
    ("regression", "replace_one", "nothing declared, weights"),
]


@pytest.mark.parametrize(("task", "relation", "options"), CASES)
def test_a_person_of_many_rows_changes_no_more_than_was_declared(task, relation, options):
    others = people(task)
    pairs = [([*others, extreme(task, 1)], others), ([*others, odd(task)], others)]
    if relation == "replace_one":
        replaced = [(extreme(task, 1), extreme(task, -1)), (extreme(task, 1), odd(task))]
        pairs = [([*others, one], [*others, other]) for one, other in replaced]
    fit = fit_of(task, relation, **OPTIONS[options])
    reports = [check_both_ways(fit, *map(mixed, pair)) for pair in pairs]
    if options.endswith("pair"):
        # Two rows in one cell, which is all that a person may do.
        releases = reports[0][0].releases
        assert max(check.ratio for check in releases if check.name == "pair bins") > 0.99


def test_rows_without_an_identifier_are_people_of_their_own():
    others = people("binary")
    nobody = [row | {"person": None} for row in extreme("binary", 1)]
    table = [*mixed(others), *nobody]
    other = {**table[-1], "age": 0.0, "site": "a", "y": "no"}
    check_both_ways(fit_of("binary", "replace_one"), table, [*table[:-1], other])
    fit = fit_of("binary", "add_or_remove_one")
    check_both_ways(fit, table, table[:-1])
    model = fit(table)
    assert model.guarantee_.unit == "all rows of one 'person' (at most 2 of them are used)"


def test_every_row_of_one_is_replaced_under_the_row_relation():
    """Without a unit, one row is replaced by another, in every kind of sum."""
    rows = mixed(people("binary"))
    schema = Schema(FEATURES, target=TARGETS["binary"])
    fit = fit_of("binary", "replace_one", schema=schema)
    one, other = extreme("binary", 1)[0], extreme("binary", -1)[0]
    for report in check_both_ways(fit, [*rows, one], [*rows, other]):
        assert report.worst_ratio > 0.99


# ---------------------------------------------------------------- controls that must fail


@pytest.mark.parametrize("forgotten", ["the rows of a unit", "the relation"])
def test_control_a_session_that_forgets_a_factor(forgotten, monkeypatch):
    honest = Neighbourhood.sensitivity

    def careless(self, row_norm, *, aligned):
        kept = (
            {"unit": None, "max_rows": 1}
            if forgotten == "the rows of a unit"
            else {"relation": "add_or_remove_one"}
        )
        return honest(dataclasses.replace(self, **kept), row_norm, aligned=aligned)

    monkeypatch.setattr(Neighbourhood, "sensitivity", careless)
    others = people("binary")
    table = mixed([*others, extreme("binary", 1)])
    neighbour = mixed([*others, extreme("binary", -1)])
    assert "sensitivity" in kinds(replay(fit_of("binary", "replace_one"), table, neighbour))


def test_control_rows_that_are_chosen_by_their_place_in_the_table(monkeypatch):
    """A choice that counts rows across people lets one person move the rows of another."""

    def by_place(identifiers, max_rows, key):
        kept = np.zeros(len(identifiers), dtype=bool)
        for name in set(identifiers):
            own = np.flatnonzero(identifiers == name)
            kept[sorted(own, key=lambda row: row * 7919 % 31)[:max_rows]] = True
        return kept

    monkeypatch.setattr(rows_module, "kept_rows", by_place)
    others = [person(f"p{n}", 4, "binary", seed=n) for n in range(10)]
    table, neighbour = mixed([extreme("binary", 1), *others]), mixed(others)
    assert "sensitivity" in kinds(replay(fit_of("binary", "add_or_remove_one"), table, neighbour))


def test_control_weights_that_are_rescaled_by_their_maximum(monkeypatch):
    from interpret_dp.ebm import training

    honest = training.encode_weights

    def rescaled(values, maximum, unit):
        numbers = np.asarray(values, dtype=float)
        return honest(numbers / max(np.nanmax(numbers), 1e-9), 1.0, unit)

    monkeypatch.setattr(training, "encode_weights", rescaled)
    others = people("binary")
    fit = fit_of("binary", "add_or_remove_one", **OPTIONS["declared weights"])
    table, neighbour = mixed([*others, extreme("binary", 1)]), mixed(others)
    assert "sensitivity" in kinds(replay(fit, table, neighbour))
