"""Reading methods of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpret_dp._figures import notebook_table
from interpret_dp._validate import check_name, check_real, did_you_mean
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.core.account import Account, Approval, Budget, Spent
from interpret_dp.ledger.core.chain import GENESIS, verify_chain
from interpret_dp.ledger.core.filter import largest_epsilon, remaining_mu
from interpret_dp.ledger.core.handle import LedgerHandle
from interpret_dp.ledger.core.reporting import account_document, overview_row, report_frame

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ledger.core.store import Log

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
        dataset = check_name("dataset", dataset)
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
            delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
        account = self._account(dataset)
        if account.budget is None:
            return remaining_mu(account)
        if account.budget.has_expired:
            return 0.0
        return largest_epsilon(remaining_mu(account), delta or account.budget.delta)

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
        return report_frame(self._accounts(dataset)[0])

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
            return notebook_table(title, (), (), note=f"It cannot be read now: {error}")
        empty = "" if document["datasets"] else "Nothing was declared or spent yet. "
        return notebook_table(
            title,
            (
                "data set",
                "promise",
                "budget",
                "spent so far",
                "left for one more release",
                "requests",
            ),
            [overview_row(account) for account in document["datasets"]],
            note=f"{empty}Head of the log: {document['head'] or 'none'}",
        )

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
        return None if last == GENESIS else last

    def _account(self, dataset: str) -> Account:
        dataset = check_name("dataset", dataset)
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
    dataset = check_name("dataset", dataset)
    known = log.datasets()
    if dataset not in known:
        listed = ", ".join(map(repr, known)) or "none yet"
        raise LedgerError(
            f"The ledger has no entry of data set {dataset!r}; it knows {listed}. Check the "
            "spelling."
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
    hint = did_you_mean(dataset, known) or has
    return LedgerError(
        f"The ledger has no budget for data set {dataset!r}.{hint} Declare what may ever be spent "
        f"on it with ledger.create_budget({dataset!r}, epsilon=..., delta=...), or `interpret-dp "
        "fit --budget EPSILON`. Nothing was spent."
    )
