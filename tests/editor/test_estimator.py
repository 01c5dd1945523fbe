"""Editing a fitted estimator: what it predicts, promises, explains, saves and costs."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score

import interpret_dp as dp
from tests.editor.models import build_model

ROWS = [[age, n, "mid", city] for age in (15, 50, None) for n in (0, 7) for city in ("Lyon", 3)]
IN_LYON = np.array([row[3] == "Lyon" for row in ROWS], dtype=float)


@pytest.fixture
def model():
    return dp.DPExplainableBoostingClassifier.from_released(build_model())


def test_an_edit_changes_predictions_as_told_and_nothing_else_also_from_a_file(model, tmp_path):
    before = model.predict_proba(ROWS)
    editing = model.edit(author="Ada")
    editing.shift("city", 1.0, levels=["Lyon"], recentre=False)
    edited = editing.model
    assert type(edited) is type(model)
    odds = [np.log(p[:, 1] / p[:, 0]) for p in (before, edited.predict_proba(ROWS))]
    np.testing.assert_allclose(odds[1] - odds[0], IN_LYON, atol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(ROWS), before)
    editing.undo()
    np.testing.assert_array_equal(editing.model.predict_proba(ROWS), before)
    edited.save(tmp_path / "edited.json")
    again = dp.load_model(tmp_path / "edited.json")
    np.testing.assert_array_equal(again.predict_proba(ROWS), edited.predict_proba(ROWS))
    assert again.guarantee_ == model.guarantee_
    onward = again.edit(author="Grace")
    onward.cap("age", 0.01)
    assert [edit.who for edit in onward.model.released_.edits] == ["Ada", "Grace"]
    assert onward.model.privacy_spend_.edits == 2


def test_editing_charges_nothing_and_its_file_holds_no_value_of_a_row(tmp_path):
    """Planted: a table whose cells would be recognised wherever they turned up."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.where(rng.random(600) < 0.5, 31.415926, 58.97932)})
    schema = dp.Schema({"x": dp.Continuous(0, 100)}, target=dp.Categorical(["no", "yes"]))
    ledger = dp.PrivacyLedger.in_memory()
    ledger.create_budget("planted", epsilon=3, delta=1e-5)
    fitted = dp.DPExplainableBoostingClassifier(
        schema=schema, epsilon=2.0, delta=1e-6, ledger=ledger, dataset="planted"
    ).fit(X, np.where(rng.random(600) < 0.5, "no", "yes"))
    head, spent = ledger.head, ledger.spent("planted")
    editing = fitted.edit(author="Ada")
    editing.shift("x", 0.25, between=(30, 40))
    editing.smooth("x")
    editing.verdict("x", "flat")
    editing.apply(editing.suggest_repairs({"x": "+"}))
    editing.commit("why")
    edited = editing.model
    edited.explain_global()
    assert edited.guarantee_ == fitted.guarantee_
    assert (ledger.head, ledger.spent("planted")) == (head, spent)
    spend = edited.privacy_spend_
    assert spend.edits == len(editing.history) >= 2
    assert spend.total_epsilon == fitted.privacy_spend_.total_epsilon
    editing.save(tmp_path / "edits.json")
    text = (tmp_path / "edits.json").read_text(encoding="utf-8")
    assert "31.4" not in text
    assert "58.97" not in text
    assert set(json.loads(text)) == {"format", "version", "base", "edits", "sha256"}


def test_metrics_of_a_regression_are_in_units_of_its_target():
    model = dp.DPExplainableBoostingRegressor.from_released(build_model(0))
    editing = model.edit(author="Ada")
    y = np.arange(12.0)
    errors = model.predict(ROWS) - y
    editing.shift("city", 5.0, levels=["Lyon"], recentre=False)
    editing.use_public_rows(ROWS, y, public=True)
    table = editing.metrics()
    assert list(table.columns) == ["rmse", "mae", "r2", "n_rows"]
    for name, off in (("original", errors), ("current", errors + 5.0 * IN_LYON)):
        expected = np.sqrt((off**2).mean()), np.abs(off).mean(), 1 - (off**2).mean() / y.var()
        assert tuple(table.loc[name]) == pytest.approx((*expected, 12))
    # A selection: the rows of Lyon alone.
    part = editing.metrics(where={"city": {"levels": ["Lyon"]}})
    off = errors[IN_LYON == 1] + 5.0
    assert part.loc["current", "rmse"] == pytest.approx(np.sqrt((off**2).mean()))
    assert set(part["n_rows"]) == {6}


