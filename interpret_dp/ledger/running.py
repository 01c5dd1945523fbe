"""The accounts as this process knows them: folded once, verified entry by entry.

The stored entries remain the truth. What is kept here only saves reading them again: each
transaction reads the entries after the last one that is known, checks that they continue the hash
chain from there, and adds them to their accounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account, fold
from interpret_dp.ledger.chain import GENESIS, Entry, check_next

__all__ = ["Running"]

_Slot = tuple[Account | None, tuple[Entry, ...]]


class Running:
    """The verified log up to an entry, as accounts; never changes what it says.

    Attributes
    ----------
    number : int
        Of the last entry that is known; 0 for an empty log.
    hash : str
        Of that entry.
    """

    def __init__(
        self, number: int = 0, digest: str = GENESIS, slots: Mapping[str, _Slot] | None = None
    ) -> None:
        self.number = number
        self.hash = digest
        # An account as far as it is folded, and the entries that are not folded yet.
        self._slots: dict[str, _Slot] = dict(slots or {})

    def account(self, dataset: str) -> Account:
        """Return a data set's account.

        Raises
        ------
        LedgerError
            If its entries contradict each other.
        """
        # One look at the slot and one write of it, so that threads fold no entry twice.
        account, entries = self._slots.get(dataset, (None, ()))
        if account is None or entries:
            account = fold(dataset, entries, onto=account)
            self._slots[dataset] = (account, ())
        return account

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
        added: dict[str, list[Entry]] = {}
        for entry in entries:
            number += 1
            check_next(entry, number, digest)
            digest = entry.hash
            added.setdefault(entry.dataset, []).append(entry)
        if not added:
            return self
        slots = dict(self._slots)
        for dataset, new in added.items():
            account, waiting = slots.get(dataset, (None, ()))
            slots[dataset] = (account, (*waiting, *new))
        return Running(number, digest, slots)
