"""The search as a user meets it: what it promises, charges, publishes and refuses."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error

from interpret_dp import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPRandomizedSearch,
    LedgerError,
    PrivacyLedger,
    PrivacyUnit,
    ReleaseError,
    Schema,
    SchemaError,
    load_model,
)
from interpret_dp.accounting import mu_of_budget, reduce_event
from interpret_dp.accounting.repeated import Repetitions, selection_mu
from interpret_dp.audit import replay
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.tune import scoring
from interpret_dp.tune.candidates import candidates_of
from tests.ebm.test_evaluation import FEATURES, TARGETS, table

GRID = {"max_leaves": [1, 4], "max_rounds": [2, 6]}


def estimator(task: str = "binary", unit: PrivacyUnit | None = None, **parameters: Any) -> Any:
    kind = (
        DPExplainableBoostingRegressor if task == "regression" else DPExplainableBoostingClassifier
    )
    schema = Schema(FEATURES, target=TARGETS[task], unit=unit)
    return kind(**{"schema": schema, "epsilon": 2.0, "delta": 1e-6, "n_jobs": 1} | parameters)


def fitted(task: str = "binary", seed: int = 1, n_rows: int = 1500, **parameters: Any) -> Any:
    with use_randomness(SeededRandomness(seed)):
        theirs = ("epsilon", "interactions", "objective")
        own = {key: parameters.pop(key) for key in theirs if key in parameters}
        search = DPRandomizedSearch(estimator(task, **own), GRID, **parameters)
        return search.fit(*table(task, n_rows))


# --------------------------------------------------------------------- promise and ledger


def test_the_promise_is_the_estimators_own_for_the_whole_search() -> None:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("d", epsilon=2.0, delta=1e-6)
    search = DPRandomizedSearch(estimator(ledger=ledger, dataset="d"), GRID)
    search.fit(*table("binary", 500))
    promise = search.guarantee_
    assert (promise.epsilon, promise.delta) == (2.0, 1e-6)
    assert 0.997 * mu_of_budget(2.0, 1e-6) < promise.mu <= mu_of_budget(2.0, 1e-6)
    assert [share.name for share in promise.releases] == ["search"]
    assert promise.releases[0].count == 1
    assert "the best of a random number of fits" in promise.mechanism
    assert "the number of fits and how long the search took are not published" in str(promise)
    assert search.best_estimator_.guarantee_ is promise
    assert not promise.tests_only


def test_the_ledger_is_charged_once_for_what_the_runs_cost_together() -> None:
    ledger = PrivacyLedger.in_memory()
    search = DPRandomizedSearch(
        estimator(ledger=ledger, dataset="d"), GRID, mean_fits=3.0, shape=0.5
    ).fit(*table("binary", 500))
    kinds = [entry["kind"] for entry in ledger.entries("d")]
    assert kinds == ["reserve", "commit"]
    assert ledger.verify(head=search.guarantee_.ledger_head)
    spent = ledger.spent("d")
    assert (spent.mu, spent.delta) == (search.guarantee_.mu, 0.0)
    event = next(e["event"] for e in ledger.entries("d") if "event" in e)
    node = event["event"]
    assert (node["kind"], node["shape"]) == ("private_selection", 0.5)
    law = Repetitions(node["shape"], node["stopping"])
    assert law.mean == pytest.approx(3.0)
    assert reduce_event(event).mu == spent.mu
    assert selection_mu(1.0 / node["noise_multiplier"], law) == pytest.approx(spent.mu, rel=1e-6)


@pytest.mark.parametrize("error", [RuntimeError("Zebulon"), KeyboardInterrupt()])
def test_a_search_that_breaks_off_is_charged_in_full(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr("interpret_dp.tune.search.train", broken)
    ledger = PrivacyLedger.in_memory()
    search = DPRandomizedSearch(estimator(ledger=ledger, dataset="d"), GRID)
    expected = ReleaseError if isinstance(error, Exception) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        search.fit(*table("binary", 50))
    assert "Zebulon" not in str(caught.value)
    assert 0.99 * mu_of_budget(2.0, 1e-6) < ledger.spent("d").mu <= mu_of_budget(2.0, 1e-6)
    assert not hasattr(search, "best_estimator_")


# ----------------------------------------------------------------------------- the winner


@pytest.mark.parametrize("task", TARGETS)
def test_the_winner_is_a_fitted_estimator_like_any_other(task: str, tmp_path: Any) -> None:
    search = fitted(task)
    winner, (X, _) = search.best_estimator_, table(task, 200)
    assert set(search.best_params_) == set(GRID)
    assert all(search.best_params_[name] in values for name, values in GRID.items())
    parameters = winner.get_params()
    assert {name: parameters[name] for name in GRID} == search.best_params_
    assert len(winner.boosting_record_[0]) == search.best_params_["max_rounds"]
    assert (search.predict(X) == winner.predict(X)).all()
    assert winner.explain_global().data() is not None
    assert pickle.loads(pickle.dumps(search)).best_params_ == search.best_params_
    winner.save(tmp_path / "winner.json")
    assert load_model(tmp_path / "winner.json").guarantee_ == search.guarantee_


def test_it_looks_like_what_it_wraps_to_scikit_learn() -> None:
    assert is_classifier(DPRandomizedSearch(estimator(), GRID))
    assert is_regressor(DPRandomizedSearch(estimator("regression"), GRID))
    search = fitted()
    X, _ = table("binary", 30)
    assert search.classes_.tolist() == ["no", "yes"]
    assert (search.predict_proba(X) == search.best_estimator_.predict_proba(X)).all()
    assert (search.decision_function(X) == search.best_estimator_.decision_function(X)).all()
    assert not hasattr(DPRandomizedSearch(estimator("regression"), GRID), "predict_proba")


def errors(y: Any, model: Any, X: Any) -> Any:
    """Return errors that are clipped at a quarter of the target's range; some rows are below it."""
    declared = TARGETS["regression"]
    return np.clip(model.predict(X) - np.clip(y, declared.lower, declared.upper), -2.5, 2.5)


