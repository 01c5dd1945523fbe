"""The numerical part: each projection against an independent optimum."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from interpret_dp.editor.recipes import BinScores, choose_smoothing, convex, smooth
from interpret_dp.released.arrays import isotonic, positive_weights


@st.composite
def curves(draw, least=1):
    size = draw(st.integers(least, 12))
    scores = draw(arrays(np.float64, size, elements=st.floats(-10, 10, width=32)))
    weights = draw(arrays(np.float64, size, elements=st.floats(0.125, 64, width=32)))
    return scores, weights


def minimax(scores, weights):
    """Return the isotonic fit by the minimax formula: brute force over all runs of bins."""
    size = len(scores)

    def mean(first, last):
        chosen = slice(first, last + 1)
        return weights[chosen] @ scores[chosen] / weights[chosen].sum()

    return np.array(
        [max(min(mean(a, b) for b in range(i, size)) for a in range(i + 1)) for i in range(size)]
    )


@given(curves())
def test_isotonic_repair_is_the_optimum_of_the_minimax_formula(curve):
    scores, weights = curve
    fitted = isotonic(scores, weights, increasing=True)
    np.testing.assert_allclose(fitted, minimax(scores, weights), atol=1e-9)
    falling = isotonic(scores, weights, increasing=False)
    np.testing.assert_allclose(falling, -minimax(-scores, weights), atol=1e-9)
    assert (np.diff(fitted) >= 0).all()
    assert (np.diff(falling) <= 0).all()
    np.testing.assert_allclose(weights @ fitted, weights @ scores, atol=1e-7)


@given(curves(least=3), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_convex_repair_satisfies_the_conditions_of_the_optimum(curve, unit, origin):
    """Convex, and the residual makes an angle of at least 90 degrees with every hinge."""
    scores, weights = curve
    positions = origin + unit * np.arange(len(scores)) ** 1.5
    fitted = convex(scores, weights, positions)
    span = np.abs(scores).max() + 1.0
    slopes = np.diff(fitted) / np.diff(positions / unit)
    assert (np.diff(slopes) >= -1e-7 * span).all()
    residual = weights * (scores - fitted)
    points = (positions - positions[0]) / (positions[-1] - positions[0])
    hinges = np.maximum(points[:, np.newaxis] - points, 0.0)
    tolerance = 1e-6 * weights.sum() * span
    assert (hinges.T @ residual <= tolerance).all()
    assert abs(residual.sum()) <= tolerance
    assert abs(points @ residual) <= tolerance
    assert abs(fitted @ residual) <= tolerance * span


@given(curves(least=3))
def test_curves_that_have_the_shape_come_back_bit_for_bit(curve):
    scores, weights = curve
    rising = np.sort(scores)
    np.testing.assert_array_equal(isotonic(rising, weights, increasing=True), rising)
    positions = np.arange(len(scores), dtype=float)
    bowl = positions**2
    np.testing.assert_array_equal(convex(bowl, weights, positions), bowl)


def test_bins_without_rows_bend_nothing_and_follow():
    weights = np.array([10.0, 0.0, 10.0])
    fitted = isotonic(np.array([0.0, 9.0, 1.0]), weights, increasing=True)
    np.testing.assert_allclose(fitted, [0.0, 1.0, 1.0], atol=1e-5)
    assert positive_weights(np.zeros(3)).tolist() == [1, 1, 1]
    assert (positive_weights(weights) > 0).all()


# ------------------------------------------------------------------------------------ smoothing


def noisy_curve(seed, noise=0.3, size=60):
    rng = np.random.default_rng(seed)
    positions = (np.arange(size) + 0.5) / size
    truth = np.sin(4 * positions)
    weights = rng.uniform(1, 20, size)
    covariance = np.diag(noise**2 * weights.mean() / weights)
    scores = truth + rng.multivariate_normal(np.zeros(size), covariance)
    return truth, scores, weights, positions, covariance


@pytest.mark.parametrize("is_known", [True, False])
def test_smoothing_brings_noisy_curves_nearer_to_the_truth(is_known):
    before, after = [], []
    for seed in range(10):
        truth, scores, weights, positions, covariance = noisy_curve(seed)
        noise = covariance if is_known else None
        curve = BinScores(scores, weights, positions, positions, noise)
        fitted, matrix = smooth(curve, choose_smoothing(curve, {"length": None}))
        np.testing.assert_allclose(matrix @ scores, fitted)
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-6)
        before.append(np.mean((scores - truth) ** 2))
        after.append(np.mean((fitted - truth) ** 2))
    assert np.mean(after) < 0.3 * np.mean(before)


def test_smoothing_equals_the_posterior_mean_of_scikit_learns_process():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    _, scores, weights, positions, covariance = noisy_curve(1)
    curve = BinScores(scores, weights, positions, positions, covariance)
    fitted, _ = smooth(curve, {"length": 0.3, "amplitude": 0.8, "noise": None})
    # A constant of huge variance stands for the unknown mean.
    kernel = ConstantKernel(1e4) + ConstantKernel(0.64) * Matern(0.3, nu=1.5)
    alpha = np.diagonal(covariance) + 1e-3 * np.diagonal(covariance).mean()
    process = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)
    expected = process.fit(positions[:, np.newaxis], scores).predict(positions[:, np.newaxis])
    np.testing.assert_allclose(fitted, expected, atol=1e-4)


def test_constant_curves_and_curves_without_noise_come_back():
    positions, ones = np.linspace(0, 1, 5), np.ones(5)
    for scores, covariance in ((2 * ones, None), (2 * ones, np.eye(5)), (positions, 0 * np.eye(5))):
        curve = BinScores(scores, ones, positions, positions, covariance)
        fitted, _ = smooth(curve, choose_smoothing(curve, {"length": None}))
        np.testing.assert_allclose(fitted, scores, atol=1e-6)
