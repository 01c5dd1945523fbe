"""What the log says about one data set: its budget, its requests, what was spent."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from interpret_dp.accounting.composition import GdpPair, compose_repeated
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.chain import Entry

__all__ = ["Account", "Budget", "Request", "Spent", "fold"]

_ONE_ROW = Neighbourhood().protected


@dataclass(frozen=True)
class Budget:
    """What the owner of a data set allows to be spent on it, for ever.

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
        The owner's words; after a raise, its reason.
    protected : str or None
        Whom every guarantee on the data set must protect; None if the owner did not say.
    """

    dataset: str
    epsilon: float
    delta: float
    delta_x: float
    mu: float
    purpose: str = ""
    protected: str | None = None


@dataclass(frozen=True)
class Request:
    """One request and what became of it.

    Attributes
    ----------
    number : int
        The entry that reserved it.
    time, explainer, purpose : str
        When, who and what for.
    epsilon, epsilon_delta : float
        The guarantee that was asked for.
    mu, delta : float
        The pair that counts as spent: the reserved one while open, the charged one when
        committed, (0, 0) when cancelled.
    state : {"open", "committed", "cancelled"}
        An open request is running, or was left by a crash; it counts as spent.
    protected : str
        Whom its guarantee protects.
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


@dataclass(frozen=True)
class Spent:
    """What was ever spent on a data set; raising its budget resets nothing.

    Attributes
    ----------
    dataset : str
        The data set's name.
    mu, delta : float
        The composed pair of all requests, rounded up.
    epsilon : float or None
        What the pair means at the budget's delta; None without a budget.
    open_reservations : int
        Requests that are running or were left by a crash; counted as spent.
    n_requests : int
        Requests that were not cancelled.
    """

    dataset: str
    mu: float
    delta: float
    epsilon: float | None
    open_reservations: int
    n_requests: int

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon of all spending at this delta; infinite if delta is too small."""
        return GdpPair(self.mu, self.delta).epsilon_at(delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Account:
    """All that the log says about one data set.

    Attributes
    ----------
    dataset : str
        The data set's name.
    budget : Budget or None
        The budget in force; None if no limit was declared.
    requests : tuple of Request
        In the order of their reservations.
    """

    dataset: str
    budget: Budget | None
    requests: tuple[Request, ...]

    @property
    def counted(self) -> list[Request]:
        """Requests that count as spent."""
        return [request for request in self.requests if request.state != "cancelled"]

    @property
    def protected(self) -> str | None:
        """Whom all guarantees on this data set protect; None while nothing says so."""
        if self.budget is not None and self.budget.protected is not None:
            return self.budget.protected
        return next((request.protected for request in self.counted), None)

    @property
    def spent(self) -> Spent:
        """What was ever spent."""
        counted = self.counted
        # Requests of one kind cost the same, and there may be thousands of them.
        costs = Counter((request.mu, request.delta) for request in counted)
        total = compose_repeated((GdpPair(*cost), count) for cost, count in costs.items())
        return Spent(
            dataset=self.dataset,
            mu=total.mu,
            delta=total.delta,
            epsilon=None if self.budget is None else total.epsilon_at(self.budget.delta),
            open_reservations=sum(request.state == "open" for request in counted),
            n_requests=len(counted),
        )


def fold(dataset: str, entries: Iterable[Entry], onto: Account | None = None) -> Account:
    """Return the account of a data set from its entries, in order.

    Parameters
    ----------
    dataset : str
        The data set's name.
    entries : iterable of Entry
        Its entries; all of them, or those that follow what ``onto`` says.
    onto : Account, optional
        The account so far.

    Raises
    ------
    LedgerError
        If an entry closes a reservation that is not open.
    """
    budget = onto.budget if onto else None
    requests = {request.number: request for request in onto.requests} if onto else {}
    for entry in entries:
        if entry.kind in ("budget", "raise"):
            budget = Budget(
                dataset,
                entry.epsilon or 0.0,
                entry.epsilon_delta or 0.0,
                entry.delta,
                entry.mu,
                entry.purpose,
                # A raise says nothing of it: what was declared stays.
                entry.protected or (budget.protected if budget else None),
            )
        elif entry.kind == "reserve":
            requests[entry.number] = Request(
                entry.number,
                entry.time,
                entry.explainer,
                entry.purpose,
                entry.epsilon or 0.0,
                entry.epsilon_delta or 0.0,
                entry.mu,
                entry.delta,
                protected=entry.protected or _ONE_ROW,
            )
        elif entry.kind in ("commit", "cancel"):
            request = requests.get(entry.reservation or 0)
            if request is None or request.state != "open":
                raise LedgerError(
                    f"Entry {entry.number} of the ledger closes reservation {entry.reservation}, "
                    "which is not open. Run verify() and restore the ledger from a backup."
                )
            requests[request.number] = dataclasses.replace(
                request,
                mu=entry.mu,
                delta=entry.delta,
                state="committed" if entry.kind == "commit" else "cancelled",
            )
        else:
            raise LedgerError(
                f"Entry {entry.number} of the ledger is of the unknown kind {entry.kind!r}. Run "
                "verify() and restore the ledger from a backup."
            )
    return Account(dataset, budget, tuple(requests.values()))
