"""Posterior means of released curves, the noise of correlated ones, and their intercepts."""

import itertools
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
from interpret_dp.ebm.noise import boosted
from interpret_dp.ebm.noise.denoising import NoisyCurve, denoise
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations, orthonormal_scores
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.released.terms import assisted_interval

WEIGHTS = np.concatenate(([50.0], np.full(30, 100.0), [0.0]))


def bins_of(weights):
    return Bins(np.arange(len(weights), dtype=np.uint16), np.asarray(weights, dtype=float), None)


@pytest.mark.parametrize("variance", [0.0, 1e300, np.inf])
def test_noise_beyond_any_number_reaches_no_term_as_such(variance):
    noise = [TermNoise(variances=np.full(3, variance)), TermNoise(variances=np.ones(3))]
    first, second = boosted.with_noise_of_others(noise, [bins_of(np.ones(3))] * 2)
    assert first.variances.tolist() == [variance] * 3
    assert np.isfinite(second.variances).all()


@given(
    sizes=st.lists(st.tuples(st.floats(-20, 20), st.floats(-40, 40)), min_size=1, max_size=4),
    rank=st.integers(1, 32),
    is_ordered=st.booleans(),
)
def test_noise_of_any_size_gives_finite_curves_and_no_warning(sizes, rank, is_ordered):
    """Steps that are too long let noise grow from round to round, in some terms only."""
    rng = np.random.default_rng(0)
    curves = []
    for score, variance in sizes:
        root = rng.normal(size=(32, rank))
        scores = 10.0**score * rng.normal(size=32)
        noise = 10.0**variance * (root @ root.T)
        sampling = np.diagonal(noise).max() * rng.uniform(0.0, 1e4, 32)
        curves.append(NoisyCurve(scores, noise, WEIGHTS, is_ordered, sampling=sampling))
        curves.append(NoisyCurve(scores, np.diagonal(noise), WEIGHTS, False, sampling=sampling))
    for curve, found in zip(curves, denoise(curves), strict=True):
        assert np.isfinite(found.scores).all()
        if found.moments is not None:
            mean, spread = found.moments
            assert np.isfinite(mean).all()
            assert np.isfinite(spread).all()
            spread, noise = (
                np.diagonal(one) if one.ndim == 2 else one for one in (spread, curve.noise)
            )
            ends = assisted_interval(curve.scores, np.sqrt(noise), mean, spread, 0.95)
            assert np.isfinite(ends).all()
            assert (ends.lower <= ends.upper).all()


# --------------------------------------------------------- correlated curves, against dense algebra


FOREVER = 1e9


@pytest.fixture
def case():
    """Three terms with covariances and responses of their own, and correlations."""
    rng = np.random.default_rng(0)
    bins = [bins_of([0, *rng.integers(20, 90, size=n), 0]) for n in (5, 7, 6)]
    noise, functions = [], []
    for b in bins:
        root, n = rng.normal(size=(b.n_codes, b.n_codes)), b.n_codes
        moved = np.diag((b.weights > 0).astype(float))
        blur = moved @ (0.9 * np.eye(n) + 0.02) @ moved
        noise.append(TermNoise(covariance=moved @ root @ root.T @ moved, response=blur))
        shares = b.weights / b.weights.sum()
        functions.append(orthonormal_scores(shares, np.zeros((n, 0)), is_ordered=True))
    table = rng.uniform(-0.2, 0.2, size=(9, 9))
    table += table.T
    for k in range(3):
        table[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = 0.0
    return noise, bins, Correlations([0, 1, 2], functions, table)


def dense(noise, bins, correlations, ridge):
    """Covariance of inverse(I + R P / (1 + ridge)) N, with all matrices written out."""
    ends = np.cumsum([0] + [b.n_codes for b in bins])
    own, response = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
    functions, shares = np.zeros((ends[-1], len(correlations.matrix))), np.zeros(ends[-1])
    for k, (one, b) in enumerate(zip(noise, bins, strict=True)):
        part = slice(ends[k], ends[k + 1])
        own[part, part], response[part, part] = one.covariance, one.response
        functions[part, 3 * k : 3 * k + 3] = correlations.functions[k]
        shares[part] = b.weights / b.weights.sum()
    tables = functions @ correlations.matrix @ functions.T * shares / (1 + ridge)
    inverse = np.linalg.inv(np.eye(ends[-1]) + response @ tables)
    joint = inverse @ own @ inverse.T
    return [joint[a:b, a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("full_steps", [1.0, 5.0, FOREVER])
def test_the_covariances_are_those_of_the_whole_system(case, full_steps):
    noise, bins, correlations = case
    found = boosted.with_coupling(noise, bins, correlations, full_steps=full_steps)
    for one, expected in zip(found, dense(noise, bins, correlations, 1 / full_steps), strict=True):
        assert one.covariance == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_what_grew_beyond_numbers_is_left_alone(case):
    noise, bins, correlations = case
    wild = [noise[0], TermNoise(variances=np.full(bins[1].n_codes, 1e150)), noise[2]]
    found = boosted.with_coupling(wild, bins, correlations, full_steps=5.0)
    assert all(one is other for one, other in zip(found, wild, strict=True))


# --------------------------------------------------------------------------------------- intercepts


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
    found = boosted.mean_probability(intercept, *boosted._sums(curves, weights))
    # Between points of the table scores are split: 1/64 apart, that is a variance of 1e-4 a term.
    assert found == pytest.approx(mean_over_all(intercept, curves, weights), rel=5e-4, abs=1e-12)


@pytest.mark.parametrize("others", [["no"], ["no", "never"]])
def test_a_fit_predicts_a_rare_class_as_often_as_it_is(monkeypatch, others):
    """2 % of 20,000 rows at epsilon 4: 0.95 to 1.09 of that in fourteen draws."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(20_000, 6)), columns=list("abcdef"))
    is_rare = rng.random(20_000) < logistic(1.5 * (X.a + X.b) - 4.6)
    y = np.where(is_rare, "yes", rng.choice(others, 20_000))
    schema = Schema(dict.fromkeys(X, Continuous(-1, 1)), Categorical(sorted([*others, "yes"])))
    model = DPExplainableBoostingClassifier(epsilon=4.0, delta=1e-6, schema=schema)
    ratios = []
    for _ in range(2):
        with use_randomness(SeededRandomness(0)):
            shown = model.fit(X, y).predict_proba(X)[:, list(model.classes_).index("yes")]
        ratios.append(shown.mean() / np.mean(y == "yes"))
        monkeypatch.setattr(
            boosted.Boosted, "balanced_intercept", lambda self, _: self._result.intercept
        )
    assert 0.9 < ratios[0] < 1.1
    assert ratios[1] < ratios[0] - 0.05


def test_scores_of_any_size_give_finite_intercepts():
    curve, none = np.array([-1e5, 0.0, 1e5]), np.zeros(3)
    intercept = boosted.balanced_intercept([curve] * 3, 0.3, [none] * 3, [np.ones(3)] * 3)
    assert abs(intercept) < 20.0
    wide, weights = np.column_stack([-curve, curve, none]), [np.ones(3), none]
    rng = np.random.default_rng(0)
    found = boosted.balanced_intercepts([wide] * 2, none, [np.zeros((3, 3))] * 2, weights, rng)
    assert np.isfinite(found).all()
