"""One account of the log: its budget, its requests, its approvals and its spending."""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from interpret_dp.accounting.composition import GdpPair, compose_repeated
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.accounting.state import Doubts, state_of
from interpret_dp.ledger.core.chain import Entry
from interpret_dp.ledger.core.names import has_passed

_ROUNDING = 1e-6
"""Relative room of an approved epsilon: a request for the very same epsilon is calibrated to mu
and back. What is spent is bounded by the budget, not by this."""


@dataclass(frozen=True, kw_only=True)
class ProposedRequest:
    """A request before it is written into the log.

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
    since : int
        Number of the entry that set the end.
    ended_by : str
        The entry after that one whose date shows that the end has passed, whatever this machine's
        clock says, in words; empty if there is none.

    Examples
    --------
    >>> from interpret_dp import PrivacyLedger
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=3, delta=1e-6)
    >>> ledger.approvals("ward")  # a list of Approval
    []
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
    since: int = 0
    ended_by: str = ""

    @property
    def status(self) -> str:
        """The state in one word, "used" and "expired" included, as of now.

        Now is the later of this machine's clock and the dates in the log (:class:`Budget`).
        """
        if self.state != "approved":
            return self.state
        if self.used >= self.uses:
            return "used"
        return "expired" if self.ended_by or has_passed(self.expires) else "approved"

    def covers(self, proposed: ProposedRequest) -> bool:
        """Whether the request is one of those that were asked for; whatever was decided."""
        return self._speaks_of(proposed) and self._cost(proposed) <= self.epsilon * (
            1.0 + _ROUNDING
        )

    def refuses(self, proposed: ProposedRequest) -> bool:
        """Whether this very request was rejected: one that costs less is another request."""
        cheaper = self._cost(proposed) < self.epsilon * (1.0 - _ROUNDING)
        return self.state == "rejected" and self.covers(proposed) and not cheaper

    def _speaks_of(self, proposed: ProposedRequest) -> bool:
        same = (self.dataset, self.user, self.purpose) == (
            proposed.dataset,
            proposed.user,
            proposed.purpose,
        )
        return same and self.explainer in ("", proposed.explainer)

    def _cost(self, proposed: ProposedRequest) -> float:
        return proposed.pair.epsilon_at(self.delta)


def covering(approvals: Iterable[Approval], proposed: ProposedRequest) -> Approval | None:
    """Return the approval that speaks of a request: a usable one, else the latest unused answer.

    Returns
    -------
    Approval or None
        One of the status "approved" (the oldest), "waiting", or "rejected" if nothing was asked
        since; None if an approval has to be asked for.
    """
    matching = [approval for approval in approvals if approval.covers(proposed)]
    for status in ("approved", "waiting"):
        for approval in matching:
            if approval.status == status:
                return approval
    return matching[-1] if matching and matching[-1].refuses(proposed) else None


_ONE_ROW = Neighbourhood().protected


@dataclass(frozen=True)
class Budget:
    """The limit that the owner of a data set puts on its spending.

    Attributes
    ----------
    dataset : str
        The data set's name.
    epsilon, delta : float
        Everything that is ever released is (epsilon, delta)-differentially private together.
    delta_x : float
        The part of delta that requests which are not purely Gaussian may use up.
    mu : float
        The limit B on sqrt(sum mu_i^2) that follows.
    purpose : str
        The owner's words; after a raise or a renewal, its reason.
    protected : str or None
        Whom every guarantee on the data set must protect; None if the owner did not say.
    expires : str or None
        The moment (ISO 8601, UTC) from which nothing may be spent until a renewal; None if never.
    since : int
        Number of the entry that set the end; 0 before it is written.
    ended_by : str
        The entry after that one whose date shows that the end has passed, whatever this machine's
        clock says, in words; empty if there is none. A date proves that its day (UTC) has begun.

    Examples
    --------
    >>> from interpret_dp import PrivacyLedger
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=3, delta=1e-6)
    >>> budget.epsilon, budget.delta_x
    (3.0, 1e-07)
    """

    dataset: str
    epsilon: float
    delta: float
    delta_x: float
    mu: float
    purpose: str = ""
    protected: str | None = None
    expires: str | None = None
    since: int = field(default=0, compare=False)
    ended_by: str = field(default="", compare=False)

    @property
    def has_expired(self) -> bool:
        """Whether its time is over, by this machine's clock or by a later date in the log."""
        return bool(self.ended_by) or has_passed(self.expires)


