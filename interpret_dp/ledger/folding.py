"""From entries to accounts: the log is read from its beginning, one entry after the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account, Budget, Request
from interpret_dp.ledger.approval import Approval
from interpret_dp.ledger.chain import Entry

__all__ = ["Books", "fold_all"]

_Part = TypeVar("_Part")

_ONE_ROW = Neighbourhood().protected
_ADVICE = "Run verify() and restore the ledger from a backup."


@dataclass
class _Book:
    """An account while the log is read."""

    names: list[str]
    budget: Budget | None = None
    requests: dict[int, Request] = field(default_factory=dict)
    approvals: dict[int, Approval] = field(default_factory=dict)
    approval_above: float | None = None
    renewed: list[Entry] = field(default_factory=list)
    acts: list[Entry] = field(default_factory=list)

    def copy(self) -> _Book:
        """Return a book of the same content, to write in; what it holds is never changed."""
        return dataclasses.replace(
            self,
            names=list(self.names),
            requests=dict(self.requests),
            approvals=dict(self.approvals),
            renewed=list(self.renewed),
            acts=list(self.acts),
        )

    def take_over(self, other: _Book) -> None:
        """Add another account to this one, whose budget stays in force."""
        self.names += other.names
        self.requests = _in_order(self.requests | other.requests)
        self.approvals = _in_order(self.approvals | other.approvals)
        self.acts = sorted([*self.acts, *other.acts], key=lambda entry: entry.number)
        thresholds = [t for t in (self.approval_above, other.approval_above) if t is not None]
        self.approval_above = min(thresholds, default=None)
        if self.budget is not None and other.budget is not None:
            # Whom the owner of either name wanted to be protected stays protected.
            protected = self.budget.protected or other.budget.protected
            self.budget = dataclasses.replace(self.budget, protected=protected)

    def account(self, dataset: str) -> Account:
        """Return the account as it is now, under one of its names."""
        used = [r.approval for r in self.requests.values() if r.state != "cancelled"]
        return Account(
            dataset,
            self.budget,
            tuple(self.requests.values()),
            names=tuple(self.names),
            approvals=tuple(
                dataclasses.replace(approval, used=used.count(approval.number))
                for approval in self.approvals.values()
            ),
            approval_above=self.approval_above,
            renewed=tuple(self.renewed),
            acts=tuple(self.acts),
        )


class Books:
    """All accounts up to an entry of the log; never changes what it says.

    Attributes
    ----------
    general : tuple of Entry
        The acts on the whole ledger, in order.
    """

    def __init__(
        self, books: Mapping[str, _Book] | None = None, general: tuple[Entry, ...] = ()
    ) -> None:
        self._books = dict(books or {})
        self._accounts: dict[str, Account] = {}
        self.general = general

    def account(self, dataset: str) -> Account:
        """Return an account by one of its names; an empty one if nothing is known of it."""
        if dataset not in self._accounts:
            book = self._books.get(dataset) or _Book([dataset])
            self._accounts[dataset] = book.account(dataset)
        return self._accounts[dataset]

    def extended(self, entries: Iterable[Entry]) -> Books:
        """Return what is known after more entries, in order.

        Raises
        ------
        LedgerError
            If an entry closes a reservation that is not open, or is of an unknown kind.
        """
        books = _Copies(self._books)
        general = []
        for entry in entries:
            if entry.dataset:
                _add(books, entry)
            else:
                general.append(entry)
        return Books(books.all, (*self.general, *general))

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the data sets."""
        return iter(self._books)


class _Copies:
    """Books of which those that are changed are copied first; linked names have one book."""

    def __init__(self, books: Mapping[str, _Book]) -> None:
        self.all = dict(books)
        self._own: set[int] = set()

    def of(self, dataset: str) -> _Book:
        """Return the book of a data set, to write in."""
        book = self.all.get(dataset)
        if book is None:
            book = _Book([dataset])
        elif id(book) not in self._own:
            book = book.copy()
        self._own.add(id(book))
        for name in book.names:
            self.all[name] = book
        return book


def fold_all(entries: Iterable[Entry]) -> dict[str, Account]:
    """Return the accounts of all data sets, by name; linked names have one account.

    Raises
    ------
    LedgerError
        As :meth:`Books.extended`.
    """
    books = Books().extended(entries)
    return {name: books.account(name) for name in books}


def _add(books: _Copies, entry: Entry) -> None:
    book = books.of(entry.dataset)
    if entry.kind == "link":
        _link(books, book, entry)
        return
    handler = _HANDLERS.get(entry.kind)
    if handler is None:
        raise LedgerError(
            f"Entry {entry.number} of the ledger is of the unknown kind {entry.kind!r}. If a "
            "newer interpret_dp wrote it, upgrade to that version; otherwise run verify() and "
            "restore the ledger from a backup."
        )
    handler(book, entry)


