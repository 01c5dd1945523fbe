"""Reading methods of the ledger, and its reports as a table and a JSON document."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpret_dp import _validate
from interpret_dp.accounting.composition import GdpPair, compose_each
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import (
    Account,
    Approval,
    Budget,
    Request,
    Spent,
    largest_epsilon,
    remaining_mu,
    total_of,
)
from interpret_dp.ledger.chain import verify_chain
from interpret_dp.ledger.handle import LedgerHandle

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ledger.store import Log


# Reports of the ledger: a table and a JSON document.

NO_LIMIT = "no limit declared"

REPORT_COLUMNS = (
    *("dataset", "time", "explainer", "purpose", "user", "host", "asked_epsilon", "asked_delta"),
    *("mu", "delta", "state", "guarantee_state", "total_mu", "total_epsilon"),
)


def _totals(account: Account) -> list[tuple[GdpPair, float]]:
    """Return what had been spent up to each request, and its epsilon at the budget's delta.

    NaN without a budget; infinite where the spent delta is all of the budget's or more.
    """
    delta = account.budget.delta if account.budget else None
    return [
        (total, math.nan if delta is None else total.epsilon_at(delta))
        for total in compose_each(request.pair for request in account.requests)
    ]


def account_document(account: Account) -> dict[str, Any]:
    """Return an account for JSON; figures that no limit bounds are None."""
    budget = account.budget
    expired = budget is not None and budget.has_expired
    return {
        "dataset": account.dataset,
        "names": list(account.names),
        "limit": NO_LIMIT if budget is None else "declared",
        "protected": account.protected,
        "budget": None if budget is None else dataclasses.asdict(budget) | {"expired": expired},
        "approval_above": account.approval_above,
        "spent": account.spent.to_dict(),
        "remaining_epsilon": None if budget is None else _remaining(account),
        **clauses_document(account),
        # Their fields are plain values or lists of text, which need no deep copy.
        "requests": [vars(request) | clauses_document(request) for request in account.requests],
    }


def clauses_document(part: Account | Request) -> dict[str, Any]:
    """Return the state of the guarantees of an account or a request, and why, for JSON."""
    doubts = part.doubts
    return {
        "guarantee_state": doubts.state,
        "guarantee_sentence": doubts.sentence,
        "conditions": list(doubts.conditions),
        "failures": list(doubts.failures),
    }


def _overview_row(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return names, state, budget, what is used of it and number of requests of an account."""
    budget, spent = document["budget"], document["spent"]
    limit, used = document["limit"], f"mu {_validate.ceil_text(spent['mu'])}"
    if budget is not None:
        selections = _validate.selections_text(budget["delta_x"])
        limit = f"epsilon {budget['epsilon']:g} at delta {budget['delta']:g}{selections}"
        limit += ", expired" if budget["expired"] else ""
        (used,) = _validate.percent_texts([(spent["mu"] / budget["mu"]) ** 2])
    names, n_requests = " = ".join(document["names"]), str(spent["n_requests"])
    return names, document["guarantee_state"], limit, used, n_requests


def oversight_document(account: Account) -> dict[str, Any]:
    """Return an account for an officer: also totals over time, by class, user and purpose, acts."""
    spent, delta = account.spent, account.budget.delta if account.budget else None
    totals = [
        {"mu": pair.mu, "delta": pair.delta, "epsilon": value if math.isfinite(value) else None}
        for pair, value in _totals(account)
    ]
    return account_document(account) | {
        "spent_epsilon": {
            "budget": _epsilon(GdpPair(spent.mu, spent.delta), delta),
            "period": _epsilon(spent.period, delta),
            "ever": _epsilon(spent.ever, delta),
        },
        "totals": totals,
        "periods": [{"number": entry.number, "time": entry.date} for entry in account.renewed],
        "by_explainer": _grouped(account, "explainer"),
        "by_user": _grouped(account, "user"),
        "by_purpose": _grouped(account, "purpose"),
        "approvals": [
            dataclasses.asdict(approval) | {"status": approval.status}
            for approval in account.approvals
        ],
        "acts": [entry.to_dict() | {"user": entry.user} for entry in account.acts],
    }


