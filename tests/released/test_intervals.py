"""Intervals with an expectation: each value is held with the level, however wrong that is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import norm

from interpret_dp.released import AdditiveTerm
from interpret_dp.released.intervals import assisted_interval

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