def label_loss(y: Any, model: Any, X: Any) -> float:
    """Return the mean log loss; a label's probability below 1/64 counts as that."""
    places = np.searchsorted(model.classes_, np.asarray(y))
    shares = model.predict_proba(X)[np.arange(len(places)), places]
    return float(-np.log(np.maximum(shares, 1 / 64)).mean())


EXACT: dict[str, Any] = {
    "neg_log_loss": lambda y, m, X: -label_loss(y, m, X),
    "accuracy": lambda y, m, X: accuracy_score(y, m.predict(X)),
    "neg_mean_squared_error": lambda y, m, X: -mean_squared_error(errors(y, m, X), 0 * y),
    "neg_mean_absolute_error": lambda y, m, X: -mean_absolute_error(errors(y, m, X), 0 * y),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("task", "name"),
    [
        (task, name)
        for task in TARGETS
        for name in scoring.SCORINGS["regression" if task == "regression" else "classification"]
    ],
)
def test_with_little_noise_the_score_is_scikit_learns(task: str, name: str) -> None:
    search = fitted(task, scoring=name, epsilon=60.0, mean_fits=1.5)
    X, y = table(task, 1500)
    exact = EXACT[name](y, search.best_estimator_, X)
    # Losses of labels are rounded down to steps of an octave over 64.
    step = math.log(2.0) / 64 if name == "neg_log_loss" else 0.003
    assert search.best_score_ == pytest.approx(exact, rel=0.004, abs=step)


@pytest.mark.thorough
def test_counts_are_scored_on_their_own_scale() -> None:
    search = fitted("regression", epsilon=60.0, mean_fits=1.5, objective="poisson_deviance")
    X, y = table("regression", 1500)
    assert search.best_estimator_.link_ == "log"
    exact = mean_squared_error(errors(y, search.best_estimator_, X), 0 * y)
    assert -search.best_score_ == pytest.approx(exact, rel=0.01)


# ----------------------------------------------------------------------- row by row, frozen


def search_on(task: str, relation: str, **parameters: Any) -> Any:
    def run(rows: tuple[pd.DataFrame, Any]) -> Any:
        X, y = rows
        base = estimator(
            task,
            PrivacyUnit("person", 2),
            neighboring=relation,
            ledger=PrivacyLedger.in_memory(),
            dataset="d",
        )
        search = DPRandomizedSearch(base, GRID, mean_fits=12.0, **parameters)
        return Published(search.fit(X.drop(columns="person"), y, unit=X["person"]))

    return run


class Published:
    """What the harness compares: the winner, its settings and its score."""

    def __init__(self, search: Any) -> None:
        self.released_ = search.best_estimator_.released_
        self.best_params_, self.best_score_ = search.best_params_, search.best_score_
        self.guarantee_ = search.guarantee_


def odd_people(task: str, relation: str) -> tuple[Any, Any]:
    X, y = table(task, 40)
    X["person"] = np.arange(40) // 3
    odd = pd.DataFrame({"x": [np.nan, np.inf, 7], "g": ["?", None, "a"], "person": -1})
    one, other = (y[0], y[1]) if task != "regression" else (0.0, np.nan)
    with_odd = (pd.concat([X, odd], ignore_index=True), np.append(np.asarray(y, object), [one] * 3))
    if relation == "add_or_remove_one":
        return (X, np.asarray(y, object)), with_odd
    replaced = pd.concat([X, odd.assign(x=0.5, g="b")], ignore_index=True)
    return (replaced, np.append(np.asarray(y, object), [other] * 3)), with_odd


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("task", "relation"),
    [
        ("binary", "replace_one"),
        ("multiclass", "add_or_remove_one"),
        ("regression", "add_or_remove_one"),
    ],
)
def test_a_person_changes_no_run_by_more_than_was_declared(task: str, relation: str) -> None:
    one, other = odd_people(task, relation)
    second = {"regression": "neg_mean_absolute_error"}.get(task, "accuracy")
    for name, first, then in ((None, one, other), (second, other, one)):
        report = replay(search_on(task, relation, scoring=name), first, then, seed=6)
        # The harness adds up the releases of all runs; that they cost less together, because
        # one alone is published, is a theorem and not a property of any one run.
        assert {violation.kind for violation in report.violations} == {"budget"}, str(report)
        names = [check.name for check in report.releases]
        assert names.count("score") >= 3
        assert names.count("boosting") > names.count("score")


