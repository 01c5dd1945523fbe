"""Posterior means of released curves: on average nearer to the truth, for noise of any form."""

from __future__ import annotations

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
