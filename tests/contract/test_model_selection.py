"""Cross-validation, searches, routing, tags and diagrams: scikit-learn's own machinery."""

import dataclasses
import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError, UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import interpret_dp as dp
from interpret_dp.accounting import epsilon_of_mu, mu_of_budget

EPSILON, DELTA = 0.5, 1e-6
SCHEMA = dp.Schema(default=dp.Continuous(-3, 3), target=dp.Categorical([0, 1]))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def ledger_for(tmp_path):
    """Return what opens a ledger file whose budget covers a number of fits and no more."""

    def create(n_fits):
        ledger = dp.PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
        mu = mu_of_budget(EPSILON, DELTA) * np.sqrt(n_fits)
        ledger.create_budget("survey", epsilon_of_mu(mu, DELTA) * (1 + 1e-6), DELTA, delta_x=0.0)
        return ledger

    return create


def model(ledger, **parameters):
    budget = {"epsilon": EPSILON, "delta": DELTA, "ledger": ledger, "dataset": "survey"}
    return dp.DPExplainableBoostingClassifier(
        schema=SCHEMA, max_rounds=1, n_jobs=1, **budget, **parameters
    )


def check_charged(ledger, n_fits):
    """Check that ``n_fits`` fits were charged in full, once each, and no more."""
    assert ledger.report("survey")["state"].tolist() == ["committed"] * n_fits
    expected = mu_of_budget(EPSILON, DELTA) * np.sqrt(n_fits)
    assert ledger.spent("survey").mu == pytest.approx(expected, rel=1e-6)
    assert ledger.spent("survey").mu <= ledger.budget("survey").mu
    ledger.verify()


def test_by_default_refused_fits_have_no_score(rows, ledger_for):
    ledger = ledger_for(3)
    with pytest.warns(FitFailedWarning, match="BudgetExceededError: The budget of") as caught:
        scores = cross_val_score(model(ledger), *rows, cv=5)
    assert np.isfinite(scores).sum() == 3
    assert [one.category for one in caught].count(FitFailedWarning) == 1
    check_charged(ledger, 3)


def test_a_search_charges_every_candidate_and_the_last_fit(rows, ledger_for):
    ledger = ledger_for(5)
    search = GridSearchCV(model(ledger), {"max_bins": [4, 8]}, cv=2, error_score="raise")
    with pytest.warns(dp.PrivacyWarning, match="GridSearchCV learns") as caught:
        search.fit(*rows)
    assert sum(one.category is dp.PrivacyWarning for one in caught) == 1
    check_charged(ledger, 5)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    assert best.ledger is ledger
    ledger.verify(head=best.guarantee_.ledger_head)
    assert search.predict(rows[0]).shape == (200,)


def test_a_search_whose_last_fit_is_not_covered_has_no_model(rows, ledger_for):
    ledger = ledger_for(4)
    search = GridSearchCV(model(ledger), {"max_bins": [4, 8]}, cv=2)
    with pytest.warns(dp.PrivacyWarning), pytest.raises(dp.BudgetExceededError, match="'survey'"):
        search.fit(*rows)
    with pytest.raises(NotFittedError):
        search.predict(rows[0])
    check_charged(ledger, 4)


# ------------------------------------------------------------------- routing of weights and units


