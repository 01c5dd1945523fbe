"""SHAP values of additive models: Shapley's definition by enumeration, and shap's own plots."""

import itertools
import math
from unittest.mock import Mock

import numpy as np
import pytest

from interpret_dp import DPExplainableBoostingClassifier, load_model
from interpret_dp.ebm import interpret_api as module
from interpret_dp.ebm.interpret_api import AdditiveShapValues
from tests.golden.kinds import FILES, rows
from tests.released.models import build_model

ROWS = rows(400)


def fitted(kind):
    """Return a stored model, or one of a single class."""
    if kind == "one class":
        return DPExplainableBoostingClassifier.from_released(build_model(1, ("age", "city")))
    return load_model(FILES / f"{kind}.json")


@pytest.mark.parametrize("kind", ["pairs", "classes", "one class", "regression", "poisson"])
def test_values_and_base_add_up_to_the_score(kind):
    model = fitted(kind)
    result = model.shap_values(ROWS)
    total = result.base_values + result.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_with_uncertainty(ROWS)[:, 0], atol=1e-12)
    n_features = len(model.feature_names_in_)
    assert result.values.shape == (len(ROWS), n_features, *((3,) if kind == "classes" else ()))
    assert result.feature_names == model.feature_names_in_
    assert result.output_names == (["1", "2", "3"] if kind == "classes" else None)


def shapley(model, cells):
    """Return Shapley values of a row by all orders of its features, term by term.

    Features outside a coalition are those of a reference row, drawn by the released counts of the
    term; all reference cells are enumerated.
    """
    values = np.zeros((len(cells), *np.shape(model.term_scores_[0])[1:]))
    subjects = model.to_released().features
    terms = zip(model.term_features_, model.term_scores_, model.bin_weights_, strict=True)
    for features, scores, weights in terms:
        shares = weights / weights.sum()
        bins = subjects if len(features) == 1 else [one.in_pairs for one in subjects]
        for order in itertools.permutations(features):
            known = {}
            before = None
            for feature in (None, *order):
                known |= {} if feature is None else {feature: bins[feature].code_of(cells[feature])}
                value = 0.0
                for cell in itertools.product(*map(range, shares.shape)):
                    place = tuple(known.get(f, own) for f, own in zip(features, cell, strict=True))
                    value = value + shares[cell] * scores[place]
                if feature is not None:
                    values[feature] += (value - before) / math.factorial(len(features))
                before = value
    return values


@pytest.mark.parametrize("kind", ["pairs", "classes", "regression"])
def test_values_are_shapleys_by_enumeration(kind):
    model = fitted(kind)
    result = model.shap_values(ROWS)
    for row in range(0, len(ROWS), 40):
        # Levels are found by their text.
        cells = [None if v is None or v != v else v for v in ROWS.iloc[row]]
        cells[3] = str(cells[3])
        np.testing.assert_allclose(result.values[row], shapley(model, cells), atol=1e-12)
    # Control: halves of the centred score alone would not do, where a pair has main effects.
    if kind == "pairs":
        model.term_scores_[-1] = model.term_scores_[-1] + np.linspace(0, 1, 5)
        changed = model.shap_values(ROWS).values - result.values
        assert np.abs(changed[:, 2]).max() > 1.5 * np.abs(changed[:, 0]).max()


def test_shaps_plots_take_them():
    shap = pytest.importorskip("shap")
    plots = pytest.importorskip("matplotlib.pyplot")
    result = fitted("pairs").shap_values(ROWS)
    assert isinstance(result, shap.Explanation)
    for draw in (shap.plots.bar, shap.plots.beeswarm):
        draw(result, show=False)
    shap.plots.waterfall(result[0], show=False)
    shap.plots.scatter(result[:, "dose"], show=False)
    several = fitted("classes").shap_values(ROWS)
    shap.plots.waterfall(several[0, :, 1], show=False)
    plots.close("all")


def test_without_shap_a_plain_object_has_the_same_figures(monkeypatch):
    model = fitted("pairs")
    expected = model.shap_values(ROWS)
    monkeypatch.setattr(module, "load_shap", Mock(side_effect=ModuleNotFoundError("shap")))
    plain = model.shap_values(ROWS)
    assert isinstance(plain, AdditiveShapValues)
    np.testing.assert_array_equal(plain.values, expected.values)
    np.testing.assert_array_equal(plain.base_values, expected.base_values)
