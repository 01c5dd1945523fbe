"""Metrics on private rows: what they cost, how right they are, and that rows stay apart."""

import dataclasses
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import interpret_dp as dp
from benchmarks import totals
from interpret_dp import evaluation
from interpret_dp.audit import replay
from interpret_dp.evaluation import Calibration
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.ebm.tasks import FEATURES, TARGETS, model_of, table

PRICE = {"epsilon": 1, "delta": 1e-6}


def fitted(task, unit=None):
    X, y = table(task)
    schema = dp.Schema(FEATURES, target=TARGETS[task], unit=unit)
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
            "rmse": metrics.root_mean_squared_error(y, predicted),
            "mean_absolute_error": metrics.mean_absolute_error(y, predicted),
            "deviance": metrics.mean_squared_error(y, predicted),
            "predicted_over_observed": predicted.sum() / y.sum(),
        }
    shares = model.predict_proba(X)
    found = {
        "accuracy": metrics.accuracy_score(y, predicted),
        "log_loss": metrics.log_loss(y, shares),
    }
    if task == "binary":
        found["roc_auc"] = metrics.roc_auc_score(y, shares[:, 1])
        found["predicted_over_observed"] = shares[:, 1].sum() / (y == "yes").sum()
    return found


@pytest.mark.parametrize("task", TARGETS)
def test_with_little_noise_the_figures_are_those_of_scikit_learn(task, models):
    X, y = table(task, seed=8)
    found = dp.private_metrics({"it": models[task]}, X, y, epsilon=1000, delta=1e-5)
    expected = exact(task, models[task], X, y)
    assert set(found.table.columns) == set(expected)
    for name, value in expected.items():
        # What is left is the width of the cells.
        rel = 0.002 if name == "predicted_over_observed" else 0.02
        assert found.table.loc["it", name] == pytest.approx(value, rel=rel), name
    assert found.n_rows == pytest.approx(len(y), abs=10)
    assert len(found.calibration) == (0 if task == "multiclass" else 10)


@pytest.mark.statistical
def test_the_claimed_standard_errors_are_those_of_repeated_releases(models):
    """200 releases: the standard deviation of a figure is known to 5 %; level 1e-6 (5 s.e.).

    Of a regression; of groups, and for two classes: test_by_group.py.
    """
    task = "regression"
    X, y = table(task, seed=8)
    found = []
    for seed in range(200):
        with use_randomness(SeededRandomness(seed)):
            found.append(dp.private_metrics({"it": models[task]}, X, y, epsilon=1, delta=1e-5))
    figures = pd.concat([one.table for one in found])
    claimed = pd.concat([one.standard_errors for one in found]).mean()
    tenths = np.array([one.calibration.iloc[:, 2:] for one in found], dtype=float)
    spread = (tenths[:, :, 1] - tenths[:, :, 0]).std(axis=0)
    assert tenths[:, :, 2].mean(axis=0) == pytest.approx(spread, rel=0.27)
    for name in figures.columns:
        assert claimed[name] == pytest.approx(figures[name].std(), rel=0.27), name
        off = abs(figures[name].mean() - exact(task, models[task], X, y)[name])
        assert off < 0.02 * figures[name].mean() + 5 * figures[name].std() / np.sqrt(200), name


def responses(model, X, y):
    """Return predictions and targets as numbers."""
    if model.released_.classes is None:
        declared = model.schema_.target
        return model.predict(X), np.clip(y, declared.lower, declared.upper)
    return model.predict_proba(X)[:, 1], (np.asarray(y) == "yes").astype(float)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_each_tenth_has_its_means(task, models):
    X, y = table(task, seed=8)
    found = dp.private_metrics({"it": models[task]}, X, y, epsilon=1000, delta=1e-5).calibration
    predicted, observed = responses(models[task], X, y)
    cuts = Calibration(models[task])._cuts
    # Many rows may have a prediction on a cut, and a table's step of a score is 1/256.
    step = np.ptp(predicted) / 256
    sides = [np.searchsorted(cuts + at, predicted, side="right") for at in (-step, step)]
    groups = np.searchsorted(cuts, predicted, side="right")
    assert [*found["model"], *found["tenth"]] == ["it"] * 10 + [*range(1, 11)]
    sizes = np.bincount(groups, minlength=10)
    # The features are independent, as the cuts suppose.
    assert sizes == pytest.approx(np.full(10, 400), abs=100)
    for name, values in (("predicted", predicted), ("observed", observed)):
        # Noise adds up to a tenth of a row.
        means = [np.bincount(of, values, minlength=10) / np.bincount(of) for of in sides]
        low, high = np.min(means, axis=0), np.max(means, axis=0)
        expected = np.clip(found[name].to_numpy(float), low, high)
        assert found[name].to_numpy(float) == pytest.approx(expected, rel=0.01, abs=0.01), name


