"""Refusals of the ledger that are not about what is left: who, when, and whether it was approved.

Each of them was raised before anything was spent.
"""

from __future__ import annotations

from interpret_dp.exceptions import LedgerError

__all__ = ["ApprovalNeededError", "BudgetExpiredError", "ConnectionLostError", "RoleError"]


class ConnectionLostError(LedgerError):
    """The connection was lost and nothing was written, so that it may be tried again."""


class RoleError(LedgerError):
    """The user may not do this; nothing was changed or spent.

    Attributes
    ----------
    user : str
        Who tried.
    allowed : tuple of str
        The users who may.
    """

    def __init__(self, message: str, user: str, allowed: tuple[str, ...]) -> None:
        super().__init__(message)
        self.user, self.allowed = user, allowed

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild with the attributes, so that the error crosses process borders."""
        return RoleError, (str(self), self.user, self.allowed)


class BudgetExpiredError(LedgerError):
    """The time for which a budget was granted is over; nothing was spent.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    expired : str
        The moment when it ended, ISO 8601.
    """

    def __init__(self, message: str, dataset: str, expired: str) -> None:
        super().__init__(message)
        self.dataset, self.expired = dataset, expired

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild with the attributes."""
        return BudgetExpiredError, (str(self), self.dataset, self.expired)


class ApprovalNeededError(LedgerError):
    """An officer must approve the request first; nothing was spent.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    number : int
        Of the request for approval, in the log.
    state : {"waiting", "rejected"}
        Whether an answer is still to come.
    """

    def __init__(self, message: str, dataset: str, number: int, state: str) -> None:
        super().__init__(message)
        self.dataset, self.number, self.state = dataset, number, state

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild with the attributes."""
        return ApprovalNeededError, (str(self), self.dataset, self.number, self.state)