def _grouped(account: Account, field: str) -> list[dict[str, Any]]:
    """Return what each group of requests cost together, the dearest first.

    ``share`` is the part of the account's mu squared, which adds up as epsilon does not.
    """
    groups: dict[str, list[Request]] = {}
    for request in account.ever:
        groups.setdefault(getattr(request, field), []).append(request)
    delta = account.budget.delta if account.budget else None
    pairs = {name: total_of(requests) for name, requests in groups.items()}
    total = math.fsum(pair.mu**2 for pair in pairs.values())
    lines = [
        {
            field: name,
            "n_requests": len(groups[name]),
            "mu": pair.mu,
            "delta": pair.delta,
            "epsilon": _epsilon(pair, delta),
            "share": pair.mu**2 / total if total else 0.0,
        }
        for name, pair in pairs.items()
    ]
    return sorted(lines, key=lambda line: (-line["mu"], line[field]))


def _epsilon(pair: GdpPair, delta: float | None) -> float | None:
    """Return the epsilon of a pair; None without a delta, or where no figure can state it."""
    if delta is None:
        return None
    if pair == GdpPair(0.0):
        return 0.0
    epsilon = pair.epsilon_at(delta)
    return epsilon if math.isfinite(epsilon) else None


def _remaining(account: Account, delta: float | None = None) -> float:
    """Return the largest epsilon of one more Gaussian release; infinite without a budget."""
    budget = account.budget
    if budget is None:
        return math.inf
    if budget.has_expired:
        return 0.0
    return largest_epsilon(remaining_mu(account), delta or budget.delta)


_FORMAT = "interpret_dp.ledger"
_VERSION = 1


class LedgerReader(LedgerHandle):
    """Queries to a ledger; no method here changes it."""

    def budget(self, dataset: str) -> Budget | None:
        """Return the budget in force; None if no limit was declared, or the ledger not begun.

        Parameters
        ----------
        dataset : str
            The data set's name.
        """
        dataset = _validate.check_name("dataset", dataset)
        store = self._opened()
        if not store.is_there():
            return None
        with store.reading() as log:
            return log.account(dataset).budget

    def spent(self, dataset: str) -> Spent:
        """Return what was ever spent on a data set, open reservations counted.

        Parameters
        ----------
        dataset : str
            The data set's name.

        Raises
        ------
        LedgerError
            If the ledger has no budget for the data set, unless it is in memory and has none at
            all.
        """
        return self._account(dataset).spent

    def remaining(self, dataset: str, delta: float | None = None) -> float:
        """Return the largest epsilon of one more Gaussian release that fits.

        Parameters
        ----------
        dataset : str
            The data set's name.
        delta : float, optional
            Of that release; by default the budget's delta.

        Returns
        -------
        float
            0.0 if nothing fits or the budget has expired; infinite if no limit was declared.

        Raises
        ------
        LedgerError
            If the ledger has no budget for the data set, unless it is in memory and has none at
            all.
        """
        if delta is not None:
            delta = _validate.check_real(
                "delta", delta, low=0, high=1, low_open=True, high_open=True
            )
        return _remaining(self._account(dataset), delta)

    def datasets(self) -> list[str]:
        """Return the names of all data sets in the ledger, sorted."""
        with self._opened().reading() as log:
            return log.datasets()

    def approvals(self, dataset: str | None = None) -> list[Approval]:
        """Return all requests for approval in their order, of one account or of all.

        Parameters
        ----------
        dataset : str, default=None
            One data set only; None: all.

        Raises
        ------
        LedgerError
            If the ledger has no entry of that data set.
        """
        approvals = [a for account in self._accounts(dataset)[0] for a in account.approvals]
        return sorted(approvals, key=lambda approval: approval.number)

    def entries(self, dataset: str | None = None) -> list[dict[str, Any]]:
        """Return the log's entries in order, of one data set or of all.

        Parameters
        ----------
        dataset : str, default=None
            One data set only; None: all.

        Raises
        ------
        LedgerError
            If the ledger has no entry of that data set.
        """
        with self._opened().reading() as log:
            if dataset is not None:
                dataset = _known_dataset(log, dataset)
            return [entry.to_dict() for entry in log.entries(dataset)]

    def report(self, dataset: str | None = None) -> pd.DataFrame:
        """Return one row per request, with what had been spent up to it.

        Parameters
        ----------
        dataset : str, default=None
            One data set only; None: all.

        Raises
        ------
        LedgerError
            If the ledger has no entry of that data set.
        """
        import pandas as pd

        rows = []
        for account in self._accounts(dataset)[0]:
            for request, (total, epsilon) in zip(account.requests, _totals(account), strict=True):
                row = vars(request) | {"total_mu": total.mu, "total_epsilon": epsilon}
                row["asked_epsilon"], row["asked_delta"] = request.epsilon, request.epsilon_delta
                row["guarantee_state"] = request.doubts.state
                rows.append(row)
        return pd.DataFrame(rows, columns=list(REPORT_COLUMNS))

    def to_dict(self, dataset: str | None = None) -> dict[str, Any]:
        """Return budgets, spending, requests and head as a document for JSON.

        Parameters
        ----------
        dataset : str, default=None
            One data set only; None: all.

        Raises
        ------
        LedgerError
            If the ledger has no entry of that data set.
        """
        accounts, head = self._accounts(dataset)
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "ledger": self.display_url,
            "head": head,
            "datasets": [account_document(account) for account in accounts],
        }

    def _repr_html_(self) -> str:
        """Show budgets and spending in a notebook, escaped; says so where they cannot be read."""
        title = f"Privacy ledger ({self.display_url})"
        try:
            document = self.to_dict()
        except LedgerError as error:
            return _validate.notebook_table(title, (), (), note=f"It cannot be read now: {error}")
        empty = "" if document["datasets"] else "Nothing was declared or spent yet. "
        note = f"{empty}Head of the log: {document['head'] or 'none'}"
        head = ("data set", "promise", "budget", "used", "requests")
        rows = [_overview_row(account) for account in document["datasets"]]
        return _validate.notebook_table(title, head, rows, note=note)

    @property
    def head(self) -> str | None:
        """The hash of the log's last entry; None while the log is empty."""
        with self._opened().reading() as log:
            return log.head()

    def verify(self, head: str | None = None) -> str | None:
        """Check the whole log against its hash chain; return its head.

        Parameters
        ----------
        head : str, optional
            A head that a guarantee or report carries. It must still be in the log: without it, a
            log whose last entries were cut off looks whole.

        Raises
        ------
        LedgerError
            Names the first entry that was changed, removed, moved or cut off; or if the file's
            pages or indexes are damaged.
        """
        with self._opened().reading() as log:
            last = verify_chain(log.entries(), head)
            log.check_pages()
        return last

    def _account(self, dataset: str) -> Account:
        dataset = _validate.check_name("dataset", dataset)
        with self._opened().reading() as log:
            account = log.account(dataset)
            # What was spent in memory while there was no budget at all can still be asked for.
            if not account.requests:
                refuse_unlimited(log, account, persistent=self.persistent)
        return account

    def _accounts(self, dataset: str | None) -> tuple[list[Account], str | None]:
        with self._opened().reading() as log:
            if dataset is not None:
                return [log.account(_known_dataset(log, dataset))], log.head()
            accounts = (log.account(name) for name in log.datasets())
            # Linked names share an account, which is listed once, under the name of its budget.
            return [a for a in accounts if a.dataset == a.names[0]], log.head()


