"""The persistent privacy budget: reserve, run, commit; and who decides about it.

Importing this is light: SQLAlchemy is imported when a ledger is built.
"""

from __future__ import annotations

from interpret_dp.exceptions import ApprovalNeededError, BudgetExpiredError, RoleError
from interpret_dp.ledger.account import (
    Account,
    Approval,
    Budget,
    DeltaExceededError,
    Request,
    Spent,
)
from interpret_dp.ledger.chain import verify_archive
from interpret_dp.ledger.ledger import PrivacyLedger, Reservation, default_ledger
from interpret_dp.ledger.roles import Roles

__all__ = [
    "Account",
    "Approval",
    "ApprovalNeededError",
    "Budget",
    "BudgetExpiredError",
    "DeltaExceededError",
    "PrivacyLedger",
    "Request",
    "Reservation",
    "RoleError",
    "Roles",
    "Spent",
    "default_ledger",
    "verify_archive",
]
