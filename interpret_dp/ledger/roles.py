"""Officers and analysts: roles, requests for approval, and their answers."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_choice, check_int, check_name, check_real
from interpret_dp._version import __version__
from interpret_dp.accounting.composition import GdpPair
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.exceptions import ApprovalNeededError, LedgerError, RoleError
from interpret_dp.ledger import chain
from interpret_dp.ledger.account import Account, Approval, ProposedRequest, covering
from interpret_dp.ledger.folding import Running
from interpret_dp.ledger.handle import tried_again
from interpret_dp.ledger.reader import LedgerReader, oversight_document, require_budget

if TYPE_CHECKING:
    from pathlib import Path

    from interpret_dp.ledger.store import Log


# The library checks names of user accounts and logs every act. It cannot hold back somebody who may
# write the database by other programs: rights there are the database's (docs/ledger_team.md).

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
                f"({_listed(self.officers)}) for ledger.appoint({user!r}, 'analyst', reason=...).",
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


def roles_of(entries: Iterable[chain.Entry]) -> Roles:
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
            raise chain.unknown_kind(entry)
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
            return _write(log, "appoint", reason, subject=user, role=role)

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
            return _write(log, "dismiss", reason, subject=user)


def _write(log: Log, kind: str, reason: str, **details: str) -> Roles:
    """Write an act on the whole ledger; return the roles that follow."""
    purpose = chain.check_text(reason, "reason")
    log.append(details, kind=kind, dataset=WHOLE_LEDGER, purpose=purpose)
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
            f"User {user!r} is the only officer. First ledger.appoint(another, 'officer')."
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
            chain.verify_chain(entries, head)
            accounts = _accounts(entries)
            roles = roles_of(e for e in entries if e.dataset == WHOLE_LEDGER).to_dict()
        except LedgerError as error:
            problem = str(error)
        shown = entries
        if dataset is not None:
            dataset = check_name("dataset", dataset)
            accounts = [a for a in accounts if dataset in a.names]
            if not accounts and not problem:
                raise LedgerError(f"The ledger has no entry of data set {dataset!r}.")
            names = accounts[0].names if accounts else (dataset,)
            shown = [entry for entry in entries if entry.dataset in names]
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "made": chain.in_days(0),
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
        chain.verify_chain(entries)
        return chain.write_archive(path, entries)


def _accounts(entries: list[chain.Entry]) -> list[Account]:
    """Return each account once, under the name of its budget."""
    log = Running().extended(entries)
    accounts = map(log.account, sorted({entry.dataset for entry in entries if entry.dataset}))
    return [account for account in accounts if account.names[0] == account.dataset]


def _shown(entry: chain.Entry) -> dict[str, Any]:
    """Return an entry with who wrote it; as it stands, if it was damaged."""
    try:
        return entry.to_dict() | {"user": entry.user, "host": entry.host}
    except LedgerError:
        return vars(entry) | {"user": "", "host": ""}


_USUAL_DAYS = 30


class LedgerApprovals(LedgerReader):
    """Requests for approval; nothing here spends anything."""

    @tried_again
    def request_approval(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        *,
        purpose: str = "",
        explainer: str = "",
        user: str | None = None,
    ) -> Approval:
        """Ask the officers to approve a request; what was asked stays in the log.

        A request without approval is refused, and then asks by itself. This is for asking in
        advance.

        Parameters
        ----------
        dataset : str
            The name to which it will be charged.
        epsilon, delta : float
            What it will cost at most.
        purpose : str
            What for, to the letter as the ledger that will spend says it (``ledger.for_purpose``);
            by default this ledger's own purpose.
        explainer : str
            The class that will spend; by default any.
        user : str, optional
            The user account that will spend; by default the one that asks.

        Returns
        -------
        Approval
            Officers find it by its ``number``.

        Raises
        ------
        LedgerError
            If the data set has no budget.
        RoleError
            If only others may spend.
        TypeError, ValueError
            If an argument is out of range.
        """
        dataset = check_name("dataset", dataset)
        epsilon = check_real("epsilon", epsilon, low=0, low_open=True)
        delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
        purpose = chain.check_text(purpose) or self.purpose
        if explainer:
            explainer = check_name("explainer", explainer)
        if user is not None:
            user = check_name("user", user)
        with self._opened().writing() as log:
            asker = log.user()
            read_roles(log).require_spender(asker, dataset)
            require_budget(log, dataset)
            proposed = ProposedRequest(
                dataset=dataset,
                user=user or asker,
                explainer=explainer,
                purpose=purpose,
                pair=GdpPair(mu_of_budget(epsilon, delta)),
            )
            return _ask(log, proposed, epsilon, delta)

    def approve(
        self,
        number: int,
        *,
        reason: str = "",
        expires: datetime.date | str | None = None,
        uses: int = 1,
    ) -> Approval:
        """Approve a request: a logged act of an officer.

        It is bound to the data set's name, the user, the purpose, the class if one was named, and
        the cost: the request may cost less, but not more.

        Parameters
        ----------
        number : int
            Of the request for approval.
        reason : str
            For the log.
        expires : date, datetime or str, optional
            The last day (UTC), or the moment, until which it holds; by default 30 days.
        uses : int
            How many requests it covers: of a cross-validation, or of an explainer that is charged
            as it answers. Each may cost as much as was asked for.

        Raises
        ------
        LedgerError
            If there is no such request for approval, or it was answered before.
        RoleError
            If officers are named and the user is none, or is the one who asked.
        TypeError, ValueError
            If an argument is out of range.
        """
        uses = check_int("uses", uses, low=1)
        end = chain.in_days(_USUAL_DAYS) if expires is None else chain.until("expires", expires)
        return self._answer(number, "approve", reason, expires=end, uses=uses)

    def reject(self, number: int, *, reason: str) -> Approval:
        """Reject a request for approval: a logged act of an officer.

        The same request does not ask again by itself; :meth:`request_approval` does.

        Parameters
        ----------
        number : int
            Of the request for approval.
        reason : str
            Why; it stays in the log.

        Raises
        ------
        LedgerError, RoleError, TypeError, ValueError
            As :meth:`approve`.
        """
        return self._answer(number, "reject", check_name("reason", reason, longest=None))

    def withdraw(self, number: int, *, reason: str = "") -> Approval:
        """Take back an approval that was not used up, or a request for one: a logged act.

        For officers, and for the user who asked.

        Parameters
        ----------
        number : int
            Of the request for approval.
        reason : str, default=""
            Why; it stays in the log.

        Raises
        ------
        LedgerError
            If there is no such request for approval, it was rejected or withdrawn before, or all
            its uses were made: what was spent stays spent.
        RoleError
            If the user neither is an officer nor asked for it.
        TypeError, ValueError
            If an argument is of another form.
        """
        return self._answer(number, "withdraw", reason)

    @tried_again
    def _answer(self, number: int, kind: str, reason: str, **details: Any) -> Approval:
        number = check_int("number", number, low=1)
        reason = chain.check_text(reason, "reason")
        with self._opened().writing() as log:
            approval = _find(log, number)
            roles, user = read_roles(log), log.user()
            if kind == "withdraw":
                _check_withdrawal(roles, user, approval)
            else:
                _check_decision(roles, user, approval, kind)
            log.append(
                details, kind=kind, dataset=approval.dataset, reservation=number, purpose=reason
            )
            return _find(log, number)


def approval_for(log: Log, account: Account, proposed: ProposedRequest) -> Approval | None:
    """Return the request for approval that a request needs, or None if the account asks for none.

    It is written if there is none yet, and asks for what the request costs, at the budget's delta.
    Nothing in it comes from rows: a request's cost is fixed by its plan, before the first row is
    read.
    """
    if account.approval_above is None or account.budget is None:
        return None
    delta = account.budget.delta
    epsilon = proposed.pair.epsilon_at(delta)
    # Rounding must not ask for the approval of a request of exactly this epsilon.
    if epsilon <= account.approval_above * (1.0 + 1e-6):
        return None
    known = covering(account.approvals, proposed)
    return known or _ask(log, proposed, epsilon, delta, automatic=True)


def _ask(
    log: Log, proposed: ProposedRequest, epsilon: float, delta: float, **details: bool
) -> Approval:
    """Write a request for approval."""
    entry = log.append(
        {"for_user": proposed.user, **details},
        kind="ask",
        dataset=proposed.dataset,
        explainer=proposed.explainer,
        purpose=proposed.purpose,
        mu=proposed.pair.mu,
        delta=proposed.pair.delta,
        epsilon=epsilon,
        epsilon_delta=delta,
    )
    return _find(log, entry.number)


def approval_needed_error(approval: Approval, roles: Roles) -> ApprovalNeededError:
    """Return the error for a request that an officer has not approved."""
    dataset, number = approval.dataset, approval.number
    if approval.state == "rejected":
        message = (
            f"User {approval.decided_by!r} rejected this request on data set {dataset!r} (request "
            f"for approval {number}): {approval.reason}. Nothing was spent. To ask again, say what "
            f"has changed: ledger.request_approval({dataset!r}, epsilon, delta, purpose=...)."
        )
    else:
        who = " or ".join(map(repr, roles.officers)) or "anybody, since no officer is named"
        message = (
            f"Data set {dataset!r} needs an approval for this request of epsilon "
            f"{approval.epsilon:.4g} at delta {approval.delta:g}. Nothing was spent. It waits as "
            f"request for approval {number}; an officer ({who}) approves it: `interpret-dp "
            f"ledger approve {number}` or ledger.approve({number}). Then make the request again."
        )
    return ApprovalNeededError(message, dataset, number, approval.state)


def _find(log: Log, number: int) -> Approval:
    entry = log.entry(number)
    if entry is None or entry.kind != "ask":
        raise LedgerError(
            f"Entry {number} of the ledger is no request for approval. See those there are with "
            "ledger.approvals() or `interpret-dp ledger approvals`."
        )
    return next(a for a in log.account(entry.dataset).approvals if a.number == number)


def _check_decision(roles: Roles, user: str, approval: Approval, kind: str) -> None:
    roles.require_officer(user, f"{kind} requests")
    if kind == "approve" and roles.officers and user in (approval.asked_by, approval.user):
        others = tuple(officer for officer in roles.officers if officer != user)
        mend = (
            f"Other officers: {_listed(others)}."
            if others
            else "Appoint another officer, or end the rule with require_approval(..., above=None)."
        )
        raise RoleError(
            f"User {user!r} asked for approval {approval.number} and cannot approve it. Nothing "
            f"was changed. {mend}",
            user,
            others,
        )
    if approval.state != "waiting":
        raise LedgerError(
            f"Request for approval {approval.number} is {approval.status} already (by "
            f"{approval.decided_by!r}); it is answered once. Ask for a new one."
        )


def _check_withdrawal(roles: Roles, user: str, approval: Approval) -> None:
    if user not in (approval.asked_by, approval.user):
        roles.require_officer(user, "withdraw what others asked for")
    if approval.state not in ("waiting", "approved"):
        raise LedgerError(f"Request for approval {approval.number} is {approval.state} already.")
    if approval.status == "used":
        raise LedgerError(f"Approval {approval.number} was used; what was spent stays spent.")
