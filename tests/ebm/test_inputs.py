"""Containers at the estimators: neither fits nor predictions depend on what holds the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacyWarning, SchemaError

CONTAINERS = {
    "pandas": (lambda X: X, lambda y: y),
    "polars": (pl.from_pandas, lambda y: pl.Series(np.asarray(y))),
    "arrow": (pa.Table.from_pandas, lambda y: pa.array(np.asarray(y))),
    "objects": (lambda X: X.astype(object).to_numpy(), np.asarray),
    "rows": (lambda X: X.astype(object).to_numpy().tolist(), lambda y: np.asarray(y).tolist()),
}
NAMED = ("pandas", "polars", "arrow")


def fitted(schema, X, y, **named):
    model = DPExplainableBoostingClassifier(schema=schema, random_state=3, max_rounds=3, **named)
    with pytest.warns(PrivacyWarning, match="voids the privacy promise"):
        return model.fit(X, y)


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


@pytest.fixture(scope="module")
def model(cohort):
    return fitted(cohort.schema, cohort.X, cohort.y)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_predictions_are_those_of_pandas(model, rows, kind):
    given = CONTAINERS[kind][0](rows)
    np.testing.assert_array_equal(model.predict_proba(given), model.predict_proba(rows))
    np.testing.assert_array_equal(model.eval_terms(given), model.eval_terms(rows))
    predicted = model.predict(given)
    assert isinstance(predicted, np.ndarray)
    assert predicted.tolist() == model.predict(rows).tolist()


def test_odd_cells_score_as_the_bins_they_belong_to(model, rows):
    scores = pd.DataFrame(model.eval_terms(rows), columns=model.term_names_)
    tables = dict(zip(model.term_names_, model.term_scores_, strict=True))
    assert scores["age"][0] == tables["age"][0]
    assert scores["age"][1] == tables["age"][-2]
    assert scores["creatinine"][2] == tables["creatinine"][1]
    assert scores["insurance"][3] == tables["insurance"][-1]
    assert scores["smoker"][4] == tables["smoker"][0]


@pytest.mark.parametrize("kind", NAMED)
def test_columns_are_matched_by_name(model, rows, kind):
    of_table = CONTAINERS[kind][0]
    shuffled = of_table(rows[list(rows)[::-1]].assign(ward="a column that the fit did not have"))
    np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(rows))
    with pytest.raises(SchemaError, match="X lacks columns 'age', 'smoker'"):
        model.predict(of_table(rows.drop(columns=["smoker", "age"])))


def test_lazy_frames_are_refused(cohort, model):
    lazy = pl.from_pandas(cohort.X).lazy()
    with pytest.raises(TypeError, match=r"Run its query first, as X\.collect\(\) does"):
        model.predict(lazy)
    with pytest.raises(TypeError, match=r"Run its query first, as X\.collect\(\) does"):
        DPExplainableBoostingClassifier(schema=cohort.schema).fit(lazy, cohort.y)


def test_nothing_asks_for_set_output(model):
    # scikit-learn's set_output is for transformers: an estimator without transform has none.
    assert not hasattr(model, "transform")
    assert not hasattr(model, "set_output")
