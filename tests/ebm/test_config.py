"""The rule that picks every setting, and the plan that bounds what a fit may spend."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from interpret_dp.ebm.config import LossScale, TrainerConfig


@given(
    mu=st.floats(1e-3, 20),
    n_terms=st.integers(1, 200),
    rounds=st.none() | st.integers(0, 500),
    share=st.floats(0.01, 0.95),
    n_pairs=st.integers(0, 40),
    n_chosen=st.integers(0, 40),
)
def test_plan_spends_the_whole_budget_and_no_more(mu, n_terms, rounds, share, n_pairs, n_chosen):
    n_chosen = min(n_chosen, n_pairs)
    config = TrainerConfig(
        **{"mu": mu, "n_terms": n_terms, "max_bins": 32, "rounds": rounds, "binning_share": share},
        **{"n_pairs": n_pairs, "n_chosen_pairs": n_chosen},
    )
    plan = config.plan()
    assert plan.cost.mu == pytest.approx(mu, rel=1e-8)
    assert plan.cost.delta == 0.0
    counts = {part.name: part.count for part in plan.releases}
    assert counts.get("pair bins", 0) == n_pairs
    assert counts.get("pair selection", 0) == n_chosen
    assert counts.get("pairs", 0) == n_pairs * config.n_rounds


def test_binning_share_is_a_share_of_mu_squared():
    plan = TrainerConfig(mu=2.0, n_terms=10, max_bins=32, binning_share=0.3).plan()
    shares = {share.name: share.mu**2 / 4.0 for share in plan.shares}
    assert shares["bins"] + shares["weights"] == pytest.approx(0.3)
    assert sum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("n_rows", "expected"), [(1_000, False), (20_000, True)])
def test_a_classification_whose_noise_is_high_keeps_all_terms(n_rows, expected):
    """A regression prunes: its residuals do not shrink where scores are noise."""
    config = TrainerConfig(mu=0.1, n_terms=9, max_bins=32)
    classes = LossScale(curvature=1.0, step=1.0, start_curvature=1.0)
    assert config.can_prune(n_rows, classes) is expected
    assert config.can_prune(n_rows, LossScale(curvature=1.0, step=1.0))


def test_shapes_and_the_total_of_a_number_have_a_share_each():
    plain = TrainerConfig(mu=1.0, n_terms=4, max_bins=32)
    shares = {p.name: p.count * p.mu**2 for p in replace(plain, n_shapes=2).plan().releases}
    assert shares["target"] == pytest.approx(0.018)
    assert shares["total"] == pytest.approx(shares["target"])
    assert shares["target cells"] == pytest.approx(2 * shares["target"])
    assert sum(shares.values()) == pytest.approx(1.0)
    few = replace(plain, n_shapes=2, rounds=3).plan().releases
    assert {part.name: part.count for part in few}["target cells"] == 1
    assert not {"total", "target cells"} & {part.name for part in plain.plan().releases}


@given(n_terms=st.integers(1, 200), movable=st.integers(1, 200))
def test_terms_that_cannot_move_leave_rounds_to_the_others(n_terms, movable):
    movable = min(movable, n_terms)
    config = TrainerConfig(mu=0.3, n_terms=n_terms, max_bins=64)
    inner = replace(config, n_movable=movable)
    assert inner.plan() == config.plan()
    assert inner.n_rounds * movable <= config.n_rounds * n_terms
    assert inner.n_rounds >= config.n_rounds
    chosen = TrainerConfig(mu=0.3, n_terms=n_terms, max_bins=64, rounds=7)
    assert replace(chosen, n_movable=movable).n_rounds == 7
