"""Accounts of data sets for tests that need no ledger."""

from __future__ import annotations

from typing import Any

from interpret_dp.accounting import largest_mu, mu_of_budget
from interpret_dp.explanation.budget import BudgetState


def budget_state(**changes: Any) -> BudgetState:
    """Return a budget of epsilon 4 at delta 1e-5, of which two fits at epsilon 1 were spent."""
    fields = {
        "dataset": "trial",
        "epsilon": 4.0,
        "delta": 1e-5,
        "mu": largest_mu(4.0, 1e-5),
        "delta_x": 0.0,
        "spent_mu": 2**0.5 * mu_of_budget(1.0, 1e-6),
        "spent_delta": 0.0,
        "remaining_epsilon": 3.5,
        "n_requests": 2,
        "open_reservations": 0,
    }
    return BudgetState(**(fields | changes))
