"""Partition selection names what is frequent, and a value of one row with probability delta."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from interpret_dp.accounting import lattice_sigma
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.mechanisms import (
    SeededRandomness,
    SystemRandomness,
    additive as selection_module,
    gaussian_thresholding,
)
from interpret_dp.mechanisms.additive import normal_tail_quantile, threshold
from tests.statistical.noise_checks import LEVEL, binomial_p

MU = 0.5


def select(counts, delta=1e-6, unit_rows=1, randomness=None, mu=MU):
    limits = {"unit_rows": unit_rows, "sensitivity": unit_rows * LATTICE, "mu": mu, "delta": delta}
    randomness = randomness or SeededRandomness(1)
    return gaussian_thresholding("levels", counts, randomness=randomness, **limits)


@pytest.mark.parametrize("probability", [0.9, 0.5, 0.3, 1e-3, 1e-8, 1e-30, 1e-200])
def test_the_quantile_is_rounded_up_and_close(probability):
    z = normal_tail_quantile(probability)
    assert norm.logsf(z) <= math.log(probability) + 1e-13 * abs(math.log(probability))
    if probability < 0.5:
        assert norm.logsf(z * (1 - 1e-8)) > math.log(probability)


@pytest.mark.parametrize("unit_rows", [1, 3])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-7, 1e-12])
def test_a_unit_s_values_are_named_with_probability_delta_at_most(unit_rows, delta):
    """By arithmetic: the worst unit brings ``unit_rows`` values of that many rows each."""
    sigma = lattice_sigma(unit_rows * LATTICE, MU)
    limit = threshold(unit_rows, sigma, delta)
    assert isinstance(limit, int)
    named = unit_rows * norm.sf((limit - unit_rows * LATTICE) / sigma)
    assert named <= delta
    # Control: a thousandth below is too low, so the bound is not met by a wide margin.
    too_low = unit_rows * LATTICE + 0.999 * (limit - unit_rows * LATTICE)
    assert unit_rows * norm.sf((too_low - unit_rows * LATTICE) / sigma) > delta


NOISE_AND_PROMISE = [(1.0, 0, True), (2 / 3, 0, False), (3 / 2, 0, False), (1.0, LATTICE, False)]


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "forgotten", "is_true"), NOISE_AND_PROMISE)
def test_values_of_one_row_are_named_as_rarely_as_promised(noise, forgotten, is_true, monkeypatch):
    """One selection among 40,000 values of one row each at delta 0.01: two-sided, level 1e-9.

    With 2/3 of the noise the rate is Q(2.326 * 3/2) = 2.4e-4 (19 standard errors), with 3/2 of it
    Q(2.326 * 2/3) = 0.06 (100 standard errors). A threshold that forgets the row that the value
    itself has names values with probability Q(2.326 - 0.5) = 0.034 (24 standard errors).
    """

    class Scaled(SystemRandomness):
        def noise(self, sigma, size):
            return super().noise(noise * sigma, size)

    def lower(unit_rows, sigma, delta):
        return threshold(unit_rows, sigma, delta) - forgotten

    monkeypatch.setattr(selection_module, "threshold", lower)
    trials = 40_000
    named = len(select(dict.fromkeys(map(str, range(trials)), 1), 0.01, 1, Scaled()).keys)
    assert (binomial_p(named, trials, 0.01) > LEVEL) is is_true


def test_frequent_values_are_named_in_the_order_of_their_values():
    counts = {"b": 10_000, 3.0: 10_000, "a": 10_000, -1.0: 10_000, "rare": 1}
    selection = select(counts)
    assert selection.keys == (-1.0, 3.0, "a", "b")
    assert (selection.counts > selection.threshold).all()
    assert np.abs(selection.counts / LATTICE - 10_000).max() < 30
    # The order of the rows, and so that of the mapping, plays no part.
    again = select(dict(reversed(counts.items())))
    assert again.keys == selection.keys
    np.testing.assert_array_equal(again.counts, selection.counts)


def test_the_released_counts_are_those_that_were_compared():
    class Known(SeededRandomness):
        def noise(self, sigma, size):
            return np.arange(size, dtype=np.int64) * 7

    selection = select({"a": 50, "b": 60}, randomness=Known(1))
    assert selection.counts.tolist() == [50 * LATTICE, 60 * LATTICE + 7]


def test_nothing_occurs():
    selection = select({}, randomness=SystemRandomness())
    assert selection.keys == ()
    assert selection.counts.shape == (0,)


def test_a_count_at_the_threshold_is_not_named():
    class At(SeededRandomness):
        def noise(self, sigma, size):
            limit = threshold(1, sigma, 1e-6)
            return np.array([limit - LATTICE, limit - LATTICE + 1], dtype=np.int64)

    assert select({"a": 1, "b": 1}, randomness=At(1)).keys == ("b",)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-9, math.nan])
def test_a_delta_out_of_range_is_refused(delta):
    with pytest.raises(ValueError, match="delta is"):
        select({"a": 1}, delta)


def test_noise_that_the_lattice_cannot_carry_is_refused():
    with pytest.raises(ValueError, match="'levels'"):
        select({}, mu=1e-13)
