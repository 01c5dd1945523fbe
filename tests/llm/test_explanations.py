"""A trained model's explanations and files: its own weights, read without torch."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

from interpret_dp import Categorical, Continuous, PrivacyLedger, Schema, load_model
from interpret_dp.llm.estimator import DPLocallyLinearClassifier
from tests.llm.tables import classifier, three_classes

MIXED = Schema(
    {
        "age": Continuous(0, 100),
        "income": Continuous(0, 1e6, scale="log"),
        "job": Categorical(["clerk", "nurse", "pilot"]),
    },
    target=Categorical([0, 1]),
)


@pytest.fixture(scope="module")
def numbers():
    X, y = three_classes()
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("d", epsilon=10.0, delta=1e-4, delta_x=1e-5)
    return classifier(ledger=ledger, dataset="d").fit(X, y), X, y


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, 800),
            "income": rng.lognormal(10, 1, 800),
            "job": rng.choice(["clerk", "nurse", "pilot"], 800),
        }
    )
    y = (X["age"] > 50).astype(int)
    return classifier(schema=MIXED, standardize={"age": (40, 20)}).fit(X, y), X


def fitted(shape, n_classes, **given):
    """Return a model of images with a bright line, across a class each, and these images."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=shape), rng.integers(0, n_classes, shape[0])
    for label in range(n_classes):
        X[y == label, 2 * label] += 1
    schema = Schema(default=Continuous(0, 2), target=Categorical(range(n_classes)))
    return classifier(schema=schema, **given).fit(X, y), X, y


@pytest.fixture(scope="module")
def pictures():
    return fitted((900, 7, 5), 4, n_maps=5, projection_dim=12)


@pytest.fixture(scope="module")
def scattered():
    return fitted((400, 8, 9), 3, n_maps=2, features="scattering", background=0.5)


def torch_scores(model, X):
    """Return class scores by torch's own softmax."""
    maps = model.model_
    weights, biases = (torch.tensor(a) for a in (maps.weights, maps.biases))
    values = torch.einsum("kmi,ni->nkm", weights, torch.tensor(model._inputs(X)).double()) + biases
    shares = torch.softmax(maps.inverse_temperature * values, dim=2)
    return (shares * values).sum(dim=2)


@pytest.mark.parametrize("kind", ["numbers", "mixed", "pictures", "scattered"])
def test_contributions_and_bias_are_torchs_logit(kind, request):
    model, X, *_ = request.getfixturevalue(kind)
    rows = X[:5]
    explanation = model.explain_local(rows)
    expected = torch_scores(model, rows).numpy()
    for row in range(5):
        for index, label in enumerate(model.classes_):
            one = explanation.reading(row, label)
            assert one.contributions.sum() + one.bias == pytest.approx(
                expected[row, index], abs=1e-5
            )
        record = explanation.data(row)
        best = record["perf"]["predicted"]
        assert model.classes_[best] == model.predict(rows)[row]
        assert sum(record["scores"]) + record["extra"]["scores"][0] == pytest.approx(
            expected[row, best], abs=1e-5
        )


def test_rows_are_shown_as_they_were_given(mixed):
    model, X = mixed
    rows = X[:2].astype(object)
    rows.loc[0, "job"], rows.loc[1, "age"] = None, np.nan
    explanation = model.explain_local(rows, [1, None], "two people")
    assert explanation.name == "two people"
    assert explanation.data(0)["values"][:2] == [X["age"][0], X["income"][0]]
    assert explanation.data(0)["values"][2] is None
    # What is missing adds nothing.
    assert explanation.data(0)["scores"][2] == 0
    assert explanation.data(1)["scores"][0] == 0
    assert explanation.actual == [1, None]
    assert list(explanation.selector["Actual"]) == ["1", ""]


def test_pictures_are_drawn_as_pictures(pictures):
    model, X, y = pictures
    total, local = model.explain_global(X=X[:100]), model.explain_local(X[:3], y[:3])
    for figure in (total.figure(), total.figure(2), local.figure(), local.figure(1)):
        assert {trace.type for trace in figure.data} == {"heatmap"}
        assert all(np.shape(trace.z) == (7, 5) for trace in figure.data)
    assert np.asarray(total.figure(2).data[0].z).ravel() == pytest.approx(
        model.model_.weights[2, int(np.argmax(total.use.shares[2]))], abs=1e-5
    )


def test_rows_to_count_on_are_given_by_name(numbers):
    model, X, _ = numbers
    with pytest.raises(TypeError, match=r"name is of type ndarray.*explain_global\(X=...\)"):
        model.explain_global(X[:50])


@pytest.mark.parametrize("kind", ["numbers", "mixed", "pictures", "scattered"])
def test_a_file_gives_the_same_model(kind, request, tmp_path):
    model, X, *_ = request.getfixturevalue(kind)
    path = tmp_path / "model.json"
    model.save(path)
    again = load_model(path)
    assert type(again) is DPLocallyLinearClassifier
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (again.predict(X) == model.predict(X)).all()
    assert again.to_released().digest == model.to_released().digest
    for name in ("guarantee_", "settings_", "steps_", "coding_", "image_shape_", "schema_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.classes_.dtype == model.classes_.dtype
    assert list(again.feature_names_in_) == list(model.feature_names_in_)
    # Fit again, it would be asked for the same.
    assert clone(again).get_params()["epochs"] == 2
    drawn = [m.explain_local(X[:2]).figure(0, line="").to_json() for m in (again, model)]
    assert drawn[0] == drawn[1]


def test_settings_of_another_version_are_refused(numbers, tmp_path):
    path = tmp_path / "model.json"
    document = numbers[0].to_released().to_dict()
    document["settings"]["unheard_of"] = 1
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="unknown keys: 'unheard_of'"):
        load_model(path)


def test_maps_tell_what_sets_classes_apart_and_nothing_that_they_share(numbers):
    model, X, _ = numbers
    assert np.abs(model.model_.weights.mean(axis=(0, 1))).max() < 1e-12
    weights, biases = model.model_.weights + 0.7, model.model_.biases + 3.0
    shifted = dataclasses.replace(model.model_, weights=weights, biases=biases)
    proba = shifted.predict_proba(model._inputs(X))
    assert proba == pytest.approx(model.predict_proba(X), abs=1e-9)
