"""What InterpretML's own tests ask of its private EBMs and of an extension, asked of ours.

Written for this package after the behaviour that interpret's tests check: fits on synthetic
tables, finite scores, JSON round trips, valid explanations, names that an extension may have.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import io
import json
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from interpret.blackbox import LimeTabular, ShapKernel
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import DPExplainableBoostingClassifier as InterpretClassifier
from interpret.privacy import DPExplainableBoostingRegressor as InterpretRegressor
from sklearn.base import is_classifier

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPLimeTabular,
    DPShapTabular,
    Schema,
)

pytestmark = pytest.mark.filterwarnings("ignore:JSON formats are in beta")

COLUMNS = list("ABCD")
BOUNDS = {column: Continuous(-3, 3) for column in COLUMNS}


def normal_table(seed: int, n_rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=COLUMNS)


def check_fitted(model: Any, X: pd.DataFrame) -> None:
    assert model.term_features_[0] == (0,)
    assert all(np.isfinite(scores).all() for scores in model.term_scores_)
    predictions = model.predict(X)
    assert isinstance(predictions, np.ndarray)
    assert predictions.shape == (len(X),)
    if is_classifier(model):
        shares = model.predict_proba(X)
        assert shares.shape == (len(X), len(model.classes_))
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert shares.min() >= 0
        assert set(predictions) <= set(model.classes_)
    else:
        assert np.isfinite(predictions).all()


def check_explanation(explanation: Any) -> None:
    """Check what interpret's providers and dashboards rely on."""
    assert explanation.explanation_type in ("global", "local")
    assert explanation.name
    internal = explanation.data(-1)
    assert {"overall", "specific", "mli"} <= set(internal)
    assert isinstance(internal["overall"], dict | None)
    assert all(isinstance(part, dict) for part in internal["specific"])
    assert len(explanation.selector) == len(internal["specific"])
    assert "id" not in explanation.selector.columns
    for key in (None, *range(len(internal["specific"]))):
        data = explanation.data(key)
        assert data is None or isinstance(data, dict)
        assert isinstance(explanation.visualize(key), go.Figure)


@pytest.fixture(scope="module")
def classifier() -> Any:
    X = normal_table(1, n_rows=3_000)
    X["A"] = pd.cut(X["A"], [-9, -0.5, 0.5, 9], labels=["low", "it's", "0"]).astype(object)
    y = (X["B"] + np.random.default_rng(2).normal(size=len(X)) > 0).astype(int)
    features = BOUNDS | {"A": Categorical(["low", "it's", "0"])}
    schema = Schema(features, target=Categorical([0, 1]))
    X.iloc[::9, :] = None
    return DPExplainableBoostingClassifier(schema=schema, epsilon=2.0).fit(X, y), X, y


@pytest.fixture(scope="module")
def regressor() -> Any:
    X = normal_table(3, n_rows=3_000)
    y = X["B"].clip(-2, 2)
    X["A"] = (X["A"] > 0).map({True: "x", False: "y"})
    schema = Schema(BOUNDS | {"A": Categorical(["x", "y"], ordered=True)}, Continuous(-3, 3))
    return DPExplainableBoostingRegressor(schema=schema, epsilon=2.0).fit(X, y), X, y


# ---------------------------------------------------------------------- fits and explains


@pytest.mark.parametrize(
    "bounds",
    [
        dict.fromkeys(range(4), (-3, 3)),
        dict.fromkeys(COLUMNS, (-3, 3)),
        np.array([[-3.0, 3.0]] * 4),
    ],
)
def test_bounds_from_outside_are_taken_without_a_warning(bounds):
    X = normal_table(7)
    y = np.random.default_rng(8).normal(size=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DPExplainableBoostingRegressor(
            **{"privacy_bounds": bounds, "max_bins": np.int64(16)},
            **{"privacy_target_min": np.float64(-3), "privacy_target_max": np.int64(3)},
        ).fit(X, y)
    check_fitted(model, X)
    # Parameters that are arrays go into interpret's JSON.
    with warnings.catch_warnings(action="ignore"):
        again = read_back(model, InterpretRegressor)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(model.feature_bounds_, [[-3.0, 3.0]] * 4)
    assert (model.min_target_, model.max_target_) == (-3.0, 3.0)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_explanations_are_what_the_host_expects(kind, request):
    model, X, y = request.getfixturevalue(kind)
    check_fitted(model, X)
    check_explanation(model.explain_global("a name"))
    check_explanation(model.explain_local(X.head(3), y.head(3)))
    check_explanation(model.explain_local(X.head(3)))
    assert model.explain_global("a name").name == "a name"


# ------------------------------------------------------------------------------- extension


def test_entry_points_have_names_that_interpret_accepts():
    points = {
        point.name: point.load()
        for point in importlib.metadata.entry_points(group="interpret_ext_glassbox")
        if point.value.startswith("interpret_dp.")
    }
    if not points:
        pytest.skip("the package is on the path but not installed: it has no entry points")
    assert points["DPExplainableBoostingClassifier"] is DPExplainableBoostingClassifier
    assert points["DPExplainableBoostingRegressor"] is DPExplainableBoostingRegressor
    assert all(re.fullmatch(r"[A-Za-z_]\w+", name) for name in points)


@pytest.mark.parametrize(
    ("kind", "glass"),
    [
        (DPExplainableBoostingClassifier, True),
        (DPExplainableBoostingRegressor, True),
        (DPLimeTabular, False),
        (DPShapTabular, False),
    ],
)
def test_interprets_own_validator_accepts_the_classes(kind, glass):
    from interpret.ext import extension
    from interpret.ext.extension_utils import _validate_class_name

    _validate_class_name(kind.__name__)
    is_valid = (
        extension._is_valid_glassbox_explainer
        if glass
        else (extension._is_valid_blackbox_explainer)
    )
    assert is_valid(kind)
    assert kind.explainer_type == ("model" if glass else LimeTabular.explainer_type)
    assert all(hasattr(kind, f"explain_{name}") for name in kind.available_explanations)
    if not glass:
        assert set(LimeTabular.available_explanations) <= set(kind.available_explanations)


# ------------------------------------------------------------------- explainers of black boxes


@pytest.mark.thorough
def test_interpret_finds_the_explainer_and_warns_of_nothing():
    """In a process of its own: interpret loads its extensions once, and warns where one fails."""
    points = importlib.metadata.entry_points(group="interpret_ext_blackbox")
    if "DPLimeTabular" not in points.names:
        pytest.skip("the package is on the path but not installed: it has no entry points")
    probe = "from interpret.ext.blackbox import DPLimeTabular as found; print(found.__module__)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", probe], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == (DPLimeTabular.__module__, "")


