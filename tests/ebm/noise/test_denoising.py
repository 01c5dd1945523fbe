"""Posterior means of released curves: on average nearer to the truth, for noise of any form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.noise.denoising import Curve, denoise
from interpret_dp.ebm.noise.propagation import unit_covariance
from interpret_dp.ebm.trainer.curvature import log_loss_curvatures
from tests.ebm.noise.test_propagation import make_term

WEIGHTS = np.concatenate(([50.0], np.full(30, 100.0), [0.0]))
PLACES = np.linspace(-1.0, 1.0, 30)
SHAPES = {
    "none": np.zeros(30),
    "line": PLACES,
    "wave": np.sin(3 * PLACES),
    "step": (PLACES > 0.3).astype(float),
    "spike": (np.arange(30) == 7).astype(float),
}


def centred(curve):
    return curve - WEIGHTS @ curve / WEIGHTS.sum()


def noisy_curve(rng, shape, size, *, is_ordered=True, wide=False):
    """Return a curve with noise of deviation 1 in every bin that has rows, and the truth."""
    truth = centred(np.concatenate(([0.0], size * SHAPES[shape], [0.0])))
    truth[-1] = 0.0
    deviations = np.where(WEIGHTS > 0, 1.0, 0.0)
    if wide:
        noise = deviations**2
        scores = truth + rng.normal(size=32) * deviations
    else:
        centre = np.eye(32) - WEIGHTS / WEIGHTS.sum()
        root = centre @ np.diag(deviations)
        root[-1] = 0.0
        noise, scores = root @ root.T, truth + root @ rng.normal(size=32)
    return Curve(scores, noise, WEIGHTS, is_ordered), truth


def errors(shape, size, **how):
    """Mean squared error over the rows of 40 models with five such terms, before and after."""
    rng = np.random.default_rng(1)
    before = after = 0.0
    for _ in range(40):
        drawn = [noisy_curve(rng, shape, size, **how) for _ in range(5)]
        for (curve, truth), found in zip(drawn, denoise([c for c, _ in drawn]), strict=True):
            before += WEIGHTS @ (curve.scores - truth) ** 2
            after += WEIGHTS @ (found - truth) ** 2
    return before, after


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [0.3, 2.0, 30.0])
@pytest.mark.parametrize("how", [{}, {"is_ordered": False}, {"is_ordered": False, "wide": True}])
def test_curves_come_nearer_to_the_truth(shape, size, how):
    before, after = errors(shape, size, **how)
    assert after < 1.05 * before
    dropped = 40 * 5 * WEIGHTS @ centred(np.concatenate(([0.0], size * SHAPES[shape], [0.0]))) ** 2
    if shape != "none":
        # Not much worse than to drop the term, whatever it is.
        assert after < 1.1 * dropped + 0.1 * before
    if shape == "line" and how == {} and size < 30:
        assert after < 0.4 * before


def test_noise_alone_is_dropped():
    before, after = errors("none", 1.0)
    assert after < 0.02 * before


def test_unit_of_the_scores_does_not_matter():
    curve, _ = noisy_curve(np.random.default_rng(0), "wave", 2.0)
    large = Curve(1e3 * curve.scores, 1e6 * curve.noise, WEIGHTS, True)
    one, other = denoise([curve])[0], denoise([large])[0]
    np.testing.assert_allclose(1e3 * one, other, rtol=1e-6, atol=1e-6)


def test_what_nobody_has_stays_and_the_mean_over_the_rows_too():
    curve, _ = noisy_curve(np.random.default_rng(0), "wave", 2.0)
    found = denoise([curve])[0]
    assert found[-1] == 0.0
    assert abs(WEIGHTS @ found) < 1e-3


def test_a_curve_without_noise_and_no_curve_at_all_stay_as_they_are():
    quiet = Curve(np.arange(32.0), np.zeros((32, 32)), WEIGHTS, True)
    np.testing.assert_array_equal(denoise([quiet])[0], quiet.scores)
    assert denoise([]) == []


def test_response_is_what_boosting_makes_of_a_curve():
    """Noise-free rounds by hand against the recorded map."""
    updates, weights, curvature = make_term(20, True, 12)
    stiffness = weights * curvature
    response = unit_covariance(updates, weights, stiffness, 6)[1]
    target = np.sin(np.arange(20.0))
    from interpret_dp.ebm.trainer.boosting import centred_change

    curve, average = np.zeros((20, 1)), np.zeros((20, 1))
    for number, update in enumerate(updates):
        residuals = stiffness[:, np.newaxis] * (target[:, np.newaxis] - curve)
        sums = np.zeros((update.partition.n_leaves, 1))
        np.add.at(sums, update.partition.leaf, residuals)
        curve = curve + centred_change(update, weights, sums)
        average += curve / 6 if number >= 6 else 0.0
    np.testing.assert_allclose(response @ target, average[:, 0], rtol=1e-8, atol=1e-10)


def test_curvature_of_the_log_loss():
    weights = [np.array([1.0, 2.0, 1.0])]
    flat = log_loss_curvatures([np.zeros((3, 1))], np.array([-5.0]), weights)
    share = 1 / (1 + np.exp(5.0))
    np.testing.assert_allclose(flat[0], share * (1 - share))
    bent = log_loss_curvatures([np.array([[0.0], [5.0], [0.0]])], np.array([-5.0]), weights)
    assert bent[0][1] == pytest.approx(0.25)
    # What other terms add spreads the scores: in the mean they are less rare.
    other = [*weights, weights[0]]
    spread = log_loss_curvatures(
        [np.zeros((3, 1)), np.array([[2.0], [-2.0], [2.0]])], np.array([-5.0]), other
    )
    assert (spread[0] > flat[0]).all()
    several = log_loss_curvatures([np.zeros((3, 3))], np.zeros(3), weights)
    np.testing.assert_allclose(several[0], 2 / 9, rtol=1e-6)


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
        curves.append(Curve(scores, noise, WEIGHTS, is_ordered))
        curves.append(Curve(scores, np.diagonal(noise), WEIGHTS, False))
    for found in denoise(curves):
        assert np.isfinite(found).all()
