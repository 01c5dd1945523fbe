"""No explainer keeps or shows a row, an exact count or an undeclared level.

Values that occur nowhere else are planted in a table; everything that a result holds or writes is
then searched for them: attributes, pickles, files, explanations. The searcher is tested by results
that leak on purpose.
"""

import copy
import dataclasses
import gc
import json
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.audit.neighbours import explanation_parts
from interpret_dp.evaluation import private_metrics
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.audit.planted import (
    N_ROWS,
    N_SITE_A,
    N_YES,
    RARE_NUMBER,
    find_planted,
    inside_pickle,
    leaves,
    planted_in,
    private_table,
)
from tests.lime.tables import Risk

FEATURES = {"age": dp.Continuous(0, 100), "site": dp.Categorical(["a", "b"])}
SCHEMA = dp.Schema(FEATURES, target=dp.Categorical(["no", "yes"]))


def ledger():
    return {"ledger": dp.PrivacyLedger.in_memory(), "dataset": "audit"}


def additive(X, y, *, schema=SCHEMA, **given):
    settings = {"schema": schema, "max_rounds": 4} | ledger()
    return dp.DPExplainableBoostingClassifier(**settings).fit(X, y, **given)


def of_an_array(X, y):
    schema = dp.Schema({"age": FEATURES["age"]}, target=SCHEMA.target)
    model = dp.DPExplainableBoostingClassifier(schema=schema, feature_names=["age"], **ledger())
    return model.fit(X[["age"]].to_numpy(), y.to_numpy())


def three_classes(X, y):
    return additive(X, y, schema=dp.Schema(FEATURES, target=dp.Categorical(["maybe", "no", "yes"])))


def undeclared(X, y):
    """Levels, labels and bounds by private releases; the planted ones occur once each."""
    return additive(X, y, schema=None)


