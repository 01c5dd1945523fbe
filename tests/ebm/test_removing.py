"""Features that are taken out of a fitted model, which fails on interpret's private ones."""

import io

import numpy as np
import pytest
from interpret.privacy import DPExplainableBoostingRegressor as InterpretRegressor
from sklearn.exceptions import NotFittedError

from interpret_dp import DPExplainableBoostingRegressor, load_model

pytestmark = pytest.mark.filterwarnings("ignore:JSON formats are in beta")


@pytest.fixture(scope="module")
def fitted(cost_cohort):
    model = DPExplainableBoostingRegressor(
        epsilon=2.0, delta=1e-6, schema=cost_cohort.schema, interactions=[("age", "bmi"), (1, 2)]
    )
    return model.fit(cost_cohort.X, cost_cohort.y)


def without(model, cohort, gone):
    """Return predictions of the terms that none of the features is in, by the whole model."""
    parts = model.eval_terms(cohort.X)
    stay = [not gone & set(name.split(" & ")) for name in model.term_names_]
    return model.intercept_ + parts[:, stay].sum(axis=1)


def test_what_stays_predicts_as_before_without_the_columns(fitted, cost_cohort, tmp_path):
    names = fitted.feature_names_in_
    gone, kept = {names[0], names[-1]}, names[1:-1]
    model = fitted.copy()
    assert model.remove_features(gone) is model
    assert model.feature_names_in_ == kept
    assert model.n_features_in_ == len(kept) == len(model.bins_) == len(model.feature_bounds_)
    for same in (np.array([0, len(names) - 1]), (0, -1), [name in gone for name in names]):
        assert fitted.copy().remove_features(same).feature_names_in_ == kept
    removed = {name for name in fitted.term_names_ if gone & set(name.split(" & "))}
    assert model.term_names_ == [name for name in fitted.term_names_ if name not in removed]

    rows, expected = cost_cohort.X[kept], without(fitted, cost_cohort, gone)
    np.testing.assert_allclose(model.predict(rows), expected)
    model.explain_global().visualize(0)
    model.explain_local(rows.head(2)).visualize(0)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(loaded.predict(rows), expected)
    assert {record.term for record in loaded.released_.edits} == removed
    assert model.card().to_markdown().count("removed with its feature") == len(removed)
    model.to_json(file := io.StringIO())
    theirs = InterpretRegressor()._from_json(io.StringIO(file.getvalue()))
    np.testing.assert_allclose(theirs.predict(rows), expected)
    with pytest.raises(NotFittedError):
        DPExplainableBoostingRegressor().remove_features(["age"])


def test_a_sweep_takes_out_the_features_that_no_term_has(fitted, cost_cohort):
    model = fitted.copy().remove_terms(["age", "age & bmi"]).sweep(features=True)
    assert model.feature_names_in_ == fitted.feature_names_in_[1:]
    np.testing.assert_allclose(model.predict(cost_cohort.X), without(fitted, cost_cohort, {"age"}))


NO_FEATURES = [
    (["agee"], "features names the feature 'agee'; it must be the name or index"),
    ([99], "features names the feature 99"),
    (["age", True], "features names the feature True"),
    ([True, False], "features has 2 booleans; it must have one for each of the"),
    ("age", "it must be a list of names or indices"),
]


@pytest.mark.parametrize(("features", "said"), NO_FEATURES)
def test_what_is_no_feature_is_refused_and_changes_nothing(features, said, fitted):
    model = fitted.copy()
    with pytest.raises((TypeError, ValueError), match=said):
        model.remove_features(features)
    assert model.term_names_ == fitted.term_names_
    assert model.feature_names_in_ == fitted.feature_names_in_
