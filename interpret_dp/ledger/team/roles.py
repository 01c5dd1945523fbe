"""Roles: officers decide on budgets, analysts spend; and an officer's view of the whole ledger.

The library checks names of user accounts and logs every act. It cannot hold back somebody who may
write the database by other programs: rights there are the database's (docs/ledger_team.md).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_choice, check_name
from interpret_dp._version import __version__
from interpret_dp.exceptions import LedgerError, RoleError
from interpret_dp.ledger.core.account import Account
from interpret_dp.ledger.core.chain import Entry, verify_chain, write_archive
from interpret_dp.ledger.core.folding import Running
from interpret_dp.ledger.core.handle import tried_again
from interpret_dp.ledger.core.names import check_text, in_days
from interpret_dp.ledger.core.reader import LedgerReader
from interpret_dp.ledger.core.reporting import oversight_document

if TYPE_CHECKING:
    from pathlib import Path

    from interpret_dp.ledger.core.store import Log

ROLES = ("officer", "analyst")
WHOLE_LEDGER = ""
"""Stands in the log in place of a data set's name, which is never empty."""

_FORMAT = "interpret_dp.ledger_report"
_VERSION = 1


@dataclass(frozen=True)
class Roles:
    """The roles that the log assigns.

    Attributes
    ----------
    officers : tuple of str
        User accounts that may declare, raise, renew and link budgets, approve requests and
        appoint others. Empty: everybody may, and what is done is logged.
    analysts : tuple of str
        User accounts that may spend, beside the officers.
    anybody_spends : bool
        Whether everybody may spend: until the first analyst is appointed, and never again.

    Examples
    --------
    >>> from interpret_dp import PrivacyLedger
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=3, delta=1e-6)
    >>> ledger.roles().anybody_spends
    True
    """

    officers: tuple[str, ...] = ()
    analysts: tuple[str, ...] = ()
    anybody_spends: bool = True

    def require_officer(self, user: str, act: str) -> None:
        """Raise RoleError if an act is for officers and the user is none."""
        if self.officers and user not in self.officers:
            raise RoleError(
                f"User {user!r} may not {act}: the ledger's officers are {_listed(self.officers)}. "
                "Nothing was changed. Ask one of them.",
                user,
                self.officers,
            )

    def require_spender(self, user: str, dataset: str) -> None:
        """Raise RoleError if only others may spend."""
        allowed = (*self.analysts, *self.officers)
        if not self.anybody_spends and user not in allowed:
            raise RoleError(
                f"User {user!r} may not spend on data set {dataset!r}: the ledger's analysts are "
                f"{_listed(self.analysts) or 'nobody now'}. Nothing was spent. Ask an officer "
                f"({_listed(self.officers)}) for "
                f"ledger.appoint({user!r}, 'analyst', reason=...).",
                user,
                allowed,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the roles for JSON."""
        return {
            "officers": list(self.officers),
            "analysts": list(self.analysts),
            "anybody_spends": self.anybody_spends,
        }


def roles_of(entries: Iterable[Entry]) -> Roles:
    """Return the roles from the log's entries on the whole ledger, in order."""
    held: dict[str, str] = {}
    anybody_spends = True
    for entry in entries:
        user = str(entry.details.get("subject"))
        if entry.kind == "appoint":
            held[user] = str(entry.details.get("role"))
            anybody_spends = anybody_spends and held[user] != "analyst"
        elif entry.kind == "dismiss":
            held.pop(user, None)
        else:
            raise LedgerError(
                f"Entry {entry.number} of the ledger is of the unknown kind {entry.kind!r}. If a "
                "newer interpret_dp wrote it, upgrade to that version; otherwise run verify() and "
                "restore the ledger from a backup."
            )
    officers, analysts = (tuple(u for u, r in held.items() if r == role) for role in ROLES)
    return Roles(officers, analysts, anybody_spends)


class LedgerRoles(LedgerReader):
    """Appointing and dismissing."""

    def roles(self) -> Roles:
        """Return who may do what."""
        with self._opened().reading() as log:
            return read_roles(log)

    @tried_again
    def appoint(self, user: str, role: str, *, reason: str = "") -> Roles:
        """Give a user a role, in place of the one that he has; a logged act of an officer.

        While there are no officers everybody may do this, and everybody may do everything. From
        the first officer on, only officers decide on budgets; from the first analyst on, only
        analysts and officers spend.

        Parameters
        ----------
        user : str
            Name of the user account, as the operating system knows it.
        role : {"officer", "analyst"}
        reason : str
            For the log.

        Raises
        ------
        RoleError
            If officers are named and the user who asks is none.
        LedgerError
            If the ledger has no officer and an analyst is to be appointed, the last officer would
            become an analyst, or the user has that role already.
        TypeError, ValueError
            If an argument is of another form.
        """
        user = check_name("user", user)
        role = check_choice("role", role, ROLES)
        with self._opened(creates=role == "officer").writing() as log:
            roles = read_roles(log)
            roles.require_officer(log.user(), "appoint anybody")
            if role == "analyst" and not roles.officers:
                raise LedgerError(
                    "The ledger has no officer who could appoint analysts. Appoint one first: "
                    "ledger.appoint(user, 'officer')."
                )
            if user in (roles.officers if role == "officer" else roles.analysts):
                raise LedgerError(f"User {user!r} is {role} already.")
            if role == "analyst":
                _keep_one_officer(roles, user)
            details = {"subject": user, "role": role}
            log.append_act(
                details, kind="appoint", dataset=WHOLE_LEDGER, purpose=check_text(reason, "reason")
            )
            return read_roles(log)

    @tried_again
    def dismiss(self, user: str, *, reason: str = "") -> Roles:
        """Take a user's role away; a logged act of an officer.

        Parameters
        ----------
        user : str
            Name of the user's account.
        reason : str, default=""
            Why; it stays in the log.

        Raises
        ------
        RoleError
            If the user who asks is no officer.
        LedgerError
            If the user has no role, or is the last officer: nobody could appoint another one, and
            without officers everybody could do everything.
        """
        user = check_name("user", user)
        with self._opened().writing() as log:
            roles = read_roles(log)
            roles.require_officer(log.user(), "dismiss anybody")
            if user not in (*roles.officers, *roles.analysts):
                raise LedgerError(
                    f"User {user!r} has no role. Officers: {_listed(roles.officers) or 'none'}; "
                    f"analysts: {_listed(roles.analysts) or 'none'}."
                )
            _keep_one_officer(roles, user)
            log.append_act(
                {"subject": user},
                kind="dismiss",
                dataset=WHOLE_LEDGER,
                purpose=check_text(reason, "reason"),
            )
            return read_roles(log)


def read_roles(log: Log) -> Roles:
    """Return the roles as one transaction sees them."""
    return roles_of(log.catch_up().general)


def require_officer(log: Log, act: str) -> None:
    """Raise RoleError if an act is for officers and whoever asks is none."""
    read_roles(log).require_officer(log.user(), act)


def _keep_one_officer(roles: Roles, user: str) -> None:
    if roles.officers == (user,):
        raise LedgerError(
            f"User {user!r} is the only officer. Appoint another one first: "
            "ledger.appoint(user, 'officer')."
        )


def _listed(users: tuple[str, ...]) -> str:
    return ", ".join(map(repr, users))


class LedgerOversight(LedgerReader):
    """Reports and archives; nothing here changes the ledger."""

    def oversight(self, dataset: str | None = None, *, head: str | None = None) -> dict[str, Any]:
        """Return everything that the ledger knows, with the result of its check, for JSON.

        Of a log that fails its check, the document says what is wrong and gives the entries as they
        are, as far as they can be read.

        Parameters
        ----------
        dataset : str, optional
            One account only; the check is of the whole log all the same.
        head : str, optional
            A head that was kept, as for :meth:`verify`.

        Raises
        ------
        LedgerError
            If the ledger cannot be read, or has no entry of that data set.
        """
        with self._opened().reading() as log:
            entries, user = list(log.entries()), log.user()
        problem, accounts, roles = "", [], None
        try:
            verify_chain(entries, head)
            accounts = _accounts(entries)
            roles = roles_of(e for e in entries if e.dataset == WHOLE_LEDGER).to_dict()
        except LedgerError as error:
            problem = str(error)
        if dataset is not None:
            dataset = check_name("dataset", dataset)
            accounts = [a for a in accounts if dataset in a.names]
            if not accounts and not problem:
                raise LedgerError(f"The ledger has no entry of data set {dataset!r}.")
            names = accounts[0].names if accounts else (dataset,)
            shown = [entry for entry in entries if entry.dataset in names]
        else:
            shown = entries
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "made": in_days(0),
            "made_by": user,
            "package_version": __version__,
            "ledger": self.display_url,
            "head": entries[-1].hash if entries else None,
            "n_entries": len(entries),
            "verification": {"whole": not problem, "problem": problem, "head_given": head},
            "roles": roles,
            "datasets": [oversight_document(account) for account in accounts],
            "entries": [_shown(entry) for entry in shown],
        }

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write all entries of the log to a file, from which their chain can be checked.

        ``interpret_dp.ledger.verify_archive(path, head)`` does so without the ledger.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.jsonl`` (one JSON document a line) or ``.csv``.

        Returns
        -------
        Path
            Where it was written.

        Raises
        ------
        LedgerError
            If the log fails its check: an archive of it would only look whole.
        ValueError
            If the path ends otherwise.
        OSError
            If it cannot be written.
        """
        with self._opened().reading() as log:
            entries = list(log.entries())
        verify_chain(entries)
        return write_archive(path, entries)


def _accounts(entries: list[Entry]) -> list[Account]:
    """Return each account once, under the name of its budget."""
    log = Running().extended(entries)
    accounts = map(log.account, sorted({entry.dataset for entry in entries if entry.dataset}))
    return [account for account in accounts if account.names[0] == account.dataset]


def _shown(entry: Entry) -> dict[str, Any]:
    """Return an entry with who wrote it; as it stands, if it was damaged."""
    try:
        document = entry.to_dict()
    except LedgerError:
        return dataclasses.asdict(entry) | {"user": "", "host": ""}
    details = document["context"]
    return document | {key: str(details.get(key, "")) for key in ("user", "host")}
