"""The accounts as this process knows them: folded once, verified entry by entry.

The stored entries remain the truth. What is kept here only saves reading them again: each
transaction reads the entries after the last one that is known, checks that they continue the hash
chain from there, and adds them to their accounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.account import Account
from interpret_dp.ledger.chain import GENESIS, Entry, check_next
from interpret_dp.ledger.folding import fold_all

__all__ = ["Running"]


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
    """

    def __init__(
        self,
        number: int = 0,
        digest: str = GENESIS,
        general: tuple[Entry, ...] = (),
        accounts: Mapping[str, Account] | None = None,
        waiting: tuple[Entry, ...] = (),
    ) -> None:
        self.number = number
        self.hash = digest
        self.general = general
        # The accounts as far as they are folded, and the entries that are not folded yet: always
        # replaced together, so that threads fold no entry twice.
        self._folded = (accounts or {}, waiting)

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
        return accounts.get(dataset) or Account(dataset, None, (), names=(dataset,))

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
        added = []
        for entry in entries:
            number += 1
            check_next(entry, number, digest)
            digest = entry.hash
            added.append(entry)
        if not added:
            return self
        accounts, waiting = self._folded
        general = tuple(entry for entry in added if not entry.dataset)
        return Running(number, digest, self.general + general, accounts, (*waiting, *added))
