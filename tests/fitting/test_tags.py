"""Parameters and fitted attributes in which our estimators differ from interpret's others."""

import inspect

import numpy as np
import pandas as pd
import pytest
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

import interpret_dp as dp
from interpret_dp.fitting.pipelines import SUBSTITUTES

PAIRS = [
    (ExplainableBoostingClassifier, dp.DPExplainableBoostingClassifier),
    (ExplainableBoostingRegressor, dp.DPExplainableBoostingRegressor),
]

REASONS = {
    "outer_bags validation_size": "bags and rows held out would divide the budget",
    "bag_weights_ bagged_intercept_ best_iteration_": "there are no bags",
    "learning_rate max_leaves max_rounds": "they follow from a rule in released numbers",
    "max_bins": "noisy counts merge bins: more would be merged again",
    "interactions": "each pair takes its budget from all other terms",
    "n_jobs": "threads sum over rows; one more is no hindrance",
    "random_state": "a fixed seed voids the promise",
    "epsilon delta composition bin_budget_frac privacy_bounds": "interpret.privacy has them",
    "privacy_target_min privacy_target_max": "interpret.privacy has them",
    "noise_scale_binning_ noise_scale_boosting_": "interpret.privacy has them",
    "privacy_weight_max privacy_exposure_max": "the noise is made for the largest",
    "neighboring population": "whom promise and model are about",
    "schema schema_": "what is declared as public",
    "ledger dataset": "where the fit is charged",
    "verbose": "interpret's callback would show private figures",
    "backend": "Dask tables are summed where they are",
    "classes": "labels that are public need not be found",
    "histogram_edges_ histogram_weights_ unique_val_counts_": "exact numbers of rows are private",
    "min_target_ max_target_": "declared bounds are plain floats",
    "guarantee_ privacy_spend_": "what was promised, and what it cost",
    "released_ boosting_record_ pair_record_": "what was published",
    "total_error_": "the noise of the total",
}
# Why each parameter or fitted attribute is not as in interpret's other machines.
DIFFERENCES = SUBSTITUTES | {name: why for names, why in REASONS.items() for name in names.split()}


def test_every_difference_from_interprets_other_machines_has_a_reason():
    X = pd.DataFrame({"a": np.linspace(0, 1, 100)})
    declared = dp.Categorical([0, 1]), dp.Continuous(0, 1)
    found = set()
    for kinds, target, y in zip(PAIRS, declared, ((X["a"] > 0.5) * 1, X["a"]), strict=True):
        theirs, ours = (
            {name: p.default for name, p in inspect.signature(kind).parameters.items()}
            for kind in kinds
        )
        schema = dp.Schema({"a": dp.Continuous(0, 1)}, target)
        theirs |= forms(kinds[0](max_rounds=1, n_jobs=1).fit(X, y))
        ours |= forms(kinds[1](max_rounds=1, schema=schema).fit(X, y))
        found |= {name for name, _ in theirs.items() ^ ours.items()}
    assert found == set(DIFFERENCES)


def forms(machine):
    """Return the type and the shape of each fitted attribute."""
    names = [name for name in dir(machine) if name.endswith("_") and name[0] != "_"]
    values = {name: getattr(machine, name) for name in names}
    return {name: (type(value), getattr(value, "shape", None)) for name, value in values.items()}


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_every_keyword_of_interprets_other_machines_is_taken_or_answered(theirs, ours):
    own = inspect.signature(ours).parameters
    assert "kwargs" not in own
    unknown = set(inspect.signature(theirs).parameters) - set(own)
    for keyword in unknown:
        with pytest.raises(TypeError, match=f"takes no '{keyword}': ") as raised:
            ours(**{keyword: 1})
        assert SUBSTITUTES[keyword] in str(raised.value)


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_a_misspelt_keyword_is_recognised(theirs, ours):
    with pytest.raises(TypeError, match=r"takes no 'epsilom'\. Did you mean 'epsilon'\?"):
        ours(epsilom=1.0)
    with pytest.raises(TypeError, match=r"takes no 'qqq'\. It takes feature_names, "):
        ours(qqq=1)
    for call in (ours, ours().fit):
        with pytest.raises(TypeError, match=r"takes no 'max_rows': .*PrivacyUnit\(.*max_rows=3"):
            call(max_rows=3)
