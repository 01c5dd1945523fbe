"""Posterior means of released curves: on average nearer to the truth, for noise of any form."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.noise.denoising import Curve, denoise
from interpret_dp.ebm.noise.sampling import (
    with_noise_of_others,
)
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.noise.views import _KEPT, N_LENGTHS, SCALE_PRIOR, View, _kernels
from interpret_dp.released.intervals import assisted_interval

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
            after += WEIGHTS @ (found.scores - truth) ** 2
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


def test_moments_are_those_of_normal_variables():
    """One length and scale against conditioning by hand."""
    rng = np.random.default_rng(4)
    curve, _ = noisy_curve(rng, "wave", 2.0)
    blur = np.eye(32) + 0.02 * rng.normal(size=(32, 32))
    curve = replace(curve, sampling=rng.uniform(0.5, 2.0, 32), response=blur)
    view = View(curve, 1.0)
    inner = view.moved
    noise = curve.noise[np.ix_(inner, inner)]
    noise = noise + 1e-8 * np.trace(noise) / len(noise) * np.eye(len(noise))
    part = blur[np.ix_(inner, inner)]
    luck = part @ np.diag(curve.sampling[inner]) @ part.T
    likely = np.zeros((N_LENGTHS, len(SCALE_PRIOR)))
    likely[1, 9] = 1.0
    kept = _KEPT[9]
    prior = kept / (1.0 - kept) * _kernels(curve, inner)[1] + luck
    gain = prior @ np.linalg.inv(prior + noise)
    mean, covariance = view.moments(likely)
    np.testing.assert_allclose(mean, gain @ curve.scores[inner], atol=1e-6)
    np.testing.assert_allclose(covariance, prior - gain @ prior, atol=1e-6)
    # Of two scales: their means, and the variance between them, are added.
    likely[1, 9], likely[2, 3] = 0.25, 0.75
    one, other = np.zeros_like(likely), np.zeros_like(likely)
    one[1, 9] = other[2, 3] = 1.0
    (m, v), (n, w) = view.moments(one), view.moments(other)
    mean, covariance = view.moments(likely)
    np.testing.assert_allclose(mean, 0.25 * m + 0.75 * n, atol=1e-9)
    between = 0.25 * 0.75 * np.outer(m - n, m - n)
    np.testing.assert_allclose(covariance, 0.25 * v + 0.75 * w + between, atol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("shape", ["none", "wave", "step"])
def test_bands_hold_each_bin_of_a_curve_with_luck_in_it(shape, wide):
    """100 models of five terms. Bands: each bin has a standard error of 2.1 points at 68 %.

    The root of the expected square is right on average alone, and much less so bin by bin.
    """
    rng = np.random.default_rng(2)
    own_luck = np.where(WEIGHTS > 0, 0.4, 0.0)
    # Curves are centred, and with them their luck.
    blur = np.eye(32) if wide else np.eye(32) - WEIGHTS / WEIGHTS.sum()
    held, near = [], []
    for _ in range(100):
        drawn = []
        for _ in range(5):
            how = {"is_ordered": not wide, "wide": wide}
            curve, truth = noisy_curve(rng, shape, 2.0, **how)
            own = blur @ (rng.normal(size=32) * np.sqrt(own_luck))
            known = {"scores": curve.scores + own, "sampling": own_luck, "response": blur}
            drawn.append((replace(curve, **known), truth + own))
        for (curve, truth), found in zip(drawn, denoise([c for c, _ in drawn]), strict=True):
            spread, noise = (
                one if wide else np.diagonal(one) for one in (found.spread, curve.noise)
            )
            sizes = np.sqrt(noise)
            bands = [
                assisted_interval(curve.scores, sizes, found.mean, spread, level)
                for level in (0.6827, 0.95)
            ]
            held.append([((b.lower <= truth) & (truth <= b.upper))[:-1] for b in bands])
            apart = np.sqrt(spread + (found.scores - found.mean) ** 2)
            near.append([(np.abs(found.scores - truth) <= z * apart)[:-1] for z in (1.0, 1.96)])
    each, average = np.mean(held, axis=0), np.mean(near, axis=(0, 2))
    assert np.abs(each[0] - 0.683).max() < 0.08
    assert np.abs(each[1] - 0.95).max() < 0.04
    assert abs(average[0] - 0.683) < 0.08
    assert abs(average[1] - 0.95) < 0.03


def bins_of(weights):
    return SimpleNamespace(weights=weights, n_codes=len(weights))


@pytest.mark.parametrize("variance", [0.0, 1e300, np.inf])
def test_noise_beyond_any_number_reaches_no_term_as_such(variance):
    noise = [TermNoise(variances=np.full(3, variance)), TermNoise(variances=np.ones(3))]
    first, second = with_noise_of_others(noise, [bins_of(np.ones(3))] * 2)
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
        luck = np.diagonal(noise).max() * rng.uniform(0.0, 1e4, 32)
        curves.append(Curve(scores, noise, WEIGHTS, is_ordered, sampling=luck))
        curves.append(Curve(scores, np.diagonal(noise), WEIGHTS, False, sampling=luck))
    for curve, found in zip(curves, denoise(curves), strict=True):
        assert np.isfinite(found.scores).all()
        if found.spread is not None:
            assert np.isfinite(found.mean).all()
            assert np.isfinite(found.spread).all()
            spread, noise = (
                np.diagonal(one) if one.ndim == 2 else one for one in (found.spread, curve.noise)
            )
            ends = assisted_interval(curve.scores, np.sqrt(noise), found.mean, spread, 0.95)
            assert np.isfinite(ends).all()
            assert (ends.lower <= ends.upper).all()
