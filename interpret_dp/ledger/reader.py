"""The half of the ledger that only reads."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import check_real
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account, Budget, Spent
from interpret_dp.ledger.chain import GENESIS, verify_chain
from interpret_dp.ledger.filter import largest_epsilon, remaining_mu
from interpret_dp.ledger.handle import LedgerHandle
from interpret_dp.ledger.reporting import account_document, report_frame

if TYPE_CHECKING:
    import pandas as pd

    from interpret_dp.ledger.store import Log

__all__ = ["LedgerReader", "account_of", "check_name", "check_text", "no_budget_error"]

_LONGEST_NAME = 200
_FORMAT = "interpret_dp.ledger"
_VERSION = 1


class LedgerReader(LedgerHandle):
    """What can be asked of a ledger; no method here changes it."""

    def budget(self, dataset: str) -> Budget | None:
        """Return the budget in force; None if no limit was declared."""
        dataset = check_name("dataset", dataset)
        with self._opened().reading() as log:
            return account_of(log, dataset).budget

    def spent(self, dataset: str) -> Spent:
        """Return what was ever spent on a data set, open reservations counted.

        Raises
        ------
        LedgerError
            If a persistent ledger has no budget for the data set.
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
            0.0 if nothing fits; infinite if no limit was declared.

        Raises
        ------
        LedgerError
            If a persistent ledger has no budget for the data set.
        """
        if delta is not None:
            delta = check_real("delta", delta, low=0, high=1, low_open=True, high_open=True)
        account = self._account(dataset)
        if account.budget is None:
            return remaining_mu(account)
        return largest_epsilon(remaining_mu(account), delta or account.budget.delta)

    def datasets(self) -> list[str]:
        """Return the names of all data sets in the ledger, sorted."""
        with self._opened().reading() as log:
            return log.datasets()

    def entries(self, dataset: str | None = None) -> list[dict[str, Any]]:
        """Return the log's entries in order, of one data set or of all.

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

        Raises
        ------
        LedgerError
            If the ledger has no entry of that data set.
        """
        return report_frame(self._accounts(dataset)[0])

    def to_dict(self, dataset: str | None = None) -> dict[str, Any]:
        """Return budgets, spending, requests and head as a document for JSON.

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

    @property
    def head(self) -> str | None:
        """The hash of the log's last entry; None while the log is empty."""
        with self._opened().reading() as log:
            return _head(log)

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
            Names the first entry that was changed, removed, moved or cut off.
        """
        with self._opened().reading() as log:
            last = verify_chain(log.entries(), head)
        return None if last == GENESIS else last

    def _account(self, dataset: str) -> Account:
        dataset = check_name("dataset", dataset)
        with self._opened().reading() as log:
            account = account_of(log, dataset)
        if self.persistent and account.budget is None:
            raise no_budget_error(dataset)
        return account

    def _accounts(self, dataset: str | None) -> tuple[list[Account], str | None]:
        with self._opened().reading() as log:
            names = log.datasets() if dataset is None else [_known_dataset(log, dataset)]
            return [account_of(log, name) for name in names], _head(log)


def account_of(log: Log, dataset: str) -> Account:
    """Return a data set's account as one transaction sees it."""
    return log.account(dataset)


def _head(log: Log) -> str | None:
    last = log.last()
    return last.hash if last else None


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


def no_budget_error(dataset: str) -> LedgerError:
    """Return the error for a data set on which nobody has declared a limit."""
    return LedgerError(
        f"The ledger has no budget for data set {dataset!r}. Declare what may ever be spent on it "
        f"with ledger.create_budget({dataset!r}, epsilon=..., delta=...), or `interpret-dp fit "
        "--budget EPSILON`."
    )


def check_name(name: str, value: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Return a text that means the same to eyes and to the database (Unicode form NFC)."""
    tail = "" if longest is None else f", of at most {longest} characters"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text{tail}.")
    # The form NFC of a few characters is longer than they are.
    text = unicodedata.normalize("NFC", value)
    too_long = longest is not None and len(text) > longest
    if not value or value != value.strip() or not value.isprintable() or too_long:
        raise ValueError(
            f"{name} is {value!r}; it must be a printable text that is not empty{tail}, without "
            "spaces at its ends."
        )
    return text


def check_text(value: str) -> str:
    """Return a purpose, which may be empty."""
    if not isinstance(value, str):
        raise TypeError(f"purpose is {value!r} ({type(value).__name__}); it must be a text.")
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(
            f"purpose is {value!r}; it must be a text without null characters and without halves "
            "of characters (surrogates), which no database stores."
        )
    return value
