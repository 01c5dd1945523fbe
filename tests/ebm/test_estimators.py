"""The estimators as a user of interpret and scikit-learn meets them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from interpret_dp import (
    Categorical,
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


def test_a_classifier_of_three_classes_learns(cohort):
    rng = np.random.default_rng(5)
    score = cohort.score(cohort.X) - cohort.intercept + rng.logistic(scale=0.5, size=len(cohort.X))
    y = np.array(["low", "middle", "high"], dtype=object)[np.digitize(score, [-0.5, 0.5])]
    schema = Schema(cohort.schema.features, target=Categorical(["high", "low", "middle"]))
    model = DPExplainableBoostingClassifier(epsilon=4.0, delta=1e-6, schema=schema)
    probabilities = model.fit(cohort.X, y).predict_proba(cohort.X)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert probabilities.shape == (len(y), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    shares = np.array([(y == name).mean() for name in model.classes_])
    assert log_loss(y, probabilities) < 0.9 * -(shares * np.log(shares)).sum()


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


# ------------------------------------------------------------------- rows to predict


@pytest.fixture(scope="module")
def rows(cohort):
    """Return rows with all that prediction meets: missing, unseen and out-of-range cells."""
    X = cohort.X.head(6).copy()
    X.loc[X.index[0], "age"] = np.nan
    X.loc[X.index[1], "age"] = 1e9
    X.loc[X.index[2], "creatinine"] = -np.inf
    X.loc[X.index[3], "insurance"] = "never heard of"
    X.loc[X.index[4], "smoker"] = None
    return X


def test_odd_cells_score_as_the_bins_they_belong_to(classifier, rows):
    scores = pd.DataFrame(classifier.eval_terms(rows), columns=classifier.term_names_)
    tables = dict(zip(classifier.term_names_, classifier.term_scores_, strict=True))
    assert scores["age"][0] == tables["age"][0]
    assert scores["age"][1] == tables["age"][-2]
    assert scores["creatinine"][2] == tables["creatinine"][1]
    assert scores["insurance"][3] == tables["insurance"][-1]
    assert scores["smoker"][4] == tables["smoker"][0]


@pytest.mark.parametrize("table", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_columns_are_matched_by_name(classifier, rows, table):
    shuffled = table(rows[list(rows)[::-1]].assign(ward="a column that the fit did not have"))
    expected = classifier.predict_proba(rows)
    np.testing.assert_array_equal(classifier.predict_proba(shuffled), expected)
    with pytest.raises(SchemaError, match="X lacks columns 'age', 'smoker'"):
        classifier.predict(table(rows.drop(columns=["smoker", "age"])))
    with pytest.raises(TypeError, match=r"Run its query first, as X\.collect\(\) does"):
        classifier.predict(pl.from_pandas(rows).lazy())


# ------------------------------------------------------------------------------ refusals


def test_bags_are_refused(cohort):
    model = DPExplainableBoostingClassifier(schema=cohort.schema)
    with pytest.raises(ValueError, match="bags was given; it must be None"):
        model.fit(cohort.X, cohort.y, bags=[np.ones(len(cohort.X))])
