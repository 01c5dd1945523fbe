"""What all private estimators share: parameters of subclasses, released models, explanations."""

import pickle

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp

KINDS = (dp.DPExplainableBoostingClassifier, dp.DPLocallyLinearClassifier, dp.PrivateBackground)
TABLE = pd.DataFrame({"dose": np.linspace(0, 1, 400), "person": np.arange(400) // 2})
LABELS = np.where(TABLE["dose"] > 0.5, "high", "low")
SCHEMA = dp.Schema(
    {"dose": dp.Continuous(0, 1)},
    target=dp.Categorical(["high", "low"]),
    unit=dp.PrivacyUnit("person"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_subclass_may_name_no_parameter_and_keeps_those_that_it_passes_on(kind):
    ledger = dp.PrivacyLedger.in_memory()
    ledger.create_budget("trial", epsilon=5, delta=1e-5, delta_x=1e-6)

    class Own(kind):
        def __init__(self):
            of_trial = {"schema": SCHEMA, "ledger": ledger, "dataset": "trial"}
            super().__init__(epsilon=0.3, delta=1e-7, **of_trial)

    promise = Own().fit(TABLE, LABELS).guarantee_
    assert (promise.epsilon, promise.delta, promise.dataset) == (0.3, 1e-7, "trial")
    assert "one 'person'" in promise.unit
    assert ledger.spent("trial").n_requests == 1


@pytest.mark.parametrize("kind", [*KINDS, dp.DPExplainableBoostingRegressor])
def test_a_released_model_of_another_kind_is_refused(kind):
    others = [other for other in KINDS if other is not kind]
    for other in others:
        model = other(schema=SCHEMA, delta=1e-6).fit(TABLE, LABELS).to_released()
        with pytest.raises(ValueError, match=r"The model is .*load_model"):
            kind.from_released(model)


def test_an_explanation_holds_nothing_else_of_its_estimator():
    model = dp.DPExplainableBoostingClassifier(schema=SCHEMA).fit(TABLE, LABELS)
    model.note_ = "seen in ward seven"
    assert b"ward seven" in pickle.dumps(model)
    for explanation in (model.explain_global(), model.explain_local(TABLE[:2])):
        assert b"ward seven" not in pickle.dumps(explanation)


def test_numbers_of_more_than_64_bits_are_parameters_and_cells(tmp_path):
    """NumPy turns them into no number of Python, which is what a file can hold."""
    cells = TABLE.astype({"dose": np.longdouble})
    model = dp.DPLocallyLinearClassifier(schema=SCHEMA, epsilon=np.longdouble(0.5), delta=1e-6)
    model.fit(cells, LABELS).save(tmp_path / "maps.json")
    assert model.explain_local(cells[:2]).data(1)["values"] == [float(TABLE["dose"][1])]
