"""Gaussian releases of Poisson samples: what their pair covers, and what it costs to cover it."""

import math

import numpy as np
import pytest

from interpret_dp.accounting import delta_of_mu, gaussian_part, mu_of_budget
from interpret_dp.accounting.events import _profile, calibrated_noise, covering_mu
from interpret_dp.accounting.plans import PlannedSampling

# (epsilon, delta, sampling probability, steps). Where single steps weigh much (a rate of 0.01, 500
# steps, epsilon 8) covering the whole profile by a pair costs 2.5 % of epsilon.
SETTINGS = [(0.5, 1e-5, 1 / 30, 900), (8.0, 1e-6, 1 / 30, 900)]


def accountant(noise, probability, count):
    """Return dp_accounting's own accountant after the steps, at its own precision."""
    import dp_accounting

    found = dp_accounting.pld.PLDAccountant()
    step = dp_accounting.PoissonSampledDpEvent(probability, dp_accounting.GaussianDpEvent(noise))
    found.compose(dp_accounting.SelfComposedDpEvent(step, count))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(("epsilon", "delta", "probability", "count"), SETTINGS)
def test_calibration_agrees_with_dp_accounting_within_one_percent(
    epsilon, delta, probability, count
):
    own = 0.1 * delta
    noise = calibrated_noise(
        mu_of_budget(epsilon, gaussian_part(delta, own)), own, probability, count
    )
    true = accountant(noise, probability, count).get_epsilon(delta)
    assert 0.99 * epsilon < true <= epsilon


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_many_steps_lose_little_to_the_grid_and_nothing_to_rounding(epsilon):
    """Without sampling the answer is known; a rate next to 1 takes the way of all others.

    Transforms round by more than their bounds say after very many steps, and a grid that is as
    wide as a single step's losses would cost a twentieth of mu.
    """
    mu, count = mu_of_budget(epsilon, 1e-6), 100_000
    noise = math.sqrt(count) / mu
    assert mu <= covering_mu(noise, 1.0 - 1e-15, count, 1e-10) < 1.002 * mu
    epsilons, profile = _profile(noise, 1.0 - 1e-15, count, 1e-10)
    exact = np.array([delta_of_mu(mu, float(e)) for e in epsilons])
    assert (profile >= exact).all()


@pytest.mark.parametrize(("epsilon", "delta", "probability", "count"), SETTINGS)
def test_pair_covers_the_whole_profile_and_no_smaller_mu_does(epsilon, delta, probability, count):
    """Points between those that are checked inside, from dp_accounting at its own precision.

    Control: two percent less mu fails somewhere.
    """
    own = 0.1 * delta
    noise = 3.0
    mu = covering_mu(noise, probability, count, own)
    epsilons = np.linspace(0.0, 2.0 * epsilon, 401) + 1e-3 * math.pi
    profile = np.asarray(accountant(noise, probability, count)._pld.get_delta_for_epsilon(epsilons))

    def pair(smaller):
        return own + (1 - own) * np.array([delta_of_mu(smaller, float(e)) for e in epsilons])

    assert (profile <= pair(mu)).all()
    assert (profile > pair(0.98 * mu)).any()


def test_without_sampling_the_steps_compose_as_gaussians():
    assert covering_mu(4.0, 1.0, 9, 1e-7) == pytest.approx(0.75, rel=1e-8)
    assert covering_mu(4.0, 1.0, 9, 1e-7) >= 0.75


def test_noise_too_small_for_any_pair_costs_infinitely_much():
    assert covering_mu(1e-3, 0.5, 10, 1e-7) == math.inf
    assert covering_mu(0.1, 0.5, 10, 1e-7) > 20.0


def test_calibration_refuses_budgets_that_noise_cannot_meet():
    with pytest.raises(ValueError, match="Ask for a larger epsilon or delta, or for fewer epochs"):
        calibrated_noise(1e-9, 1e-7, 1.0, 10)


OUT_OF_RANGE = [
    ((0.0, 0.1, 5, 1e-7), "noise_multiplier is 0"),
    ((1.0, 0.0, 5, 1e-7), "sampling_probability is 0"),
    ((1.0, 1.5, 5, 1e-7), "sampling_probability is 1.5"),
    ((1.0, 0.1, 0, 1e-7), "count is 0"),
    ((1.0, 0.1, 10**6 + 1, 1e-7), "count is 1000001"),
    ((1.0, 0.1, 5, 1e-12), "own delta is 1e-12"),
]


@pytest.mark.parametrize(("arguments", "message"), OUT_OF_RANGE)
def test_figures_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        covering_mu(*arguments)


@pytest.mark.thorough
def test_planned_steps_cost_at_most_their_pair():
    planned = PlannedSampling.calibrated("steps", 0.5, 1e-7, probability=0.05, count=100)
    assert planned.steps is not None
    assert 0.4999 < planned.mu <= 0.5
    assert planned.share.count == 100
    half = planned.mu_of_first(planned.steps, 50)
    assert 0.0 == planned.mu_of_first(planned.steps, 0) < half < 0.8 * planned.mu
    assert planned.mu_of_first(planned.steps, 100) == planned.mu
    with pytest.raises(ValueError, match="more noise"):
        PlannedSampling("steps", 0.4, 1e-7, planned.steps)
