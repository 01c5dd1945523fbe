"""interpret's ``merge_ebms`` refuses to make a private model of private models."""

import warnings

import pytest
from interpret.glassbox import ExplainableBoostingRegressor, merge_ebms

from interpret_dp import DPExplainableBoostingRegressor


def test_private_models_are_not_merged_into_a_private_one(cost_cohort):
    complete = cost_cohort.X.notna().all(axis=1).to_numpy()
    table = cost_cohort.X[complete].head(300), cost_cohort.y[complete][:300]
    private = DPExplainableBoostingRegressor(schema=cost_cohort.schema, max_rounds=2).fit(*table)
    with pytest.raises(ValueError, match=r"merge_ebms .* average predictions"):
        merge_ebms([private, private])
    ordinary = ExplainableBoostingRegressor(interactions=0, outer_bags=1, max_rounds=2, n_jobs=1)
    with warnings.catch_warnings(action="ignore"):
        both = merge_ebms([private, ordinary.fit(*table)])
    assert not isinstance(both, DPExplainableBoostingRegressor)
    assert not hasattr(both, "guarantee_")