def test_control_a_score_that_depends_on_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    original = scoring.Scoring.losses

    def weighted(self: Any, model: Any, rows: Any, y: Any) -> Any:
        losses = original(self, model, rows, y)
        return losses * len(losses)

    monkeypatch.setattr(scoring.Scoring, "losses", weighted)
    one, other = odd_people("binary", "add_or_remove_one")
    report = replay(search_on("binary", "add_or_remove_one"), one, other, seed=6)
    assert "sensitivity" in {violation.kind for violation in report.violations}


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("space", "error", "message"),
    [
        (3, TypeError, "param_distributions is 3; it must be a mapping"),
        ([3], TypeError, "must be a mapping"),
        ({}, ValueError, "names no parameter"),
        ([], ValueError, "names no parameter"),
        ({"epsilon": [1, 2]}, ValueError, "has 'epsilon'; a search may change only"),
        ({"max_leaves": [2], "ledger": [None]}, ValueError, "has 'ledger'"),
        ([{"max_leaves": [2]}, {"delta": [0.1]}], ValueError, "has 'delta'"),
        ({"exclude": [["x"]]}, ValueError, "has 'exclude'"),
        ({"max_leaves": []}, ValueError, "max_leaves"),
        ({"max_leaves": 3}, TypeError, "max_leaves"),
        ({"max_leaves": [0]}, ValueError, "max_leaves is 0"),
        ({"learning_rate": ["fast"]}, TypeError, "learning_rate is 'fast'"),
    ],
)
def test_spaces_that_cannot_be_searched_are_refused(
    space: Any, error: type[Exception], message: str
) -> None:
    ledger = PrivacyLedger.in_memory()
    search = DPRandomizedSearch(estimator(ledger=ledger, dataset="d"), space)
    with pytest.raises(error, match=message):
        search.fit(*table("binary", 20))
    assert ledger.datasets() == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimator": LogisticRegression()}, TypeError, "estimator is of type LogisticRegression"),
        ({"estimator": estimator(composition="classic")}, ValueError, "composition is 'classic'"),
        ({"estimator": estimator(epsilon=0)}, ValueError, "epsilon is 0"),
        ({"estimator": estimator(schema=None)}, SchemaError, "leaves columns or the target"),
        ({"estimator": estimator(ledger=PrivacyLedger.in_memory())}, LedgerError, "dataset="),
        ({"estimator": estimator(epsilon=1000.0)}, ValueError, "mu of each run is"),
        ({"mean_fits": 1}, ValueError, "mean_fits is 1"),
        ({"mean_fits": 1001}, ValueError, "mean_fits is 1001"),
        ({"mean_fits": "few"}, TypeError, "mean_fits is 'few'"),
        ({"shape": 2}, ValueError, "shape is 2"),
        ({"shape": -1}, ValueError, "shape is -1"),
        ({"scoring": "roc_auc"}, ValueError, "scoring is 'roc_auc'"),
        ({"scoring": "neg_mean_squared_error"}, ValueError, "scoring is 'neg_mean"),
        ({"score_budget_frac": 0}, ValueError, "score_budget_frac is 0"),
        ({"score_budget_frac": 1}, ValueError, "score_budget_frac is 1"),
    ],
)
def test_wrong_arguments_are_refused(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments = {"estimator": estimator(), "param_distributions": GRID} | change
    with pytest.raises(error, match=message):
        DPRandomizedSearch(**arguments).fit(*table("binary", 20))


@pytest.mark.thorough
def test_distributions_are_drawn_before_the_rows_are_read() -> None:
    space = {"learning_rate": scipy.stats.loguniform(0.01, 1.0), "max_leaves": [2, 4]}
    drawn = candidates_of(space, np.random.default_rng(0))
    assert len(drawn) == 1000
    rates = np.array([settings["learning_rate"] for settings in drawn])
    assert 0.01 <= rates.min() < 0.02 < 0.5 < rates.max() <= 1.0
    assert drawn != candidates_of(space, np.random.default_rng(1))
    search = DPRandomizedSearch(estimator(), space, mean_fits=2.0).fit(*table("binary", 100))
    assert isinstance(search.best_params_["learning_rate"], float)
