"""The rule that picks every setting, and the plan that bounds what a fit may spend."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpret_dp.ebm.config import TrainerConfig, Unit, narrowed_clip, residual_clip

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


def test_more_rows_allow_more_leaves_and_bins():
    config = TrainerConfig(mu=0.3, n_features=10, max_bins=64)
    few, many = (config.boosting(n, SQUARED_LOSS) for n in (1_000, 1_000_000))
    assert few.leaves < many.leaves
    assert few.step < many.step
    assert few.noise_level == pytest.approx(1_000 * many.noise_level)
    assert config.target_bins(1_000, 50.0) == 13
    assert config.target_bins(1_000_000, 50.0) == 64
    assert config.target_bins(1.0, 50.0) == 1


def test_rare_classes_count_as_noise():
    config = TrainerConfig(mu=0.3, n_features=10, max_bins=64)
    even = config.boosting(50_000, Unit(curvature=1.0, step=2.0))
    rare = config.boosting(50_000, Unit(curvature=0.01, step=2.0))
    assert rare.leaves < even.leaves


def test_a_class_drowned_in_noise_is_looked_for_in_the_tails():
    config = TrainerConfig(mu=0.03, n_features=30, max_bins=64)
    rare = Unit(curvature=0.007, step=500.0, start=0.00175)
    even = Unit(curvature=1.0, step=4.0, start=0.25)
    for unit, is_drowned in ((rare, True), (even, False), (SQUARED_LOSS, False)):
        assert config.boosting(200_000, unit).by_tails is is_drowned
        assert config.can_denoise(200_000, unit) is not is_drowned
    # Leaves that the caller asks for are ranges.
    asked = TrainerConfig(mu=0.03, n_features=30, max_bins=64, leaves=4)
    assert asked.boosting(200_000, rare).by_tails is False


def test_explicit_settings_win_over_the_rule():
    config = TrainerConfig(
        mu=0.3, n_features=3, max_bins=64, rounds=7, leaves=3, learning_rate=0.01
    )
    settings = config.boosting(10_000, SQUARED_LOSS)
    assert (config.n_rounds, settings.leaves) == (7, 3)
    assert settings.step == pytest.approx(0.01)
    assert config.n_blocks == 3


def test_steps_shrink_where_noise_is_louder_than_the_loss_can_stand():
    config = TrainerConfig(mu=0.3, n_features=10, max_bins=64)
    plain, quiet = (
        config.boosting(50.0, Unit(curvature=0.1, step=10.0, loudest=loudest))
        for loudest in (math.inf, 0.5)
    )
    assert plain.noise_level > 0.5
    assert quiet.step == pytest.approx(plain.step * 0.5 / plain.noise_level)
    given = TrainerConfig(mu=0.3, n_features=10, max_bins=64, learning_rate=0.2)
    assert given.boosting(50.0, Unit(curvature=0.1, step=10.0, per_rate=10.0)).step == 2.0


def test_no_rounds_spends_on_bins_and_target_only():
    config = TrainerConfig(mu=0.5, n_features=3, max_bins=8, rounds=0)
    assert {part.name for part in config.plan().releases} == {"bins", "target", "weights"}
    assert math.isinf(config.boosting(100.0, SQUARED_LOSS).noise_level)


def test_residual_clip_follows_the_released_spread():
    # Half a range of 500 and a standard deviation of a tenth of it.
    assert residual_clip(500.0, 0.01, 0.001) == pytest.approx(62.5)
    assert residual_clip(500.0, 0.04, 0.001) == pytest.approx(125.0)
    # Noise alone, and no variance: never above half the range, never 0.
    assert residual_clip(500.0, 2.0, 0.001) == 500.0
    assert residual_clip(500.0, 0.0, 0.001) == 5.0
    assert residual_clip(0.0, 0.1, 0.001) > 0


def test_the_louder_the_noise_the_closer_the_residual_clip():
    clips = [residual_clip(500.0, 0.01, level) for level in (1e-9, 1e-4, 1e-3, 1e-2, 0.1, math.inf)]
    assert clips == pytest.approx([87.5, 62.5 * 10**0.125, 62.5, 62.5 / 10**0.125, 37.5, 37.5])
    # Of counts it stays: they are as far from their mean, however good the model.
    assert residual_clip(500.0, 0.01, 0.1, is_count=True) == pytest.approx(150.0)


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


def test_a_varying_curvature_damps_steps():
    config = TrainerConfig(mu=0.3, n_features=10, max_bins=64)
    constant = config.boosting(50_000, SQUARED_LOSS)
    assert (constant.curvature, constant.least_stiffness) == (None, 0.0)
    assert math.isinf(constant.largest_change)
    rare = config.boosting(50_000, Unit(curvature=0.04, step=100.0, start=0.01))
    boosting = next(part for part in config.plan().releases if part.name == "boosting")
    # A leaf of this stiffness moves by one logit a full step for one standard deviation of noise.
    assert rare.least_stiffness == pytest.approx(1 / boosting.mu / 0.01)
    assert rare.largest_change == pytest.approx(3 * rare.step / 100.0)


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


@given(n_features=st.integers(1, 200), movable=st.integers(1, 200), n_kept=st.integers(1, 200))
def test_terms_that_stop_half_way_leave_rounds_to_the_others(n_features, movable, n_kept):
    movable, n_kept = min(movable, n_features), min(n_kept, movable, n_features)
    config = TrainerConfig(mu=0.3, n_features=n_features, max_bins=64, n_movable=movable)
    half = config.n_rounds // 2
    later = replace(config, n_kept=n_kept)
    assert later.plan() == config.plan()
    assert half * movable + (later.n_rounds - half) * n_kept <= config.n_rounds * movable
    assert later.n_rounds >= config.n_rounds
    # Only rounds after those in which all terms took part are averaged.
    assert later.n_rounds - later.averaged_rounds >= half
    assert replace(config, n_kept=movable).n_rounds == config.n_rounds
    chosen = replace(later, rounds=7)
    assert chosen.n_rounds == 7
