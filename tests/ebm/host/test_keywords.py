"""Keywords that our estimators do not take: each answer names what to do instead."""

from __future__ import annotations

import inspect
import pickle

import pytest
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from sklearn.base import clone

from interpret_dp import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from interpret_dp.ebm.host.keywords import SUBSTITUTES

PAIRS = [
    (ExplainableBoostingClassifier, DPExplainableBoostingClassifier),
    (ExplainableBoostingRegressor, DPExplainableBoostingRegressor),
]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_every_keyword_of_interprets_other_machines_is_taken_or_answered(theirs, ours):
    unknown = set(inspect.signature(theirs).parameters) - set(inspect.signature(ours).parameters)
    assert unknown
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


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_the_constructors_signature_is_kept(theirs, ours):
    assert "kwargs" not in inspect.signature(ours).parameters
    model = ours(epsilon=2.0, max_leaves=4)
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).epsilon == 2.0
    assert "max_leaves=4" in repr(model)
