"""Fits that protect people: what the schema's unit and ``unit=`` do, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    LedgerError,
    PrivacyLedger,
    PrivacyUnit,
    Schema,
    SchemaError,
    load_model,
)

FEATURES = {"x": Continuous(0, 1), "g": Categorical(["a", "b"])}
LABELS = Categorical(["no", "yes"])
N_PEOPLE, N_VISITS = 800, 5


def visits() -> tuple[pd.DataFrame, Any]:
    """Return five rows of each of 800 people."""
    rng = np.random.default_rng(0)
    n_rows = N_PEOPLE * N_VISITS
    X = pd.DataFrame({"x": rng.uniform(size=n_rows), "g": rng.choice(["a", "b"], n_rows)})
    y = np.where(X["x"] + 0.3 * rng.normal(size=n_rows) > 0.5, "yes", "no")
    return X.assign(patient=rng.permutation(np.repeat(np.arange(N_PEOPLE), N_VISITS))), y


def model_of(unit: PrivacyUnit | None = None, **parameters: Any) -> DPExplainableBoostingClassifier:
    settings: dict[str, Any] = {"epsilon": 20.0, "n_jobs": 1} | parameters
    settings.setdefault("ledger", PrivacyLedger.in_memory())
    schema = settings.pop("schema", Schema(FEATURES, target=LABELS, unit=unit))
    settings.setdefault("dataset", "d")
    return DPExplainableBoostingClassifier(schema=schema, **settings)


@pytest.mark.parametrize("max_rows", [1, 3, 5, 9])
def test_at_most_max_rows_of_each_person_are_used(max_rows: int) -> None:
    X, y = visits()
    model = model_of(PrivacyUnit("patient", max_rows)).fit(X, y)
    used = min(max_rows, N_VISITS) * N_PEOPLE
    assert model.bag_weights_[0] == pytest.approx(used, rel=0.1)
    assert model.feature_names_in_ == ["x", "g"]
    assert f"all rows of one 'patient' ({'one' if max_rows == 1 else 'at most'}" in (
        model.guarantee_.sentence
    )


def test_the_noise_is_made_for_a_person() -> None:
    X, y = visits()
    one, four = (model_of(PrivacyUnit("patient", k)).fit(X, y) for k in (1, 4))
    rows = model_of().fit(X[["x", "g"]], y)
    assert one.noise_scale_binning_ == pytest.approx(rows.noise_scale_binning_, rel=1e-9)
    assert four.noise_scale_binning_ == pytest.approx(4 * rows.noise_scale_binning_, rel=1e-9)
    assert one.guarantee_.mu == four.guarantee_.mu == rows.guarantee_.mu


def test_replacing_costs_its_factors() -> None:
    X, y = visits()
    added, replaced = (
        model_of(neighboring=relation).fit(X[["x", "g"]], y)
        for relation in ("add_or_remove_one", "replace_one")
    )
    ratio = replaced.noise_scale_binning_ / added.noise_scale_binning_
    assert ratio == pytest.approx(np.sqrt(2), rel=1e-6)
    assert replaced.guarantee_.neighboring == "replace_one"
    assert "differ in the content of one row" in replaced.guarantee_.sentence


@pytest.mark.parametrize(
    "make",
    [list, np.array, pd.Series, pl.Series, lambda ids: pd.Series(ids).astype(str)],
    ids=["list", "array", "pandas", "polars", "text"],
)
def test_identifiers_can_be_given_beside_the_table(make: Any) -> None:
    X, y = visits()
    ids = make(X["patient"].tolist())
    with_schema = model_of(PrivacyUnit("patient", 2)).fit(X[["x", "g"]], y, unit=ids)
    assert with_schema.bag_weights_[0] == pytest.approx(2 * N_PEOPLE, rel=0.1)
    assert "'patient' (at most 2" in with_schema.guarantee_.unit
    # Without a declared maximum one row of each is used, which no data can make wrong.
    without = model_of(ledger=None, dataset=None).fit(X[["x", "g"]], y, unit=ids)
    assert without.bag_weights_[0] == pytest.approx(N_PEOPLE, rel=0.1)
    assert without.guarantee_.unit == "all rows of one 'unit' (one of them is used)"


def test_the_identifiers_leave_the_model_and_its_file(tmp_path: Path) -> None:
    X, y = visits()
    X["patient"] = [f"person-{n}" for n in X["patient"]]
    model = model_of(PrivacyUnit("patient", 2)).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    assert "person-" not in path.read_text(encoding="utf-8")
    assert b"person-" not in pickle.dumps(model)
    again = load_model(path)
    assert again.schema_.unit == PrivacyUnit("patient", 2)
    assert again.guarantee_ == model.guarantee_
    # Rows to predict may have the column or not, wherever it stands.
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(again.predict_proba(X[["patient", "g", "x"]]), expected)
    np.testing.assert_array_equal(again.predict_proba(X[["x", "g"]]), expected)


def test_an_array_has_its_identifiers_in_the_named_column() -> None:
    X, y = visits()
    cells = X[["patient", "x", "g"]].to_numpy(dtype=object)
    model = model_of(PrivacyUnit("patient", 2), feature_names=["patient", "x", "g"]).fit(cells, y)
    assert model.bag_weights_[0] == pytest.approx(2 * N_PEOPLE, rel=0.1)
    assert model.n_features_in_ == 2
    assert len(model.predict(cells[:, 1:])) == len(cells)


def test_named_features_find_the_identifiers_all_the_same() -> None:
    X, y = visits()
    model = model_of(PrivacyUnit("patient", 2), feature_names=["g", "x"]).fit(X, y)
    assert model.feature_names_in_ == ["g", "x"]
    assert model.bag_weights_[0] == pytest.approx(2 * N_PEOPLE, rel=0.1)


def test_accounts_of_rows_and_of_people_are_kept_apart() -> None:
    X, y = visits()
    ledger = PrivacyLedger.in_memory()
    model_of(ledger=ledger).fit(X[["x", "g"]], y)
    with pytest.raises(LedgerError, match=r"protects .*one row.*'patient'.*Nothing was spent"):
        model_of(PrivacyUnit("patient", 2), ledger=ledger).fit(X, y)
    # Fits that use different numbers of rows protect the same people.
    people = PrivacyLedger.in_memory()
    for max_rows in (1, 3):
        model_of(PrivacyUnit("patient", max_rows), ledger=people).fit(X, y)
    assert people.spent("d").n_requests == 2


def test_unnamed_data_sets_are_kept_apart_by_themselves() -> None:
    X, y = visits()
    schema = Schema(FEATURES, target=LABELS)
    for arguments in ({}, {"unit": X["patient"]}):
        model = DPExplainableBoostingClassifier(schema=schema, n_jobs=1)
        model.fit(X[["x", "g"]], y, **arguments)
        assert model.guarantee_.dataset == (
            "unnamed (add_or_remove_one: one 'unit')" if arguments else "unnamed"
        )


@pytest.mark.parametrize(
    ("unit", "columns", "arguments", "message"),
    [
        (PrivacyUnit("patient"), ["x", "g"], {}, r"lacks column 'patient'.*fit\(X, y, unit=ids\)"),
        (PrivacyUnit("patient"), None, {"unit": [1] * 4000}, "unit was given, and X has column"),
        (None, ["x", "g"], {"unit": [1, 2]}, "X and unit must have the same number of rows"),
        (None, ["x", "g"], {"unit": np.ones((4000, 2))}, "unit has 2 columns"),
        (
            None,
            ["x", "g"],
            {"unit": pd.Series(pd.date_range("2020", periods=4000))},
            "unit has dtype datetime64.*days since",
        ),
        (PrivacyUnit("patient"), ["patient"], {}, "only column 'patient'.*at least one feature"),
    ],
)
def test_unclear_units_are_refused_before_anything_is_spent(
    unit: PrivacyUnit | None, columns: list[str] | None, arguments: dict[str, Any], message: str
) -> None:
    X, y = visits()
    model = model_of(unit)
    with pytest.raises(SchemaError, match=message):
        model.fit(X if columns is None else X[columns], y, **arguments)
    assert model.ledger.datasets() == []


def test_more_noise_than_fits_is_refused_before_anything_is_spent() -> None:
    X, y = visits()
    model = model_of(PrivacyUnit("patient", 10**12))
    with pytest.raises(ValueError, match=r"max_rows is 10+, which needs more noise.*Keep"):
        model.fit(X, y)
    assert model.ledger.datasets() == []


def test_the_curators_report_leaves_identifiers_out() -> None:
    X, y = visits()
    schema = Schema(FEATURES, target=LABELS, unit=PrivacyUnit("patient"))
    report = schema.check(X, y)
    assert [column.name for column in report.columns] == ["x", "g", "(target)"]


def test_an_unknown_relation_is_refused() -> None:
    X, y = visits()
    with pytest.raises(ValueError, match=r"neighboring is 'bounded'.*'replace_one'"):
        model_of(neighboring="bounded").fit(X[["x", "g"]], y)


def test_identifiers_without_a_name_are_refused_by_a_ledger() -> None:
    """The ledger could not tell a promise about patients from one about households."""
    X, y = visits()
    model = model_of()
    with pytest.raises(SchemaError, match=r"does not say what it identifies.*PrivacyUnit\("):
        model.fit(X[["x", "g"]], y, unit=X["patient"])
    assert model.ledger.datasets() == []


@pytest.mark.parametrize("give", ["a column", "an argument", "decimals"])
def test_identifiers_that_are_floats_are_refused_by_their_type(give: str) -> None:
    """One missing cell turns pandas' integers into floats, in which large ones are merged."""
    import decimal

    import pyarrow as pa

    X, y = visits()
    features = X[["x", "g"]]
    floats = X["patient"].astype(float)
    exact = [decimal.Decimal(n) for n in X["patient"].tolist()]
    given = {
        "a column": (X.assign(patient=floats), None),
        "an argument": (features, floats),
        "decimals": (features, pa.array(exact, pa.decimal128(38, 20))),
    }
    model = model_of(PrivacyUnit("patient", 2))
    with pytest.raises(SchemaError, match=r"float64, in which large integers.*'Int64'"):
        model.fit(given[give][0], y, unit=given[give][1])
    assert model.ledger.datasets() == []


def test_awkward_identifiers_never_raise() -> None:
    X, y = visits()
    ids = pd.Series(X["patient"].tolist(), dtype=object)
    ids[:8] = ["\ud800", "\ud800", 10**5000, 10**5000, b"x", (), float("inf"), None]
    model = model_of(PrivacyUnit("patient", 1)).fit(X[["x", "g"]], y, unit=ids)
    assert model.bag_weights_[0] == pytest.approx(N_PEOPLE, rel=0.1)
