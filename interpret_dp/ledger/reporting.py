"""What the ledger knows, as a table and as a JSON document."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from interpret_dp.accounting.composition import GdpPair, compose
from interpret_dp.ledger.account import Account
from interpret_dp.ledger.filter import largest_epsilon, remaining_mu

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NO_LIMIT", "REPORT_COLUMNS", "account_document", "report_frame"]

NO_LIMIT = "no limit declared"

REPORT_COLUMNS = (
    "dataset",
    "time",
    "explainer",
    "purpose",
    "asked_epsilon",
    "asked_delta",
    "mu",
    "delta",
    "state",
    "total_mu",
    "total_epsilon",
)


def report_frame(accounts: Sequence[Account]) -> pd.DataFrame:
    """Return one row per request, with what had been spent up to it.

    ``total_epsilon`` is at the delta of the budget in force now, and missing without a budget.
    """
    import pandas as pd

    rows = [row for account in accounts for row in _rows(account)]
    return pd.DataFrame(rows, columns=list(REPORT_COLUMNS))


def _rows(account: Account) -> Iterator[dict[str, Any]]:
    total = GdpPair(0.0)
    delta = account.budget.delta if account.budget else None
    for request in account.requests:
        total = compose([total, GdpPair(request.mu, request.delta)])
        yield {
            "dataset": account.dataset,
            "time": request.time,
            "explainer": request.explainer,
            "purpose": request.purpose,
            "asked_epsilon": request.epsilon,
            "asked_delta": request.epsilon_delta,
            "mu": request.mu,
            "delta": request.delta,
            "state": request.state,
            "total_mu": total.mu,
            "total_epsilon": math.nan if delta is None else total.epsilon_at(delta),
        }


def account_document(account: Account) -> dict[str, Any]:
    """Return an account for JSON; figures that no limit bounds are None."""
    budget = account.budget
    return {
        "dataset": account.dataset,
        "limit": NO_LIMIT if budget is None else "declared",
        "protected": account.protected,
        "budget": None if budget is None else dataclasses.asdict(budget),
        "spent": account.spent.to_dict(),
        "remaining_epsilon": (
            None if budget is None else largest_epsilon(remaining_mu(account), budget.delta)
        ),
        "requests": [dataclasses.asdict(request) for request in account.requests],
    }
