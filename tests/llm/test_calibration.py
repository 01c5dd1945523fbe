"""Class scores are divided by a temperature that follows from released numbers alone."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")

from sklearn.datasets import load_digits

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.llm.config import default_settings
from interpret_dp.llm.training import temperature
from tests.llm.tables import classifier, three_classes


def loss(scores, y):
    scores = scores - scores.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]))


def scale_of(model):
    """Return the temperature: shares of maps are those of the training."""
    return model.model_.inverse_temperature / model.settings_.inverse_temperature


def trained(X, y, clip_norm):
    """Return weights, shape (4, 3), at which the mean of the clipped gradients is 0."""
    weights, lengths = np.zeros((4, 3)), np.sqrt(np.square(X).sum(axis=1, keepdims=True) + 1)
    for step in range(600):
        powers = np.exp(X @ weights)
        errors = powers / powers.sum(axis=1, keepdims=True) - np.eye(3)[y]
        norms = lengths * np.linalg.norm(errors, axis=1, keepdims=True)
        gradient = X.T @ (errors * np.minimum(1, clip_norm / norms)) / len(X)
        weights -= 0.5 * 0.99**step * gradient / np.abs(gradient).max()
    return weights


@pytest.mark.parametrize("clip_norm", [0.02, 0.2])
def test_it_undoes_what_clipping_does_to_the_scores(clip_norm):
    """Scores of clipped gradients are too large, and then as good as the true ones."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4_000, 4))
    truth = X @ rng.normal(size=(4, 3))
    y = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    weights = trained(X, y, clip_norm)
    settings = dataclasses.replace(default_settings(4, None), clip_norm=clip_norm)
    scale = temperature(weights.T[np.newaxis], np.zeros((1, 3)), settings, rng)
    assert loss(X @ weights / scale, y) < 1.02 * loss(truth, y)
    # Control: as trained.
    assert loss(X @ weights, y) > 1.2 * loss(truth, y)


def test_images_are_calibrated_and_predicted_as_before():
    digits = load_digits()
    schema = Schema(default=Continuous(0, 16), target=Categorical(range(10)))
    model = classifier(schema=schema, epsilon=4.0, n_maps=8, epochs=20, sampling_rate=0.1)
    model.set_params(learning_rate=None, projection_dim=None)
    model.fit(digits.images[:1300], digits.target[:1300])
    X, y = digits.images[1300:], digits.target[1300:]
    probabilities, scores = model.predict_proba(X), model.decision_function(X)
    assert loss(scores, y) < 0.8 * loss(scale_of(model) * scores, y)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).all()


def test_scores_stay_as_they_are_where_the_rule_does_not_hold():
    """Tables, pixels that are not centred, and training that was cut short."""
    assert scale_of(classifier(clip_norm=0.01).fit(*three_classes())) == 1.0
    images = np.random.default_rng(0).uniform(0, 1, size=(200, 4, 4))
    schema = Schema(default=Continuous(0, 1), target=Categorical([0, 1]))
    assert scale_of(classifier(schema=schema, centring=0).fit(images, np.arange(200) % 2)) == 1.0
    settings = dataclasses.replace(default_settings(4, None), clip_norm=1e-3)
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(1, 2, 4))

    def of(size):
        return temperature(size * weights, np.zeros((1, 2)), settings, generator)

    assert of(1e-4) == 1.0
    assert 2.0 < of(10.0) < 10.0
