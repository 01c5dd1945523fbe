"""How much steeper curves are for the noise that rows are scored with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.noise.steepness import steepness
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins

WEIGHTS = np.full(40, 100.0)
CURVE = np.linspace(-1.0, 1.0, 40)


def facts(size, variance):
    """Return a term of that deviation beside its noise, and one that is nothing but noise.

    To each, the noise of the other is noise.
    """
    unit = CURVE / np.sqrt(np.mean(CURVE**2))
    bins = Bins(np.arange(40, dtype=np.uint16), WEIGHTS, None)
    noise = TermNoise(variances=np.full(40, variance))
    curves = [np.sqrt(size**2 + variance) * unit, np.sqrt(variance) * unit]
    return curves, [noise, noise], [bins, bins], [noise, noise]


def slope_with_noise(level, size, variance):
    """Slope of the curve at which mean residuals vanish in every bin, found by steps.

    Scores are normal, probabilities without noise are known.
    """
    nodes, shares = np.polynomial.hermite_e.hermegauss(60)
    shares = shares / shares.sum()
    wanted = 1.0 / (1.0 + np.exp(-(level + size * nodes)))
    shaken = np.sqrt(variance) * nodes
    curve = level + size * nodes
    for _ in range(400):
        given = 1.0 / (1.0 + np.exp(-(curve[:, np.newaxis] + shaken))) @ shares
        curve = curve + (wanted - given) / (given * (1.0 - given))
    return (shares * nodes) @ curve / (size * (shares @ nodes**2))


@pytest.mark.parametrize("level", [0.0, -1.5, -6.0])
@pytest.mark.parametrize("size", [0.3, 1.5])
@pytest.mark.parametrize("variance", [0.05, 0.5])
def test_it_is_the_slope_at_which_residuals_vanish(level, size, variance):
    expected = slope_with_noise(level, size, variance)
    found = steepness(level, *facts(size, variance))
    assert found == pytest.approx(expected, rel=2e-3)


def test_without_noise_it_is_one_and_much_noise_is_no_more_than_some():
    assert steepness(-1.0, *facts(1.0, 0.0)) == pytest.approx(1.0, abs=1e-6)
    assert 1.0 < steepness(-1.0, *facts(1.0, 1e3)) < 4.0
    assert np.isfinite(steepness(-1.0, *facts(1.0, 1e300)))
    assert steepness(-1.0, [], [], [], []) == 1.0


@given(
    level=st.floats(-1e3, 1e3),
    size=st.floats(0, 1e6),
    variance=st.one_of(st.just(0.0), st.floats(1e-12, 1e300)),
)
def test_facts_of_any_size_give_a_number(level, size, variance):
    assert 1.0 <= steepness(level, *facts(size, variance)) < 10.0
