"""interpret's ``merge_ebms`` refuses to make a private model of private models."""

import warnings

import pytest
from interpret.glassbox import ExplainableBoostingRegressor, merge_ebms

from interpret_dp import DPExplainableBoostingRegressor


@pytest.fixture(scope="module")
def table(cost_cohort):
    complete = cost_cohort.X.notna().all(axis=1).to_numpy()
    return cost_cohort.X[complete].head(300), cost_cohort.y[complete][:300]


@pytest.fixture(scope="module")
def private(cost_cohort, table):
    return DPExplainableBoostingRegressor(schema=cost_cohort.schema, max_rounds=2).fit(*table)


def test_private_models_are_not_merged(private):
    with pytest.raises(ValueError, match=r"merge_ebms .* average predictions"):
        merge_ebms([private, private])


def test_one_that_is_merged_with_an_ordinary_machine_is_interprets(private, table):
    ordinary = ExplainableBoostingRegressor(interactions=0, outer_bags=1, max_rounds=2, n_jobs=1)
    with warnings.catch_warnings(action="ignore"):
        both = merge_ebms([private, ordinary.fit(*table)])
    assert not isinstance(both, DPExplainableBoostingRegressor)
    assert not hasattr(both, "guarantee_")