@pytest.mark.parametrize("method", ["__init__", "explain_local"])
@pytest.mark.parametrize(
    ("own", "theirs"), [(DPLimeTabular, LimeTabular), (DPShapTabular, ShapKernel)]
)
def test_the_explainers_take_arguments_where_those_of_interpret_take_them(own, theirs, method):
    def positional(kind: Any) -> list[str]:
        parameters = inspect.signature(getattr(kind, method)).parameters.values()
        return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]

    assert positional(own) == positional(theirs)


@pytest.fixture(scope="module")
def explained(classifier):
    model, X, y = classifier
    explainer = DPLimeTabular(
        model, X, COLUMNS, schema=model.schema, trained_on_same_people=True, epsilon=2.0
    )
    return explainer.explain_local(X.head(3), y.head(3), "a name"), explainer.explain_global()


def test_explanations_of_a_black_box_are_what_the_host_expects(explained):
    local, total = explained
    check_explanation(local)
    check_explanation(total)
    assert (local.explanation_type, total.explanation_type) == ("local", "global")
    assert local.name == "a name"
    # What LimeTabular has of a row, in its own names, whatever else there is.
    record = local.data(0)
    assert {"type", "names", "scores", "values", "perf", "extra"} <= set(record)
    assert record["type"] == "univariate"
    assert set(record["extra"]) == {"names", "scores", "values"}
    kinds = [part["explanation_type"] for part in local.data(-1)["mli"]]
    assert kinds == ["local_feature_importance", "evaluation_dataset"]
    shown = local.data(-1)["mli"][0]["value"]
    assert set(shown) == {"scores", "intercept", "perf"}
    assert shown["scores"][0] == record["scores"]


# ------------------------------------------------------------------------------------ JSON


def read_back(model: Any, reader: type[Any]) -> Any:
    file = io.StringIO()
    model.to_json(file)
    return reader()._from_json(io.StringIO(file.getvalue()))


@pytest.mark.parametrize(
    ("kind", "reader"),
    [
        ("classifier", InterpretClassifier),
        ("classifier", ExplainableBoostingClassifier),
        ("regressor", InterpretRegressor),
        ("regressor", ExplainableBoostingRegressor),
    ],
)
@pytest.mark.parametrize("edited", [False, True])
def test_interprets_reader_reads_our_json(kind, reader, edited, request):
    model, X, _ = request.getfixturevalue(kind)
    if edited:
        model = model.copy().monotonize("B", increasing=True).remove_terms(["C"])
    again = read_back(model, reader)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    if kind == "classifier":
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    check_explanation(again.explain_global())


def test_added_histograms_keep_the_released_weights(regressor):
    model, *_ = regressor
    for entry, weights in zip(
        model.to_jsonable()["ebm"]["features"], model.bin_weights_, strict=True
    ):
        if entry["type"] == "continuous":
            histogram = np.array(entry["histogram_weights"])
            np.testing.assert_allclose(histogram.sum(), weights.sum())
            assert histogram[0] == weights[0]
            assert (histogram[1:-1] >= -1e-9).all()
            assert entry["num_unique_vals"] == len(weights) - 2


@pytest.mark.parametrize("detail", ["minimal", "interpretable", "mergeable", "all"])
@pytest.mark.parametrize("edited", [False, True])
def test_every_detail_is_valid_json(detail, edited, classifier, tmp_path):
    model = classifier[0].copy()
    if edited:
        model.monotonize("B").scale("C", 0.5)
        model.term_scores_[3][1] = np.nan
    model.to_json(tmp_path / "model.json", detail=detail)
    inner = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["ebm"]
    assert [entry["name"] for entry in inner["features"]] == COLUMNS
    assert inner["outputs"][0]["classes"] == [0, 1]
    assert ("histogram_weights" in inner["features"][1]) == (detail != "minimal")
    assert ("bagged_scores" in inner["terms"][1]) == (detail in ("mergeable", "all"))
