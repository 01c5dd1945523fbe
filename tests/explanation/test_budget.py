"""How many more requests fit: what the panel says is what the ledger does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp.accounting import GdpPair
from interpret_dp.explanation.budget import BudgetState
from interpret_dp.ledger.account import Account, Request
from interpret_dp.ledger.filter import admits, fix_budget, largest_epsilon, remaining_mu
from tests.explanation.budgets import budget_state


def _account(budget, pairs):
    requests = [
        Request(i, "2026-01-01T00:00:00+00:00", "test", "", 1.0, 1e-6, p.mu, p.delta, "committed")
        for i, p in enumerate(pairs)
    ]
    return Account("trial", budget, tuple(requests))


def _state(account):
    left = largest_epsilon(remaining_mu(account), account.budget.delta)
    return BudgetState.of(account.budget, account.spent, left)


pairs = st.builds(GdpPair, st.floats(0.1, 0.5), st.one_of(st.just(0.0), st.floats(1e-9, 2e-6)))


@settings(max_examples=60)
@given(spent=st.lists(pairs, max_size=6), pair=pairs)
def test_exactly_as_many_fit_as_is_said(spent, pair):
    budget = fix_budget("trial", 4.0, 1e-5, 4e-6, "")
    account = _account(budget, [])
    for each in spent:
        if admits(account, each):
            account = _account(budget, [*(GdpPair(r.mu, r.delta) for r in account.requests), each])
    done = [GdpPair(r.mu, r.delta) for r in account.requests]
    more = _state(account).more_like(pair)
    for _ in range(more):
        assert admits(account, pair)
        done.append(pair)
        account = _account(budget, done)
    assert not admits(account, pair)


def test_the_scarcer_part_of_a_budget_is_the_one_that_is_shown():
    state = budget_state(delta_x=4e-6, spent_delta=3e-6)
    assert state.spent_share == pytest.approx(0.75)
    assert state.share_of(GdpPair(0.1, 1e-6)) == pytest.approx(0.25)
    plain = budget_state()
    assert plain.spent_share == pytest.approx((plain.spent_mu / plain.mu) ** 2)
    assert plain.share_of(GdpPair(plain.spent_mu)) == pytest.approx(plain.spent_share)
    assert state.more_like(GdpPair(0.001, 1e-6)) == 1
    assert state.more_like(GdpPair(0.0, 1e-6)) == 1


def test_an_expired_budget_has_room_for_nothing_and_what_is_free_is_not_counted():
    pair = GdpPair(1e-3)
    assert budget_state().more_like(pair) > 0
    assert budget_state(expired=True).more_like(pair) == 0
    with pytest.raises(ValueError, match="one of them must be above 0"):
        budget_state().more_like(GdpPair(0.0))


def test_what_was_released_before_new_people_came_is_told():
    """Detection is about everything that was ever released, the bar about what counts."""
    now = budget_state().to_dict()
    renewed = budget_state(ever=GdpPair(2.0)).to_dict()
    assert renewed["detection_spent"] > now["detection_spent"]
    assert renewed["spent_share"] == now["spent_share"]