@dataclass(frozen=True)
class Request:
    """One request and what became of it.

    Attributes
    ----------
    number : int
        The entry that reserved it.
    time, explainer, purpose : str
        The date (UTC), which class asked, and what for.
    epsilon, epsilon_delta : float
        The guarantee that was asked for.
    mu, delta : float
        The pair that counts as spent: the reserved one while open, the charged one when
        committed, (0, 0) when cancelled.
    state : {"open", "committed", "cancelled"}
        An open request is running, or was left by a crash; it counts as spent.
    protected : str
        Whom its guarantee protects.
    dataset : str
        The name to which it was charged; one of the account's.
    user, host, package_version : str
        Who asked, where, and with which version of this package; empty in older ledgers.
    approval : int or None
        The request for approval under which it was made.
    counts : bool
        Whether it counts against the budget in force: False once the budget was renewed for new
        people.
    conditions, failures : tuple of str
        On what its guarantee depends, and why it does not hold; those of the request itself are
        known once it is committed.
    group : int
        How many of the units that it was made for one protected unit had at most, by the word of an
        officer; ``mu`` is that of them all.
    """

    number: int
    time: str
    explainer: str
    purpose: str
    epsilon: float
    epsilon_delta: float
    mu: float
    delta: float
    state: str = "open"
    protected: str = _ONE_ROW
    dataset: str = ""
    user: str = ""
    host: str = ""
    package_version: str = ""
    approval: int | None = None
    counts: bool = True
    conditions: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    group: int = 1

    @property
    def guarantee_state(self) -> str:
        """Whether its guarantee "holds", "holds if" conditions are met, or "does not hold"."""
        return state_of(self.conditions, self.failures)

    @property
    def pair(self) -> GdpPair:
        """The cost that counts as spent."""
        return GdpPair(self.mu, self.delta)


_Ending = TypeVar("_Ending", Budget, Approval)


def _ended(part: _Ending, dates: Iterable[tuple[int, str]]) -> _Ending:
    """Return a budget or an approval, marked if an entry after its own shows its end as passed."""
    number, date = next((entry for entry in dates if entry[0] > part.since), (0, ""))
    if not number or not has_passed(part.expires, date):
        return part
    return dataclasses.replace(part, ended_by=f"entry {number} of the log is dated {date}")


def total_of(requests: Iterable[Request]) -> GdpPair:
    """Return the composed pair of requests, rounded up."""
    # Requests of one kind cost the same, and there may be thousands of them.
    costs = Counter((request.mu, request.delta) for request in requests)
    return compose_repeated((GdpPair(*cost), count) for cost, count in costs.items())


