"""Parameters in which our estimators differ from interpret's other machines."""

import inspect

import pytest
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

import interpret_dp as dp
from interpret_dp.fitting.pipelines import SUBSTITUTES

PAIRS = [
    (ExplainableBoostingClassifier, dp.DPExplainableBoostingClassifier),
    (ExplainableBoostingRegressor, dp.DPExplainableBoostingRegressor),
]


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
