"""The estimators as a user of interpret and scikit-learn meets them."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from interpret_dp import (
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
    SchemaError,
)


@pytest.fixture(scope="module")
def classifier(cohort):
    return DPExplainableBoostingClassifier(epsilon=2.0, delta=1e-6, schema=cohort.schema).fit(
        cohort.X, cohort.y
    )


# ---------------------------------------------------------------- what a fit promises


def test_classic_composition_costs_accuracy_not_privacy(cohort):
    fits = {
        name: DPExplainableBoostingClassifier(schema=cohort.schema, composition=name).fit(
            cohort.X, cohort.y
        )
        for name in ("gdp", "classic")
    }
    assert fits["classic"].guarantee_.mu < fits["gdp"].guarantee_.mu
    assert fits["classic"].noise_scale_binning_ > fits["gdp"].noise_scale_binning_


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


def test_excluded_features_have_no_term_and_cost_nothing(cohort, classifier):
    model = DPExplainableBoostingClassifier(
        epsilon=2.0, delta=1e-6, schema=cohort.schema, exclude=["age", ["bmi"], -1]
    ).fit(cohort.X, cohort.y)
    assert len(model.term_names_) == len(cohort.X.columns) - 3
    assert "age" not in model.term_names_
    assert model.n_features_in_ == len(cohort.X.columns)
    assert model.noise_scale_binning_ < classifier.noise_scale_binning_
    model.explain_global().visualize(0)


def test_progress_shows_rounds_and_nothing_private(cohort, capsys):
    DPExplainableBoostingClassifier(schema=cohort.schema, verbose=True).fit(cohort.X, cohort.y)
    shown = capsys.readouterr().err
    assert "DP-EBM rounds" in shown
    assert str(len(cohort.X)) not in shown


# ----------------------------------------------------------- interpret's methods and files


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


def test_monotonizing_a_bin_that_nobody_is_in_gives_a_number(cohort):
    # Bins at the ends may be released without weight at a small epsilon.
    model = DPExplainableBoostingClassifier(epsilon=0.1, delta=1e-6, schema=cohort.schema)
    model.fit(cohort.X, cohort.y)
    for term in ("age", "systolic_bp", "creatinine"):
        model.monotonize(term, increasing=True)
    assert all(np.isfinite(scores).all() for scores in model.term_scores_)


def test_loading_into_the_wrong_class_is_refused(classifier):
    with pytest.raises(ValueError, match="is a classification"):
        DPExplainableBoostingRegressor.from_released(classifier.released_)


# -------------------------------------------------------------------------- explanations


def test_overall_local_view_shows_every_row(classifier, cohort):
    figure = classifier.explain_local(cohort.X.head(3)).visualize(None)
    assert np.array(figure.data[0].z).shape == (len(classifier.term_names_), 3)


# ------------------------------------------------------------------------------ refusals


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
