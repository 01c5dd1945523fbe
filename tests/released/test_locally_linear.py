"""The released locally linear model: what it predicts, keeps, and refuses to read."""

import base64

import numpy as np
import pytest

from interpret_dp.released.locally_linear import LocallyLinearModel
from tests.explanation.maps_models import table_model
from tests.released.models import damaged


@pytest.mark.parametrize(("n_rows", "n_maps"), [(3, 1), (3, 6), (9_000, 4)])
def test_scores_are_those_of_the_definition(n_rows, n_maps):
    model = table_model(n_maps=n_maps, seed=n_maps)
    inputs = np.random.default_rng(0).normal(size=(n_rows, 7))
    values = np.einsum("kmd,nd->nkm", model.weights, inputs) + model.biases
    powers = np.exp(model.inverse_temperature * values)
    shares = powers / powers.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(model.map_values(inputs), values, rtol=1e-6)
    np.testing.assert_allclose(model.map_shares(inputs), shares, rtol=1e-6)
    scores = (shares * values).sum(axis=2)
    np.testing.assert_allclose(model.scores(inputs), scores, rtol=1e-6)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(inputs), chances, rtol=1e-6)


def test_names_follow_the_schema():
    model = table_model()
    assert model.input_names == (
        "age", "job=clerk", "job=nurse", "job=pilot", "income", "stage=early", "stage=late",
    )  # fmt: skip
    assert model.feature_types == ("continuous", "nominal", "continuous", "ordinal")
    assert model.per_feature(np.arange(7.0)).tolist() == [0.0, 6.0, 4.0, 11.0]
    assert not model.is_image
    with pytest.raises(ValueError, match="no pixels"):
        model.pixels(np.zeros(7))


WRONG_PARTS = [
    ({"weights": np.zeros((3, 4, 6))}, "weights has shape"),
    ({"weights": np.zeros((3, 0, 7))}, "at least one map"),
    ({"weights": np.full((3, 4, 7), np.nan)}, "not finite"),
    ({"biases": np.zeros((4, 3))}, "biases has shape"),
    ({"centres": [0.0]}, "centres has shape"),
    ({"spreads": [1.0, 0.0, 1.0, 1.0]}, "above 0"),
    ({"inverse_temperature": -1.0}, "inverse_temperature is -1.0"),
    ({"classes": ("a", "b")}, "weights has shape"),
    ({"image_shape": (2, 3)}, "image_shape is"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG_PARTS)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        table_model(**changes)


INFINITE = base64.b64encode(np.full(84, np.inf).tobytes()).decode()
BROKEN_WEIGHTS = [
    ("float64", "no base64!", "no base64"),
    ("shape", [-3, -4, 7], "their shape"),
    ("float64", INFINITE, "not finite"),
]


@pytest.mark.parametrize(("key", "value", "message"), BROKEN_WEIGHTS)
def test_broken_weights_are_refused(key, value, message):
    with pytest.raises(ValueError, match=message):
        LocallyLinearModel.from_dict(damaged(table_model().to_dict(), ["weights", key], value))
