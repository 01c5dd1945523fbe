"""Requests for approval before spending, and the officers' answers."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_int, check_name, check_real
from interpret_dp.accounting.gaussian import mu_of_budget
from interpret_dp.exceptions import ApprovalNeededError, LedgerError, RoleError
from interpret_dp.ledger.core.account import Account, Approval, ProposedRequest, covering
from interpret_dp.ledger.core.chain import Entry
from interpret_dp.ledger.core.handle import tried_again
from interpret_dp.ledger.core.names import (
    check_text,
    in_days,
    until,
)
from interpret_dp.ledger.core.reader import LedgerReader, require_budget
from interpret_dp.ledger.team.roles import Roles, read_roles

if TYPE_CHECKING:
    from interpret_dp.ledger.core.store import Log

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
        purpose = check_text(purpose) or self.purpose
        if explainer:
            explainer = check_name("explainer", explainer)
        if user is not None:
            user = check_name("user", user)
        with self._opened().writing() as log:
            asker = log.user()
            read_roles(log).require_spender(asker, dataset)
            require_budget(log, dataset)
            entry = log.append_act(
                {"for_user": user or asker},
                kind="ask",
                dataset=dataset,
                explainer=explainer,
                purpose=purpose,
                mu=mu_of_budget(epsilon, delta),
                delta=0.0,
                epsilon=epsilon,
                epsilon_delta=delta,
            )
            return _find(log, entry.number)[1]

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
        end = in_days(_USUAL_DAYS) if expires is None else until("expires", expires)
        return self._answer(number, "approve", reason, {"expires": end, "uses": uses})

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
        return self._answer(number, "reject", check_name("reason", reason, longest=None), {})

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
        return self._answer(number, "withdraw", reason, {})

    @tried_again
    def _answer(self, number: int, kind: str, reason: str, details: dict[str, Any]) -> Approval:
        number = check_int("number", number, low=1)
        reason = check_text(reason, "reason")
        with self._opened().writing() as log:
            _, approval = _find(log, number)
            roles, user = read_roles(log), log.user()
            if kind == "withdraw":
                _check_withdrawal(roles, user, approval)
            else:
                _check_decision(roles, user, approval, kind)
            log.append_act(
                details, kind=kind, dataset=approval.dataset, reservation=number, purpose=reason
            )
            return _find(log, number)[1]


def needs_approval(account: Account, proposed: ProposedRequest) -> bool:
    """Whether the account's rule asks for an approval of this request."""
    if account.approval_above is None or account.budget is None:
        return False
    # Rounding must not ask for the approval of a request of exactly this epsilon.
    threshold = account.approval_above * (1.0 + 1e-6)
    return proposed.pair.epsilon_at(account.budget.delta) > threshold


def ask_for(log: Log, account: Account, proposed: ProposedRequest) -> Approval:
    """Return the request for approval that a refused request waits for; write it if there is none.

    It asks for what the request costs, at the budget's delta. Nothing in it comes from rows: a
    request's cost is fixed by its plan, before the first row is read.
    """
    known = covering(account.approvals, proposed)
    if known is not None:
        return known
    delta = require_budget(log, account.dataset).delta
    entry = log.append_act(
        {"for_user": proposed.user, "automatic": True},
        kind="ask",
        dataset=proposed.dataset,
        explainer=proposed.explainer,
        purpose=proposed.purpose,
        mu=proposed.pair.mu,
        delta=proposed.pair.delta,
        epsilon=proposed.pair.epsilon_at(delta),
        epsilon_delta=delta,
    )
    return _find(log, entry.number)[1]


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
            f"request for approval {number}; an officer ({who}) approves it with "
            f"`interpret-dp ledger approve {number}` or ledger.approve({number}). Then make the "
            "same request again."
        )
    return ApprovalNeededError(message, dataset, number, approval.state)


def _find(log: Log, number: int) -> tuple[Entry, Approval]:
    entry = log.entry(number)
    if entry is None or entry.kind != "ask":
        raise LedgerError(
            f"Entry {number} of the ledger is no request for approval. See those there are with "
            "ledger.approvals() or `interpret-dp ledger approvals`."
        )
    approvals = log.account(entry.dataset).approvals
    return entry, next(a for a in approvals if a.number == number)


def _check_decision(roles: Roles, user: str, approval: Approval, kind: str) -> None:
    roles.require_officer(user, f"{kind} requests")
    if kind == "approve" and roles.officers and user in (approval.asked_by, approval.user):
        others = tuple(officer for officer in roles.officers if officer != user)
        raise RoleError(
            f"User {user!r} asked for approval {approval.number} and cannot approve it. Nothing "
            f"was changed. Other officers: {', '.join(map(repr, others)) or 'none'}"
            + (
                "."
                if others
                else "; appoint one, or end the rule with require_approval(..., above=None)."
            ),
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
        raise LedgerError(
            f"Approval {approval.number} was used already: the request was made, and what was "
            "spent stays spent."
        )
