"""Pickles and clones of results and of explanations: the same numbers, the same promise."""

import pickle

import interpret
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from interpret_dp import PrivacyLedger
from tests.contract.explainers.registry import DATASET, EXPLAINERS, names
from tests.contract.explainers.tables import TARGET, frame, requested
from tests.explanation import influences, maps_models as maps

BLACK_BOXES = ("lime", "shap")


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    ledger = PrivacyLedger(f"sqlite:///{tmp_path_factory.mktemp('copies') / 'privacy.db'}")
    ledger.create_budget(DATASET, 1000.0, 1e-4, delta_x=5e-5)
    return ledger


@pytest.fixture(scope="module")
def results(account):
    """Return a function of an explainer's name that gives its result; fitted once."""
    found = {}

    def result(name):
        if name not in found:
            found[name] = requested(name, account)
        return found[name]

    return result


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_pickle_predicts_and_keeps_its_promise(name, protocol, results, account):
    """And is charged to the same ledger."""
    explainer, result = EXPLAINERS[name], results(name)
    again = pickle.loads(pickle.dumps(result, protocol))
    assert explainer.promise(again) == explainer.promise(result)
    assert explainer.published(again) == explainer.published(result)
    if name == "metrics":
        return
    assert type(again) is type(result)
    np.testing.assert_array_equal(
        explainer.predicted(again, frame()), explainer.predicted(result, frame())
    )
    if name in BLACK_BOXES:
        again, result = again.background, result.background
    assert again.to_released().digest == result.to_released().digest
    assert again.ledger == account
    n_requests = account.spent(DATASET).n_requests
    again.fit(frame(), TARGET)
    assert account.spent(DATASET).n_requests == n_requests + 1


@pytest.mark.parametrize("name", names(*BLACK_BOXES, "metrics"))
def test_a_clone_has_the_same_parameters(name, results):
    """Nothing of a fit is cloned; what was never fitted is pickled and fitted as well."""
    result = results(name)
    again = clone(result)
    assert again.get_params() == result.get_params()
    assert again.ledger is result.ledger
    assert not hasattr(again, "guarantee_")
    with pytest.raises(NotFittedError):
        EXPLAINERS[name].predicted(again, frame())
    unfitted = pickle.loads(pickle.dumps(again))
    assert unfitted.get_params() == result.get_params()
    assert unfitted.set_params(**result.get_params()) is unfitted
    with pytest.raises(ValueError, match="Invalid parameter 'epsilonn'"):
        unfitted.set_params(epsilonn=1)
    for one in (again, unfitted):
        given = dict(one.get_params())
        one.fit(frame(), TARGET)
        assert all(one.get_params()[key] is value for key, value in given.items())
        assert one.guarantee_.epsilon == result.guarantee_.epsilon


# ------------------------------------------------------------------------------- explanations

MADE_UP = {
    "table": influences.adult_explanation,
    "text": lambda: influences.explanation_of(
        [influences.text_record(0, 60), influences.text_record(1, 60)]
    ),
    "table classes": lambda: maps.all_maps(maps.table_model(), inputs=maps.TABLE_INPUTS),
    "table rows": maps.table_rows,
    "image classes": lambda: maps.all_maps(maps.image_model()),
    "image rows": maps.image_rows,
    "color classes": lambda: maps.all_maps(maps.image_model(channels=3)),
    "color rows": lambda: maps.image_rows(maps.image_model(channels=3)),
    "stroke classes": lambda: maps.all_maps(maps.stroke_model()),
    "stroke rows": maps.stroke_rows,
}


def shown(name, results):
    """Return the explanations of a result, or a made-up one."""
    if name in MADE_UP:
        return [MADE_UP[name]()]
    return EXPLAINERS[name].explanations(results(name), frame()[:2], TARGET[:2])


@pytest.mark.parametrize("name", [*names("metrics", "regression", "shap"), *MADE_UP])
def test_explanations_survive_a_pickle_and_are_preserved_in_a_file(name, results, tmp_path):
    """Regressions draw what counts do, and SHAP draws what LIME does."""
    file = tmp_path / "view.html"
    for explanation in shown(name, results):
        again = pickle.loads(pickle.dumps(explanation))
        assert again.privacy == explanation.privacy
        for key in (None, 1):
            assert again.visualize(key).to_json() == explanation.visualize(key).to_json()
        if "Number" not in explanation.selector:
            explanation.selector.insert(0, "Number", range(len(explanation.selector)))
        for key in (None, 1):
            interpret.preserve(explanation, key, file_name=str(file), auto_open=False)
            text = file.read_text(encoding="utf-8")
            assert "Plotly.newPlot(" in text
            assert "Privacy cost of this explanation" in text
