"""Weights and units reach the fit through scikit-learn's searches and pipelines, row by row."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    PrivacyLedger,
    PrivacyUnit,
    PrivacyWarning,
    Schema,
)

N_PEOPLE, VISITS = 60, 4
SCHEMA = Schema(default=Continuous(-3, 3), target=Categorical([0, 1]))
# So little noise that the released number of rows tells how many were used.
LOUD = 1_000.0


@pytest.fixture(autouse=True)
def routing() -> Any:
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def visits() -> tuple[Any, Any, Any, Any]:
    """Return X, y, weights that hide the second class, and the person of each row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_PEOPLE * VISITS, 2))
    y = (X[:, 0] > 0).astype(int)
    people = rng.permutation(np.repeat([f"person {k}" for k in range(N_PEOPLE)], VISITS))
    return X, y, 1.0 - y, people


def model(**parameters: Any) -> DPExplainableBoostingClassifier:
    settings = {"schema": SCHEMA} | parameters
    return DPExplainableBoostingClassifier(
        epsilon=LOUD, max_rounds=2, privacy_weight_max=1.0, **settings
    )


def used(fitted: Any) -> float:
    return float(fitted.bag_weights_[0])


def hides_second_class(fitted: Any, X: Any) -> bool:
    return bool(fitted.predict_proba(X)[:, 1].max() < 0.2)


def test_the_plain_fit_is_the_control(visits: Any) -> None:
    X, y, weights, people = visits
    assert used(model().fit(X, y)) == pytest.approx(len(X), abs=1)
    assert not hides_second_class(model().fit(X, y), X)
    assert used(model().fit(X, y, unit=people)) == pytest.approx(N_PEOPLE, abs=1)
    assert hides_second_class(model().fit(X, y, sample_weight=weights), X)


def test_a_search_routes_to_every_fit_and_the_last(visits: Any) -> None:
    X, y, weights, people = visits
    ledger = PrivacyLedger.in_memory()
    people_schema = dataclasses.replace(SCHEMA, unit=PrivacyUnit("person"))
    asking = model(ledger=ledger, dataset="visits", schema=people_schema)
    asking.set_fit_request(unit=True, sample_weight=True)
    asking.set_score_request(sample_weight=True)
    search = GridSearchCV(asking, {"max_bins": [4, 8]}, cv=2)
    with pytest.warns(PrivacyWarning, match="GridSearchCV"):
        search.fit(X, y, unit=people, sample_weight=weights)
    best = search.best_estimator_
    assert used(best) <= N_PEOPLE + 1
    assert hides_second_class(best, X)
    assert best.guarantee_.unit != "one row"
    assert len(ledger.report("visits")) == 5
    # The scores are weighted as well: rows of the second class do not count in them.
    assert search.best_score_ == 1.0


@pytest.mark.parametrize("routed", [True, False], ids=["by request", "by the step's name"])
def test_a_pipeline_routes_to_the_model(routed: bool, visits: Any) -> None:
    X, y, weights, people = visits
    steps = [("log", FunctionTransformer(np.tanh)), ("model", model())]
    if routed:
        steps[-1][1].set_fit_request(unit=True, sample_weight=True)
        pipe = Pipeline(steps).fit(X, y, unit=people, sample_weight=weights)
    else:
        with config_context(enable_metadata_routing=False):
            pipe = Pipeline(steps).fit(X, y, model__unit=people, model__sample_weight=weights)
    assert used(pipe["model"]) <= N_PEOPLE + 1
    assert hides_second_class(pipe["model"], np.tanh(X))


def test_what_nobody_asked_for_is_refused_before_anything_is_spent(visits: Any) -> None:
    X, y, _, people = visits
    ledger = PrivacyLedger.in_memory()
    silent = model(ledger=ledger, dataset="visits")
    with pytest.raises(UnsetMetadataPassedError, match="unit"):
        cross_validate(silent, X, y, params={"unit": people}, error_score="raise")
    assert ledger.datasets() == []
