"""Draws of curves around the released ones."""

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
from interpret_dp.released import AdditiveTerm

N_CODES, N_DRAWS = 6, 40_000
RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(N_CODES, N_CODES))
SCORES = RNG.normal(size=N_CODES)


@pytest.mark.statistical
def test_draws_have_the_mean_the_deviations_and_the_correlations_of_a_term():
    """Seeded; a standard error of a deviation is 0.35 %, of a correlation 0.5 %."""
    known = {
        "noisy_scores": SCORES + 0.5,
        "posterior_mean": SCORES + np.linspace(-1, 1, N_CODES),
        "posterior_covariance": ROOT @ ROOT.T,
    }
    term = AdditiveTerm(0, SCORES, np.full(N_CODES, 9.0), 4 * ROOT @ ROOT.T, **known)
    draws = term.sample(N_DRAWS, np.random.default_rng(1))
    deviations = term.standard_deviations
    assert np.abs((draws.mean(axis=0) - SCORES) / deviations).max() < 5 / np.sqrt(N_DRAWS)
    np.testing.assert_allclose(draws.std(axis=0), deviations, rtol=0.02)
    apart = known["posterior_mean"] - SCORES
    second = ROOT @ ROOT.T + np.outer(apart, apart)
    expected = second / np.outer(deviations, deviations)
    np.testing.assert_allclose(np.corrcoef(draws.T), expected, atol=0.03)


def test_what_is_known_of_each_bin_alone_is_drawn_alone():
    variances = np.array([0.0, 1.0, 4.0, 0.0])
    scores = np.array([0.0, 1.0, -1.0, 0.0])
    term = AdditiveTerm(0, scores, np.array([0.5, 9, 9, 0]), None, variances, count_noise=1.0)
    assert term.too_few_rows.tolist() == [True, False, False, True]
    draws = term.sample(2_000, np.random.default_rng(0))
    # Bins with too few rows have the spread of the term.
    np.testing.assert_allclose(draws.std(axis=0), term.standard_deviations, rtol=0.1)
    assert np.abs(np.corrcoef(draws.T) - np.eye(4)).max() < 0.1


def test_curves_without_known_noise_are_as_they_are():
    draws = AdditiveTerm(0, SCORES, np.ones(N_CODES), None).sample(3, np.random.default_rng(0))
    np.testing.assert_array_equal(draws, [SCORES] * 3)


@pytest.mark.parametrize(("labels", "pairs"), [([0, 1], [(0, 1)]), ([0, 1, 2], 0)])
def test_a_model_draws_curves_shaped_as_its_own(labels, pairs):
    X = RNG.uniform(-1, 1, (2_000, 3))
    y = np.digitize(X[:, 0], np.linspace(-1, 1, len(labels) + 1)[1:-1])
    schema = Schema({name: Continuous(-1, 1) for name in "abc"}, target=Categorical(labels))
    model = DPExplainableBoostingClassifier(
        schema=schema, feature_names=list("abc"), interactions=pairs, max_rounds=4
    ).fit(X, y)
    drawn = model.sample_curves(5, random_state=1)
    assert [one.shape for one in drawn] == [(5, *s.shape) for s in model.term_scores_]
    again, other = model.sample_curves(5, random_state=1), model.sample_curves(5)
    assert all(np.array_equal(a, b) for a, b in zip(drawn, again, strict=True))
    assert not np.array_equal(drawn[0], other[0])
    with pytest.raises(ValueError, match="n is 0"):
        model.sample_curves(0)