N_PEOPLE, VISITS = 60, 4
# So little noise that the released number of rows shows how many were used.
HIGH_EPSILON = 1_000.0


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def visits():
    """Return X, y, weights that hide the second class, and the person of each row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_PEOPLE * VISITS, 2))
    y = (X[:, 0] > 0).astype(int)
    people = rng.permutation(np.repeat([f"person {k}" for k in range(N_PEOPLE)], VISITS))
    return X, y, 1.0 - y, people


def weighted_model(**parameters):
    settings = {"schema": SCHEMA} | parameters
    return dp.DPExplainableBoostingClassifier(
        epsilon=HIGH_EPSILON, max_rounds=2, privacy_weight_max=1.0, **settings
    )


def used(fitted):
    return float(fitted.bag_weights_[0])


def hides_second_class(fitted, X):
    return bool(fitted.predict_proba(X)[:, 1].max() < 0.2)


@pytest.mark.usefixtures("routing")
def test_the_plain_fit_is_the_control(visits):
    X, y, weights, people = visits
    assert used(weighted_model().fit(X, y)) == pytest.approx(len(X), abs=1)
    assert not hides_second_class(weighted_model().fit(X, y), X)
    assert used(weighted_model().fit(X, y, unit=people)) == pytest.approx(N_PEOPLE, abs=1)
    assert hides_second_class(weighted_model().fit(X, y, sample_weight=weights), X)


@pytest.mark.usefixtures("routing")
def test_a_search_routes_to_every_fit_and_the_last(visits):
    X, y, weights, people = visits
    ledger = dp.PrivacyLedger.in_memory()
    people_schema = dataclasses.replace(SCHEMA, unit=dp.PrivacyUnit("person"))
    asking = weighted_model(ledger=ledger, dataset="visits", schema=people_schema)
    asking.set_fit_request(unit=True, sample_weight=True)
    asking.set_score_request(sample_weight=True)
    search = GridSearchCV(asking, {"max_bins": [4, 8]}, cv=2)
    with pytest.warns(dp.PrivacyWarning, match="GridSearchCV"):
        search.fit(X, y, unit=people, sample_weight=weights)
    best = search.best_estimator_
    assert used(best) <= N_PEOPLE + 1
    assert hides_second_class(best, X)
    assert best.guarantee_.unit != "one row"
    assert len(ledger.report("visits")) == 5
    # The scores are weighted as well: rows of the second class do not count in them.
    assert search.best_score_ == 1.0


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("routed", [True, False], ids=["by request", "by the step's name"])
def test_a_pipeline_routes_to_the_model(routed, visits):
    X, y, weights, people = visits
    steps = [("log", FunctionTransformer(np.tanh)), ("model", weighted_model())]
    if routed:
        steps[-1][1].set_fit_request(unit=True, sample_weight=True)
        pipe = Pipeline(steps).fit(X, y, unit=people, sample_weight=weights)
    else:
        with config_context(enable_metadata_routing=False):
            pipe = Pipeline(steps).fit(X, y, model__unit=people, model__sample_weight=weights)
    assert used(pipe["model"]) <= N_PEOPLE + 1
    assert hides_second_class(pipe["model"], np.tanh(X))


@pytest.mark.usefixtures("routing")
def test_what_nobody_asked_for_is_refused_before_anything_is_spent(visits):
    X, y, _, people = visits
    ledger = dp.PrivacyLedger.in_memory()
    silent = weighted_model(ledger=ledger, dataset="visits")
    with pytest.raises(UnsetMetadataPassedError, match="unit"):
        cross_validate(silent, X, y, params={"unit": people}, error_score="raise")
    assert ledger.datasets() == []


# ------------------------------------------------------------------ tags, and diagrams of pipelines


@pytest.mark.parametrize(
    "kind", [dp.DPExplainableBoostingClassifier, dp.DPExplainableBoostingRegressor]
)
def test_tags_say_what_the_model_can_read(kind):
    tags = get_tags(kind())
    assert f"DPExplainableBoosting{tags.estimator_type.title()}" == kind.__name__
    inputs = tags.input_tags
    assert (inputs.allow_nan, inputs.categorical, inputs.string) == (True, True, True)
    assert (inputs.sparse, inputs.dict, tags.array_api_support) == (False, False, False)
    assert tags.target_tags.required


@pytest.mark.parametrize("gone", [False, True], ids=["ledger there", "ledger gone"])
def test_diagrams_of_pipelines_show_the_model(gone, rows, ledger_for, tmp_path):
    """scikit-learn's diagram reads every fitted attribute, those that read the ledger included.

    Where the ledger is gone, a new file would say that nothing was spent: none is written.
    """
    pipe = make_pipeline(FunctionTransformer(), model(ledger_for(1)))
    assert "DPExplainableBoostingClassifier" in pipe._repr_html_()
    pipe = pickle.loads(pickle.dumps(pipe.fit(*rows)))
    if gone:
        (tmp_path / "privacy.db").rename(tmp_path / "elsewhere.db")
    card = pipe[-1]._repr_html_()
    assert card.count('class="interpret-dp-guarantee"') == 1
    assert pipe[-1].guarantee_.sentence in card
    assert "interpret-dp-guarantee" not in clone(pipe)[-1]._repr_html_()
    pipe[-1].explain_global()
    assert ("is gone" in pipe[-1].privacy_spend_.ledger) is gone
    assert (tmp_path / "privacy.db").exists() is not gone
