"""Decisions of officers on an account: budgets, their end, linked names, and required approvals."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import (
    ceil_text,
    check_int,
    check_name,
    check_real,
    looks_of,
    selections_text,
)
from interpret_dp.accounting.composition import SELECTIONS_SHARE, GdpPair
from interpret_dp.accounting.lattice import ADD_OR_REMOVE_ONE, Neighbourhood
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account, Budget, Spent, admits, fix_budget
from interpret_dp.ledger.chain import check_text, until
from interpret_dp.ledger.handle import tried_again
from interpret_dp.ledger.reader import LedgerReader, require_budget
from interpret_dp.ledger.roles import require_officer

if TYPE_CHECKING:
    from interpret_dp.ledger.store import Log


Moment = datetime.date | str


class LedgerBudgets(LedgerReader):
    """Declaring, raising, renewing and linking budgets; each is a logged act of an officer."""

    @tried_again
    def create_budget(
        self,
        dataset: str,
        epsilon: float,
        delta: float,
        *,
        delta_x: float | None = None,
        purpose: str = "",
        unit: str | None = None,
        neighboring: str | None = None,
        expires: Moment | None = None,
    ) -> Budget:
        """Declare what may ever be spent on a data set.

        Parameters
        ----------
        dataset : str
            A name of your choice. The same people under two names have two budgets, and their
            privacy loss is that of both together, unless the names are linked (:meth:`link`).
            Never a hash of the content, which would tell whether a guessed table is the true one.
        epsilon, delta : float
            Everything ever released is (epsilon, delta)-differentially private together; above 0,
            delta below 1.
        delta_x : float, optional
            The part of delta that is kept for requests that are not purely Gaussian, as fits with
            undeclared levels or labels are; below delta. By default a tenth, as much as one such
            fit at this delta needs; 0.0 keeps nothing.
        purpose : str
            The owner's words.
        unit : str, optional
            The identifier of people, as in ``PrivacyUnit(unit)``; of several columns their names
            in alphabetical order, ``"hospital + patient"``. Requests that protect anything
            else are refused. With neither it nor ``neighboring`` the first request decides.
        neighboring : {"add_or_remove_one", "replace_one"}, optional
            The neighbouring relation, likewise; alone, it is about rows.
        expires : date, datetime or str, optional
            The last day (UTC), or the moment, until which it may be spent. Then every request is
            refused until :meth:`renew_budget`; what was spent stays spent.

        Returns
        -------
        Budget
            The budget in force. The same call again changes nothing, also after a raise or a
            renewal: notebooks are run twice.

        Raises
        ------
        LedgerError
            If the data set has another budget, its requests protect something else, or the ledger
            has a name that differs in letter case, spaces and punctuation alone.
        RoleError
            If officers are named and the user is none.
        TypeError, ValueError
            If an argument is out of range.
        """
        dataset = check_name("dataset", dataset)
        delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
        selections_delta = SELECTIONS_SHARE * delta if delta_x is None else delta_x
        end = None if expires is None else until("expires", expires)
        protected = None
        if unit is not None or neighboring is not None:
            relation = ADD_OR_REMOVE_ONE if neighboring is None else neighboring
            protected = Neighbourhood(relation=relation, unit=unit).protected
        budget = fix_budget(dataset, epsilon, delta, selections_delta, check_text(purpose))
        budget = dataclasses.replace(budget, protected=protected, expires=end)
        with self._opened(creates=True).writing() as log:
            account = log.account(dataset)
            if account.budget is not None and _was_declared(account, budget, delta_x):
                return account.budget
            require_officer(log, "declare a budget")
            if account.budget is not None:
                raise _other_budget(dataset, account.budget)
            _refuse_look_alike(log, dataset)
            if protected and account.protected not in (None, protected):
                raise other_promise(account, protected)
            if not admits(dataclasses.replace(account, budget=budget), GdpPair(0.0)):
                raise LedgerError(
                    f"More than epsilon {budget.epsilon:g} at delta {budget.delta:g} was spent on "
                    f"data set {dataset!r} already, while no limit was declared. Declare a budget "
                    f"that covers ledger.spent({dataset!r})."
                )
            _append_budget(log, "budget", budget, {"protected": protected, "expires": end})
        return budget

    @tried_again
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
        RoleError
            If officers are named and the user is none.
        TypeError, ValueError
            If an argument is out of range, or the new budget is not larger than the old one.
        """
        dataset = check_name("dataset", dataset)
        reason = check_name("reason", reason, longest=None)
        with self._opened().writing() as log:
            require_officer(log, "raise a budget")
            old = require_budget(log, dataset)
            new_delta_x = old.delta_x if delta_x is None else delta_x
            budget = fix_budget(old.dataset, epsilon, delta, new_delta_x, reason)
            spent = log.account(dataset).spent
            if (spent.epsilon or 0.0) <= old.epsilon and spent.epsilon_at(delta) > epsilon:
                raise ValueError(
                    f"Data set {dataset!r} has spent epsilon {ceil_text(spent.epsilon_at(delta))} "
                    f"at delta {delta:g}, which epsilon {epsilon:g} does not cover. Nothing was "
                    "changed. Raise epsilon or delta further."
                )
            grows = budget.mu > old.mu or budget.delta_x > old.delta_x
            if not grows or budget.mu < old.mu or budget.delta_x < old.delta_x:
                raise ValueError(
                    f"epsilon {epsilon!r}, delta {delta!r} and delta_x {new_delta_x!r} allow mu "
                    f"{budget.mu:.6g}; the budget in force (epsilon {old.epsilon:g}, delta "
                    f"{old.delta:g}, delta_x {old.delta_x:g}) allows mu {old.mu:.6g}. A raise may "
                    "lower neither mu nor delta_x, and must raise one of them."
                )
            _append_budget(log, "raise", budget)
        return dataclasses.replace(budget, protected=old.protected, expires=old.expires)

    @tried_again
    def renew_budget(
        self,
        dataset: str,
        *,
        reason: str,
        expires: Moment | None = None,
        new_people: str = "",
    ) -> Budget:
        """Give a budget a new end and begin a new period; earlier spending counts as before.

        The limits stay what they are: a renewal gives time, and :meth:`raise_budget` gives room.
        Whether the new end has passed is read off this machine's clock and the dates of entries
        after the renewal. So it mends the date that a clock which ran ahead left in the log.
        Reports tell what was spent in the period, beside the total.

        Parameters
        ----------
        dataset : str
            A data set that has a budget, expired or not.
        reason : str
            Why; it stays in the log for ever.
        expires : date, datetime or str, optional
            The new end, as for :meth:`create_budget`; by default there is none.
        new_people : str
            Only if nobody who was in the data up to now is in them any more: the words of the
            officer who vouches for it, which stay in the log. Then the limits hold for the new
            people from zero on. If anybody is in both, that person's loss is the total of all
            periods, which every report still shows. A new name for the new data set says the same
            without a promise to keep, and is the better choice.

        Raises
        ------
        LedgerError
            If the data set has no budget; or a request is still open and the people are said to be
            new.
        RoleError
            If officers are named and the user is none.
        TypeError, ValueError
            If an argument is of another form.
        """
        dataset = check_name("dataset", dataset)
        reason = check_name("reason", reason, longest=None)
        if new_people != "":
            new_people = check_name("new_people", new_people, longest=None)
        end = None if expires is None else until("expires", expires)
        with self._opened().writing() as log:
            require_officer(log, "renew a budget")
            account = log.account(dataset)
            old = require_budget(log, dataset)
            if new_people and account.spent.open_reservations:
                raise LedgerError(
                    f"{account.spent.open_reservations} requests on data set {dataset!r} are open, "
                    "on the old people or the new ones. Wait for those that are running. If a "
                    "crash left some, give the new people a data set name of their own."
                )
            budget = dataclasses.replace(old, purpose=reason, expires=end)
            _append_budget(log, "renew", budget, {"expires": end, "new_people": new_people or None})
        return budget

    @tried_again
    def link(self, dataset: str, *, to: str, reason: str, accept_overspent: bool = False) -> Budget:
        """Let a data set share the account of another one: two names for the same people.

        From then on spending on either name counts for both, and so does everything that was
        spent on either before. It cannot be undone.

        Parameters
        ----------
        dataset : str
            The name that joins; it may be new. Names that are linked with it come along.
        to : str
            The name whose budget is in force from then on, with its end. If either account needs
            approvals, the joint one does, from the lower of their thresholds on.
        reason : str
            Why; it stays in the log for ever.
        accept_overspent : bool
            Link them even if both together have spent more than the budget of ``to``. Nothing can
            be spent then until it is raised, and the budget's promise does not hold for what was
            spent: it holds for the sum of both budgets.

        Raises
        ------
        LedgerError
            If they share an account already, protect different things, ``to`` has no budget, or
            they have overspent together.
        RoleError
            If officers are named and the user is none.
        TypeError, ValueError
            If an argument is of another form.
        """
        dataset, to = check_name("dataset", dataset), check_name("to", to)
        reason = check_name("reason", reason, longest=None)
        with self._opened().writing() as log:
            require_officer(log, "link data sets")
            joining, staying = log.account(dataset), log.account(to)
            require_budget(log, to)
            _check_link(joining, staying)
            requests = (*staying.requests, *joining.requests)
            joint = dataclasses.replace(staying, requests=requests)
            overspent = not admits(joint, GdpPair(0.0))
            if overspent and not accept_overspent:
                raise _overspent(f"Data sets {dataset!r} and {to!r} have", joint)
            facts = {"overspent": overspent or None}
            log.append({"to": to, **facts}, kind="link", dataset=dataset, purpose=reason)
            log.append({"with": dataset, **facts}, kind="link", dataset=to, purpose=reason)
            return require_budget(log, to)

    @tried_again
    def change_unit(
        self,
        dataset: str,
        *,
        unit: str,
        reason: str,
        at_most: int | None = None,
        accept_overspent: bool = False,
    ) -> Spent:
        """Let an account protect a coarser unit, after requests that left it out by mistake.

        A fit without a ``PrivacyUnit`` bounded nobody's rows: to one person it costs as much as all
        of that person's rows together. What it costs is known only if something public bounds their
        number. Later requests must protect the new unit. It cannot be undone.

        Parameters
        ----------
        dataset : str
            A data set with requests; names that share its account come along.
        unit : str
            The identifier that later requests name, as ``create_budget`` takes it.
        reason : str
            Why, and what justifies ``at_most``; it stays in the log for ever.
        at_most : int, optional
            The most rows (or units of the old kind) that one new unit had in the whole table of
            any earlier request. It must follow from public facts, such as "one visit a month, for
            two years". It is not ``max_rows`` of later fits, which draw some rows of many. The
            earlier charges are multiplied by it, and their promises hold if it is true. Without
            it they count as they are, and do not hold.
        accept_overspent : bool
            Change it even if more than the budget is spent then. Nothing can be spent until it is
            raised, and its promise does not hold for what was spent.

        Returns
        -------
        Spent
            The spending, in the new unit.

        Raises
        ------
        LedgerError
            If the account protects the unit already, or nothing that fixes it; if it replaces rows
            and does not add them; if ``at_most`` is given, and a request has a delta of its own
            for selections or samples, for which no multiple is known; or if it would be overspent.
        RoleError
            If officers are named and the user is none.
        TypeError, ValueError
            If an argument is of another form.

        Examples
        --------
        >>> from interpret_dp import PrivacyLedger
        >>> ledger = PrivacyLedger.in_memory()
        >>> of_rows = {"neighboring": "add_or_remove_one"}
        >>> budget = ledger.create_budget("ward", epsilon=3, delta=1e-6, **of_rows)
        >>> _ = ledger.change_unit("ward", unit="patient_id", at_most=4, reason="quarterly visits")
        >>> ledger.budget("ward").protected
        "add_or_remove_one: one 'patient_id'"
        """
        dataset = check_name("dataset", dataset)
        reason = check_name("reason", reason, longest=None)
        new = Neighbourhood(unit=check_name("unit", unit)).protected
        if at_most is not None:
            at_most = check_int("at_most", at_most, low=1)
        with self._opened().writing() as log:
            require_officer(log, "change whom a budget protects")
            account = log.account(dataset)
            _check_change_of_unit(account, new, at_most)
            act = {"was": account.protected, "protected": new, "at_most": at_most}
            log.append(act, kind="unit", dataset=dataset, purpose=reason)
            # The rule that reads the log says what the act costs; an error takes the act back.
            changed = log.account(dataset)
            grows = changed.spent.mu > account.spent.mu
            if grows and not accept_overspent and not admits(changed, GdpPair(0.0)):
                raise _overspent(f"In the new unit data set {dataset!r} has", changed)
            return changed.spent

    @tried_again
    def require_approval(self, dataset: str, *, above: float | None = 0.0, reason: str) -> None:
        """Let an officer decide on each request before it is made.

        Parameters
        ----------
        dataset : str
            A data set that has a budget.
        above : float or None
            Requests of more than this epsilon, at the budget's delta, need an approval; 0: all of
            them. None: no more.
        reason : str
            Why; it stays in the log for ever.

        Raises
        ------
        LedgerError
            If the data set has no budget.
        RoleError
            If officers are named and the user is none.
        TypeError, ValueError
            If an argument is out of range.
        """
        dataset = check_name("dataset", dataset)
        reason = check_name("reason", reason, longest=None)
        if above is not None:
            above = check_real("above", above, low=0)
        with self._opened().writing() as log:
            require_officer(log, "decide which requests need an approval")
            require_budget(log, dataset)
            log.append({"approval_above": above}, kind="policy", dataset=dataset, purpose=reason)


