"""The intercept of denoised curves keeps the mean probability of the noisy ones."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

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


def test_denoised_curves_of_a_rare_class_predict_as_much_as_noisy_ones():
    rng = np.random.default_rng(0)
    weights = [np.full(40, 25.0)] * 5
    smooth = [np.linspace(-1.0, 1.0, 40)] * 5
    # Of variance 1 a term, and not correlated with the curve.
    noise = [
        np.linalg.qr(np.stack([np.ones(40), smooth[0], e]).T)[0] for e in rng.normal(size=(5, 40))
    ]
    noisy = [curve + 40**0.5 * q[:, 2] for curve, q in zip(smooth, noise, strict=True)]
    intercept = balanced_intercept(noisy, -14.0, smooth, weights)
    # exp(e) has the mean exp(5 / 2) for normal noise of variance 5.
    assert intercept == pytest.approx(-11.5, abs=0.3)
    codes = rng.integers(0, 40, size=(5, 400_000))
    means = [
        logistic(start + sum(c[k] for c, k in zip(curves, codes, strict=True))).mean()
        for start, curves in ((-14.0, noisy), (intercept, smooth))
    ]
    assert means[1] == pytest.approx(means[0], rel=0.05)


@pytest.mark.parametrize("others", [["no"], ["no", "never"]])
def test_a_fit_predicts_a_rare_class_as_often_as_it_is(monkeypatch, others):
    """2 % of 20,000 rows at epsilon 4: 0.96 to 1.05 of that in seven draws, 0.78 to 0.96 before."""
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
    assert 0.93 < ratios[0] < 1.07
    assert ratios[1] < ratios[0] - 0.05


def test_a_mean_is_that_of_the_curves_that_rows_were_scored_with(monkeypatch):
    """1.5 % of 20,000 rows at epsilon 1: 1.02 to 1.16 of that in six draws, with short steps.

    The released averages are ahead of what rows were scored with, and steeper: balanced by them the
    mean is 1.36 to 1.62 of it.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(20_000, 6)), columns=list("abcdef"))
    y = np.where(rng.random(20_000) < logistic(3.0 * (X.a + X.b) - 6.5), "yes", "no")
    schema = Schema(dict.fromkeys(X, Continuous(-1, 1)), target=Categorical(["no", "yes"]))
    model = DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-6, schema=schema)
    made = Boosted.__init__

    def blind(self, result, *facts):
        made(self, replace(result, trained=result.scores), *facts)

    def ratio(seed):
        with use_randomness(SeededRandomness(seed)):
            return model.fit(X, y).predict_proba(X)[:, 1].mean() / np.mean(y == "yes")

    ratios = [ratio(seed) for seed in range(2)]
    assert all(0.9 < one < 1.25 for one in ratios)
    monkeypatch.setattr(Boosted, "__init__", blind)
    assert ratio(0) > ratios[0] + 0.15


def test_intercepts_of_several_classes_give_the_means_of_all_combinations_of_bins():
    """16,384 rows that meet by chance: means of 2 % and more are known to 3 % of themselves."""
    rng = np.random.default_rng(1)
    before, after = ([scale * rng.normal(size=(7, 3)) for _ in range(4)] for scale in (1.0, 0.5))
    weights = [rng.uniform(1.0, 9.0, size=7) for _ in range(4)]
    intercepts = np.array([2.0, -2.5, 0.5])

    def means(start, curves):
        total = np.zeros(3)
        for bins in itertools.product(range(7), repeat=4):
            share = np.prod([w[b] / w.sum() for w, b in zip(weights, bins, strict=True)])
            scores = start + sum(c[b] for c, b in zip(curves, bins, strict=True))
            total += share * softmax(scores)
        return total

    balanced = balanced_intercepts(before, intercepts, after, weights, rng)
    wanted = means(intercepts, before)
    assert means(intercepts, after)[1] < 0.8 * wanted[1]
    assert means(balanced, after) == pytest.approx(wanted, rel=0.05)
    assert balanced.sum() == pytest.approx(0.0, abs=1e-9)
    unchanged = balanced_intercepts(before, intercepts, before, weights, rng)
    assert unchanged == pytest.approx(intercepts, abs=1e-9)


def test_classes_of_any_size_have_finite_intercepts():
    wide = [np.array([[-1e5, 1e5, 0.0], [1e5, -1e5, 0.0]])] * 2
    weights = [np.array([1.0, 1.0]), np.zeros(2)]
    rng = np.random.default_rng(0)
    intercepts = balanced_intercepts(wide, np.zeros(3), [np.zeros((2, 3))] * 2, weights, rng)
    assert np.isfinite(intercepts).all()


def test_curves_that_stay_keep_their_intercept():
    curves, weights = [np.array([0.0, 1.0, -2.0]), np.zeros(4)], [np.ones(3), np.zeros(4)]
    assert balanced_intercept(curves, 0.7, curves, weights) == pytest.approx(0.7, abs=1e-8)


@pytest.mark.parametrize("curves", [[], [np.zeros(3)], [np.array([np.nan, 1.0, 2.0])]])
def test_where_no_rows_are_known_the_intercept_stays(curves):
    weights = [np.zeros(3)] * len(curves)
    assert balanced_intercept(curves, -1.0, curves, weights) == pytest.approx(-1.0, abs=1e-8)


def test_scores_of_any_size_give_a_finite_intercept():
    wide = [np.array([-1e5, 0.0, 1e5])] * 3
    intercept = balanced_intercept(wide, 0.3, [np.zeros(3)] * 3, [np.ones(3)] * 3)
    assert np.isfinite(intercept)
    assert abs(intercept) < 20.0


def test_two_thousand_terms_fit_into_the_table():
    curves, weights = [np.array([-0.1, 0.1])] * 2_000, [np.ones(2)] * 2_000
    sums, shares = _sums(curves, weights)
    assert shares.sum() == pytest.approx(1.0)
    assert shares @ sums == pytest.approx(0.0, abs=1e-6)
    assert np.sqrt(shares @ sums**2) == pytest.approx(np.sqrt(20.0), rel=0.02)