def test_a_model_of_few_predictions_has_few_groups(models):
    X, y = table("regression")
    schema = dp.Schema({"g": FEATURES["g"]}, target=TARGETS["regression"])
    model = model_of("regression", schema=schema).fit(X[["g"]], y)
    found = dp.private_metrics({"it": model}, X[["g"]], y, epsilon=1000, delta=1e-5)
    assert list(found.calibration["tenth"])[-1] == 10
    assert len(found.calibration) == 2
    means = pd.Series(y).groupby(X["g"]).mean().to_numpy()
    assert found.calibration["observed"].to_numpy(float) == pytest.approx(means, rel=0.01)
    # Of 30 rows nothing is known of a tenth.
    few = dp.private_metrics({"it": models["regression"]}, *table("regression", 30), **PRICE)
    assert few.calibration.iloc[:, 2:].isna().all(axis=None)


DEVIANCES = [
    ("claims", metrics.mean_poisson_deviance, None),
    ("severities", metrics.mean_gamma_deviance, None),
    ("claims", metrics.mean_poisson_deviance, "poisson"),
    ("severities", partial(metrics.mean_tweedie_deviance, power=1.5), "tweedie"),
    ("claims", partial(metrics.mean_tweedie_deviance, power=1.2), "tweedie:variance_power=1.2"),
]


@pytest.mark.parametrize(("name", "deviance", "objective"), DEVIANCES)
def test_deviances_are_those_of_scikit_learn(name, deviance, objective):
    model, X, y = skewed(name, 4000)
    if objective is not None:
        settings = {"schema": model.schema_, "epsilon": 20.0, "objective": objective}
        model = dp.DPExplainableBoostingRegressor(**settings).fit(X, y)
    found = dp.private_metrics({"it": model}, X, y, epsilon=1000, delta=1e-5)
    expected = deviance(y, model.predict(X))
    assert found.table["deviance"].to_numpy(float) == pytest.approx(expected, rel=0.01)


def skewed(name, n_rows, share=1.0, unit=None):
    """Return a model of a simulated target whose total is a share of the right one, and rows."""
    target, (X, _, y) = totals.TARGETS[name], totals.drawn(totals.TARGETS[name], n_rows, 1)
    if name == "rare flag":
        y, kind = np.where(y > 0, "yes", "no"), dp.DPExplainableBoostingClassifier
        schema = totals.SCHEMA.replace(target=dp.Categorical(["no", "yes"]))
        given = {}
    else:
        schema = totals.SCHEMA.replace(target=dp.Continuous(target.lower, target.upper))
        kind, given = dp.DPExplainableBoostingRegressor, {"objective": target.objective}
    given |= {"schema": schema.replace(unit=unit), "epsilon": 20.0, "delta": 1e-6}
    model = kind(n_jobs=1, **given).fit(X, y, unit=unit and np.arange(n_rows))
    predicted, observed = responses(model, X, y)
    aim, released = share * observed.sum() / predicted.sum(), model.to_released()
    is_identity = released.link == "identity"
    shift = (aim - 1) * predicted.mean() if is_identity else np.log(aim)
    released = dataclasses.replace(released, intercept=released.intercept + shift)
    return kind.from_released(released), X, y


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["costs", "claims", "rare flag"])
def test_a_total_that_is_a_fifth_low_is_seen(name):
    """One release of 40,000 rows at epsilon 1; level 1e-4 (4 s.e.).

    Power: the stated error is below 0.045, so that 0.8 is 4 s.e. from 1.
    """
    model, X, y = skewed(name, 40_000, share=0.8)
    found = dp.private_metrics({"low": model}, X, y, **PRICE)
    total, error = (
        frame.loc["low", "predicted_over_observed"]
        for frame in (found.table, found.standard_errors)
    )
    predicted, observed = (part.sum() for part in responses(model, X, y))
    assert predicted / observed == pytest.approx(0.8, abs=0.02)
    assert abs(total - predicted / observed) <= 4 * error
    assert error < 0.045
    assert abs(total - 1) > 4 * error