def other_promise(account: Account, protected: str) -> LedgerError:
    """Return the error for a request that protects something else than the account does."""
    return LedgerError(
        f"The account of data set {account.dataset!r} protects ({account.protected}); this request "
        f"protects ({protected}). Losses of different promises do not add up. Nothing was spent. "
        "Use the same PrivacyUnit and neighboring as before, or another name for other people. If "
        "earlier requests left out the unit by mistake, an officer mends it: ledger.change_unit("
        f"{account.dataset!r}, unit=..., at_most=..., reason=...) or `interpret-dp ledger unit`."
    )


def _check_change_of_unit(account: Account, new: str, at_most: int | None) -> None:
    """Raise LedgerError if earlier requests of an account cannot protect a coarser unit."""
    name, old = account.dataset, account.protected
    if old is None:
        raise LedgerError(
            f"Nothing fixes yet whom data set {name!r} protects: the first request does. Declare "
            f"ledger.create_budget({name!r}, epsilon=..., delta=..., unit=...)."
        )
    if old == new:
        raise LedgerError(f"Data set {name!r} protects ({new}) already; nothing is to be changed.")
    if not old.startswith(ADD_OR_REMOVE_ONE):
        raise LedgerError(
            f"Data set {name!r} protects ({old}), which fixes the number of rows and bounds "
            "nothing about a person who comes or goes. Use another data set name for the new unit."
        )
    if at_most is not None and any(request.delta > 0 for request in account.ever):
        raise LedgerError(
            f"Requests on data set {name!r} have a delta of their own, for selections or samples: "
            "no multiple of it is known to cover a person of several rows, and at_most is "
            f"{at_most}. Leave it out; then the log says that their promises do not hold."
        )


