"""The released locally linear model: what it predicts, keeps, and refuses to read."""

import base64
import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.released.locally_linear import LocallyLinearModel
from tests.explanation.maps_models import image_model, table_model


def definition(model, row):
    """Return the scores of one row, straight from the definition."""
    scores = []
    for weights, biases in zip(model.weights, model.biases, strict=True):
        values = [
            sum(w * x for w, x in zip(map_weights, row, strict=True)) + bias
            for map_weights, bias in zip(weights, biases, strict=True)
        ]
        powers = [np.exp(model.inverse_temperature * value) for value in values]
        scores.append(sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers))
    return scores


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_scores_are_those_of_the_definition(seed, n_maps):
    model = table_model(n_maps=n_maps, seed=seed)
    rows = np.random.default_rng(seed).normal(size=(3, 7))
    assert model.scores(rows) == pytest.approx(np.array([definition(model, r) for r in rows]))
    chances = np.exp(model.scores(rows))
    assert model.predict_proba(rows) == pytest.approx(chances / chances.sum(axis=1, keepdims=True))


def test_scores_of_many_rows_are_weighted_sums_of_maps():
    model = table_model(n_maps=4)
    inputs = np.random.default_rng(0).normal(size=(9_000, 7))
    values = np.einsum("kmd,nd->nkm", model.weights, inputs) + model.biases
    powers = np.exp(model.inverse_temperature * values)
    shares = powers / powers.sum(axis=2, keepdims=True)
    assert model.map_values(inputs) == pytest.approx(values)
    assert model.map_shares(inputs) == pytest.approx(shares)
    assert model.scores(inputs) == pytest.approx((shares * values).sum(axis=2))


@pytest.mark.parametrize("model", [table_model(), image_model(), image_model(channels=3)])
def test_a_document_gives_the_same_model_bit_by_bit(model):
    again = LocallyLinearModel.from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    for name in ("weights", "biases", "centres", "spreads"):
        assert np.array_equal(getattr(again, name), getattr(model, name))
    assert again.digest == model.digest
    assert again.classes == model.classes
    assert again.guarantee == model.guarantee
    assert again.schema == model.schema
    assert again.image_shape == model.image_shape


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": np.zeros((3, 4, 6))}, "weights has shape"),
        ({"weights": np.zeros((3, 0, 7))}, "at least one map"),
        ({"weights": np.full((3, 4, 7), np.nan)}, "not finite"),
        ({"biases": np.zeros((4, 3))}, "biases has shape"),
        ({"centres": [0.0]}, "centres has shape"),
        ({"spreads": [1.0, 0.0, 1.0, 1.0]}, "above 0"),
        ({"inverse_temperature": -1.0}, "inverse_temperature is -1.0"),
        ({"classes": ("a", "b")}, "weights has shape"),
        ({"image_shape": (2, 3)}, "image_shape is"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        table_model(**changes)


def _without(document, name):
    del document[name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="other"), "its format is 'other'"),
        (lambda d: d.update(version=2), "newer file"),
        (lambda d: _without(d, "weights"), "lacks 'weights'"),
        (lambda d: _without(d, "guarantee"), "lacks 'guarantee'"),
        (lambda d: d["weights"].update(float64="no base64!"), "no base64"),
        (lambda d: d["weights"].update(shape=[3, 4, 8]), "their shape"),
        (lambda d: d["weights"].update(shape=[-3, -4, 7]), "their shape"),
        (lambda d: d["weights"].update(float64=[1, 2]), "incomplete"),
        (lambda d: d.update(biases="text"), "must be numbers"),
        (lambda d: d.update(classes=None), "incomplete"),
        (lambda d: d.update(inverse_temperature="hot"), "incomplete"),
        (
            lambda d: d["weights"].update(
                float64=base64.b64encode(np.full(84, np.inf).tobytes()).decode()
            ),
            "not finite",
        ),
    ],
)
def test_a_broken_document_is_refused(change, message):
    document = copy.deepcopy(table_model().to_dict())
    change(document)
    with pytest.raises(ValueError, match=message):
        LocallyLinearModel.from_dict(document)
