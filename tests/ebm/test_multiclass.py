"""More than two classes: softmax residuals, one shape function per class."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from interpret_dp import Categorical, DPExplainableBoostingClassifier, Schema
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.local import LocalBinaryRows, LocalMulticlassRows

CLASSES = ["high", "low", "middle"]


@pytest.fixture(scope="module")
def ranked(cohort):
    rng = np.random.default_rng(5)
    score = cohort.score(cohort.X) - cohort.intercept + rng.logistic(scale=0.5, size=len(cohort.X))
    y = np.array(["low", "middle", "high"], dtype=object)[np.digitize(score, [-0.5, 0.5])]
    schema = Schema(cohort.schema.features, target=Categorical(CLASSES))
    return SimpleNamespace(X=cohort.X, y=y, schema=schema)


@pytest.fixture(scope="module")
def model(ranked):
    return DPExplainableBoostingClassifier(epsilon=4.0, delta=1e-6, schema=ranked.schema).fit(
        ranked.X, ranked.y
    )


def test_it_learns(model, ranked):
    probabilities = model.predict_proba(ranked.X)
    assert model.classes_.tolist() == CLASSES
    assert probabilities.shape == (len(ranked.X), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    shares = np.array([(ranked.y == name).mean() for name in CLASSES])
    assert log_loss(ranked.y, probabilities) < 0.9 * -(shares * np.log(shares)).sum()
    assert set(model.predict(ranked.X)) <= set(CLASSES)


def test_a_class_that_nobody_has_gets_a_small_probability(ranked):
    schema = Schema(ranked.schema.features, target=Categorical([*CLASSES, "extreme"]))
    model = DPExplainableBoostingClassifier(epsilon=4.0, delta=1e-6, schema=schema).fit(
        ranked.X, ranked.y
    )
    assert model.predict_proba(ranked.X)[:, 0].mean() < 0.05


def test_uncertainty_has_one_column_a_class(model, ranked):
    result = model.predict_with_uncertainty(ranked.X.head(4))
    assert result.shape == (4, 2, 3)
    np.testing.assert_allclose(result[:, 0], model.decision_function(ranked.X.head(4)))


def advance(rows, updates, n_bins=4):
    n_features = 2
    return rows.advance(np.arange(n_features), updates, np.arange(n_features), n_bins)


def test_one_rows_residuals_stay_within_the_declared_norm():
    rng = np.random.default_rng(0)
    for n_classes in (3, 10, 200):
        for _ in range(50):
            codes = [np.array([1], dtype=np.uint8), np.array([2], dtype=np.uint8)]
            rows = LocalMulticlassRows(codes, np.array([1], dtype=np.int16), n_classes=n_classes)
            scale = 2.0 ** rng.integers(10, 28)
            updates = rng.normal(scale=scale, size=(2, 4, n_classes)).astype(np.int32)
            sums = advance(rows, updates)
            for slot, code in ((0, 1), (1, 2)):
                residual = sums[slot, code].astype(object)
                assert sum(residual**2) <= rows.residual_norm**2
                assert sum(residual) >= 0


def test_two_classes_by_softmax_agree_with_the_binary_kernel():
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 4, 500).astype(np.uint8) for _ in range(2)]
    labels = rng.integers(0, 2, 500).astype(np.int16)
    logits = rng.normal(scale=LATTICE, size=(2, 4, 1)).astype(np.int32)
    both = np.concatenate([np.zeros_like(logits), logits], axis=2)
    binary = advance(LocalBinaryRows(codes, labels), logits)
    softmax = advance(LocalMulticlassRows(codes, labels, n_classes=2), both)
    # Both look probabilities up in steps of 1/256 of a logit.
    np.testing.assert_allclose(softmax[..., 1], binary[..., 0], atol=500 * LATTICE / 512)
    np.testing.assert_allclose(softmax[..., 0], -binary[..., 0], atol=500 * LATTICE / 512)