def _overspent(who: str, account: Account) -> LedgerError:
    budget, spent = account.budget, account.spent
    limit = "" if budget is None else f" of epsilon {budget.epsilon:g}, delta_x {budget.delta_x:g}"
    return LedgerError(
        f"{who} spent epsilon {ceil_text(spent.epsilon or 0.0)} in {spent.n_requests} requests; "
        f"the budget{limit} does not cover it. Nothing was changed. Raise the budget first, or "
        "pass accept_overspent=True: then nothing can be spent until it is raised."
    )


def _was_declared(account: Account, requested: Budget, delta_x: float | None) -> bool:
    """Whether a data set's budget was declared so, whatever was raised or renewed since.

    By default with whatever it keeps for selections, and for whatever purpose.
    """
    return any(
        entry.kind == "budget"
        and (entry.dataset, entry.epsilon) == (requested.dataset, requested.epsilon)
        and entry.epsilon_delta == requested.delta
        and (delta_x is None or entry.delta == delta_x)
        and requested.purpose in ("", entry.purpose)
        and (entry.protected or None, entry.details.get("expires"))
        == (requested.protected, requested.expires)
        for entry in account.acts
    )


def _other_budget(dataset: str, known: Budget) -> LedgerError:
    return LedgerError(
        f"Data set {dataset!r} has another budget already (epsilon {known.epsilon:g} at delta "
        f"{known.delta:g}{selections_text(known.delta_x)}; protects "
        f"{known.protected or 'whom its first request protects'}; expires "
        f"{known.expires or 'never'}; purpose {known.purpose!r}), which stands. Leave this call "
        f"out, or raise it: ledger.raise_budget({dataset!r}, epsilon=..., delta=..., reason=...) "
        "or `interpret-dp ledger raise`."
    )


