"""Posterior means of released curves: on average nearer to the truth, for noise of any form."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.noise.denoising import Curve, denoise
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.noise.variances import with_noise_of_others
from interpret_dp.released.intervals import assisted_interval

WEIGHTS = np.concatenate(([50.0], np.full(30, 100.0), [0.0]))


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
