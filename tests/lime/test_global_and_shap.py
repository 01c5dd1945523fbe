"""Curves of partial dependence and SHAP values from a background: right, and honest about noise."""

import pickle

import numpy as np
import pandas as pd
import pytest

from interpret_dp import Categorical, Continuous, DPShapTabular, Integer, PrivateBackground
from interpret_dp.lime.background_explanation import ShapValues, partial_dependence
from interpret_dp.released.background import ZERO_ENDS
from tests.lime.test_local_effects import ROWS, additive, known, numbers, scores
from tests.released.test_background import background, column

# Of the additive function, in the middle of each cell, against its mean.
CURVES = {"x": [-0.75, -0.25, 0.25, 0.75], "n": [-1.0, 1.0], "site": [-0.9, 0.1, 2.1]}
FACTORS = {"a": 1.0, "b": 1.0, "c": 3.0}


def product(X):
    return X["site"].map(FACTORS).astype(float) * X["x"] + X["n"] / 40.0


# Of the product; the mean of its factors is 1.4.
PRODUCTS = [[1.4 * v for v in (-0.375, -0.125, 0.125, 0.375)], [-0.25, 0.25], [-0.2, -0.2, 0.8]]


BACKGROUNDS = [
    pytest.param(None, 3, id="no rows"),
    pytest.param(ROWS.astype({"site": "category", "n": "Int64"}), 3, id="dtypes"),
    pytest.param(ROWS[["n", "x"]].assign(site=["a", "b"], other="left alone"), 3, id="order"),
    pytest.param(np.array([[0.9, 39.0], [0.1, 5.0]]), 2, id="array"),
]


@pytest.mark.parametrize(("rows", "n_columns"), BACKGROUNDS)
def test_of_an_additive_function_curves_are_its_terms(rows, n_columns):
    own = PrivateBackground.from_released(background(*known().columns[:n_columns]))

    def model(X):
        assert type(X) is (pd.DataFrame if rows is None else type(rows))
        return additive(X) if n_columns == 3 else numbers(X)

    explanation = own.explain_global(model, rows=rows)
    for key, expected in enumerate(list(CURVES.values())[:n_columns]):
        part = explanation.data(key)
        np.testing.assert_allclose(part["scores"], expected, atol=0.02)
        assert np.ptp(np.subtract(part["upper_bounds"], part["lower_bounds"])) < 0.05
        for line in explanation.lines:
            np.testing.assert_allclose(line[key][1:-1], expected, atol=0.02)
    assert len(explanation.lines) == (0 if rows is None else 2)
    shares = [[0.25] * 4, [0.5] * 2, [0.5, 0.3, 0.2]]
    squares = [s @ np.square(c) for s, c in zip(shares, CURVES.values(), strict=True)]
    overall = explanation.data(-1)["overall"]["scores"]
    np.testing.assert_allclose(overall, np.sqrt(squares[:n_columns]), atol=0.02)
    # Cells of n are wide: inside them the function is not flat, as its curve is.
    assert 0.7 < explanation.fidelity < 0.95


def _curves(own, seed):
    return partial_dependence(
        own, lambda _, values: product(own.frame(values)).to_numpy()[:, np.newaxis], seed=seed
    )


def test_bands_hold_the_curves_of_the_background_without_noise():
    """95 % bands of nine cells, with an interaction, over 40 releases and samples of rows.

    Without the noise of the background, the control, they hold far fewer.
    """
    rng = np.random.default_rng(6)
    truth = np.concatenate(PRODUCTS)
    held, control = [], []
    free = np.sqrt(np.concatenate([own[1:-1, 0] for own in _curves(known(), 0).variances]))
    for seed in range(40):
        found = _curves(known(60.0, rng), seed)
        off = np.concatenate([own[1:-1, 0] for own in found.curves]) - truth
        error = np.sqrt(np.concatenate([own[1:-1, 0] for own in found.variances]))
        held.append(np.abs(off) <= 1.96 * error)
        control.append(np.abs(off) <= 1.96 * free)
    assert np.mean(held) >= 0.9
    assert np.mean(control) < 0.7


def wide():
    """Return a background with missing numbers, a cell of zero, undeclared levels and codes."""
    own = {
        "gain": column(Continuous(0, 1e6), [90, 800, 100, 10, 0], [ZERO_ENDS, 5e5]),
        "n": column(Integer(0, 50_000), [0, 700, 200, 100, 0], [0.5, 900.5]),
        "code": column(Categorical([3, 1, 2]), [100, 500, 300, 0, 100]),
    }
    for name, made in own.items():
        object.__setattr__(made.feature, "name", name)
    return background(*own.values())


