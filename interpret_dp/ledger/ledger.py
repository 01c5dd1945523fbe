"""The privacy ledger: reserve a request's cost, run it, commit the charge.

A reservation counts as spent from the moment it is written. A crash between reserve and commit
leaves it open, and an open reservation counts as spent for ever: what the crashed run released
cannot be known. The ledger never sees rows and stores no figure of them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_real
from interpret_dp.accounting.composition import GdpPair, reduce_event
from interpret_dp.accounting.neighbourhood import ADD_OR_REMOVE_ONE, Neighbourhood
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account, Budget
from interpret_dp.ledger.chain import canonical_json
from interpret_dp.ledger.filter import admits, fix_budget, refusal
from interpret_dp.ledger.reader import (
    LedgerReader,
    account_of,
    check_name,
    check_text,
    no_budget_error,
)

if TYPE_CHECKING:
    from interpret_dp.ledger.store import Log

__all__ = ["PrivacyLedger", "Reservation", "default_ledger"]

_EVENT_TOLERANCE = 1e-9
_ONE_ROW = Neighbourhood().protected


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
    """

    dataset: str
    number: int
    mu: float
    delta: float
    hash: str


class PrivacyLedger(LedgerReader):
    """A budget that outlives the process, and the log of everything charged to it.

    Parameters
    ----------
    url : str
        A file, ``sqlite:///privacy.db`` (below the working folder) or
        ``sqlite:////data/privacy.db``, which is created if it is not there; or a database of a
        PostgreSQL server, ``postgresql://user@host/database`` (extra ``postgres``;
        ``docs/ledger.md``). A password stays in this object: pickles and reports carry none.
    timeout : float
        Seconds to wait while another process holds the ledger, or its server restarts.

    Raises
    ------
    TypeError, ValueError
        If the URL cannot be read or names a database that the ledger does not know.
    LedgerError
        If the folder does not exist, the server does not answer or refuses the user, or the
        ledger is locked, damaged, none, or of a newer version.
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
    """

    def __init__(self, url: str = "sqlite:///privacy.db", *, timeout: float = 30.0) -> None:
        super().__init__(url, timeout=timeout)

    def create_budget(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        *,
        delta_x: float = 0.0,
        purpose: str = "",
        unit: str | None = None,
        neighboring: str | None = None,
    ) -> Budget:
        """Declare what may ever be spent on a data set.

        Parameters
        ----------
        dataset : str
            A name of your choice. The same people under two names have two budgets, and what is
            released about them is the sum of both. Never a hash of the content, which would tell
            whether a guessed table is the true one.
        epsilon, delta : float
            Everything ever released is (epsilon, delta)-differentially private together; above 0,
            delta below 1.
        delta_x : float
            The part of delta for requests that are not purely Gaussian; below delta.
        purpose : str
            The owner's words.
        unit : str, optional
            The identifier of people, as in ``PrivacyUnit(unit)``: requests that protect anything
            else are refused. With neither it nor ``neighboring`` the first request decides.
        neighboring : {"add_or_remove_one", "replace_one"}, optional
            The neighbouring relation, likewise; alone, it is about rows.

        Raises
        ------
        LedgerError
            If the data set has a budget already, or its requests protect something else.
        TypeError, ValueError
            If an argument is out of range.
        """
        dataset = check_name("dataset", dataset)
        budget = fix_budget(dataset, epsilon, delta, delta_x, check_text(purpose))
        if unit is not None or neighboring is not None:
            relation = ADD_OR_REMOVE_ONE if neighboring is None else neighboring
            protected = Neighbourhood(relation=relation, unit=unit).protected
            budget = dataclasses.replace(budget, protected=protected)
        with self._opened().writing() as log:
            account = account_of(log, dataset)
            if account.budget is not None:
                raise LedgerError(
                    f"Data set {dataset!r} has a budget already (epsilon "
                    f"{account.budget.epsilon:g}, delta {account.budget.delta:g}). See it with "
                    f"ledger.budget({dataset!r}) or `interpret-dp ledger report`; change it with "
                    "ledger.raise_budget(...)."
                )
            if budget.protected and account.protected not in (None, budget.protected):
                raise _other_promise(account, budget.protected)
            if not admits(dataclasses.replace(account, budget=budget), GdpPair(0.0)):
                raise LedgerError(
                    f"More than epsilon {budget.epsilon:g} at delta {budget.delta:g} was spent on "
                    f"data set {dataset!r} already, while no limit was declared. Declare a budget "
                    f"that covers ledger.spent({dataset!r})."
                )
            _append_budget(log, "budget", budget)
        return budget

    def raise_budget(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        *,
        reason: str,
        delta_x: float | None = None,
    ) -> Budget:
        """Replace a budget by a larger one, as a logged act; what was spent stays spent.

        Parameters
        ----------
        dataset : str
            A data set that has a budget.
        epsilon, delta : float
            The new total, not an addition.
        reason : str
            Why; it stays in the log for ever.
        delta_x : float, optional
            The new total for requests that are not purely Gaussian; by default the old one.

        Raises
        ------
        LedgerError
            If the data set has no budget.
        TypeError, ValueError
            If an argument is out of range, or the new budget is not larger than the old one.
        """
        dataset = check_name("dataset", dataset)
        reason = check_name("reason", reason, longest=None)
        with self._opened().writing() as log:
            old = account_of(log, dataset).budget
            if old is None:
                raise no_budget_error(dataset)
            new_delta_x = old.delta_x if delta_x is None else delta_x
            budget = fix_budget(dataset, epsilon, delta, new_delta_x, reason)
            grows = budget.mu > old.mu or budget.delta_x > old.delta_x
            if not grows or budget.mu < old.mu or budget.delta_x < old.delta_x:
                raise ValueError(
                    f"epsilon {epsilon!r}, delta {delta!r} and delta_x {new_delta_x!r} allow mu "
                    f"{budget.mu:.6g}; the budget in force (epsilon {old.epsilon:g}, delta "
                    f"{old.delta:g}, delta_x {old.delta_x:g}) allows mu {old.mu:.6g}. A raise may "
                    "lower neither mu nor delta_x, and must raise one of them."
                )
            _append_budget(log, "raise", budget)
        return budget

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
        protected: str = _ONE_ROW,
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
            What for.
        protected : str
            Whom the request's guarantee protects
            (:attr:`interpret_dp.accounting.neighbourhood.Neighbourhood.protected`).

        Raises
        ------
        BudgetExceededError
            If the pair does not fit under the budget; nothing was spent.
        LedgerError
            If a persistent ledger has no budget for the data set, or its earlier requests protect
            somebody else: their losses and this one cannot be added.
        TypeError, ValueError
            If an argument is out of range, or the event costs more than the pair says.
        """
        dataset = check_name("dataset", dataset)
        explainer = check_name("explainer", explainer)
        epsilon = check_real("epsilon", epsilon, low=0)
        epsilon_delta = check_real("epsilon_delta", epsilon_delta, low=0, high=1, high_open=True)
        protected = check_name("protected", protected, longest=None)
        pair = _charged_pair(GdpPair(mu, delta), event)
        with self._opened().writing() as log:
            account = account_of(log, dataset)
            if self.persistent and account.budget is None:
                raise no_budget_error(dataset)
            if account.protected not in (None, protected):
                raise _other_promise(account, protected)
            if not admits(account, pair):
                raise refusal(account, pair, epsilon, epsilon_delta)
            entry = log.append(
                kind="reserve",
                dataset=dataset,
                mu=pair.mu,
                delta=pair.delta,
                epsilon=epsilon,
                epsilon_delta=epsilon_delta,
                explainer=explainer,
                purpose=check_text(purpose),
                event=canonical_json(event),
                context=canonical_json({"protected": protected}),
            )
        return Reservation(dataset, entry.number, pair.mu, pair.delta, entry.hash)

    def commit(self, reservation: Reservation, *, charged_mu: float | None = None) -> str:
        """Charge a reservation for good; return the hash of the log's new head.

        Parameters
        ----------
        reservation : Reservation
            Of this ledger, still open.
        charged_mu : float, optional
            For a request that chose its parameters while it ran: the composition of what it
            released, at most the reserved mu. It must follow from released figures alone. By
            default the whole reservation is charged.

        Raises
        ------
        LedgerError
            If the reservation is of another ledger, or is closed already.
        ValueError
            If ``charged_mu`` is above the reserved mu; the reservation stays open and counts as
            spent.
        """
        _check_reservation(reservation)
        charged = reservation.mu
        if charged_mu is not None:
            charged = check_real("charged_mu", charged_mu, low=0, high=reservation.mu)
        return self._close(reservation, "commit", charged, reservation.delta)

    def cancel(self, reservation: Reservation) -> str:
        """Return a reservation unspent; return the hash of the log's new head.

        Only right if nothing was released under it. The ledger cannot know that; the release
        door does.

        Raises
        ------
        LedgerError
            If the reservation is of another ledger, or is closed already.
        """
        _check_reservation(reservation)
        return self._close(reservation, "cancel", 0.0, 0.0)

    def _close(self, reservation: Reservation, kind: str, mu: float, delta: float) -> str:
        with self._opened().writing() as log:
            entry = log.entry(reservation.number)
            if entry is None or entry.kind != "reserve" or entry.hash != reservation.hash:
                raise LedgerError(
                    f"Reservation {reservation.number} of data set {reservation.dataset!r} is not "
                    f"in {self!r}. Close it on the ledger that made it."
                )
            account = account_of(log, entry.dataset)
            state = next(r.state for r in account.requests if r.number == entry.number)
            if state != "open":
                raise LedgerError(
                    f"Reservation {entry.number} of data set {entry.dataset!r} is {state} already; "
                    "a reservation is closed once. Make a new one for a new request."
                )
            closing = log.append(
                kind=kind,
                dataset=entry.dataset,
                reservation=entry.number,
                explainer=entry.explainer,
                mu=mu,
                delta=delta,
            )
        return closing.hash


@functools.cache
def default_ledger() -> PrivacyLedger:
    """Return the in-memory ledger of this process, used where no ledger is given."""
    return PrivacyLedger.in_memory()


def _check_reservation(reservation: Reservation) -> None:
    if not isinstance(reservation, Reservation):
        raise TypeError(
            f"reservation is of type {type(reservation).__name__}; it must be what reserve() "
            "returned."
        )


def _other_promise(account: Account, protected: str) -> LedgerError:
    return LedgerError(
        f"The account of data set {account.dataset!r} protects ({account.protected}); this request "
        f"protects ({protected}). Losses of different promises do not add up to one. "
        "Nothing was spent. Use the same PrivacyUnit and the same neighboring as before, or "
        "another data set name with a budget of its own: each name's total then holds for its own "
        "releases alone."
    )


def _append_budget(log: Log, kind: str, budget: Budget) -> None:
    log.append(
        kind=kind,
        dataset=budget.dataset,
        mu=budget.mu,
        delta=budget.delta_x,
        epsilon=budget.epsilon,
        epsilon_delta=budget.delta,
        purpose=budget.purpose,
        context=canonical_json({"protected": budget.protected} if budget.protected else {}),
    )


def _charged_pair(pair: GdpPair, event: Mapping[str, Any]) -> GdpPair:
    """Return the pair to charge, after checking that the event costs no more than it says."""
    cost = reduce_event(event)
    if cost.mu > pair.mu * (1.0 + _EVENT_TOLERANCE) or cost.delta > pair.delta:
        raise ValueError(
            f"The request's pair is mu {pair.mu:.10g} and delta {pair.delta:.6g}, but its event "
            f"costs mu {cost.mu:.10g} and delta {cost.delta:.6g}. Reserve at least what "
            "reduce_event(event) says."
        )
    return GdpPair(max(pair.mu, cost.mu), pair.delta)
