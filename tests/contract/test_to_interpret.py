"""A fitted model as interpret's own class: it predicts the same, and other tools take it."""

import io
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from interpret.glassbox import (
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
    merge_ebms,
)
from sklearn.base import clone

import interpret_dp as dp
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.golden.kinds import FILES, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:JSON formats are in beta"),
    pytest.mark.filterwarnings("ignore:This regression released no total"),
    pytest.mark.filterwarnings("ignore:Extra columns present"),
]

KINDS = ("classification", "classes", "pairs", "monotone", "poisson", "gamma", "regression")
FEATURES = {
    "age": dp.Continuous(0, 100),
    "kids": dp.Integer(0, 4),
    "zone": dp.Categorical([1, 2.5, 300]),
    "smoker": dp.Categorical([False, True]),
    "job": dp.Categorical(["cook", "1", "zoo"]),
}


def odd_rows():
    """Return rows of the golden models with missing, unseen, infinite and far away cells."""
    X = rows(200)
    X.loc[:5, "age"] = [-5.0, 1e300, np.nan, np.inf, -np.inf, 100.0]
    X.loc[2:3, "dose"] = [np.nan, 0.0]
    X.loc[6:8, "stage"] = ["never", None, "EARLY"]
    return X


def scores(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.fixture(scope="module")
def typed():
    """Return a model of numbers, booleans and text, of which no two bins score alike."""
    rng = np.random.default_rng(0)
    table = {
        "age": rng.uniform(0, 100, 900),
        "kids": rng.integers(0, 5, 900),
        "zone": rng.choice([1, 2.5, 300], 900),
        "smoker": rng.random(900) < 0.3,
        "job": rng.choice(["cook", "1", "zoo"], 900),
    }
    X = pd.DataFrame(table)
    schema = dp.Schema(FEATURES, target=dp.Continuous(0, 10))
    y = X["age"] / 20 + X["kids"] + X["smoker"] + np.log(X["zone"]) / 3
    with warnings.catch_warnings(action="ignore"), use_randomness(SeededRandomness(3)):
        model = dp.DPExplainableBoostingRegressor(epsilon=20.0, schema=schema, max_rounds=3)
        model.fit(X, y)
    for number, table in enumerate(model.term_scores_):
        table[...] = np.linspace(-1, 1, len(table)) ** 3 * (number + 1)
    return model, X.head(8)


@pytest.mark.parametrize("kind", KINDS)
def test_interprets_model_predicts_and_explains_the_same(kind):
    model, X = dp.load_model(FILES / f"{kind}.json"), odd_rows()
    other = model.to_interpret()
    expected, is_classifier = scores(model, X), hasattr(model, "classes_")
    assert len(np.unique(expected.round(9))) > 100
    own = ExplainableBoostingClassifier if is_classifier else ExplainableBoostingRegressor
    assert type(other) is own
    text = io.StringIO()
    other.to_json(text)
    read = own()._from_json(io.StringIO(text.getvalue()))
    for same in (other, pickle.loads(pickle.dumps(other)), read, merge_ebms([other, other])):
        np.testing.assert_allclose(scores(same, X), expected, rtol=1e-6, atol=1e-9)
        if is_classifier:
            np.testing.assert_array_equal(same.predict(X), model.predict(X))
    np.testing.assert_allclose(other.eval_terms(X), model.eval_terms(X), atol=1e-9)
    assert other.privacy_guarantee_ == model.guarantee_.sentence
    for explanation in (other.explain_global(), other.explain_local(X[:3], model.predict(X[:3]))):
        for key in (None, *range(len(explanation.selector))):
            explanation.visualize(key)
    assert other.explain_global().data(0)["density"]["scores"]


def test_nothing_of_ours_is_left_on_it_and_it_is_a_copy():
    model = dp.load_model(FILES / "pairs.json")
    other = model.to_interpret()
    fresh = vars(ExplainableBoostingClassifier())
    X = rows(60)
    with warnings.catch_warnings(action="ignore"):
        theirs = clone(other).set_params(max_rounds=2, outer_bags=1).fit(X, np.arange(60) % 2)
    assert set(vars(other)) == set(vars(theirs)) | {"privacy_guarantee_"}
    changed = {name for name in fresh if getattr(other, name) != fresh[name]}
    assert changed == {"feature_names", "interactions"}
    assert other.interactions == [(0, 2)]
    assert theirs.term_names_[-1] == "age & stage"
    before = scores(model, X)
    for table in (*other.term_scores_, *other.bin_weights_, other.intercept_):
        table += 1.0
    other.bins_[2][0].clear()
    np.testing.assert_array_equal(scores(model, X), before)
    poisson = dp.load_model(FILES / "poisson.json")
    assert poisson.to_interpret().objective == "poisson_deviance"
    poisson.released_.parameters["objective"] = "poisson"
    assert poisson.to_interpret().objective == "poisson_deviance"


def test_what_was_edited_by_interprets_methods_goes_along():
    model = dp.load_model(FILES / "pairs.json")
    model.monotonize("age").remove_features(["dose"])
    model.scale("city", 0.0)
    other, X = model.to_interpret(), odd_rows()
    np.testing.assert_allclose(scores(other, X), scores(model, X), rtol=1e-12)
    other.explain_global().visualize(0)
    np.testing.assert_allclose(scores(merge_ebms([other, other]), X), scores(model, X), rtol=1e-6)
    model.sweep(features=True)
    assert model.to_interpret().feature_names_in_ == ["age", "stage"]
    np.testing.assert_allclose(scores(model.to_interpret(), X[["age", "stage"]]), scores(other, X))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_of_one_class_is_refused():
    schema = dp.Schema({"a": dp.Continuous(0, 1)})
    model = dp.DPExplainableBoostingClassifier(epsilon=20.0, schema=schema, max_rounds=2)
    model.fit(pd.DataFrame({"a": np.linspace(0, 1, 500)}), ["yes"] * 500)
    with pytest.raises(ValueError, match="one class alone, 'yes'"):
        model.to_interpret()


# -------------------------------------------------- which rows both read alike, and which not

ALIKE = {
    "as fitted": {},
    "text of numbers": {"age": ["12", " 7 ", None, "1e2"] * 2},
    "nullable integers": {"kids": pd.array([1, 3] * 4, dtype="Int64")},
    "numbers between and beyond": {"kids": [2.4, 2.5, -1e9, np.nan] * 2},
    "levels as floats": {"zone": [1.0, 2.5, np.nan, 7] * 2},
    "levels as objects": {
        "zone": pd.Series([1, 2.5, True, None, "x", 3] + [300] * 2, dtype=object)
    },
    "levels as categories": {"zone": pd.Categorical([1, 2.5, 300, None] * 2)},
    "booleans with holes": {"smoker": pd.array([True, None] * 4, dtype="boolean")},
    "booleans as numbers": {"smoker": [0, 1, 2, 1] * 2},
    "booleans as objects": {"smoker": pd.Series([True, None, 0.0, 1] * 2, dtype=object)},
    "text": {"job": ["zoo", None, "ZOO", "cook "] * 2},
    "text as categories": {"job": pd.Categorical(["zoo", None, "1", "else"] * 2)},
    "nothing but missing cells": {"job": None, "age": np.nan},
}
DIFFERENT = {
    "text of a numeric level": {"zone": ["1", "2.5", "300", "1"] * 2},
    "numbers of a textual level": {"job": 1},
    "bytes": {"job": pd.Series([b"cook"] * 8, dtype=object)},
    "text that is no number": {"age": pd.Series(["junk"] * 8, dtype=object)},
    "booleans among objects": {"age": pd.Series([True, "x"] * 4, dtype=object)},
}


@pytest.mark.parametrize("case", ALIKE)
def test_rows_that_both_read_alike(typed, case):
    model, X = typed
    table = X.assign(**ALIKE[case])
    for given in (table, table[table.columns[::-1]].assign(more=0)):
        np.testing.assert_allclose(
            model.to_interpret().predict(given), model.predict(given), rtol=1e-12
        )


@pytest.mark.filterwarnings("ignore::interpret_dp.exceptions.DeclarationWarning")
@pytest.mark.parametrize("case", DIFFERENT)
def test_rows_that_interpret_reads_in_its_own_way(typed, case):
    """As the docstring says: a control of the test above, and of the list."""
    model, X = typed
    table = X.assign(**DIFFERENT[case])
    assert (np.abs(model.to_interpret().predict(table) - model.predict(table)) > 0.01).any()


# ------------------------------------------------------------------------------------- ONNX

TYPES = {"age": "double", "dose": "double", "stage": "str", "city": "str"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_onnx_file_predicts_the_same_and_holds_the_promise(kind, tmp_path):
    ebm2onnx = pytest.importorskip("ebm2onnx")
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    model, X = dp.load_model(FILES / f"{kind}.json"), odd_rows()
    is_classifier = hasattr(model, "classes_")
    # The recipe of the docstring.
    graph = ebm2onnx.to_onnx(model.to_interpret(), TYPES, predict_proba=is_classifier)
    onnx.helper.set_model_props(graph, {"privacy_guarantee": model.guarantee_.sentence})
    onnx.save_model(graph, tmp_path / "model.onnx")

    session = runtime.InferenceSession(tmp_path / "model.onnx")
    promise = session.get_modelmeta().custom_metadata_map["privacy_guarantee"]
    assert promise == model.guarantee_.sentence
    text = X[["stage", "city"]].astype(object).where(X.notna(), "nan").astype(str)
    columns = {name: X[name].to_numpy() for name in ("age", "dose")}
    columns |= {name: text[name].to_numpy(dtype=object) for name in text}
    predicted, figures = session.run(None, columns)
    if is_classifier:
        np.testing.assert_array_equal(predicted, model.predict(X))
        np.testing.assert_allclose(figures, model.predict_proba(X), atol=1e-6)
        return
    values = np.exp(predicted) if model.link_ == "log" else predicted
    np.testing.assert_allclose(values, model.predict(X), rtol=1e-5, atol=1e-6)
