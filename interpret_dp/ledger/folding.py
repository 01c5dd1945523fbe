"""Accounts from entries: the log is read from its beginning, one entry after the other.

The stored entries remain the truth. :class:`Running` only saves reading them again: each
transaction reads the entries after the last one that is known, checks that they continue the hash
chain from there, and adds them to their accounts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interpret_dp.accounting.composition import mu_of_group
from interpret_dp.accounting.guarantee import MOST_CENTRED_BEFORE
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account, Approval, Budget, Request
from interpret_dp.ledger.chain import CLOSING, GENESIS, ONE_ROW, Entry, check_next, unknown_kind

_VERSIONS_OF_VOID_CENTRES = ("0.1.0", "0.2.0.dev0")
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

    @classmethod
    def of(cls, account: Account) -> _Book:
        """Open the book of an account again."""
        return cls(
            list(account.names),
            account.budget,
            {request.number: request for request in account.requests},
            {approval.number: approval for approval in account.approvals},
            account.approval_above,
            list(account.renewed),
            list(account.acts),
        )

    def take_over(self, other: _Book) -> None:
        """Add another account to this one, whose budget stays in force."""
        self.names += other.names
        self.requests = dict(sorted({**self.requests, **other.requests}.items()))
        self.approvals = dict(sorted({**self.approvals, **other.approvals}.items()))
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


def fold_all(
    entries: Iterable[Entry], onto: Mapping[str, Account] | None = None
) -> dict[str, Account]:
    """Return the accounts of all data sets, by name; linked names have one account.

    Parameters
    ----------
    entries : iterable of Entry
        In order; all of them, or those that follow what ``onto`` says.
    onto : mapping of str to Account, optional
        The accounts so far, by name, as this function returned them.

    Raises
    ------
    LedgerError
        If an entry closes a reservation that is not open, or is of an unknown kind.
    """
    accounts = dict(onto or {})
    books: dict[str, _Book] = {}
    for entry in entries:
        if not entry.dataset:
            continue
        book = _open_book(books, accounts, entry.dataset)
        if entry.kind == "link":
            target = entry.details.get("to")
            staying = None if target is None else _open_book(books, accounts, str(target))
            _link(books, book, staying, entry)
            continue
        handler = HANDLERS.get(entry.kind)
        if handler is None:
            raise unknown_kind(entry)
        handler(book, entry)
    return accounts | {name: book.account(name) for name, book in books.items()}


def _open_book(books: dict[str, _Book], accounts: Mapping[str, Account], name: str) -> _Book:
    """Return the open book of a name; open it, for all names that share it, if it is closed."""
    if name not in books:
        known = accounts.get(name)
        book = _Book([name]) if known is None else _Book.of(known)
        books.update(dict.fromkeys(book.names, book))
    return books[name]


def _contradiction(entry: Entry, fault: str) -> LedgerError:
    """Return the error for an entry that cannot follow on those before it."""
    return LedgerError(f"Entry {entry.number} of the ledger {fault}. {_ADVICE}")


def _set_budget(book: _Book, entry: Entry) -> None:
    book.acts.append(entry)
    if entry.epsilon is None or not entry.epsilon_delta:
        figures = f"epsilon {entry.epsilon} at delta {entry.epsilon_delta}"
        raise _contradiction(entry, f"is damaged: it sets a budget of {figures}")
    old = book.budget
    expires, since = entry.details.get("expires"), entry.number
    if entry.kind == "raise" and old is not None:
        expires, since = old.expires, old.since
    book.budget = Budget(
        entry.dataset if old is None else old.dataset,
        entry.epsilon or 0.0,
        entry.epsilon_delta or 0.0,
        entry.delta,
        entry.mu,
        entry.purpose,
        # A raise and a renewal say nothing of it: what was declared stays.
        entry.protected or (old.protected if old else None),
        expires,
        since,
    )


def _renew(book: _Book, entry: Entry) -> None:
    _set_budget(book, entry)
    book.renewed.append(entry)
    if entry.details.get("new_people"):
        book.requests = {
            number: dataclasses.replace(request, counts=False)
            for number, request in book.requests.items()
        }


def _link(books: dict[str, _Book], book: _Book, staying: _Book | None, entry: Entry) -> None:
    """Join two accounts; the act is written into both, and done by the first of the two entries."""
    if staying is book:
        raise _contradiction(entry, f"links {entry.dataset!r}, which shares an account already")
    if staying is not None:
        staying.take_over(book)
        books.update(dict.fromkeys(book.names, staying))
        staying.acts.append(entry)
    elif entry.details.get("with") not in book.names:
        raise _contradiction(entry, "is the second half of a link whose first half is missing")


def _set_policy(book: _Book, entry: Entry) -> None:
    book.acts.append(entry)
    above = entry.details.get("approval_above")
    book.approval_above = None if above is None else float(above)


def _reserve(book: _Book, entry: Entry) -> None:
    details = entry.details
    book.requests[entry.number] = Request(
        entry.number,
        entry.date,
        entry.explainer,
        entry.purpose,
        entry.epsilon or 0.0,
        entry.epsilon_delta or 0.0,
        entry.mu,
        entry.delta,
        # Read once: an account may have many requests.
        protected=str(details.get("protected", ONE_ROW)),
        dataset=entry.dataset,
        user=str(details.get("user", "")),
        host=str(details.get("host", "")),
        package_version=entry.package_version,
        approval=details.get("approval"),
        conditions=_conditions_of_version(entry),
    )


def _conditions_of_version(entry: Entry) -> tuple[str, ...]:
    """Return what is known by now of requests of older versions: the log does not say it."""
    is_affected = entry.package_version in _VERSIONS_OF_VOID_CENTRES
    if not is_affected or entry.explainer != "DPLocallyLinearClassifier":
        return ()
    return (
        f"the maps of entry {entry.number}, of version {entry.package_version}, centred rows of at "
        f"most {MOST_CENTRED_BEFORE:,} features; with more, a sum of squares overflowed",
    )


def _close(book: _Book, entry: Entry) -> None:
    request = book.requests.get(entry.reservation or 0)
    if request is None or request.state != "open":
        raise _contradiction(entry, f"closes reservation {entry.reservation}, which is not open")
    book.requests[request.number] = dataclasses.replace(
        request,
        mu=mu_of_group(entry.mu, request.group),
        delta=entry.delta,
        state="committed" if entry.kind == "commit" else "cancelled",
        conditions=(*entry.details.get("conditions", ()), *request.conditions),
        failures=(*entry.details.get("failures", ()), *request.failures),
    )


def _change_unit(book: _Book, entry: Entry) -> None:
    """Let earlier requests protect a coarser unit, at the price of a group's, or fail to."""
    book.acts.append(entry)
    details = entry.details
    old, new, group = details.get("was"), str(details.get("protected")), details.get("at_most")
    if book.budget is not None:
        book.budget = dataclasses.replace(book.budget, protected=new)
    for number, request in book.requests.items():
        if request.protected != old:
            continue
        changes: dict[str, Any] = {"protected": new}
        if group is None:
            clause = f"it was made for ({old}), and nothing bounds how many of them belong together"
            changes["failures"] = (*request.failures, clause)
        else:
            clause = (
                f"in no request before entry {entry.number} of the ledger did more than {group} "
                f"units of ({old}) belong to a unit of ({new})"
            )
            changes["conditions"] = (*request.conditions, clause)
            changes["group"] = request.group * int(group)
            changes["mu"] = mu_of_group(request.mu, int(group))
        book.requests[number] = dataclasses.replace(request, **changes)


