"""The persistent privacy budget: reserve, run, commit.

Importing this is light: SQLAlchemy is imported when a ledger is built.
"""

from __future__ import annotations

from interpret_dp.ledger.account import Account, Budget, Request, Spent
from interpret_dp.ledger.filter import DeltaExceededError
from interpret_dp.ledger.ledger import PrivacyLedger, Reservation, default_ledger

__all__ = [
    "Account",
    "Budget",
    "DeltaExceededError",
    "PrivacyLedger",
    "Request",
    "Reservation",
    "Spent",
    "default_ledger",
]
