"""The estimators as a user of interpret and scikit-learn meets them."""

from __future__ import annotations

import copy
import inspect
import io
import json
import pickle
import warnings

import interpret.privacy
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from interpret_dp import (
    BudgetExceededError,
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    LedgerError,
    PrivacyLedger,
    PrivacyWarning,
    Schema,
    SchemaError,
    load_model,
)
from interpret_dp.accounting import mu_of_budget


@pytest.fixture(scope="module")
def classifier(cohort):
    return DPExplainableBoostingClassifier(epsilon=2.0, delta=1e-6, schema=cohort.schema).fit(
        cohort.X, cohort.y
    )


@pytest.fixture(scope="module")
def regressor(cost_cohort):
    return DPExplainableBoostingRegressor(epsilon=2.0, delta=1e-6, schema=cost_cohort.schema).fit(
        cost_cohort.X, cost_cohort.y
    )


@pytest.fixture
def editable(classifier):
    return copy.deepcopy(classifier)


# ---------------------------------------------------------------- what a fit promises


def test_guarantee_is_what_was_asked_for(classifier):
    guarantee = classifier.guarantee_
    assert (guarantee.epsilon, guarantee.delta) == (2.0, 1e-6)
    assert guarantee.mu == pytest.approx(mu_of_budget(2.0, 1e-6), rel=1e-8)
    assert guarantee.neighboring == "add_or_remove_one"
    assert guarantee.unit == "one row"
    assert guarantee.ledger_head
    assert not guarantee.tests_only
    names = [share.name for share in guarantee.releases]
    assert names == ["target", "bins", "weights", "boosting", "correlations"]


def test_every_fit_is_charged_and_refused_when_nothing_is_left(cohort, tmp_path):
    ledger = PrivacyLedger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create_budget("cohort", epsilon=1.8, delta=1e-6)
    model = DPExplainableBoostingClassifier(
        epsilon=1.5, delta=1e-6, schema=cohort.schema, ledger=ledger, dataset="cohort"
    ).fit(cohort.X, cohort.y)
    assert model.guarantee_.ledger_head == ledger.head
    assert ledger.spent("cohort").mu == pytest.approx(mu_of_budget(1.5, 1e-6), rel=1e-8)
    with pytest.raises(BudgetExceededError) as caught:
        clone(model).fit(cohort.X, cohort.y)
    assert caught.value.dataset == "cohort"
    assert 0 < caught.value.largest_epsilon < 1.5
    model.set_params(epsilon=caught.value.largest_epsilon * 0.999).fit(cohort.X, cohort.y)


def test_classic_composition_costs_accuracy_not_privacy(cohort):
    fits = {
        name: DPExplainableBoostingClassifier(schema=cohort.schema, composition=name).fit(
            cohort.X, cohort.y
        )
        for name in ("gdp", "classic")
    }
    assert fits["classic"].guarantee_.mu < fits["gdp"].guarantee_.mu
    assert fits["classic"].noise_scale_binning_ > fits["gdp"].noise_scale_binning_


def test_random_state_voids_the_promise_loudly(cohort):
    models = []
    for _ in range(2):
        model = DPExplainableBoostingClassifier(schema=cohort.schema, random_state=3)
        with pytest.warns(PrivacyWarning, match="voids the privacy promise"):
            models.append(model.fit(cohort.X, cohort.y))
    assert "For tests only" in models[0].guarantee_.sentence
    np.testing.assert_array_equal(
        models[0].predict_proba(cohort.X), models[1].predict_proba(cohort.X)
    )


def test_unseeded_fits_differ(cohort, classifier):
    again = clone(classifier).fit(cohort.X, cohort.y)
    assert not np.array_equal(again.predict_proba(cohort.X), classifier.predict_proba(cohort.X))


# ------------------------------------------------------------------------- it learns


def test_classifier_learns(cohort):
    X, held_out, y, truth = train_test_split(cohort.X, cohort.y, random_state=0)
    model = DPExplainableBoostingClassifier(epsilon=8.0, delta=1e-6, schema=cohort.schema)
    scores = model.fit(X, y).decision_function(held_out)
    best = roc_auc_score(truth, cohort.score(held_out))
    assert roc_auc_score(truth, scores) > best - 0.06


def test_regressor_learns(cost_cohort):
    X, held_out, y, truth = train_test_split(cost_cohort.X, cost_cohort.y, random_state=0)
    model = DPExplainableBoostingRegressor(epsilon=8.0, delta=1e-6, schema=cost_cohort.schema)
    residuals = truth - model.fit(X, y).predict(held_out)
    assert residuals.std() < 0.8 * truth.std()