def of_people(X, y):
    schema = dp.Schema(FEATURES, target=SCHEMA.target, unit=dp.PrivacyUnit("person", max_rows=1))
    return additive(X, y, schema=schema, unit=np.arange(N_ROWS) // 2)


def undeclared_regression(X, y):
    _, cost = private_table("regression")
    return dp.DPExplainableBoostingRegressor(max_rounds=4, **ledger()).fit(X, cost)


def with_weights_and_scores(X, y):
    schema, age = dp.Schema(FEATURES, target=dp.Continuous(0, 20)), X["age"].to_numpy()
    _, cost = private_table("regression")
    model = dp.DPExplainableBoostingRegressor(schema=schema, max_rounds=4, **ledger())
    return model.fit(X, cost, sample_weight=age / 100.0, init_score=age)


def maps(X, y, **given):
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier

    settings = {"schema": SCHEMA, "epochs": 2, "sampling_rate": 0.1} | ledger() | given
    return DPLocallyLinearClassifier(**settings).fit(X, y)


def maps_of_opacus(X, y):
    pytest.importorskip("opacus")
    return maps(X, y, engine="opacus")


def metrics(X, y):
    model = additive(pd.DataFrame({"age": [1.0, 2.0], "site": ["a", "b"]}), ["no", "yes"])
    return private_metrics({"m": model}, X, y, epsilon=1.0, delta=1e-6, **ledger())


def background(X, y):
    return dp.PrivateBackground(SCHEMA, epsilon=0.5, **ledger()).fit(X)


EXPLAINERS = [
    *(additive, of_an_array, three_classes, undeclared, undeclared_regression, of_people),
    *(with_weights_and_scores, maps, maps_of_opacus, metrics, background),
]


@pytest.mark.thorough
@pytest.mark.parametrize("fit", EXPLAINERS, ids=lambda fit: fit.__name__)
def test_nothing_planted_is_kept_or_shown_and_no_row_is_held(fit):
    X, y = private_table("classification")
    with use_randomness(SeededRandomness(4)):
        result = fit(X, y)
    assert find_planted(result) == []
    if hasattr(result, "from_released"):
        assert find_planted(type(result).from_released(result.to_released())) == []
    watched = [weakref.ref(X), weakref.ref(y)]
    del X, y
    gc.collect()
    assert [one() for one in watched] == [None, None]
    assert result is not None


QUERIES = pd.DataFrame({"age": [20.0, 75.0], "site": ["a", "b"]})


def explainer_of(data):
    with use_randomness(SeededRandomness(4)):
        given = {"schema": dp.Schema(FEATURES), "trained_on_same_people": False}
        return dp.DPLimeTabular(Risk(), data, **given, **ledger())


def found_in(value):
    return [path for path, leaf in leaves(value, "", {}) if planted_in(leaf)]


def test_explanations_of_a_black_box_show_nothing_and_no_row_is_held():
    data, _ = private_table("classification")
    explainer = explainer_of(data)
    explanation = explainer.explain_local(QUERIES)
    assert found_in([explanation_parts(explanation), vars(explanation)]) == []
    assert find_planted(explainer.background) == []
    assert not planted_in(json.dumps(explanation.data(0), default=repr))
    assert not planted_in(explanation.visualize(0).to_json())
    watched = weakref.ref(data)
    del data
    gc.collect()
    assert watched() is None
    assert explainer.explain_local(QUERIES).data(1)["scores"]


def test_control_a_row_in_an_explanation_is_found():
    data, _ = private_table("classification")
    explanation = explainer_of(data).explain_local(QUERIES)
    explanation.nearest = data.iloc[7]
    assert found_in(vars(explanation))
    assert [path for path, leaf in inside_pickle(pickle.dumps(RARE_NUMBER)) if planted_in(leaf)]


# ------------------------------------------------------------------------- the search finds leaks


@pytest.fixture(scope="module")
def honest():
    """Return a model without a leak; a test that plants one copies it."""
    model = additive(*private_table("classification"))
    assert find_planted(model) == []
    return model


def leak_number(model, table):
    model.guarantee_ = dataclasses.replace(model.guarantee_, mechanism=f"over {N_ROWS} rows")


def leak_level(model, table):
    model.bins_[1] = [{"a": 1, "b": 2, "Zebulon": 3}]


def leak_row(model, table):
    model.boosting_record_ = (model.boosting_record_, table[0].iloc[7:8])


def leak_weight(model, table):
    model.bin_weights_[1][1] = float(N_SITE_A)


def leak_class_counts(model, table):
    model.counts_ = np.array([N_YES, N_ROWS - N_YES], dtype=np.int32)


def leak_private_name(model, table):
    model._cache = {"y": table[1].to_numpy()}


@pytest.mark.parametrize(
    "leak", [leak_number, leak_level, leak_row, leak_weight, leak_class_counts, leak_private_name]
)
def test_control_leaks_are_found(leak, honest):
    model = copy.deepcopy(honest)
    leak(model, private_table("classification"))
    assert find_planted(model)


TEXTS_AND_BYTES = [
    (f'"n": {N_ROWS},', True),
    (f"[{N_ROWS}.0]", True),
    (f"{RARE_NUMBER!r}", True),
    (f"1{N_ROWS}, 0.{N_ROWS}, {N_ROWS}.5, a{N_ROWS}", False),
    ("x = Zebulon", True),
    (np.array([0.5, N_ROWS]).tobytes(), True),
    (np.array([7, N_ROWS]).tobytes(), True),
    (np.array([1, RARE_NUMBER], dtype=np.float32).tobytes(), True),
    (b"abc" + np.array(RARE_NUMBER).tobytes(), True),
    (b"abc" + "Zebulon".encode("utf-16-le"), True),
    # Across two items of a matrix, as its zeros and another number's last bytes.
    (bytes(3) + np.array(float(N_ROWS)).tobytes() + bytes(5), False),
]


@pytest.mark.parametrize(("value", "expected"), TEXTS_AND_BYTES)
def test_control_numbers_in_texts_and_bytes(value, expected):
    assert planted_in(value) is expected


def test_control_a_reference_is_noticed(honest):
    X, _ = private_table("regression")
    model = copy.deepcopy(honest)
    model._rows = X
    watched = weakref.ref(X)
    del X
    gc.collect()
    assert watched() is model._rows
