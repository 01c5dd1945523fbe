"""What the command line keeps for each user: a ledger, and which ledgers are charged for a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from interpret_dp._documents import read_json, write_file

if TYPE_CHECKING:
    from interpret_dp.ledger import PrivacyLedger

__all__ = ["default_ledger", "open_to_spend", "other_ledgers"]


def _folder() -> Path:
    from platformdirs import user_data_path

    try:
        return user_data_path("interpret_dp", appauthor=False)
    except RuntimeError:
        # A user without a home.
        return Path.cwd()


def default_ledger() -> str:
    """Return the URL of this user's ledger, the same in every working folder."""
    path = str(_folder() / "privacy.db")
    if path.isascii() and not set(path) & set("%?#"):
        return f"sqlite:///{path}"
    from interpret_dp.ledger.core.store import resolve_url

    return resolve_url("sqlite:///privacy.db").set(database=path).render_as_string()


def open_to_spend(url: str) -> PrivacyLedger:
    """Open a ledger that a budget may create; create the folder of the default ledger."""
    from interpret_dp.ledger import PrivacyLedger

    if url == default_ledger():
        _folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    return PrivacyLedger(url)


def other_ledgers(file: str, url: str) -> list[str]:
    """Note that a ledger is charged for a file; return the others of this user that are.

    The file counts by its path alone: a hash of its content would tell whether a guessed table is
    the true one. Of two fits that start at the same moment, one may go unnoted.

    Parameters
    ----------
    file : str
        The table's path.
    url : str
        The ledger's, without a password.
    """
    notes = _folder() / "charged_files.json"
    known = read_json(notes) if notes.exists() else {}
    path = os.path.realpath(file)
    ledgers = known.get(path, []) if isinstance(known, dict) else None
    if not isinstance(ledgers, list):
        raise ValueError(f"{str(notes)!r} is no list of ledgers by file. Delete it.")
    if url not in ledgers:
        known[path] = [*ledgers, url]
        notes.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(notes, json.dumps(known, indent=1))
    return [other for other in ledgers if other != url and not _is_gone(other)]


def _is_gone(url: str) -> bool:
    from interpret_dp.ledger.core.store import resolve_url

    parsed = resolve_url(url)
    return parsed.drivername == "sqlite" and not os.path.exists(parsed.database or "")