def test_labels_keep_their_type(cohort):
    y = (cohort.y == "yes").astype(int)
    schema = Schema(cohort.schema.features, target=Categorical([1, 0]))
    model = DPExplainableBoostingClassifier(schema=schema).fit(cohort.X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.classes_.dtype.kind == "i"
    assert set(model.predict(cohort.X)) <= {0, 1}


def test_excluded_features_have_no_term_and_cost_nothing(cohort, classifier):
    model = DPExplainableBoostingClassifier(
        epsilon=2.0, delta=1e-6, schema=cohort.schema, exclude=["age", ["bmi"], -1]
    ).fit(cohort.X, cohort.y)
    assert len(model.term_names_) == len(cohort.X.columns) - 3
    assert "age" not in model.term_names_
    assert model.n_features_in_ == len(cohort.X.columns)
    assert model.noise_scale_binning_ < classifier.noise_scale_binning_
    model.explain_global().visualize(0)


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_tiny_tables_give_a_model(cohort, n_rows):
    model = DPExplainableBoostingClassifier(schema=cohort.schema).fit(
        cohort.X.head(n_rows), cohort.y.head(n_rows)
    )
    assert np.isfinite(model.predict_proba(cohort.X)).all()


def test_progress_shows_rounds_and_nothing_private(cohort, capsys):
    DPExplainableBoostingClassifier(schema=cohort.schema, verbose=True).fit(cohort.X, cohort.y)
    shown = capsys.readouterr().err
    assert "DP-EBM rounds" in shown
    assert str(len(cohort.X)) not in shown


# ----------------------------------------------------------- interpret's methods and files


def test_constructor_takes_everything_that_interprets_takes():
    for ours, theirs in (
        (DPExplainableBoostingClassifier, interpret.privacy.DPExplainableBoostingClassifier),
        (DPExplainableBoostingRegressor, interpret.privacy.DPExplainableBoostingRegressor),
    ):
        assert issubclass(ours, theirs)
        missing = set(inspect.signature(theirs).parameters) - set(
            inspect.signature(ours).parameters
        )
        assert not missing


def test_interprets_own_arguments_declare_the_table():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(2_000, 2))
    y = X[:, 0] + rng.normal(scale=0.1, size=2_000)
    model = DPExplainableBoostingRegressor(
        feature_types=["continuous", "continuous"],
        privacy_bounds={0: (0, 1), 1: (0, 1)},
        privacy_target_min=-1,
        privacy_target_max=2,
        max_bins=16,
        learning_rate=0.1,
        max_rounds=30,
        max_leaves=3,
        epsilon=4.0,
    ).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9
    assert (model.min_target_, model.max_target_) == (-1, 2)
    assert model.best_iteration_.tolist() == [[30]]


def test_terms_add_up_to_the_score(classifier, cohort):
    total = classifier.eval_terms(cohort.X).sum(axis=1) + classifier.intercept_
    np.testing.assert_allclose(total, classifier.decision_function(cohort.X))


def test_interprets_editing_methods_work(editable, cohort):
    editable.monotonize("age", increasing=True)
    assert (np.diff(editable.term_scores_[0][1:-1]) >= 0).all()
    editable.scale("bmi", 0.0)
    # Besides that one, terms that showed nothing but noise.
    flat = [
        n for n, s in zip(editable.term_names_, editable.term_scores_, strict=True) if not s.any()
    ]
    before = len(editable.term_names_)
    assert "bmi" in flat
    editable.sweep()
    assert not set(flat) & set(editable.term_names_)
    editable.remove_terms(["creatinine"])
    left = before - len(flat) - 1
    assert len(editable.term_names_) == left
    assert np.isfinite(editable.predict_proba(cohort.X)).all()
    assert editable.copy() is not editable
    assert editable.term_importances().shape == (left,)
    editable.explain_global().visualize(0)


def test_monotonizing_a_bin_that_nobody_is_in_gives_a_number(cohort):
    # Bins at the ends may be released without weight at a small epsilon.
    model = DPExplainableBoostingClassifier(epsilon=0.1, delta=1e-6, schema=cohort.schema)
    model.fit(cohort.X, cohort.y)
    for term in ("age", "systolic_bp", "creatinine"):
        model.monotonize(term, increasing=True)
    assert all(np.isfinite(scores).all() for scores in model.term_scores_)


