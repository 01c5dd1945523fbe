"""Bands and draws of curves: a value is held with the level, however wrong its expectation is."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema
from interpret_dp.released import AdditiveTerm
from interpret_dp.released.terms import assisted_interval

OBSERVED = np.linspace(-14.0, 14.0, 28_001)


def posterior(observed, expected, variance):
    """Mean and variance of a value with unit noise, of which so much is expected."""
    share = variance / (1.0 + variance)
    return expected + share * (observed - expected), np.full(np.shape(observed), share)


def coverage(band, observed, value):
    """Probability that the band holds the value, over unit noise around it."""
    holds = (band.lower <= value) & (value <= band.upper)
    density = norm.pdf(observed - value) * (observed[1] - observed[0])
    return float(density @ holds)


@pytest.mark.parametrize("level", [0.6827, 0.95])
@pytest.mark.parametrize("variance", [1e-3, 0.3, 5.0, 1e4])
@pytest.mark.parametrize("value", [-4.0, -0.7, 0.0, 0.2, 3.0])
def test_each_value_is_held_with_the_level(level, variance, value):
    """Also values that are four deviations from what is expected of them."""
    mean, variances = posterior(OBSERVED, 0.0, variance)
    band = assisted_interval(OBSERVED, np.ones_like(OBSERVED), mean, variances, level)
    assert coverage(band, OBSERVED, value) == pytest.approx(level, abs=2e-3)


def test_posterior_intervals_would_not_hold_each_value():
    """The control of the test above."""
    mean, variances = posterior(OBSERVED, 0.0, 0.3)
    half = 1.96 * np.sqrt(variances)
    band = type(assisted_interval(*np.zeros((4, 1)), 0.5))(mean - half, mean + half)
    assert coverage(band, OBSERVED, 0.0) > 0.99
    assert coverage(band, OBSERVED, 3.0) < 0.2


@given(
    noisy=st.floats(-50, 50),
    deviation=st.floats(1e-6, 1e6),
    mean=st.floats(-50, 50),
    share=st.floats(0, 2),
    level=st.floats(0.5, 0.999),
)
def test_ends_are_in_order_and_never_far(noisy, deviation, mean, share, level):
    how = np.array([[noisy], [deviation], [mean], [share * deviation**2]])
    lower, upper = (float(end[0]) for end in assisted_interval(*how, level))
    tail = (1.0 - level) / 100.0
    assert lower < upper
    farthest = deviation * (-ndtri(tail) * (1 + 1e-6) + 2e-4)
    assert noisy - farthest <= lower
    assert upper <= noisy + farthest
    if share >= 1:
        half = -deviation * ndtri((1.0 - level) / 2.0)
        assert (lower, upper) == pytest.approx((noisy - half, noisy + half), rel=1e-6, abs=1e-6)


def test_a_band_of_a_term():
    """Around the noisy curve; towards what is expected; of the noise alone where nothing is."""
    scores, variances = np.array([0.0, 0.5, 0.5, 0.0]), np.array([0.0, 1.0, 1.0, 0.0])
    plain = AdditiveTerm(0, scores, np.ones(4), None, variances)
    np.testing.assert_allclose(plain.band().upper - scores, 1.959964 * variances, rtol=1e-6)
    np.testing.assert_allclose(plain.band(0.6827).upper - scores, variances, rtol=1e-3)
    noisy = np.array([0.0, 1.5, -0.5, 0.0])
    moved = AdditiveTerm(0, scores, np.ones(4), None, variances, noisy_scores=noisy)
    np.testing.assert_allclose(moved.band().lower, noisy - 1.959964 * variances, rtol=1e-6)
    # A band reaches to what is drawn as the curve.
    far = AdditiveTerm(0, scores, np.ones(4), None, variances, noisy_scores=-5.0 * variances)
    np.testing.assert_allclose(far.band().lower, -6.959964 * variances, rtol=1e-6)
    np.testing.assert_array_equal(far.band().upper, scores)
    known = {"posterior_mean": scores, "posterior_variances": variances / 4}
    short = AdditiveTerm(0, scores, np.ones(4), None, variances, noisy_scores=noisy, **known)
    assert (short.band().upper - short.band().lower)[1] < 0.95 * 2 * 1.959964
    assert short.band().lower[1] < 0.5 < short.band().upper[1]
    # Without an expectation the distance of the score from the noisy one counts as well.
    np.testing.assert_allclose(moved.standard_deviations, [0.0, 2**0.5, 2**0.5, 0.0])
    assert AdditiveTerm(0, scores, np.ones(4), None).band() is None
    classes = AdditiveTerm(0, np.ones((4, 3)), np.ones(4), None, np.ones((4, 3)))
    assert classes.band().upper.shape == (4, 3)
    assert classes.band().of_class(1).upper.shape == (4,)


@pytest.mark.parametrize("level", [0, 0.4, 1, 95, np.nan])
def test_levels_are_probabilities(level):
    term = AdditiveTerm(0, np.zeros(3), np.ones(3), None, np.ones(3))
    with pytest.raises(ValueError, match="level is "):
        term.band(level)
    with pytest.raises(TypeError, match="level is '95 %'"):
        term.band("95 %")


# ---------------------------------------------------------------------------------- draws of curves


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
