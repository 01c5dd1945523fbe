"""SHAP values of additive models: Shapley's definition by enumeration, and shap's own plots."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
)
from interpret_dp.ebm import shap_values as module
from interpret_dp.ebm.shap_values import AdditiveShapValues

RNG = np.random.default_rng(0)
N_ROWS = 400
ROWS = pd.DataFrame(
    {
        "a": np.where(RNG.random(N_ROWS) < 0.1, np.nan, RNG.uniform(-1, 1, N_ROWS)),
        "b": RNG.uniform(-1, 1, N_ROWS),
        "c": RNG.choice(np.array(["x", "y", 3, "other", None], dtype=object), N_ROWS),
    }
)
SCORE = np.nan_to_num(ROWS["a"]) * 2 + np.nan_to_num(ROWS["a"]) * ROWS["b"] + (ROWS["c"] == "x")
FEATURES = {"a": Continuous(-1, 1), "b": Continuous(-1, 1), "c": Categorical(["x", "y", 3])}
PAIRS = [("a", "b"), ("b", "c")]


@cache
def fitted(kind: str) -> Any:
    target: Any = Continuous(-5, 5)
    y: Any = SCORE
    settings: dict[str, Any] = {"epsilon": 1e3, "max_rounds": 8, "max_bins": 6, "n_jobs": 1}
    if kind not in ("regression", "counts"):
        n_classes = {"binary": 2, "three classes": 3, "one class": 1}[kind]
        edges = np.quantile(SCORE, np.linspace(0, 1, n_classes + 1)[1:-1])
        y = np.digitize(SCORE, edges)
        # A classifier with one class comes of labels that nobody declared.
        target = Categorical(list(range(n_classes))) if n_classes > 1 else None
    if kind == "counts":
        y, target = np.maximum(np.round(SCORE), 0), Continuous(0, 5)
        settings["objective"] = "poisson_deviance"
    if kind in ("binary", "regression"):
        settings["interactions"] = PAIRS
    is_regression = kind in ("regression", "counts")
    cls = DPExplainableBoostingRegressor if is_regression else DPExplainableBoostingClassifier
    return cls(schema=Schema(FEATURES, target=target), **settings).fit(ROWS, y)


@pytest.mark.filterwarnings("ignore::interpret_dp.exceptions.DeclarationWarning")
@pytest.mark.parametrize("kind", ["binary", "three classes", "one class", "regression", "counts"])
def test_values_and_base_add_up_to_the_score(kind: str) -> None:
    model = fitted(kind)
    result = model.shap_values(ROWS)
    total = result.base_values + result.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_with_uncertainty(ROWS)[:, 0], atol=1e-12)
    assert result.values.shape == (N_ROWS, 3, *((3,) if kind == "three classes" else ()))
    assert result.feature_names == ["a", "b", "c"]
    assert result.output_names == (["0", "1", "2"] if kind == "three classes" else None)


def shapley(model: Any, codes: list[int]) -> np.ndarray:
    """Return Shapley values of a row by all orders of its features, term by term.

    Features outside a coalition are those of a reference row, drawn by the released counts of the
    term; all reference cells are enumerated.
    """
    values = np.zeros((len(codes), *np.shape(model.term_scores_[0])[1:]))
    terms = zip(model.term_features_, model.term_scores_, model.bin_weights_, strict=True)
    for features, scores, weights in terms:
        shares = weights / weights.sum()
        for order in itertools.permutations(features):
            known: dict[int, int] = {}
            before = None
            for feature in (None, *order):
                known |= {} if feature is None else {feature: codes[feature]}
                value: Any = 0.0
                for cell in itertools.product(*map(range, shares.shape)):
                    place = tuple(known.get(f, own) for f, own in zip(features, cell, strict=True))
                    value = value + shares[cell] * scores[place]
                if feature is not None:
                    values[feature] += (value - before) / math.factorial(len(features))
                before = value
    return values


@pytest.mark.parametrize("kind", ["binary", "three classes", "regression"])
def test_values_are_shapleys_by_enumeration(kind: str) -> None:
    model = fitted(kind)
    released = model.to_released()
    result = model.shap_values(ROWS)
    for row in range(0, N_ROWS, 40):
        cells = [None if v is None or v != v else v for v in ROWS.iloc[row]]
        cells[2] = None if cells[2] is None else str(cells[2])
        codes = [f.code_of(v) for f, v in zip(released.features, cells, strict=True)]
        np.testing.assert_allclose(result.values[row], shapley(model, codes), atol=1e-12)
    # Control: halves of the centred score alone would not do, where a pair has main effects.
    if kind != "three classes":
        model = model.copy()
        model.term_scores_[-1] = model.term_scores_[-1] + np.linspace(0, 1, 5)
        changed = model.shap_values(ROWS).values - result.values
        assert np.abs(changed[:, 2]).max() > 1.5 * np.abs(changed[:, 1]).max()


def test_shaps_plots_take_them() -> None:
    shap = pytest.importorskip("shap")
    plots = pytest.importorskip("matplotlib.pyplot")
    result = fitted("binary").shap_values(ROWS)
    assert isinstance(result, shap.Explanation)
    for draw in (shap.plots.bar, shap.plots.beeswarm):
        draw(result, show=False)
    shap.plots.waterfall(result[0], show=False)
    shap.plots.scatter(result[:, "b"], show=False)
    several = fitted("three classes").shap_values(ROWS)
    shap.plots.waterfall(several[0, :, 1], show=False)
    plots.close("all")


def test_without_shap_a_plain_object_has_the_same_figures(monkeypatch: Any) -> None:
    model = fitted("binary")

    def missing() -> None:
        raise ModuleNotFoundError("shap")

    expected = model.shap_values(ROWS)
    monkeypatch.setattr(module, "load_shap", missing)
    plain = model.shap_values(ROWS)
    assert isinstance(plain, AdditiveShapValues)
    np.testing.assert_array_equal(plain.values, expected.values)
    np.testing.assert_array_equal(plain.base_values, expected.base_values)