def _set_budget(book: _Book, entry: Entry) -> None:
    book.acts.append(entry)
    old = book.budget
    expires = entry.facts.get("expires")
    if entry.kind == "raise" and old is not None:
        expires = old.expires
    book.budget = Budget(
        entry.dataset if old is None else old.dataset,
        entry.epsilon or 0.0,
        entry.epsilon_delta or 0.0,
        entry.delta,
        entry.mu,
        entry.purpose,
        # A raise and a renewal say nothing of it: what was declared stays.
        entry.protected or (old.protected if old else None),
        None if expires is None else str(expires),
    )


def _renew(book: _Book, entry: Entry) -> None:
    _set_budget(book, entry)
    book.renewed.append(entry)
    if entry.facts.get("new_people"):
        book.requests = {
            number: dataclasses.replace(request, counts=False)
            for number, request in book.requests.items()
        }


def _link(books: _Copies, book: _Book, entry: Entry) -> None:
    """Join two accounts; the act is written into both, and done by the first of the two entries."""
    target = entry.facts.get("to")
    if target is not None:
        other = books.of(str(target))
        if other is book:
            raise LedgerError(
                f"Entry {entry.number} of the ledger links {entry.dataset!r} to {target!r}, which "
                f"share an account already. {_ADVICE}"
            )
        other.take_over(book)
        for name in book.names:
            books.all[name] = other
        other.acts.append(entry)
    elif entry.facts.get("with") not in book.names:
        raise LedgerError(
            f"Entry {entry.number} of the ledger is the second half of a link whose first half is "
            f"missing. {_ADVICE}"
        )


def _set_policy(book: _Book, entry: Entry) -> None:
    book.acts.append(entry)
    above = entry.facts.get("approval_above")
    book.approval_above = None if above is None else float(above)


def _reserve(book: _Book, entry: Entry) -> None:
    facts = entry.facts
    book.requests[entry.number] = Request(
        entry.number,
        entry.time,
        entry.explainer,
        entry.purpose,
        entry.epsilon or 0.0,
        entry.epsilon_delta or 0.0,
        entry.mu,
        entry.delta,
        # Read once: an account may have many requests.
        protected=str(facts.get("protected", _ONE_ROW)),
        dataset=entry.dataset,
        user=str(facts.get("user", "")),
        host=str(facts.get("host", "")),
        package_version=entry.package_version,
        approval=facts.get("approval"),
    )


def _close(book: _Book, entry: Entry) -> None:
    request = book.requests.get(entry.reservation or 0)
    if request is None or request.state != "open":
        raise LedgerError(
            f"Entry {entry.number} of the ledger closes reservation {entry.reservation}, "
            f"which is not open. {_ADVICE}"
        )
    book.requests[request.number] = dataclasses.replace(
        request,
        mu=entry.mu,
        delta=entry.delta,
        state="committed" if entry.kind == "commit" else "cancelled",
    )


def _ask(book: _Book, entry: Entry) -> None:
    book.approvals[entry.number] = Approval(
        number=entry.number,
        time=entry.time,
        dataset=entry.dataset,
        asked_by=entry.user,
        user=str(entry.facts.get("for_user", entry.user)),
        explainer=entry.explainer,
        purpose=entry.purpose,
        epsilon=entry.epsilon or 0.0,
        delta=entry.epsilon_delta or 0.0,
    )


_ANSWERS = {"approve": "approved", "reject": "rejected", "withdraw": "withdrawn"}


def _answer(book: _Book, entry: Entry) -> None:
    approval = book.approvals.get(entry.reservation or 0)
    allowed = ("waiting", "approved") if entry.kind == "withdraw" else ("waiting",)
    if approval is None or approval.state not in allowed:
        raise LedgerError(
            f"Entry {entry.number} of the ledger answers request for approval {entry.reservation}, "
            f"which does not wait for it. {_ADVICE}"
        )
    answered = dataclasses.replace(
        approval,
        state=_ANSWERS[entry.kind],
        decided_by=entry.user,
        decided=entry.time,
        reason=entry.purpose,
    )
    if entry.kind == "approve":
        facts = entry.facts
        answered = dataclasses.replace(
            answered, expires=facts.get("expires"), uses=int(facts.get("uses", 1))
        )
    book.approvals[approval.number] = answered


def _in_order(parts: dict[int, _Part]) -> dict[int, _Part]:
    return dict(sorted(parts.items()))


_HANDLERS: dict[str, Callable[[_Book, Entry], None]] = {
    "budget": _set_budget,
    "raise": _set_budget,
    "renew": _renew,
    "policy": _set_policy,
    "reserve": _reserve,
    "commit": _close,
    "cancel": _close,
    "ask": _ask,
    "approve": _answer,
    "reject": _answer,
    "withdraw": _answer,
}
