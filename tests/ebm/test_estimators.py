"""The estimators as a user of interpret and scikit-learn meets them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import interpret_dp as dp


@pytest.fixture(scope="module")
def classifier(cohort):
    return dp.DPExplainableBoostingClassifier(epsilon=2.0, delta=1e-6, schema=cohort.schema).fit(
        cohort.X, cohort.y
    )


def test_excluded_features_have_no_term_and_cost_nothing(cohort, classifier):
    model = dp.DPExplainableBoostingClassifier(
        epsilon=2.0, delta=1e-6, schema=cohort.schema, exclude=["age", ["bmi"], -1]
    ).fit(cohort.X, cohort.y)
    assert len(model.term_names_) == len(cohort.X.columns) - 3
    assert "age" not in model.term_names_
    assert model.n_features_in_ == len(cohort.X.columns)
    assert model.noise_scale_binning_ < classifier.noise_scale_binning_
    model.explain_global().visualize(0)


def test_progress_shows_rounds_and_nothing_private(cohort, capsys):
    dp.DPExplainableBoostingClassifier(schema=cohort.schema, verbose=True).fit(cohort.X, cohort.y)
    shown = capsys.readouterr().err
    assert "DP-EBM rounds" in shown
    assert str(len(cohort.X)) not in shown


# ----------------------------------------------------------- interpret's methods and files


def test_monotonizing_a_bin_that_nobody_is_in_gives_a_number(cohort):
    # Bins at the ends may be released without weight at a small epsilon.
    model = dp.DPExplainableBoostingClassifier(epsilon=0.1, delta=1e-6, schema=cohort.schema)
    model.fit(cohort.X, cohort.y)
    for term in ("age", "systolic_bp", "creatinine"):
        model.monotonize(term, increasing=True)
    assert all(np.isfinite(scores).all() for scores in model.term_scores_)


# ------------------------------------------------------------------- rows to predict


@pytest.mark.parametrize("table", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_columns_are_matched_by_name(classifier, cohort, table):
    rows = cohort.X.head(6)
    shuffled = table(rows[list(rows)[::-1]].assign(ward="a column that the fit did not have"))
    expected = classifier.predict_proba(rows)
    np.testing.assert_array_equal(classifier.predict_proba(shuffled), expected)
    with pytest.raises(dp.SchemaError, match="X lacks columns 'age', 'smoker'"):
        classifier.predict(table(rows.drop(columns=["smoker", "age"])))
    with pytest.raises(TypeError, match=r"Run its query first, as X\.collect\(\) does"):
        classifier.predict(pl.from_pandas(rows).lazy())


# ------------------------------------------------------------------------------ refusals


def test_bags_are_refused(cohort):
    model = dp.DPExplainableBoostingClassifier(schema=cohort.schema)
    with pytest.raises(ValueError, match="bags was given; it must be None"):
        model.fit(cohort.X, cohort.y, bags=[np.ones(len(cohort.X))])
