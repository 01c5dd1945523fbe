"""The rule that picks every setting, and the plan that bounds what a fit may spend."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.config import TrainerConfig, Unit, narrowed_clip

SQUARED_LOSS = Unit(curvature=1.0, step=1.0)


@given(
    mu=st.floats(1e-3, 20),
    n_features=st.integers(1, 200),
    rounds=st.integers(0, 500),
    share=st.floats(0.01, 0.95),
)
def test_plan_spends_the_whole_budget_and_no_more(mu, n_features, rounds, share):
    config = TrainerConfig(
        mu=mu, n_features=n_features, max_bins=32, rounds=rounds, binning_share=share
    )
    cost = config.plan().cost.mu
    assert cost == pytest.approx(mu, rel=1e-9)


def test_binning_share_is_a_share_of_mu_squared():
    plan = TrainerConfig(mu=2.0, n_features=10, max_bins=32, binning_share=0.3).plan()
    shares = {share.name: share.mu**2 / 4.0 for share in plan.shares}
    assert shares["bins"] + shares["weights"] == pytest.approx(0.3)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_no_rounds_spends_on_bins_and_target_only():
    config = TrainerConfig(mu=0.5, n_features=3, max_bins=8, rounds=0)
    assert {part.name for part in config.plan().releases} == {"bins", "target", "weights"}
    assert math.isinf(config.boosting(100.0, SQUARED_LOSS).noise_level)


def test_residuals_are_clipped_by_what_is_left_to_explain():
    # The clip is 1.25 standard deviations: nothing, half and more than all of it explained.
    variance = 1 / 1.25**2
    assert narrowed_clip(variance, 0.0, 0.001) is None
    assert narrowed_clip(variance, variance / 2, 0.001) == pytest.approx(0.5**0.5)
    assert narrowed_clip(variance, 2 * variance, 0.001) == 0.35
    # Ten times as much noise: closer, as the first clip is.
    assert narrowed_clip(variance, variance / 2, 0.01) == pytest.approx(0.5**0.5 / 10**0.125)
    # With a quarter of the noise, twice as many standard deviations.
    assert narrowed_clip(variance, 0.9 * variance, 0.00025) == pytest.approx(2 * 0.1**0.5)
    assert narrowed_clip(variance, variance / 2, 0.00025) is None
    # The whole range is clipped to, 1.25 standard deviations are more: little explained is nothing.
    assert narrowed_clip(1.0, 0.3, 0.001) is None
    for explained in (math.inf, math.nan):
        assert narrowed_clip(variance, explained, 0.01) is None


@given(n_features=st.integers(1, 200), movable=st.integers(1, 200))
def test_terms_that_cannot_move_leave_rounds_to_the_others(n_features, movable):
    movable = min(movable, n_features)
    config = TrainerConfig(mu=0.3, n_features=n_features, max_bins=64)
    inner = replace(config, n_movable=movable)
    assert inner.plan() == config.plan()
    assert inner.n_rounds * movable <= config.n_rounds * n_features
    assert inner.n_rounds >= config.n_rounds
    chosen = TrainerConfig(mu=0.3, n_features=n_features, max_bins=64, rounds=7)
    assert replace(chosen, n_movable=movable).n_rounds == 7