def test_metrics_of_classes_are_exact_for_each_version_and_every_part_of_the_rows(model):
    y = np.array(list("ab") * 6)
    editing = model.edit(author="Ada")
    for term in ("age", "dose", "city"):
        editing.remove_effect(term)
        if term == "age":
            editing.commit("no effect of age is known")
    plan = editing.preview("remove_effect", "grade")
    editing.use_public_rows(ROWS, y, public=True)
    table = editing.metrics(preview=plan)
    assert list(table.index) == ["original", "committed", "current", "preview"]
    assert list(table.columns) == ["log_loss", "accuracy", "auroc", "n_rows"]
    chances = model.predict_proba(ROWS)
    expected = log_loss(y, chances), np.mean(model.predict(ROWS) == y)
    assert tuple(table.loc["original"]) == pytest.approx(
        (*expected, roc_auc_score(y == "b", chances[:, 1]), 12)
    )
    assert table["log_loss"].nunique() == 4
    # The cards' parts: bins of one term, and those that are in a slice of another as well.
    old = np.array([row[0] == 50 for row in ROWS])
    bins = editing.view("age").labels.index("40 to 55")
    part = editing.metrics(where={"age": {"bins": [bins]}})
    assert part.loc["current", "log_loss"] == pytest.approx(
        log_loss(y[old], editing.model.predict_proba([r for r in ROWS if r[0] == 50]))
    )
    both = editing.metrics(where={"age": {"bins": [bins]}, "city": {"levels": [3]}})
    assert set(both["n_rows"]) == {2}
    none = editing.metrics(where={"age": {"bins": [1]}, "grade": {"levels": ["top"]}})
    assert set(none["n_rows"]) == {0}
    assert none["log_loss"].isna().all()
    editing.use_public_rows(ROWS[:3], ["a"] * 3, public=True)
    assert np.isnan(editing.metrics().loc["current", "auroc"])
    three = dp.DPExplainableBoostingClassifier.from_released(build_model(3)).edit()
    three.use_public_rows(ROWS, list("abc") * 4, public=True)
    assert list(three.metrics().columns) == ["log_loss", "accuracy", "n_rows"]


def test_edits_after_a_look_at_metrics_say_so_and_no_file_holds_a_row(model, tmp_path):
    """Planted: a table whose cells would be recognised wherever they turned up."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": 31.415926, "dose": rng.uniform(1, 2, 1_234), "grade": "mid", "city": "Lyon"}
    )
    editing = model.edit(author="Ada")
    editing.shift("age", 0.1)
    version = editing.version
    editing.use_public_rows(X, rng.permutation(list("ab") * 617), public=True)
    assert editing.version > version  # every view shows metrics now
    editing.shift("age", 0.2)
    editing.go_back(1)
    editing.reset("age")
    first, *others = [record.what for record in editing.history]
    assert "public" not in first
    assert all(what.endswith(", with metrics on 1,234 public rows") for what in others)
    assert len(others) == 3
    editing.save(tmp_path / "edits.json")
    editing.model.save(tmp_path / "model.json")
    again = dp.EditSession.load(tmp_path / "edits.json", model)
    assert (
        again.history == dp.load_model(tmp_path / "model.json").released_.edits == editing.history
    )
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "31.4" not in text
        assert f"{X['dose'].iloc[0]:.6f}" not in text


WRONG_METRICS = [
    ({}, None, ValueError, "no public rows. Call session.use_public_rows"),
    ({"y": list("ac") * 6}, None, ValueError, "y has 6 values that are no class .*'a'"),
    ({"X": []}, None, ValueError, "0"),
    ({"X": ROWS}, {"age": (40, 60)}, TypeError, r"such as \{'age': \{'between': \(40, 60\)\}\}"),
    ({"X": ROWS}, {"age": {"near": 3}}, TypeError, "one of between, levels and bins"),
]


@pytest.mark.parametrize(("rows", "where", "error", "message"), WRONG_METRICS)
def test_metrics_of_nothing_or_of_what_is_no_row_are_refused(model, rows, where, error, message):
    def metrics():
        editing = model.edit()
        if rows:
            editing.use_public_rows(**{"X": ROWS, "y": list("ab") * 6, **rows}, public=True)
        return editing.metrics(where=where)

    with pytest.raises(error, match=message):
        metrics()


@pytest.mark.parametrize("public", [{}, {"public": False}, {"public": None}, {"public": 1}])
def test_metrics_of_rows_that_are_not_declared_public_are_refused(model, public):
    with pytest.raises(ValueError, match=r"with public=True\. .*charges the ledger"):
        model.edit().use_public_rows(ROWS, list("ab") * 6, **public)


def test_correlated_features_are_those_of_the_release_the_strongest_first(tmp_path):
    known = (("age", "dose", 0.5), ("age", "city", 0.75), ("grade", "age", -0.25))
    released = dataclasses.replace(build_model(), correlations=known)
    dp.DPExplainableBoostingClassifier.from_released(released).save(tmp_path / "model.json")
    model = dp.load_model(tmp_path / "model.json")
    editing = model.edit()
    assert editing.released.correlations == known
    table = editing.correlated("age")
    assert table.to_dict() == {"city": 0.75, "dose": 0.5, "grade": -0.25}
    assert list(table.index) == ["city", "dose", "grade"]
    assert editing.correlated("city").to_dict() == {"age": 0.75}
    model.remove_features(["dose"])
    assert model.to_released().correlations == known[1:]


def test_an_estimator_that_is_not_fitted_cannot_be_edited():
    with pytest.raises(NotFittedError):
        dp.DPExplainableBoostingClassifier().edit()