def _known_dataset(log: Log, dataset: str) -> str:
    dataset = _validate.check_name("dataset", dataset)
    known = log.datasets()
    if dataset not in known:
        listed = ", ".join(map(repr, known)) or "none yet"
        raise LedgerError(
            f"The ledger has no entry of data set {dataset!r}; it knows {listed}. Check spelling."
        )
    return dataset


def require_budget(log: Log, dataset: str) -> Budget:
    """Return the budget in force.

    Raises
    ------
    LedgerError
        If nobody has declared one.
    """
    budget = log.account(dataset).budget
    if budget is None:
        raise _no_budget_error(dataset, _with_budget(log))
    return budget


def refuse_unlimited(log: Log, account: Account, *, persistent: bool) -> None:
    """Raise LedgerError for an account without a budget, unless the ledger has none at all.

    A ledger that outlives the process always needs one.
    """
    if account.budget is None:
        known = _with_budget(log)
        if persistent or known:
            raise _no_budget_error(account.dataset, known)


def _with_budget(log: Log) -> list[str]:
    return [name for name in log.datasets() if log.account(name).budget is not None]


def _no_budget_error(dataset: str, known: list[str]) -> LedgerError:
    has = f" It has one for {', '.join(map(repr, known))}." if known else ""
    hint = _validate.did_you_mean(dataset, known) or has
    return LedgerError(
        f"The ledger has no budget for data set {dataset!r}.{hint} Declare what may ever be spent "
        f"on it with ledger.create_budget({dataset!r}, epsilon=..., delta=...), or `interpret-dp "
        "fit --budget EPSILON`. Nothing was spent."
    )