def _refuse_look_alike(log: Log, dataset: str) -> None:
    """Raise LedgerError for a name that is taken for another one: it would double the budget."""
    for known in log.datasets():
        if known != dataset and looks_of(known) == looks_of(dataset):
            raise LedgerError(
                f"The ledger has a data set {known!r}, which differs from {dataset!r} in letter "
                "case, spaces or punctuation alone; a budget for each would double what may be "
                f"spent on the same people. Nothing was declared. Use {known!r}, or link them: "
                f"ledger.link({dataset!r}, to={known!r}, reason=...). Give other people a clearly "
                "different name."
            )


def _check_link(joining: Account, staying: Account) -> None:
    """Raise LedgerError if two accounts cannot become one."""
    names = f"{joining.dataset!r} and {staying.dataset!r}"
    if joining.dataset in staying.names:
        raise LedgerError(f"Data sets {names} share an account already; nothing is to be linked.")
    if len({joining.protected, staying.protected} - {None}) > 1:
        raise LedgerError(
            f"Data sets {names} cannot be linked: one protects ({joining.protected}), one "
            f"({staying.protected}). Losses of different promises do not add up. Nothing changed."
        )


def _append_budget(
    log: Log, kind: str, budget: Budget, details: dict[str, Any] | None = None
) -> None:
    log.append(
        details,
        kind=kind,
        dataset=budget.dataset,
        mu=budget.mu,
        delta=budget.delta_x,
        epsilon=budget.epsilon,
        epsilon_delta=budget.delta,
        purpose=budget.purpose,
    )
