"""Metrics on private rows: what they cost, how right they are, and that rows stay apart."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
    root_mean_squared_error,
)

from interpret_dp import (
    Categorical,
    Continuous,
    PrivacyLedger,
    PrivacyUnit,
    Schema,
    private_metrics,
)
from interpret_dp.audit import replay
from interpret_dp.ebm import evaluation
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.ebm.tasks import FEATURES, TARGETS, model_of, table


def fitted(task, unit=None):
    X, y = table(task)
    schema = Schema(FEATURES, target=TARGETS[task], unit=unit)
    people = None if unit is None else np.arange(len(y))
    with use_randomness(SeededRandomness(1)):
        return model_of(task, schema=schema).fit(X, y, unit=people)


@pytest.fixture(scope="module")
def models():
    return {task: fitted(task) for task in TARGETS}


def exact(task, model, X, y):
    predicted = model.predict(X)
    if task == "regression":
        return {
            "rmse": root_mean_squared_error(y, predicted),
            "mean_absolute_error": mean_absolute_error(y, predicted),
        }
    shares = model.predict_proba(X)
    found = {"accuracy": accuracy_score(y, predicted), "log_loss": log_loss(y, shares)}
    if task == "binary":
        found["roc_auc"] = roc_auc_score(y, shares[:, 1])
    return found


@pytest.mark.parametrize("task", TARGETS)
def test_with_little_noise_the_figures_are_those_of_scikit_learn(task, models):
    X, y = table(task, seed=8)
    found = private_metrics({"it": models[task]}, X, y, epsilon=1000, delta=1e-5)
    expected = exact(task, models[task], X, y)
    assert set(found.table.columns) == set(expected)
    for name, value in expected.items():
        # What is left is the width of the cells.
        assert found.table.loc["it", name] == pytest.approx(value, rel=0.02), name
    assert found.n_rows == pytest.approx(len(y), abs=10)


@pytest.mark.statistical
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_claimed_standard_errors_are_those_of_repeated_releases(task, models):
    """200 releases: the standard deviation of a figure is known to 5 %; level 1e-6 (5 s.e.)."""
    X, y = table(task, seed=8)
    found = []
    for seed in range(200):
        with use_randomness(SeededRandomness(seed)):
            found.append(private_metrics({"it": models[task]}, X, y, epsilon=1, delta=1e-5))
    figures = pd.concat([one.table for one in found])
    claimed = pd.concat([one.standard_errors for one in found]).mean()
    for name in figures.columns:
        assert claimed[name] == pytest.approx(figures[name].std(), rel=0.27), name
        off = abs(figures[name].mean() - exact(task, models[task], X, y)[name])
        assert off < 0.02 * figures[name].mean() + 5 * figures[name].std() / np.sqrt(200), name


def test_an_edit_is_compared_with_its_origin(models):
    X, y = table("binary", seed=8)
    session = models["binary"].edit()
    session.remove_effect("x")
    compared = {"before": models["binary"], "after": session.model}
    ledger = PrivacyLedger.in_memory()
    account = {"ledger": ledger, "dataset": "held out"}
    found = private_metrics(compared, X, y, epsilon=2, delta=1e-6, **account)
    assert list(found.table.index) == ["before", "after"]
    assert found.table.loc["before", "roc_auc"] > found.table.loc["after", "roc_auc"] + 0.05
    assert ledger.spent("held out").epsilon_at(1e-6) == pytest.approx(2, rel=1e-6)
    assert found.guarantee.ledger_head == ledger.head
    assert "0." in found._repr_html_()


def evaluate(model, relation):
    def run(rows):
        X, y = rows
        account = {"ledger": PrivacyLedger.in_memory(), "dataset": "d"}
        privacy = {"epsilon": 1, "delta": 1e-5, "neighboring": relation, "unit": X["person"]}
        return private_metrics({"it": model}, X.drop(columns="person"), y, **privacy, **account)

    return run


def test_control_a_cell_that_depends_on_other_rows(monkeypatch):
    model = fitted("regression", PrivacyUnit("person", 2))
    original = evaluation._ErrorCells.codes

    def centred(self, rows, y):
        numbers = np.asarray(y, dtype=float)
        return original(self, rows, numbers - np.nanmean(numbers) + 5)

    monkeypatch.setattr(evaluation._ErrorCells, "codes", centred)
    X, y = table("regression", 40)
    X["person"] = np.arange(40)
    report = replay(evaluate(model, "add_or_remove_one"), (X, y), (X[:-1], y[:-1]))
    assert {violation.kind for violation in report.violations} == {"sensitivity"}


SECOND_MODELS = [
    (FEATURES, "multiclass", "they must be the same"),
    ({"z": Continuous(0, 1)}, "binary", r"has column 'z', but models\['one'\] has not"),
    # The model itself would warn of it, of private rows, once they are paid for.
    ({"x": Categorical(["0"])}, "binary", "'x' has a dtype of floats"),
]


@pytest.mark.parametrize(("features", "target", "message"), SECOND_MODELS)
def test_a_second_model_that_cannot_read_the_rows_is_refused_before_the_charge(
    features, target, message, models
):
    X, y = table("binary", 20)
    other = model_of("binary", schema=Schema(features, target=TARGETS[target]), max_rounds=1)
    other.fit(X.assign(z=0.5)[list(features)].astype(object), y)
    compared, ledger = {"one": models["binary"], "other": other}, PrivacyLedger.in_memory()
    account = {"ledger": ledger, "dataset": "held out"}
    with pytest.raises(ValueError, match=message):
        private_metrics(compared, X, y, epsilon=1, delta=1e-6, **account)
    assert ledger.entries() == []
