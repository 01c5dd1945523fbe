"""What interpret's ``merge_ebms`` makes of private models says that it is none."""

from __future__ import annotations

import warnings

import pytest
from interpret.glassbox import ExplainableBoostingRegressor, merge_ebms

from interpret_dp import DPExplainableBoostingRegressor


@pytest.fixture(scope="module")
def merged(cost_cohort):
    def one():
        model = DPExplainableBoostingRegressor(schema=cost_cohort.schema)
        return model.fit(cost_cohort.X, cost_cohort.y)

    with warnings.catch_warnings(action="ignore"):
        return merge_ebms([one(), one()])


@pytest.mark.parametrize(
    "act",
    [
        lambda model, X: model.predict(X),
        lambda model, X: model.eval_terms(X),
        lambda model, X: model.predict_with_uncertainty(X),
        lambda model, X: model.explain_global(),
        lambda model, X: model.explain_local(X),
        lambda model, X: model.to_released(),
        lambda model, X: model.edit(),
        lambda model, X: model.remove_features(["age"]),
    ],
)
def test_a_merged_model_is_refused_with_what_to_do(act, merged, cost_cohort):
    assert isinstance(merged, DPExplainableBoostingRegressor)
    with pytest.raises(ValueError, match=r"merge_ebms keeps neither .* average what the models"):
        act(merged, cost_cohort.X.head(3))


def test_one_that_is_merged_with_an_ordinary_machine_is_interprets(cost_cohort):
    complete = cost_cohort.X.notna().all(axis=1).to_numpy()
    X, y = cost_cohort.X[complete].head(300), cost_cohort.y[complete][:300]
    ordinary = ExplainableBoostingRegressor(interactions=0, outer_bags=1, max_rounds=2, n_jobs=1)
    private = DPExplainableBoostingRegressor(schema=cost_cohort.schema).fit(X, y)
    with warnings.catch_warnings(action="ignore"):
        both = merge_ebms([private, ordinary.fit(X, y)])
    assert not isinstance(both, DPExplainableBoostingRegressor)
    assert not hasattr(both, "guarantee_")
