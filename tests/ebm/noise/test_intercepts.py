"""The intercept of denoised curves keeps the mean probability of the noisy ones."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
from interpret_dp.ebm.noise.boosted import Boosted
from interpret_dp.ebm.noise.intercepts import (
    _sums,
    balanced_intercept,
    balanced_intercepts,
    mean_probability,
)
from interpret_dp.mechanisms import SeededRandomness, use_randomness


def logistic(scores):
    return 1.0 / (1.0 + np.exp(-scores))


def mean_over_all(intercept, curves, weights):
    """Mean probability over all combinations of bins, each as common as independent terms say."""
    total = 0.0
    shares = [w / w.sum() for w in weights]
    for bins in itertools.product(*(range(len(w)) for w in weights)):
        share = np.prod([s[b] for s, b in zip(shares, bins, strict=True)])
        total += share * logistic(intercept + sum(c[b] for c, b in zip(curves, bins, strict=True)))
    return total


@given(
    intercept=st.floats(-12, 12),
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=4),
    scale=st.floats(0.01, 6.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_mean_is_that_of_all_combinations_of_bins(intercept, sizes, scale, seed):
    rng = np.random.default_rng(seed)
    curves = [scale * rng.normal(size=size) for size in sizes]
    weights = [rng.integers(0, 50, size=size) + np.eye(size)[0] for size in sizes]
    found = mean_probability(intercept, *_sums(curves, weights))
    # Between points of the table scores are split: 1/64 apart, that is a variance of 1e-4 a term.
    assert found == pytest.approx(mean_over_all(intercept, curves, weights), rel=5e-4, abs=1e-12)


@pytest.mark.parametrize("others", [["no"], ["no", "never"]])
def test_a_fit_predicts_a_rare_class_as_often_as_it_is(monkeypatch, others):
    """2 % of 20,000 rows at epsilon 4: 0.95 to 1.09 of that in fourteen draws."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(20_000, 6)), columns=list("abcdef"))
    is_rare = rng.random(20_000) < logistic(1.5 * (X.a + X.b) - 4.6)
    y = np.where(is_rare, "yes", rng.choice(others, 20_000))
    schema = Schema(
        dict.fromkeys(X, Continuous(-1, 1)), target=Categorical(sorted([*others, "yes"]))
    )
    model = DPExplainableBoostingClassifier(epsilon=4.0, delta=1e-6, schema=schema)
    ratios = []
    for _ in range(2):
        with use_randomness(SeededRandomness(0)):
            shown = model.fit(X, y).predict_proba(X)[:, list(model.classes_).index("yes")]
        ratios.append(shown.mean() / np.mean(y == "yes"))
        monkeypatch.setattr(Boosted, "balanced_intercept", lambda self, _: self._result.intercept)
    assert 0.9 < ratios[0] < 1.1
    assert ratios[1] < ratios[0] - 0.05


def test_classes_of_any_size_have_finite_intercepts():
    wide = [np.array([[-1e5, 1e5, 0.0], [1e5, -1e5, 0.0]])] * 2
    weights = [np.array([1.0, 1.0]), np.zeros(2)]
    rng = np.random.default_rng(0)
    intercepts = balanced_intercepts(wide, np.zeros(3), [np.zeros((2, 3))] * 2, weights, rng)
    assert np.isfinite(intercepts).all()


def test_scores_of_any_size_give_a_finite_intercept():
    wide = [np.array([-1e5, 0.0, 1e5])] * 3
    intercept = balanced_intercept(wide, 0.3, [np.zeros(3)] * 3, [np.ones(3)] * 3)
    assert np.isfinite(intercept)
    assert abs(intercept) < 20.0