def _ask(book: _Book, entry: Entry) -> None:
    book.approvals[entry.number] = Approval(
        number=entry.number,
        time=entry.date,
        dataset=entry.dataset,
        asked_by=entry.user,
        user=str(entry.details.get("for_user", entry.user)),
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
        request = f"request for approval {entry.reservation}"
        raise _contradiction(entry, f"answers {request}, which does not wait for it")
    terms: dict[str, Any] = {}
    if entry.kind == "approve":
        details = entry.details
        terms = {"expires": details.get("expires"), "uses": details.get("uses", 1)}
        terms["since"] = entry.number
    book.approvals[approval.number] = dataclasses.replace(
        approval,
        state=_ANSWERS[entry.kind],
        decided_by=entry.user,
        decided=entry.date,
        reason=entry.purpose,
        **terms,
    )


HANDLERS: dict[str, Callable[[_Book, Entry], None]] = {
    **dict.fromkeys(("budget", "raise"), _set_budget),
    "renew": _renew,
    "policy": _set_policy,
    "unit": _change_unit,
    "reserve": _reserve,
    **dict.fromkeys(CLOSING, _close),
    "ask": _ask,
    **dict.fromkeys(_ANSWERS, _answer),
}


@dataclass(eq=False)
class Running:
    """The verified log up to an entry, as accounts; never changes what it says.

    Attributes
    ----------
    number : int
        Of the last entry that is known; 0 for an empty log.
    hash : str
        Of that entry.
    general : tuple of Entry
        The acts on the whole ledger, in order.
    dates : tuple of (int, str)
        Numbers and dates of entries, each the latest of all that follow the one before.
    """

    number: int = 0
    hash: str = GENESIS
    general: tuple[Entry, ...] = ()
    dates: tuple[tuple[int, str], ...] = ()
    # The accounts as far as they are folded, and the entries that are not folded yet: always
    # replaced together, so that threads fold no entry twice.
    _folded: tuple[Mapping[str, Account], tuple[Entry, ...]] = ({}, ())

    def account(self, dataset: str) -> Account:
        """Return the account of which a data set's name is one; an empty one if there is none.

        Raises
        ------
        LedgerError
            If the entries contradict each other.
        """
        accounts, waiting = self._folded
        if waiting:
            accounts = fold_all(waiting, onto=accounts)
            self._folded = (accounts, ())
        account = accounts.get(dataset) or Account(dataset, None, (), names=(dataset,))
        return account.as_of(self.dates)

    def after(self, known: Entry | None, entries: Iterable[Entry], name: str) -> Running:
        """Return what is known after more entries were read.

        Parameters
        ----------
        known : Entry or None
            The entry that now stands where the last known one stood.
        entries : iterable of Entry
            All that follow it, in order.
        name : str
            The ledger's, for messages.

        Raises
        ------
        LedgerError
            If the known entry is gone or another one, or the chain does not go on from there.
        """
        if self.number and (known is None or known.digest() != self.hash):
            if known is not None and known.hash == self.hash:
                check_next(known, self.number, known.previous)
            raise LedgerError(
                f"Entry {self.number} of the ledger {name} is not what this process saw there: the "
                "log was cut off, rewritten, or replaced by a backup. Restore the newest backup, "
                "and check it with verify(head=...) and the heads that your models carry. To go on "
                "with what is there, open it anew with PrivacyLedger(url)."
            )
        return self.extended(entries)

    def extended(self, entries: Iterable[Entry]) -> Running:
        """Return what is known after entries that continue the chain.

        Raises
        ------
        LedgerError
            If they do not.
        """
        number, digest = self.number, self.hash
        added, dates = [], list(self.dates)
        for entry in entries:
            number += 1
            check_next(entry, number, digest)
            digest = entry.hash
            added.append(entry)
            if entry.date:
                while dates and dates[-1][1] <= entry.date:
                    dates.pop()
                dates.append((number, entry.date))
        if not added:
            return self
        accounts, waiting = self._folded
        general = tuple(entry for entry in added if not entry.dataset)
        folded = (accounts, (*waiting, *added))
        return Running(number, digest, self.general + general, tuple(dates), folded)
