"""One account of the log, and the filter that decides which requests its budget admits."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from interpret_dp._validate import ceil_text, check_real
from interpret_dp.accounting.composition import GdpPair, compose_repeated, gaussian_part
from interpret_dp.accounting.gaussian import epsilon_of_mu, largest_mu, mu_of_budget
from interpret_dp.accounting.guarantee import Doubts
from interpret_dp.exceptions import BudgetExceededError
from interpret_dp.ledger.chain import ONE_ROW, Entry, has_passed

# The privacy filter: which requests a budget admits. Pure arithmetic over the log.
#
# An analyst chooses each request after seeing earlier outputs. Under such adaptive choice a running
# total of privacy loss distributions is no valid stopping rule, but these two conditions are:
# sum mu_i^2 <= B^2 and sum delta_i <= delta_x, each on its own, open reservations counted. The
# first request, which no output has preceded, may use the whole budget instead. Statement and
# proof: ``docs/proofs/ledger-filter.md``.

_ROUNDING = 1e-12
"""Relative room for rounding errors of the sums. The limits are fixed below what the budget's
epsilon and delta allow by as much, so that using up the room keeps the promise."""


_LEFTOVER = 1e-9
"""A share of B^2 that is left over by calibration and rounding, and is of use to nobody."""


class DeltaExceededError(BudgetExceededError):
    """A request's own delta does not fit into the budget's ``delta_x``; nothing was spent.

    Attributes
    ----------
    requested_delta_part : float
        The delta of the request's (mu, delta) pair.
    remaining_delta_part : float
        What is left of ``delta_x``.
    mend : str
        The call that raises the budget far enough.
    """

    def __init__(
        self,
        error: BudgetExceededError,
        requested_delta_part: float,
        remaining_delta_part: float,
        mend: str,
    ) -> None:
        super().__init__(**vars(error))
        self.requested_delta_part = requested_delta_part
        self.remaining_delta_part = remaining_delta_part
        self.mend = mend
        self.args = (
            f"The budget of data set {error.dataset!r} does not cover this request: it needs "
            f"delta {requested_delta_part:.4g} for selections, and {remaining_delta_part:.4g} of "
            "the budget's delta_x is left. Nothing was spent. Either declare every level and class "
            "label in the schema, so that the fit of an additive model selects none (a "
            "DPLocallyLinearClassifier always needs some delta); or let the data's owner raise the "
            f"budget: {mend}, or `interpret-dp ledger raise`.",
        )


def fix_budget(
    dataset: str, epsilon: float, delta: float, delta_x: float = 0.0, purpose: str = ""
) -> Budget:
    """Return the budget whose limits keep everything (epsilon, delta)-differentially private.

    B is the largest mu with delta_x + (1 - delta_x) delta_G(epsilon; B) <= delta.

    Raises
    ------
    TypeError, ValueError
        If epsilon is not above 0, delta is not between 0 and 1, or delta_x is not below delta.
    """
    epsilon = check_real("epsilon", epsilon, low=0, low_open=True)
    delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
    mend = "It is the part of delta that requests which are not purely Gaussian may use up."
    delta_x = check_real("delta_x", delta_x, low=0, high=delta, high_open=True, mend=mend)
    left = gaussian_part(delta, delta_x * (1.0 + 2.0 * _ROUNDING))
    if left <= 0:
        raise ValueError(
            f"delta_x is {delta_x!r}, which leaves nothing of delta {delta!r} for Gaussian "
            "releases; it must be clearly below delta. Half of delta is a common choice."
        )
    mu = largest_mu(epsilon, left) * (1.0 - _ROUNDING)
    return Budget(dataset, epsilon, delta, delta_x, mu, purpose)


def admits(account: Account, pair: GdpPair) -> bool:
    """Whether the filter lets one more request of this pair through."""
    if within_limits(account, pair):
        return True
    budget = account.budget
    if budget is None or account.counted or not admits_delta(account, pair.delta):
        return False
    # Its mu is above B, and a commit charges all of it: nothing else fits any more.
    return pair.epsilon_at(budget.delta) <= budget.epsilon


def within_limits(account: Account, pair: GdpPair) -> bool:
    """Whether one more request of this pair keeps both sums within B^2 and delta_x."""
    if account.budget is None:
        return True
    squares = math.fsum((*(r.mu * r.mu for r in account.counted), pair.mu * pair.mu))
    within_mu = squares <= account.budget.mu**2 * (1.0 + _ROUNDING)
    return within_mu and admits_delta(account, pair.delta)


def admits_delta(account: Account, delta: float) -> bool:
    """Whether delta_x has room for one more request of this delta, whatever its mu."""
    if account.budget is None:
        return True
    deltas = math.fsum((*(r.delta for r in account.counted), delta))
    return deltas <= account.budget.delta_x * (1.0 + _ROUNDING)


def remaining_mu(account: Account) -> float:
    """Return the largest mu of one more Gaussian release; infinite without a budget.

    0.0 once less than a share of 1e-9 of the budget's B^2 is left.
    """
    if account.budget is None:
        return math.inf
    if not account.counted:
        return largest_mu(account.budget.epsilon, account.budget.delta) * (1.0 - _ROUNDING)
    limit = account.budget.mu**2
    left = math.fsum((limit, *(-r.mu * r.mu for r in account.counted)))
    return math.sqrt(left) if left > _LEFTOVER * limit else 0.0


def largest_epsilon(mu: float, delta: float) -> float:
    """Return the largest epsilon whose request, calibrated at this delta, needs at most ``mu``.

    Parameters
    ----------
    mu : float
        What is left; infinite if no limit was declared.
    delta : float
        Of the request, between 0 and 1.
    """
    if math.isinf(mu):
        return math.inf
    epsilon = epsilon_of_mu(mu, delta)
    # Ten digits, so that an untouched budget answers 4.0 and not 3.999999999996.
    epsilon = float(f"{epsilon:.10g}")
    while epsilon > 0.0 and mu_of_budget(epsilon, delta) > mu:
        epsilon *= 1.0 - 1e-11
    return epsilon


def refusal(
    account: Account, pair: GdpPair, epsilon: float, epsilon_delta: float
) -> BudgetExceededError:
    """Return the error for a request that the filter does not admit."""
    # The refusal of a request without a delta of its own says what fits at the budget's delta.
    budget = account.budget
    delta = epsilon_delta or (budget.delta if budget else 0.0)
    left = remaining_mu(account)
    error = BudgetExceededError(
        account.dataset,
        requested_epsilon=epsilon,
        requested_delta=epsilon_delta,
        requested_mu=pair.mu,
        remaining_mu=left,
        largest_epsilon=largest_epsilon(left, delta),
    )
    if budget is None or admits_delta(account, pair.delta):
        return error
    delta_x = ceil_text(math.fsum((*(r.delta for r in account.counted), pair.delta)))
    # As much more in all as for selections: a raise may not lower mu.
    total_delta = ceil_text(budget.delta + max(0.0, float(delta_x) - budget.delta_x))
    mend = (
        f"ledger.raise_budget({budget.dataset!r}, epsilon={budget.epsilon!r}, delta={total_delta}, "
        f"delta_x={delta_x}, reason=...)"
    )
    left = max(0.0, math.fsum((budget.delta_x, *(-r.delta for r in account.counted))))
    return DeltaExceededError(error, pair.delta, left, mend)


_SPENT_ROUNDING = 1e-6
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
        return (
            self.dataset == proposed.dataset
            and self.user == proposed.user
            and self.purpose == proposed.purpose
            and self.explainer in ("", proposed.explainer)
            and proposed.pair.epsilon_at(self.delta) <= self.epsilon * (1.0 + _SPENT_ROUNDING)
        )

    def refuses(self, proposed: ProposedRequest) -> bool:
        """Whether this very request was rejected: one that costs less is another request."""
        cheaper = proposed.pair.epsilon_at(self.delta) < self.epsilon * (1.0 - _SPENT_ROUNDING)
        return self.state == "rejected" and self.covers(proposed) and not cheaper


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
    protected: str = ONE_ROW
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
    def doubts(self) -> Doubts:
        """On what its guarantee depends, and why it does not hold."""
        return Doubts(self.conditions, self.failures)

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

    @cached_property
    def doubts(self) -> Doubts:
        """On what the guarantees of the counted requests depend, and why some do not hold."""
        conditions = dict.fromkeys(clause for r in self.counted for clause in r.conditions)
        failures = dict.fromkeys(clause for r in self.counted for clause in r.failures)
        return Doubts(tuple(conditions), tuple(failures))

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
            doubts=self.doubts,
        )
