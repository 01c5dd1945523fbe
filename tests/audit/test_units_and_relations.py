"""Replays of whole fits where a person has several rows, or is replaced, and rows have weights."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.audit import replay
from interpret_dp.ebm import training
from interpret_dp.fitting import rows as rows_module
from tests.audit.fits import check_both_ways, kinds

FEATURES = {
    "age": dp.Continuous(0, 100),
    "site": dp.Categorical(["a", "b", "c"]),
    "dose": dp.Continuous(0, 1),
}
TARGET = dp.Categorical(["no", "yes"])
UNIT = dp.PrivacyUnit("person", max_rows=2)
OF_TOTAL = dp.Schema(FEATURES, target=TARGET, unit=dp.PrivacyUnit("person", 1, total_rows=4))
HOUSES = {"schema": OF_TOTAL.replace(unit=dp.PrivacyUnit(["person", "house"], 2))}
DROP = {"schema": OF_TOTAL.replace(unit=dp.PrivacyUnit("person", 2, missing="drop"))}


def person(name, n_rows, seed):
    """Return the rows of one person: cells, target, weight and starting score."""
    rng = np.random.default_rng(seed)
    return [
        {
            "person": name,
            "age": float(rng.uniform(0, 100)),
            "site": str(rng.choice(["a", "b", "c"])),
            "y": str(rng.choice(TARGET.levels)),
            "weight": float(rng.uniform(0, 3)),
            "start": float(rng.normal()),
        }
        for _ in range(n_rows)
    ]


PEOPLE = [person(f"p{n}", 1 + n % 4, seed=n) for n in range(12)]


def mixed(persons):
    """Return all rows, those of different people interleaved."""
    longest = max(map(len, persons), default=0)
    return [rows[at] for at in range(longest) for rows in persons if at < len(rows)]


# The person in which the two tables differ: as many extreme rows as can be.
LOW = {"person": "extreme", "age": 0.0, "site": "a", "y": "no", "weight": 9.0, "start": 0.0}
LOWEST, HIGHEST = [LOW] * 5, [LOW | {"age": 100.0, "site": "c", "y": "yes"}] * 5
AWKWARD = {"age": None, "site": "never seen", "weight": np.nan, "y": "never seen", "start": np.inf}
ODD = [{"person": "odd", **AWKWARD}] * 3


def fit_of(relation, **options):
    """Return a fit of rows; options say what it uses of them."""
    has_start, is_weighted = options.pop("start", False), options.pop("weighted", False)
    is_declared = options.pop("declared", True)
    schema = dp.Schema(FEATURES, target=TARGET, unit=UNIT) if is_declared else dp.Schema(unit=UNIT)
    settings = {"schema": schema, "max_rounds": 2, "max_bins": 8, "n_jobs": 1} | options

    def fit(rows):
        frame = pd.DataFrame(
            {name: pd.Series([r[name] for r in rows], dtype=object) for name in LOW}
        )
        frame = frame.astype({"age": float, "weight": float}).assign(dose=frame["age"] / 100)
        frame["house"] = 1
        account = {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "audit"}
        model = dp.DPExplainableBoostingClassifier(neighboring=relation, **account, **settings)
        unit = [] if settings["schema"].unit is None else settings["schema"].unit.columns
        return model.fit(
            frame[[*unit, *FEATURES]],
            frame["y"],
            sample_weight=frame["weight"] if is_weighted else None,
            init_score=frame["start"].to_numpy(dtype=float) if has_start else None,
        )

    return fit


WEIGHTED = {"weighted": True, "privacy_weight_max": 4.0}
# Targets of other kinds, and other settings, are in test_replay.py.
CASES = [
    ("add_or_remove_one", WEIGHTED | {"start": True}),
    ("replace_one", WEIGHTED | {"start": True}),
    ("add_or_remove_one", {"weighted": True}),
    ("replace_one", {"declared": False, "weighted": True, "epsilon": 20.0}),
    ("add_or_remove_one", {"interactions": [("age", "site")], "epsilon": 300.0}),
    ("replace_one", {"interactions": 1, "epsilon": 300.0}),
    ("add_or_remove_one", WEIGHTED | {"population": "people"}),
    ("add_or_remove_one", WEIGHTED | {"start": True, "schema": OF_TOTAL}),
    ("replace_one", {"schema": OF_TOTAL}),
    ("add_or_remove_one", WEIGHTED | HOUSES),
]


@pytest.mark.parametrize(("relation", "options"), CASES)
def test_a_person_of_many_rows_changes_no_more_than_was_declared(relation, options):
    fit = fit_of(relation, **options)
    for one, other in ((HIGHEST, LOWEST), (HIGHEST, ODD)):
        pair = [[*PEOPLE, one], [*PEOPLE, other]]
        if relation == "add_or_remove_one":
            pair = [[*PEOPLE, HIGHEST if other is LOWEST else ODD], PEOPLE]
        report, _ = check_both_ways(fit, *map(mixed, pair))
        if "interactions" in options and other is LOWEST:
            # Two rows in one cell, which is all that a person may do.
            ratios = [check.ratio for check in report.releases if check.name == "pair bins"]
            assert max(ratios) > 0.99


def test_rows_without_an_identifier_are_people_of_their_own():
    table = [*mixed(PEOPLE), *(row | {"person": None} for row in HIGHEST)]
    other = {**table[-1], "age": 0.0, "site": "a", "y": "no"}
    check_both_ways(fit_of("replace_one"), table, [*table[:-1], other])
    fit = fit_of("add_or_remove_one")
    check_both_ways(fit, table, table[:-1])
    model = fit(table)
    assert model.guarantee_.unit == "all rows of one 'person' (at most 2 of them are used)"
    report, _ = check_both_ways(fit_of("add_or_remove_one", **DROP), table, mixed(PEOPLE))
    assert report.worst_ratio == 0.0


def test_every_row_of_one_is_replaced_under_the_row_relation():
    """Without a unit, one row is replaced by another, in every kind of sum."""
    rows = mixed(PEOPLE)
    fit = fit_of("replace_one", schema=dp.Schema(FEATURES, target=TARGET))
    for report in check_both_ways(fit, [*rows, HIGHEST[0]], [*rows, LOWEST[0]]):
        assert report.worst_ratio > 0.99


# ---------------------------------------------------------------- controls that must fail


@pytest.mark.parametrize(
    ("forgotten", "options"),
    [
        ({"unit": None, "max_rows": 1}, {}),
        ({"relation": "add_or_remove_one"}, {}),
        ({"total_rows": None}, {"schema": OF_TOTAL}),
    ],
)
def test_control_a_session_that_forgets_a_factor(forgotten, options, monkeypatch):
    honest = Neighbourhood.sensitivity

    def careless(self, row_norm, **given):
        return honest(dataclasses.replace(self, **forgotten), row_norm, **given)

    monkeypatch.setattr(Neighbourhood, "sensitivity", careless)
    table, neighbour = mixed([*PEOPLE, HIGHEST]), mixed([*PEOPLE, LOWEST])
    assert "sensitivity" in kinds(replay(fit_of("replace_one", **options), table, neighbour))


def test_control_rows_of_a_person_that_do_not_share_a_weight(monkeypatch):
    monkeypatch.setattr(training, "row_weights", lambda private, largest: None)
    pair = mixed([*PEOPLE, HIGHEST]), mixed(PEOPLE)
    fit = fit_of("add_or_remove_one", population="people")
    assert "sensitivity" in kinds(replay(fit, *pair))


def test_control_rows_that_are_chosen_by_their_place_in_the_table(monkeypatch):
    """A choice that counts rows across people lets one person move the rows of another."""

    def by_place(identifiers, max_rows, key):
        kept = np.zeros(len(identifiers), dtype=bool)
        for name in set(identifiers):
            own = np.flatnonzero(identifiers == name)
            kept[sorted(own, key=lambda row: row * 7919 % 31)[:max_rows]] = True
        return kept

    monkeypatch.setattr(rows_module, "kept_rows", by_place)
    others = [person(f"p{n}", 4, seed=n) for n in range(10)]
    table, neighbour = mixed([HIGHEST, *others]), mixed(others)
    assert "sensitivity" in kinds(replay(fit_of("add_or_remove_one"), table, neighbour))


def test_control_weights_that_are_rescaled_by_their_maximum(monkeypatch):
    honest = training.encode_weights

    def rescaled(values, maximum, unit):
        numbers = np.asarray(values, dtype=float)
        return honest(numbers / max(np.nanmax(numbers), 1e-9), 1.0, unit)

    monkeypatch.setattr(training, "encode_weights", rescaled)
    fit = fit_of("add_or_remove_one", **WEIGHTED)
    table, neighbour = mixed([*PEOPLE, HIGHEST]), mixed(PEOPLE)
    assert "sensitivity" in kinds(replay(fit, table, neighbour))
