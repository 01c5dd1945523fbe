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
    PrivacyLedger,
    PrivacyUnit,
    Schema,
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


def test_the_curators_report_leaves_identifiers_out() -> None:
    X, y = visits()
    schema = Schema(FEATURES, target=LABELS, unit=PrivacyUnit("patient"))
    report = schema.check(X, y)
    assert [column.name for column in report.columns] == ["x", "g", "(target)"]
