"""Errors carry what they speak of, also across process borders."""

import pickle
import re

import pytest
from hypothesis import given, strategies as st

from interpret_dp import BudgetExceededError, ledger


def refusal(largest):
    return BudgetExceededError(
        "trial",
        requested_epsilon=2.0,
        requested_delta=1e-6,
        requested_mu=0.4,
        remaining_mu=0.1,
        largest_epsilon=largest,
    )


@given(st.floats(1e-6, 100))
def test_the_advice_is_never_above_what_fits(largest):
    advised = float(re.search(r"epsilon <= ([\d.e-]+)", str(refusal(largest))).group(1))
    assert 0.999 * largest < advised <= largest
    # Without anything left only a raise is advised.
    assert "Nothing was spent. Have the owner of the data raise" in str(refusal(0.0))


ERRORS = [
    refusal(0.25),
    ledger.DeltaExceededError(refusal(0.25), 2e-7, 1e-7, "ledger.raise_budget(...)"),
    ledger.RoleError("'ben' may not.", "ben", ("anna",)),
    ledger.BudgetExpiredError("It has expired.", "ward", "2026-01-01T00:00:00+00:00"),
    ledger.ApprovalNeededError("It waits.", "ward", 7, "waiting"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_pickling_keeps_the_figures(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)
