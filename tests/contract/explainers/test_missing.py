"""A missing cell, row or target of any kind is one and the same; labels have any dtype."""

import math

import numpy as np
import pandas as pd
import pytest
from interpret.perf import PR, ROC

from interpret_dp import Categorical, Schema
from tests.contract.explainers import tables
from tests.contract.explainers.registry import EXPLAINERS, ONE_EACH, names

WITH_MISSING = {
    "a": [None, *tables.COLUMNS["a"][1:10], None, *tables.COLUMNS["a"][11:]],
    "b": ["x", None, *tables.COLUMNS["b"][2:10], None, *tables.COLUMNS["b"][11:]],
}
ROWS = {"a": [None, None, 0.5], "b": [None, "x", None]}


@pytest.mark.parametrize("name", names(only=ONE_EACH))
def test_missing_cells_of_every_kind_are_alike(name):
    """Released bit for bit alike; with a value in place of each, something else."""
    expected = tables.published(name, tables.TABLES["array of None"](WITH_MISSING))
    for kind, make in tables.TABLES.items():
        assert tables.published(name, make(WITH_MISSING)) == expected, kind
    assert tables.published(name, tables.frame()) != expected


@pytest.mark.parametrize("name", names("metrics", only=ONE_EACH))
def test_missing_rows_predict_and_explain(name):
    explainer = EXPLAINERS[name]
    result, expected = tables.fitted(name, tables.TABLES["array of None"](tables.COLUMNS)), None
    for kind, make in tables.TABLES.items():
        predicted = explainer.predicted(result, make(ROWS))
        expected = predicted if expected is None else expected
        assert np.isfinite(predicted).all()
        np.testing.assert_array_equal(predicted, expected, err_msg=kind)
    local = explainer.explanations(result, make(ROWS))[-1]
    local.visualize(0)
    n_rows = len(local.selector)
    assert all(np.isfinite(local.data(row)["scores"]).all() for row in range(n_rows))


@pytest.mark.parametrize("name", names(only=("binary", "regression", "counts", "maps", "metrics")))
def test_missing_targets_are_left_out(name):
    """Whatever else is in their rows; all but maps are as if these rows were not there."""
    # The centre that maps release is that of all rows.
    given = {"centring": 0} if name == "maps" else {}
    y = [None, None, *tables.TARGET[2:]]
    expected = tables.published(name, tables.frame(), y, **given)
    for kind, make in tables.TARGETS.items():
        assert tables.published(name, tables.frame(), make(y), **given) == expected, kind
    other = tables.frame()
    other.loc[:1, "a"], other.loc[:1, "b"] = math.inf, "y"
    assert tables.published(name, other, y, **given) == expected
    if name != "maps":
        assert tables.published(name, tables.frame().iloc[2:], y[2:]) == expected
    assert tables.published(name, other, tables.TARGET, **given) != tables.published(
        name, tables.frame(), tables.TARGET, **given
    )


@pytest.mark.parametrize(
    "labels", [(0, 1), (0.0, 1.0), (0.5, 1.5), (False, True), ("x", "y"), (0, "y"), (0.5, "y")]
)
@pytest.mark.parametrize("name", names(only=("binary", "maps")))
def test_labels_of_every_dtype_are_known_in_explained_rows(name, labels):
    y = pd.Series([labels[code] for code in tables.TARGET])
    result = tables.fitted(
        name, tables.frame(), y, schema=Schema(tables.FEATURES, Categorical(labels))
    )
    assert list(result.classes_) == list(labels)
    for model in (result, type(result).from_released(result.to_released())):
        shares = model.predict_proba(tables.frame())
        local = model.explain_local(tables.frame(), [None, "?", *y[2:]])
        shown = [local.data(row)["perf"] for row in range(len(y))]
        assert all(row["actual"] not in (0, 1) for row in shown[:2])
        assert [row["actual"] for row in shown[2:]] == tables.TARGET[2:]
        expected = np.take_along_axis(shares, np.array(tables.TARGET)[:, None], axis=1).ravel()
        assert [row["actual_score"] for row in shown[2:]] == pytest.approx(expected[2:])
    # interpret reads fractions as text: such a model is given as a function (docs/migration.md).
    for curve in (ROC, PR):
        shown = curve(result.predict_proba).explain_perf(tables.frame(), y.to_numpy()).data(None)
        np.testing.assert_array_equal(shown["scores"], result.predict_proba(tables.frame())[:, 1])
