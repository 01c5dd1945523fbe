"""The whole ledger for an officer: one document with its check, and archives of the log."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

from interpret_dp._version import __version__
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.core.account import Account
from interpret_dp.ledger.core.chain import Entry, verify_chain, write_archive
from interpret_dp.ledger.core.folding import fold_all
from interpret_dp.ledger.core.names import check_name, current_user, in_days
from interpret_dp.ledger.core.reader import LedgerReader
from interpret_dp.ledger.core.reporting import oversight_document
from interpret_dp.ledger.team.roles import WHOLE_LEDGER, roles_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LedgerOversight"]

_FORMAT = "interpret_dp.ledger_report"
_VERSION = 1


class LedgerOversight(LedgerReader):
    """Reports and archives; nothing here changes the ledger."""

    def oversight(self, dataset: str | None = None, *, head: str | None = None) -> dict[str, Any]:
        """Return everything that the ledger knows, with the result of its check, for JSON.

        A log that fails its check is told as far as it can be read: the document says what is
        wrong and gives the entries as they are.

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
            entries = list(log.entries())
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
            "made_by": current_user(),
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
    by_name = fold_all(entries)
    return [by_name[name] for name in sorted(by_name) if by_name[name].names[0] == name]


def _shown(entry: Entry) -> dict[str, Any]:
    """Return an entry with who wrote it; as it stands, if it was damaged."""
    try:
        document = entry.to_dict()
    except LedgerError:
        return dataclasses.asdict(entry) | {"user": "", "host": ""}
    facts = document["context"]
    return document | {key: str(facts.get(key, "")) for key in ("user", "host")}
