"""The privacy ledger: reserve a request's cost, run it, commit the charge.

A reservation counts as spent from the moment it is written. A crash between reserve and commit
leaves it open, and an open reservation counts as spent for ever: what the crashed run released
cannot be known. The ledger never sees rows and stores no figure of them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from interpret_dp._documents import canonical_json
from interpret_dp._validate import check_name, check_real, moment_text
from interpret_dp.accounting.composition import GdpPair, reduce_event
from interpret_dp.accounting.events import SMALLEST_MU
from interpret_dp.exceptions import BudgetExpiredError, LedgerError
from interpret_dp.ledger import roles
from interpret_dp.ledger.account import Account, ProposedRequest, admits, refusal, within_limits
from interpret_dp.ledger.budgets import LedgerBudgets, other_promise
from interpret_dp.ledger.chain import ONE_ROW, Entry, check_text, has_passed, in_days
from interpret_dp.ledger.handle import tried_again
from interpret_dp.ledger.reader import refuse_unlimited

if TYPE_CHECKING:
    from interpret_dp.ledger.store import Log

_EVENT_TOLERANCE = 1e-9
# Hashes of the open reservations that this process made. Only it knows what it released under them:
# another one, after a crash, can but charge them in full.
_made_here: set[str] = set()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_made_here.clear)


@dataclass(frozen=True)
class Reservation:
    """A request's place in the ledger, from reserve to commit or cancel.

    Attributes
    ----------
    dataset : str
        The data set that is charged.
    number : int
        The number of the entry that reserved it.
    mu, delta : float
        The reserved pair.
    hash : str
        The entry's hash, which ties the reservation to this ledger.
    committed : str
        Hash of the entry by which it was committed before a crash; empty: it is open.
    is_resumed : bool
        Whether it was made before a crash, and found again by its token.
    """

    dataset: str
    number: int
    mu: float
    delta: float
    hash: str
    committed: str = ""
    is_resumed: bool = False


class PrivacyLedger(LedgerBudgets, roles.LedgerApprovals, roles.LedgerRoles, roles.LedgerOversight):
    """A budget that outlives the process, and the log of everything charged to it.

    Parameters
    ----------
    url : str
        A file, ``sqlite:///privacy.db`` (below the working folder) or
        ``sqlite:////data/privacy.db``, which :meth:`create_budget` begins if it is not there; or a
        database of a PostgreSQL server, ``postgresql://user@host/database`` (extra ``postgres``;
        ``docs/ledger.md``). A password stays in this object: pickles and reports carry none.
    timeout : float
        Seconds to wait while another process holds the ledger, or its server restarts.

    Raises
    ------
    TypeError, ValueError
        If the URL cannot be read or names a database that the ledger does not know.
    LedgerError
        If the folder does not exist, the server does not answer or refuses the user, or the
        database is locked, damaged, no ledger, or too new.
    ModuleNotFoundError
        If the database needs an extra that is not installed.

    Notes
    -----
    What is promised: as long as the file is neither rolled back nor copied, everything released
    under reservations on one data set is together (epsilon, delta)-differentially private for
    the budget's epsilon and delta, even if each request was chosen after seeing the outputs of
    the earlier ones (``docs/proofs/ledger-filter.md``).

    Copies, deep copies and scikit-learn clones are the same ledger. A pickle carries the URL only
    and opens the file on first use. An in-memory ledger refuses every other process, forks
    included.

    Examples
    --------
    >>> ledger = PrivacyLedger.in_memory()  # in earnest: PrivacyLedger("sqlite:///privacy.db")
    >>> budget = ledger.create_budget("ward", epsilon=4, delta=1e-6)
    >>> ledger.remaining("ward")
    4.0
    >>> head = ledger.verify()  # of the chain of entries; keep it elsewhere
    """

    @tried_again
    def reserve(
        self,
        dataset: str,
        *,
        mu: float,
        delta: float,
        event: Mapping[str, Any],
        epsilon: float,
        epsilon_delta: float,
        explainer: str,
        purpose: str = "",
        protected: str = ONE_ROW,
        token: str = "",
    ) -> Reservation:
        """Count a request as spent before it runs, or refuse it.

        Parameters
        ----------
        dataset : str
            The data set to charge.
        mu, delta : float
            The pair to which the request was reduced; the most that it can cost.
        event : mapping
            JSON document of the request's event tree.
        epsilon, epsilon_delta : float
            The guarantee that the user asked for.
        explainer : str
            Who asks.
        purpose : str
            What for; by default what :meth:`for_purpose` said.
        protected : str
            Whom the request's guarantee protects
            (:attr:`interpret_dp.accounting.lattice.Neighbourhood.protected`).
        token : str
            Of a request that goes on after a crash: what it has reserved already is returned, and
            not charged again, if it is the very same request. By default another one for each call.

        Raises
        ------
        BudgetExceededError
            If the pair does not fit under the budget; nothing was spent.
        LedgerError
            If the ledger has no budget for the data set, unless it is in memory and has none at
            all; or the earlier requests protect somebody else: their losses and this one cannot be
            added; or the token is that of another request.
        RoleError, BudgetExpiredError
            If the user may not spend, or the budget has expired.
        ApprovalNeededError
            If an officer must approve the request first. It then waits for the answer in the log;
            nothing was spent.
        TypeError, ValueError
            If an argument is out of range, or the event costs more than the pair says or is of a
            kind that is only read.
        """
        dataset = check_name("dataset", dataset)
        explainer = check_name("explainer", explainer)
        epsilon = check_real("epsilon", epsilon, low=0)
        epsilon_delta = check_real("epsilon_delta", epsilon_delta, low=0, high=1, high_open=True)
        protected = check_name("protected", protected, longest=None)
        purpose = check_text(purpose) or self.purpose
        pair = _charged_pair(GdpPair(mu, delta), event)
        with self._opened().writing() as log:
            appointed, user = roles.read_roles(log), log.user()
            appointed.require_spender(user, dataset)
            account = log.account(dataset)
            known = _reserved(log, token)
            if known is not None:
                request = (dataset, protected, pair.mu, pair.delta, canonical_json(event))
                return _resumed(*known, request)
            refuse_unlimited(log, account, persistent=self.persistent)
            if account.protected not in (None, protected):
                raise other_promise(account, protected)
            _refuse_expired(account)
            if not admits(account, pair):
                raise refusal(account, pair, epsilon, epsilon_delta)
            proposed = ProposedRequest(
                dataset=dataset, user=user, explainer=explainer, purpose=purpose, pair=pair
            )
            # What is refused here waits in the log for an officer, so the error comes after it.
            approval = roles.approval_for(log, account, proposed)
            if approval is None or approval.status == "approved":
                details = {
                    "protected": protected,
                    "approval": approval and approval.number,
                    # Two processes may make the same request on the same day. Each knows its own
                    # entry by the hash, also after a lost connection.
                    "token": token or uuid4().hex,
                    # It took the whole budget: a commit charges all of it.
                    "whole_budget": None if within_limits(account, pair) else True,
                }
                entry = log.append(
                    details,
                    kind="reserve",
                    dataset=dataset,
                    mu=pair.mu,
                    delta=pair.delta,
                    epsilon=epsilon,
                    epsilon_delta=epsilon_delta,
                    explainer=explainer,
                    purpose=purpose,
                    event=canonical_json(event),
                )
                _made_here.add(entry.hash)
                return Reservation(dataset, entry.number, pair.mu, pair.delta, entry.hash)
        raise roles.approval_needed_error(approval, appointed)

    def commit(
        self,
        reservation: Reservation,
        *,
        charged_mu: float | None = None,
        conditions: Sequence[str] = (),
        failures: Sequence[str] = (),
    ) -> str:
        """Charge a reservation for good; return the hash of the log's new head.

        Parameters
        ----------
        reservation : Reservation
            Of this ledger, still open.
        charged_mu : float, optional
            For a request that chose its parameters while it ran: the composition of what it
            released, at most the reserved mu. It must follow from released figures alone. By
            default the whole reservation is charged; always so if it took the whole budget, beyond
            what is kept for selections.
        conditions, failures : sequence of str
            On what the promise of the request depends, and why it does not hold, as clauses
            (:class:`~interpret_dp.accounting.guarantee.Guarantee`). The entry carries them.

        Raises
        ------
        LedgerError
            If the reservation is of another ledger, or is closed already; or if less than all of it
            is to be charged by a process that did not make it.
        ValueError
            If ``charged_mu`` is above the reserved mu; the reservation stays open and counts as
            spent.
        """
        _check_reservation(reservation)
        charged = reservation.mu
        if charged_mu is not None:
            charged = check_real("charged_mu", charged_mu, low=0, high=reservation.mu)
            # No entry can hold less, so a smaller charge is rounded up.
            charged = max(charged, SMALLEST_MU) if charged else charged
        clauses = {
            "conditions": [check_text(clause) for clause in conditions] or None,
            "failures": [check_text(clause) for clause in failures] or None,
        }
        return self._close(reservation, "commit", charged, reservation.delta, clauses)

    def cancel(self, reservation: Reservation) -> str:
        """Return a reservation unspent; return the hash of the log's new head.

        Only right if nothing was released under it. The ledger cannot know that; the release
        session does. So only the process that made it can: what one that crashed had released is
        known to nobody.

        Parameters
        ----------
        reservation : Reservation
            What :meth:`reserve` returned.

        Raises
        ------
        LedgerError
            If the reservation is of another ledger or process, or is closed already.
        """
        _check_reservation(reservation)
        return self._close(reservation, "cancel", 0.0, 0.0)

    @tried_again
    def _close(
        self,
        reservation: Reservation,
        kind: str,
        mu: float,
        delta: float,
        details: Mapping[str, Any] | None = None,
    ) -> str:
        name = f"Reservation {reservation.number} of data set {reservation.dataset!r}"
        if_not_written = (
            f"{name} is open and counts as spent. Close it from this process, once the ledger can "
            f"be written, with {kind}(reservation), or leave it open: nothing more is charged."
        )
        with self._opened().writing(if_not_written) as log:
            entry = log.entry(reservation.number)
            if entry is None or entry.kind != "reserve" or entry.hash != reservation.hash:
                raise LedgerError(f"{name} is not in {self!r}. Close it on the one that made it.")
            account = log.account(entry.dataset)
            state = next(r.state for r in account.requests if r.number == entry.number)
            if state != "open":
                raise LedgerError(
                    f"{name} is {state} already; each is closed once. Make a new request."
                )
            if kind == "commit" and entry.details.get("whole_budget"):
                mu = entry.mu
            if mu < entry.mu and entry.hash not in _made_here:
                raise LedgerError(
                    f"{name} was made by another process, which alone knows what it released; it "
                    "counts as spent. Leave it open, or charge all of it with commit(reservation)."
                )
            closing = log.append(
                details,
                kind=kind,
                dataset=entry.dataset,
                reservation=entry.number,
                explainer=entry.explainer,
                mu=mu,
                delta=delta,
            )
        _made_here.discard(reservation.hash)
        return closing.hash


def default_ledger() -> PrivacyLedger:
    """Return the in-memory ledger of this process, used where no ledger is given.

    A process that was forked has one of its own, which knows nothing of its parent's.

    Examples
    --------
    >>> from interpret_dp.ledger import default_ledger
    >>> default_ledger()
    PrivacyLedger.in_memory()
    """
    return _ledger_of_process(os.getpid())


@functools.cache
def _ledger_of_process(_pid: int) -> PrivacyLedger:
    return PrivacyLedger.in_memory()


def _reserved(log: Log, token: str) -> tuple[Entry, Entry | None] | None:
    """Return what a request has reserved before a crash, which was not cancelled."""
    known = log.reserved(token) if token else None
    was_cancelled = known is not None and known[1] is not None and known[1].kind == "cancel"
    return None if was_cancelled else known


def _resumed(entry: Entry, closing: Entry | None, request: tuple[object, ...]) -> Reservation:
    """Return what was reserved before a crash, for the very same request only."""
    protected = entry.details.get("protected")
    if request != (entry.dataset, protected, entry.mu, entry.delta, entry.event):
        raise LedgerError(
            f"Reservation {entry.number} of data set {entry.dataset!r} was made for this fit "
            "before a crash, with another data set, epsilon, delta, plan or privacy unit. It "
            "counts as spent, and pays for nothing else. Begin a new fit, with a new journal."
        )
    committed = "" if closing is None else closing.hash
    pair = entry.mu, entry.delta
    return Reservation(entry.dataset, entry.number, *pair, entry.hash, committed, is_resumed=True)


def _check_reservation(reservation: Reservation) -> None:
    if not isinstance(reservation, Reservation):
        raise TypeError(
            f"reservation is of type {type(reservation).__name__}; give what reserve() returned."
        )


def _refuse_expired(account: Account) -> None:
    budget = account.budget
    if budget is None or budget.expires is None or not budget.has_expired:
        return
    shown = ""
    if budget.ended_by and not has_passed(budget.expires):
        shown = (
            f" This machine's clock says {moment_text(in_days(0))}, but {budget.ended_by}. Set the "
            "clock; if that date is wrong, a renewal mends it: earlier dates do not count."
        )
    raise BudgetExpiredError(
        f"The budget of data set {account.dataset!r} has expired, on "
        f"{moment_text(budget.expires)}.{shown} Nothing was spent. An officer renews it with "
        f"ledger.renew_budget({account.dataset!r}, reason=..., expires=...) or `interpret-dp "
        "ledger renew`; earlier spending still counts.",
        account.dataset,
        budget.expires,
    )


def _charged_pair(pair: GdpPair, event: Mapping[str, Any]) -> GdpPair:
    """Return the pair to charge, after checking that the event costs no more than it says."""
    cost = reduce_event(event)
    if cost.mu > pair.mu * (1.0 + _EVENT_TOLERANCE) or cost.delta > pair.delta:
        raise ValueError(
            f"The request has mu {pair.mu:.10g} and delta {pair.delta:.6g}; its event costs mu "
            f"{cost.mu:.10g} and delta {cost.delta:.6g}. Reserve at least reduce_event(event)."
        )
    return GdpPair(max(pair.mu, cost.mu), pair.delta)
