"""What InterpretML's own tests ask of its private EBMs and of an extension, asked of ours.

Written for this package after the behaviour that interpret's tests check: fits on synthetic
tables, finite scores, JSON round trips, valid explanations, names that an extension may have.
"""

import importlib.metadata
import inspect
import io
import json
import warnings
from types import ModuleType

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from interpret.blackbox import LimeTabular, ShapKernel
from interpret.ext import extension
from interpret.ext.extension_utils import load_class_extensions
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import (
    DPExplainableBoostingClassifier as InterpretClassifier,
    DPExplainableBoostingRegressor as InterpretRegressor,
)
from sklearn.base import is_classifier

import interpret_dp as dp
from tests.golden.kinds import FEATURES, FILES, rows

pytestmark = pytest.mark.filterwarnings("ignore:JSON formats are in beta")

COLUMNS = list(FEATURES)
X = rows(60)


@pytest.fixture(params=["classification", "regression"])
def model(request):
    return dp.load_model(FILES / f"{request.param}.json")


def check_explanation(explanation):
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


# ---------------------------------------------------------------------- fits and explains


def test_bounds_from_outside_are_taken_without_a_warning():
    """Other forms: tests/schema/test_arguments.py."""
    rng = np.random.default_rng(7)
    X, y = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("ABCD")), rng.normal(size=400)
    with warnings.catch_warnings(action="error"):
        model = dp.DPExplainableBoostingRegressor(
            **{"privacy_bounds": np.array([[-3.0, 3.0]] * 4), "max_bins": np.int64(16)},
            **{"privacy_target_min": np.float64(-3), "privacy_target_max": np.int64(3)},
        ).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    # Parameters that are arrays go into interpret's JSON.
    with warnings.catch_warnings(action="ignore"):
        again = read_back(model, InterpretRegressor)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(model.feature_bounds_, [[-3.0, 3.0]] * 4)
    assert (model.min_target_, model.max_target_) == (-3.0, 3.0)


def test_explanations_are_what_the_host_expects(model):
    check_explanation(model.explain_global("a name"))
    check_explanation(model.explain_local(X.head(3), model.predict(X.head(3))))
    check_explanation(model.explain_local(X.head(3)))
    assert model.explain_global("a name").name == "a name"


# ------------------------------------------------------------------------------- extension


GLASSBOXES = [dp.DPExplainableBoostingClassifier, dp.DPExplainableBoostingRegressor]
BLACKBOXES = [dp.DPLimeTabular, dp.DPShapTabular]
EXPLAINERS_OF_KEYS = [
    (extension.GLASSBOX_EXTENSION_KEY, extension._is_valid_glassbox_explainer, GLASSBOXES),
    (extension.BLACKBOX_EXTENSION_KEY, extension._is_valid_blackbox_explainer, BLACKBOXES),
]


@pytest.mark.parametrize(("key", "is_valid", "explainers"), EXPLAINERS_OF_KEYS)
def test_interpret_finds_the_explainers_and_warns_of_nothing(key, is_valid, explainers):
    """It warns where one fails or is not valid; in a process of its own: tests/packaging."""
    if "DPLimeTabular" not in importlib.metadata.entry_points().names:
        pytest.skip("the package is on the path but not installed: it has no entry points")
    found = ModuleType("extensions")
    load_class_extensions(found, key, is_valid)
    assert all(getattr(found, kind.__name__) is kind for kind in explainers)


def test_what_lime_tabular_explains_is_explained():
    theirs = set(LimeTabular.available_explanations)
    assert theirs <= set(dp.DPLimeTabular.available_explanations)
    assert theirs <= set(dp.DPShapTabular.available_explanations)


# ------------------------------------------------------------------- explainers of black boxes


@pytest.mark.parametrize("method", ["__init__", "explain_local"])
@pytest.mark.parametrize(
    ("own", "theirs"), [(dp.DPLimeTabular, LimeTabular), (dp.DPShapTabular, ShapKernel)]
)
def test_the_explainers_take_arguments_where_those_of_interpret_take_them(own, theirs, method):
    def positional(kind):
        parameters = inspect.signature(getattr(kind, method)).parameters.values()
        return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]

    assert positional(own) == positional(theirs)


@pytest.fixture(scope="module")
def explained():
    model = dp.load_model(FILES / "classification.json")
    explainer = dp.DPLimeTabular(
        model, X, COLUMNS, schema=model.schema_, trained_on_same_people=True, epsilon=2.0
    )
    y = model.predict(X.head(3))
    return explainer.explain_local(X.head(3), y, "a name"), explainer.explain_global()


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


def read_back(model, reader):
    file = io.StringIO()
    model.to_json(file)
    return reader()._from_json(io.StringIO(file.getvalue()))


@pytest.mark.parametrize("edited", [False, True])
def test_interprets_readers_read_our_json(model, edited):
    if edited:
        model.monotonize("age", increasing=True).remove_terms(["stage"])
    readers = (
        (InterpretClassifier, ExplainableBoostingClassifier)
        if is_classifier(model)
        else (InterpretRegressor, ExplainableBoostingRegressor)
    )
    for reader in readers:
        again = read_back(model, reader)
        if is_classifier(model):
            assert again.predict(X).tolist() == model.predict(X).tolist()
            np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)
        else:
            np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
        check_explanation(again.explain_global())


def test_added_histograms_keep_the_released_weights(model):
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
def test_every_detail_is_valid_json(detail, edited, tmp_path):
    model = dp.load_model(FILES / "classification.json")
    if edited:
        model.monotonize("age").scale("stage", 0.5)
        model.term_scores_[3][1] = np.nan
    model.to_json(tmp_path / "model.json", detail=detail)
    inner = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["ebm"]
    assert [entry["name"] for entry in inner["features"]] == COLUMNS
    assert inner["outputs"][0]["classes"] == ["no", "yes"]
    assert ("histogram_weights" in inner["features"][0]) == (detail != "minimal")
    assert ("bagged_scores" in inner["terms"][1]) == (detail in ("mergeable", "all"))