def test_to_json_is_readable(classifier):
    file = io.StringIO()
    with pytest.warns(UserWarning, match="beta"):
        classifier.to_json(file)
    assert len(json.loads(file.getvalue())["ebm"]["terms"]) == len(classifier.term_names_)


def test_pickle_and_clone(classifier, cohort):
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(cohort.X), classifier.predict(cohort.X))
    assert again.guarantee_ == classifier.guarantee_
    assert clone(classifier).get_params() == classifier.get_params()


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_save_and_load(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    data = request.getfixturevalue("cohort" if kind == "classifier" else "cost_cohort")
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    assert again.guarantee_ == model.guarantee_
    assert again.released_.digest == model.released_.digest
    again.explain_global().visualize(0)


def test_saving_an_edited_model_keeps_the_edit(editable, cohort, tmp_path):
    editable.monotonize("age").remove_terms(["sex"])
    editable.save(tmp_path / "edited.json")
    again = load_model(tmp_path / "edited.json")
    np.testing.assert_array_equal(again.predict_proba(cohort.X), editable.predict_proba(cohort.X))
    assert again.standard_deviations_[0] is None
    assert again.standard_deviations_[1] is not None


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"format": "other"}'])
def test_loading_something_else_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"JSON|model file"):
        load_model(tmp_path / "x.json")


def test_loading_into_the_wrong_class_is_refused(classifier):
    with pytest.raises(ValueError, match="is a classification"):
        DPExplainableBoostingRegressor.from_released(classifier.released_)


# -------------------------------------------------------------------------- explanations


def test_explanations_carry_their_cost(classifier, cohort):
    for explanation in (
        classifier.explain_global(),
        classifier.explain_local(cohort.X.head(3), cohort.y.head(3)),
    ):
        assert explanation.privacy.explanation_epsilon == 0.0
        assert explanation.privacy.epsilon == 2.0
        for key in (None, 0):
            notes = [note.text for note in explanation.visualize(key).layout.annotations]
            assert any("Privacy cost of this explanation: 0" in note for note in notes)
        again = pickle.loads(pickle.dumps(explanation))
        assert again.privacy.line == explanation.privacy.line


def test_using_a_fitted_model_charges_nothing(cohort, tmp_path):
    ledger = PrivacyLedger.in_memory()
    parameters = {"schema": cohort.schema, "ledger": ledger, "dataset": "cohort", "max_rounds": 2}
    model = DPExplainableBoostingClassifier(**parameters).fit(cohort.X, cohort.y)
    head = ledger.head
    assert head == model.guarantee_.ledger_head
    model.predict(cohort.X.head(5))
    model.explain_global().visualize(0)
    model.explain_local(cohort.X.head(3), cohort.y.head(3)).visualize(0)
    model.save(tmp_path / "model.json")
    load_model(tmp_path / "model.json").explain_global()
    pickle.loads(pickle.dumps(model)).predict(cohort.X.head(5))
    model.to_tables()
    model.edit().make_monotone("age")
    assert ledger.head == head
    # Control: another fit is charged, and the head shows it.
    clone(model).fit(cohort.X, cohort.y)
    assert ledger.head != head


def test_drawn_bins_fit_their_edges(cohort):
    for _ in range(3):
        model = DPExplainableBoostingClassifier(schema=cohort.schema).fit(cohort.X, cohort.y)
        total = model.explain_global()
        for key, kind in enumerate(model.feature_types_in_):
            drawn = total.data(key)
            n_bins = len(drawn["names"]) - (kind == "continuous")
            assert len(drawn["scores"]) == len(drawn["density"]["scores"]) == n_bins


def test_overall_local_view_shows_every_row(classifier, cohort):
    figure = classifier.explain_local(cohort.X.head(3)).visualize(None)
    assert np.array(figure.data[0].z).shape == (len(classifier.term_names_), 3)


def test_bands_are_the_noise(classifier):
    for scores, deviations in zip(
        classifier.term_scores_, classifier.standard_deviations_, strict=True
    ):
        assert deviations.shape == scores.shape
        assert (deviations >= 0).all()
        assert deviations[1:-1].max() > 0


def test_uncertainty_of_predictions_adds_the_terms(classifier, cohort):
    rows = cohort.X.head(5)
    scores, deviations = classifier.predict_with_uncertainty(rows).T
    np.testing.assert_allclose(scores, classifier.decision_function(rows))
    assert (deviations > 0).all()


# ------------------------------------------------------------------------------ refusals


