"""Editing a fitted estimator: what it predicts, promises, explains, saves and costs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
    load_model,
)


@pytest.fixture(scope="module")
def ledger():
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("cohort", epsilon=3, delta=1e-5)
    return ledger


@pytest.fixture(scope="module")
def model(cohort, ledger):
    return DPExplainableBoostingClassifier(
        schema=cohort.schema, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="cohort"
    ).fit(cohort.X, cohort.y)


@pytest.fixture(scope="module")
def cost_model(cost_cohort):
    return DPExplainableBoostingRegressor(
        schema=cost_cohort.schema, epsilon=1.0, delta=1e-6, dataset="costs"
    ).fit(cost_cohort.X, cost_cohort.y)


def test_an_edit_changes_predictions_as_told_and_nothing_else(model, cohort):
    before = model.predict_proba(cohort.X)
    editing = model.edit(author="Ada")
    editing.shift("sex", 1.0, levels=["male"], recentre=False)
    edited = editing.model
    assert type(edited) is type(model)
    male = (cohort.X["sex"] == "male").to_numpy()
    odds = [np.log(p[:, 1] / p[:, 0]) for p in (before, edited.predict_proba(cohort.X))]
    np.testing.assert_allclose(odds[1] - odds[0], male.astype(float), atol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(cohort.X), before)
    editing.undo()
    np.testing.assert_array_equal(editing.model.predict_proba(cohort.X), before)


def test_the_guarantee_is_that_of_the_base_and_the_ledger_does_not_move(model, ledger, cohort):
    head, spent = ledger.head, ledger.spent("cohort")
    editing = model.edit(author="Ada")
    editing.make_monotone("age")
    editing.smooth("length_of_stay")
    editing.verdict("bmi", "flat")
    editing.apply(editing.suggest_repairs({"length_of_stay": "+"}))
    editing.commit("known direction")
    edited = editing.model
    edited.explain_global()
    assert edited.guarantee_ == model.guarantee_
    assert (ledger.head, ledger.spent("cohort")) == (head, spent)
    spend = edited.privacy_spend_
    assert spend.edits == len(editing.history) >= 2
    assert spend.total_epsilon == model.privacy_spend_.total_epsilon


def test_an_edited_model_is_saved_read_and_edited_on(model, cohort, tmp_path):
    editing = model.edit(author="Ada")
    editing.make_monotone("age", increasing=True)
    editing.commit("risk grows with age")
    edited = editing.model
    edited.save(tmp_path / "edited.json")
    again = load_model(tmp_path / "edited.json")
    np.testing.assert_array_equal(again.predict_proba(cohort.X), edited.predict_proba(cohort.X))
    assert again.released_.edits == editing.history
    assert again.guarantee_ == model.guarantee_
    onward = again.edit(author="Grace")
    onward.cap("age", 0.01)
    assert [edit.who for edit in onward.model.released_.edits] == ["Ada", "Grace"]
    assert onward.model.privacy_spend_.edits == 2


def test_no_value_of_a_row_is_in_the_file(tmp_path):
    """Planted: a table whose cells would be recognised wherever they turned up."""
    rng = np.random.default_rng(0)
    planted = 31.415926
    X = pd.DataFrame({"x": np.where(rng.random(600) < 0.5, planted, 58.97932)})
    schema = Schema({"x": Continuous(0, 100)}, target=Categorical(["no", "yes"]))
    fitted = DPExplainableBoostingClassifier(
        schema=schema, epsilon=2.0, delta=1e-6, dataset="planted"
    ).fit(X, np.where(rng.random(600) < 0.5, "no", "yes"))
    editing = fitted.edit(author="Ada")
    editing.shift("x", 0.25, between=(30, 40))
    editing.commit("why")
    editing.save(tmp_path / "edits.json")
    text = (tmp_path / "edits.json").read_text(encoding="utf-8")
    assert "31.4" not in text
    assert "58.97" not in text
    assert set(json.loads(text)) == {"format", "version", "base", "edits", "sha256"}


def test_metrics_of_a_regression_are_in_units_of_its_target(cost_model, cost_cohort):
    editing = cost_model.edit(author="Ada")
    errors = cost_model.predict(cost_cohort.X) - cost_cohort.y
    editing.shift("sex", 500.0, levels=["male"], recentre=False)
    table = editing.metrics(cost_cohort.X, cost_cohort.y, public=True)
    assert list(table.columns) == ["rmse", "mae", "r2"]
    male = (cost_cohort.X["sex"] == "male").to_numpy()
    for name, off in (("original", errors), ("current", errors + 500.0 * male)):
        assert table.loc[name, "mae"] == pytest.approx(np.abs(off).mean())
        assert table.loc[name, "rmse"] == pytest.approx(np.sqrt((off**2).mean()))
        share = (off**2).mean() / cost_cohort.y.var(ddof=0)
        assert table.loc[name, "r2"] == pytest.approx(1 - share)


def test_metrics_of_three_classes():
    X = pd.DataFrame({"x": np.arange(90.0) % 10})
    y = np.array(["a", "b", "c"])[(X["x"] / 3.4).astype(int)]
    schema = Schema({"x": Continuous(0, 10)}, target=Categorical(["a", "b", "c"]))
    fitted = DPExplainableBoostingClassifier(schema=schema, epsilon=4.0, max_rounds=1).fit(X, y)
    table = fitted.edit().metrics(X, y, public=True)
    assert list(table.columns) == ["log_loss", "accuracy"]


def test_metrics_of_public_rows_are_exact_for_original_last_and_current(model, cohort):
    from sklearn.metrics import roc_auc_score

    editing = model.edit(author="Ada")
    editing.remove_effect("age")
    editing.remove_effect("length_of_stay")
    table = editing.metrics(cohort.X, cohort.y, public=True)
    assert list(table.index) == ["original", "last", "current"]
    assert list(table.columns) == ["log_loss", "accuracy", "auroc"]
    assert table["log_loss"].is_monotonic_increasing
    expected = roc_auc_score(cohort.y == "yes", model.predict_proba(cohort.X)[:, 1])
    assert table.loc["original", "auroc"] == pytest.approx(expected)
    one = editing.metrics(cohort.X[:3], ["no"] * 3, public=True)
    assert np.isnan(one.loc["current", "auroc"])


@pytest.mark.parametrize("public", [False, None, "yes", 1])
def test_metrics_of_rows_that_are_not_declared_public_are_refused(model, cohort, public):
    with pytest.raises(ValueError, match="with public=True"):
        model.edit().metrics(cohort.X, cohort.y, public=public)
    with pytest.raises(ValueError, match="charges the ledger"):
        model.edit().metrics(cohort.X, cohort.y)


def test_an_estimator_that_is_not_fitted_cannot_be_edited():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        DPExplainableBoostingClassifier().edit()