@dataclass(frozen=True)
class Spent:
    """The spending on a data set; neither a raise nor a renewal forgets any of it.

    Attributes
    ----------
    dataset : str
        The data set's name.
    mu, delta : float
        The composed pair of all requests that count against the budget, rounded up.
    epsilon : float or None
        What the pair means at the budget's delta; None without a budget.
    open_reservations : int
        Requests that are running or were left by a crash; counted as spent.
    n_requests : int
        Requests that count against the budget and were not cancelled.
    period : GdpPair
        What was spent since the last renewal; the same as ``mu`` and ``delta`` if there was none.
    ever : GdpPair
        What was spent since the log began, renewals for new people or not.
    doubts : Doubts
        On what the guarantees of the counted requests depend, and why some do not hold.

    Examples
    --------
    >>> from interpret_dp import PrivacyLedger
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=3, delta=1e-6)
    >>> ledger.spent("ward").n_requests
    0
    """

    dataset: str
    mu: float
    delta: float
    epsilon: float | None
    open_reservations: int
    n_requests: int
    period: GdpPair
    ever: GdpPair
    doubts: Doubts = field(default_factory=Doubts)

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon of the spending at this delta; infinite if delta is too small."""
        return GdpPair(self.mu, self.delta).epsilon_at(delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        figures = dataclasses.asdict(self)
        del figures["doubts"]
        return figures


@dataclass(frozen=True)
class Account:
    """All that the log says about one account: a data set, or several names for the same people.

    Attributes
    ----------
    dataset : str
        The data set's name that was asked for.
    budget : Budget or None
        The budget in force; None if no limit was declared.
    requests : tuple of Request
        In the order of their reservations.
    names : tuple of str
        All names that share the account; the one whose budget it is comes first.
    approvals : tuple of Approval
        Requests for approval, in their order.
    approval_above : float or None
        Requests of more than this epsilon, at the budget's delta, need an approval; None: none do.
    renewed : tuple of Entry
        The renewals.
    acts : tuple of Entry
        Everything that officers did: budgets, raises, renewals, links, rules on approvals.
    """

    dataset: str
    budget: Budget | None
    requests: tuple[Request, ...]
    names: tuple[str, ...] = ()
    approvals: tuple[Approval, ...] = ()
    approval_above: float | None = None
    renewed: tuple[Entry, ...] = field(default=(), repr=False)
    acts: tuple[Entry, ...] = field(default=(), repr=False)

    def as_of(self, dates: Iterable[tuple[int, str]]) -> Account:
        """Return the account with the ends that the log itself shows to have passed.

        An officer who sets an end has seen the log: dates before that act do not count against
        it. So a renewal mends what a clock that ran ahead once left in the log.

        Parameters
        ----------
        dates : iterable of (int, str)
            Numbers of entries and their dates, each the latest of all that follow the one before.
        """
        approvals = tuple(_ended(approval, dates) for approval in self.approvals)
        budget = self.budget and _ended(self.budget, dates)
        if budget is self.budget and all(map(operator.is_, approvals, self.approvals)):
            return self
        return dataclasses.replace(self, budget=budget, approvals=approvals)

    @cached_property
    def ever(self) -> list[Request]:
        """Requests that were not cancelled."""
        return [request for request in self.requests if request.state != "cancelled"]

    @cached_property
    def counted(self) -> list[Request]:
        """Requests that count against the budget in force."""
        return [request for request in self.ever if request.counts]

    @property
    def conditions(self) -> tuple[str, ...]:
        """On what the guarantees of the counted requests depend, each clause once."""
        return tuple(dict.fromkeys(clause for r in self.counted for clause in r.conditions))

    @property
    def failures(self) -> tuple[str, ...]:
        """Why guarantees of counted requests do not hold, each clause once."""
        return tuple(dict.fromkeys(clause for r in self.counted for clause in r.failures))

    @property
    def guarantee_state(self) -> str:
        """The worst state of the guarantees of the counted requests."""
        return state_of(self.conditions, self.failures)

    @property
    def protected(self) -> str | None:
        """The unit that all guarantees on this data set protect; None while nothing fixes it."""
        if self.budget is not None and self.budget.protected is not None:
            return self.budget.protected
        return next((request.protected for request in self.ever), None)

    @cached_property
    def spent(self) -> Spent:
        """All spending so far."""
        counted, ever = self.counted, self.ever
        total = overall = period = total_of(counted)
        if len(ever) > len(counted):
            overall = total_of(ever)
        if self.renewed:
            start = self.renewed[-1].number
            period = total_of(request for request in counted if request.number > start)
        return Spent(
            dataset=self.dataset,
            mu=total.mu,
            delta=total.delta,
            epsilon=None if self.budget is None else total.epsilon_at(self.budget.delta),
            open_reservations=sum(request.state == "open" for request in counted),
            n_requests=len(counted),
            period=period,
            ever=overall,
            doubts=Doubts(self.conditions, self.failures),
        )
