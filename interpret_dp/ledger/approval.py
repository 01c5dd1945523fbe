"""Requests for approval: what an officer agreed to, and which request it covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from interpret_dp.accounting.composition import GdpPair
from interpret_dp.ledger.clock import has_passed

__all__ = ["Approval", "Wanted", "covering"]

_ROUNDING = 1e-6
"""Relative room of an approved epsilon: a request for the very same epsilon is calibrated to mu
and back. What is spent is bounded by the budget, not by this."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A request that needs an approval.

    Attributes
    ----------
    dataset, user, explainer, purpose : str
        To which name it would be charged, who asks, which class asks, and what for.
    pair : GdpPair
        The most that it can cost.
    """

    dataset: str
    user: str
    explainer: str
    purpose: str
    pair: GdpPair


@dataclass(frozen=True, kw_only=True)
class Approval:
    """A request for approval and what became of it.

    Attributes
    ----------
    number : int
        Of its entry in the log; officers name it by this.
    time : str
        The date (UTC) on which it was made.
    dataset : str
        The name to which the spending would be charged.
    asked_by, user : str
        Who wrote the request, and who is to spend.
    explainer : str
        The class that is to spend; empty: any.
    purpose : str
        What for; a request under it must say the same.
    epsilon, delta : float
        What each request under it may cost at most.
    state : {"waiting", "approved", "rejected", "withdrawn"}
        What was decided.
    decided_by, decided, reason : str
        By whom, when and with which words; empty while it waits.
    expires : str or None
        The moment from which an approval holds no more.
    uses : int
        How many requests it covers.
    used : int
        How many were made under it and not returned unspent.
    """

    number: int
    time: str
    dataset: str
    asked_by: str
    user: str
    explainer: str
    purpose: str
    epsilon: float
    delta: float
    state: str = "waiting"
    decided_by: str = ""
    decided: str = ""
    reason: str = ""
    expires: str | None = None
    uses: int = 1
    used: int = 0

    @property
    def status(self) -> str:
        """The state in one word, "used" and "expired" included, as of now."""
        if self.state != "approved":
            return self.state
        if self.used >= self.uses:
            return "used"
        return "expired" if has_passed(self.expires) else "approved"

    def covers(self, wanted: Wanted) -> bool:
        """Whether the request is one of those that were asked for; whatever was decided."""
        return self._speaks_of(wanted) and self._cost(wanted) <= self.epsilon * (1.0 + _ROUNDING)

    def refuses(self, wanted: Wanted) -> bool:
        """Whether this very request was rejected: one that costs less is another request."""
        cheaper = self._cost(wanted) < self.epsilon * (1.0 - _ROUNDING)
        return self.state == "rejected" and self.covers(wanted) and not cheaper

    def _speaks_of(self, wanted: Wanted) -> bool:
        same = (self.dataset, self.user, self.purpose) == (
            wanted.dataset,
            wanted.user,
            wanted.purpose,
        )
        return same and self.explainer in ("", wanted.explainer)

    def _cost(self, wanted: Wanted) -> float:
        return wanted.pair.epsilon_at(self.delta)


def covering(approvals: Iterable[Approval], wanted: Wanted) -> Approval | None:
    """Return the approval that speaks of a request: a usable one, else the latest unused answer.

    Returns
    -------
    Approval or None
        One of the status "approved" (the oldest), "waiting", or "rejected" if nothing was asked
        since; None if an approval has to be asked for.
    """
    matching = [approval for approval in approvals if approval.covers(wanted)]
    for status in ("approved", "waiting"):
        for approval in matching:
            if approval.status == status:
                return approval
    return matching[-1] if matching and matching[-1].refuses(wanted) else None