class Three:
    classes_ = np.array(["no", "perhaps", "yes"])

    def predict_proba(self, X):
        high = 0.5 * X["gain"].isna() + 0.25 * (X["code"] == 3) + 0.25 * (X["n"] == 0)
        return np.column_stack([1 - high, 0 * high, high])


@pytest.mark.parametrize("explained", [None, "yes"])
@pytest.mark.parametrize("rows", [None, pd.DataFrame({"gain": [5.0], "n": [0], "code": [2]})])
def test_figures_of_any_column_and_several_classes(explained, rows):
    own = PrivateBackground.from_released(wide())
    explanation = own.explain_global(Three(), explained_class=explained, rows=rows)
    explanation = pickle.loads(pickle.dumps(explanation))
    assert explanation.data(0)["names"][:3] == ["missing", "0", "above 0 to 500,000"]
    codes = np.array(explanation.data(2)["scores"]).reshape(4, -1)
    # Missing, 3, 1, 2; a ninth of the rows are undeclared and left out.
    np.testing.assert_allclose(codes[:, -1], np.array([-5, 4, -5, -5]) / 36, atol=0.01)
    assert codes.shape[1] == (1 if explained else 3)
    output = "probability of yes" if explained else "probability of each class"
    for key in (None, 0, 1, 2):
        figure = explanation.visualize(key)
        drawn = [value for trace in figure.data for value in [*trace.x, *trace.y]]
        assert np.isfinite(np.array([value for value in drawn if value is not None])).all()
        shown = [trace for trace in figure.data if trace.visible is not False]
        names = [trace.name for trace in shown if trace.showlegend is not False]
        has_lines = rows is not None and key is not None
        assert names.count("your rows, one by one (ICE)") == has_lines
        assert "artial dependence" in figure.layout.annotations[-1].text
        axis = figure.layout.xaxis if key is None else figure.layout.yaxis
        assert output in axis.title.text.replace("<br>", " ")
    # The cell of 0 is 0.8 % of the axis wide, in place of 0.002 %.
    lines = [t for t in explanation.visualize(1).data if t.type == "scatter"]
    steps = [trace.x for trace in lines if trace.line.shape == "hv"]
    assert np.array(steps)[:, 1] == pytest.approx(399.5, abs=0.1)


class Nameless:
    n_features_in_ = 2

    def predict(self, X):
        assert isinstance(X, np.ndarray)
        return numbers(X)


def test_other_models_and_what_is_refused():
    own = PrivateBackground.from_released(known())
    explanation = own.explain_global(lambda X: np.column_stack([1 - X["x"], X["x"]]))
    np.testing.assert_allclose(explanation.data(0)["scores"], np.array(CURVES["x"]) / 2, atol=0.02)
    assert explanation.data(1)["scores"] == [0.0, 0.0]
    two = PrivateBackground.from_released(background(*known().columns[:2]))
    curve = two.explain_global(Nameless()).data(0)["scores"]
    np.testing.assert_allclose(curve, CURVES["x"], atol=0.02)
    with pytest.raises(ValueError, match="X has 0 rows"):
        own.explain_global(additive, rows=ROWS[:0])


# ---------------------------------------------------------------------------------- SHAP


def test_shap_values_are_those_of_shap_on_the_same_rows():
    shap = pytest.importorskip("shap")
    own = PrivateBackground.from_released(known())
    np.random.seed(3)
    state = np.random.get_state()[1].tolist()
    explainer = DPShapTabular(product, background=own, trained_on_same_people=False)
    found = explainer.explain_local(ROWS)
    assert np.random.get_state()[1].tolist() == state
    usual = ShapValues(own.background_)._rows.values
    levels = list(FACTORS)

    def matrix(x, n, site):
        return np.column_stack([x, n, [levels.index(level) for level in site]]).astype(float)

    def model(Z):
        return np.array([1.0, 1.0, 3.0])[Z[:, 2].astype(int)] * Z[:, 0] + Z[:, 1] / 40.0

    masker = shap.maskers.Independent(matrix(*usual), max_samples=len(usual[0]))
    expected = shap.ExactExplainer(model, masker)(matrix(*(ROWS[name] for name in ROWS)))
    np.testing.assert_allclose(scores(found), expected.values, atol=1e-9)
    for row in range(2):
        document = found.data(row)
        base = document["extra"]["scores"][0]
        assert base == pytest.approx(expected.base_values[row])
        assert sum(document["scores"]) + base == pytest.approx(document["predicted"])
    figure = found.visualize(0)
    assert "SHAP value, against rows of the background" in figure.layout.xaxis.title.text
    assert any("noise and sampling" in str(trace.name) for trace in figure.data)
    assert "local fit" not in figure.layout.annotations[-1].text