def bad(cohort, **parameters):
    parameters.setdefault("schema", cohort.schema)
    return DPExplainableBoostingClassifier(**parameters).fit(cohort.X, cohort.y)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": -1}, ValueError, "epsilon is -1"),
        ({"epsilon": "1"}, TypeError, "epsilon is '1'"),
        ({"epsilon": float("nan")}, ValueError, "epsilon is nan"),
        ({"delta": 0}, ValueError, "delta is 0"),
        ({"delta": 1.0}, ValueError, "delta is 1.0"),
        ({"composition": "rdp"}, ValueError, "'gdp', 'classic'"),
        ({"max_bins": 1}, ValueError, "max_bins is 1"),
        ({"max_rounds": 2.5}, TypeError, "max_rounds is 2.5"),
        ({"learning_rate": 0}, ValueError, "learning_rate is 0"),
        ({"max_leaves": 0}, ValueError, "max_leaves is 0"),
        ({"bin_budget_frac": 1.0}, ValueError, "bin_budget_frac is 1.0"),
        ({"outer_bags": 4}, ValueError, "standard_deviations_"),
        ({"validation_size": 0.1}, ValueError, "standard_deviations_"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"random_state": -1}, ValueError, "random_state is -1"),
        ({"exclude": ["weight"]}, ValueError, "exclude has 'weight'"),
        ({"exclude": list(range(10))}, ValueError, "leaves no feature"),
        ({"ledger": 7, "dataset": "x"}, TypeError, "ledger is 7"),
        ({"ledger": "sqlite://"}, LedgerError, "without dataset"),
        ({"dataset": " "}, ValueError, "dataset is ' '"),
        ({"schema": Schema({"weight": Continuous(0, 1)})}, SchemaError, "'weight'"),
        ({"schema": "schema.toml"}, TypeError, "Schema.load"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(cohort, parameters, error, message):
    with pytest.raises(error, match=message):
        bad(cohort, **parameters)


def test_bags_are_refused(cohort):
    model = DPExplainableBoostingClassifier(schema=cohort.schema)
    with pytest.raises(ValueError, match="bags was given; it must be None"):
        model.fit(cohort.X, cohort.y, bags=[np.ones(len(cohort.X))])


@pytest.mark.parametrize("bounds", [(0.0, 5e-324), (0.0, 1e200), (None, 5e-324), (-1.7e308, None)])
def test_absurd_target_bounds_are_refused_before_anything_is_spent(cost_cohort, bounds):
    model = DPExplainableBoostingRegressor(
        schema=Schema(cost_cohort.schema.features),
        privacy_target_min=bounds[0],
        privacy_target_max=bounds[1],
    )
    with pytest.raises(SchemaError, match="Change the unit of the target"):
        model.fit(cost_cohort.X, cost_cohort.y)


def test_labels_of_mixed_types_keep_them(cohort):
    y = np.array(["yes" if label == "yes" else 0 for label in cohort.y], dtype=object)
    schema = Schema(cohort.schema.features, target=Categorical(["yes", 0]))
    model = DPExplainableBoostingClassifier(schema=schema).fit(cohort.X, y)
    assert model.classes_.tolist() == [0, "yes"]
    assert set(model.predict(cohort.X)) <= {0, "yes"}


def test_one_declared_class_is_refused(cohort):
    schema = Schema(cohort.schema.features, target=Categorical(["yes"]))
    with pytest.raises(SchemaError, match="one declared class, 'yes'"):
        bad(cohort, schema=schema)


def test_columns_are_matched_by_name(classifier, cohort):
    shuffled = cohort.X[cohort.X.columns[::-1]].assign(unused=1)
    np.testing.assert_array_equal(
        classifier.predict_proba(shuffled), classifier.predict_proba(cohort.X)
    )
    with pytest.raises(SchemaError, match="'age'"):
        classifier.predict(cohort.X.drop(columns="age"))


def test_odd_values_never_raise(classifier, cohort):
    odd = cohort.X.head(4).astype(object)
    odd.iloc[0, 0] = np.inf
    odd.iloc[1, 0] = "not a number"
    odd.iloc[2, -1] = "an unknown level"
    odd.iloc[3, :] = None
    assert np.isfinite(classifier.predict_proba(odd)).all()
    schema = Schema({"a": Continuous(0, 1)}, target=Continuous(0, 1))
    X = pd.DataFrame({"a": [0.1, np.nan, np.inf, "x", None, [1]]}, dtype=object)
    y = pd.Series([0.5, np.nan, -np.inf, 2.0, None, "y"], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DPExplainableBoostingRegressor(schema=schema).fit(X, y)