def test_an_edit_is_compared_with_its_origin(models):
    X, y = table("binary", seed=8)
    session = models["binary"].edit()
    session.remove_effect("x")
    compared = {"before": models["binary"], "after": session.model}
    ledger = dp.PrivacyLedger.in_memory()
    account = {"ledger": ledger, "dataset": "held out"}
    found = dp.private_metrics(compared, X, y, epsilon=2, delta=1e-6, **account)
    assert list(found.table.index) == ["before", "after"]
    assert found.table.loc["before", "roc_auc"] > found.table.loc["after", "roc_auc"] + 0.05
    assert ledger.spent("held out").epsilon_at(1e-6) == pytest.approx(2, rel=1e-6)
    assert found.guarantee.ledger_head == ledger.head
    assert "<th>tenth</th>" in found._repr_html_()


def evaluate(model, relation):
    def run(rows):
        X, y = rows
        account = {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "d"}
        privacy = {"epsilon": 1, "delta": 1e-5, "neighboring": relation, "unit": X["person"]}
        return dp.private_metrics({"it": model}, X.drop(columns="person"), y, **privacy, **account)

    return run


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
@pytest.mark.parametrize("name", ["claims", "severities", "rare flag", "costs"])
def test_totals_of_neighbours_differ_by_what_was_charged(name, relation):
    """The last row is at its extremes, and has no target in turn."""
    model, X, y = skewed(name, 300, unit=dp.PrivacyUnit("person", 1))
    X, y = X.assign(person=np.arange(300)), np.asarray(y, dtype=object)
    upper = "yes" if name == "rare flag" else totals.TARGETS[name].upper
    for last in (upper, None):
        changed = np.append(y[:-1], last)
        replaced = relation == "replace_one"
        other = (X, y) if replaced else (X[:-1], y[:-1])
        report = replay(evaluate(model, relation), (X, changed), other)
        assert not report.violations


@pytest.mark.parametrize("fault", ["weights", "number of rows"])
def test_control_sums_that_a_row_moves_too_far(fault, monkeypatch):
    original = Calibration.parts

    def parts(self, rows):
        groups, found = original(self, rows)
        if fault == "weights":
            return groups, 2 * found
        return groups, found // (1 + len(found) % 2)

    monkeypatch.setattr(Calibration, "parts", parts)
    model, X, y = skewed("claims", 300, unit=dp.PrivacyUnit("person", 1))
    y[-1] = 5.0
    rows = X.assign(person=np.arange(300)), y
    report = replay(evaluate(model, "add_or_remove_one"), rows, tuple(part[:-1] for part in rows))
    assert {violation.kind for violation in report.violations} == {"sensitivity"}


def test_control_a_cell_that_depends_on_other_rows(monkeypatch):
    model = fitted("regression", dp.PrivacyUnit("person", 2))
    original = evaluation._ErrorCells.codes

    def centred(self, rows):
        numbers = np.asarray(rows.y, dtype=float)
        return original(self, dataclasses.replace(rows, y=numbers - np.nanmean(numbers) + 5))

    monkeypatch.setattr(evaluation._ErrorCells, "codes", centred)
    X, y = table("regression", 40)
    X["person"] = np.arange(40)
    report = replay(evaluate(model, "add_or_remove_one"), (X, y), (X[:-1], y[:-1]))
    assert {violation.kind for violation in report.violations} == {"sensitivity"}


SECOND_MODELS = [
    (FEATURES, "multiclass", "they must be the same"),
    ({"z": dp.Continuous(0, 1)}, "binary", r"has column 'z', but models\['one'\] has not"),
    # The model itself would warn of it, of private rows, once they are paid for.
    ({"x": dp.Categorical(["0"])}, "binary", "'x' has a dtype of floats"),
]


@pytest.mark.parametrize(("features", "target", "message"), SECOND_MODELS)
def test_a_second_model_that_cannot_read_the_rows_is_refused_before_the_charge(
    features, target, message, models
):
    X, y = table("binary", 20)
    other = model_of("binary", schema=dp.Schema(features, target=TARGETS[target]), max_rounds=1)
    with warnings.catch_warnings(action="ignore"):
        other.fit(X.assign(z=0.5)[list(features)].astype(object), y)
    compared, ledger = {"one": models["binary"], "other": other}, dp.PrivacyLedger.in_memory()
    account = {"ledger": ledger, "dataset": "held out"}
    with pytest.raises(ValueError, match=message):
        dp.private_metrics(compared, X, y, epsilon=1, delta=1e-6, **account)
    assert ledger.entries() == []
