"""What a site or the coordinator must know again after its process was killed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from interpret_dp.exceptions import SitesError

# The file for undoing a change holds what was before it, secrets too: none of it stays.
_RULES = (
    "locking_mode = EXCLUSIVE",
    "synchronous = EXTRA",
    "secure_delete = ON",
    "journal_size_limit = 0",
)


class Journal:
    """Entries that are written once, and are on the disk before anything follows from them.

    Parameters
    ----------
    path : path-like
        Made if it is not there, for its owner alone; ``":memory:"`` is no file, and is lost with
        the process.

    Raises
    ------
    SitesError
        If it cannot be opened, is no journal, or another process uses it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        try:
            if self._path != ":memory:":
                # It holds the secrets of a fit. One that is there is not opened here: to close it
                # would give up the lock that another journal of this process has on it.
                with suppress(FileExistsError):
                    os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            # The coordinator's threads take turns.
            self._file = sqlite3.connect(
                self._path, isolation_level=None, timeout=1.0, check_same_thread=False
            )
            if self._path != ":memory:":
                # Before a file for undoing is made, which has the same mode.
                Path(self._path).chmod(0o600)
            for rule in _RULES:
                self._file.execute(f"PRAGMA {rule}")
            # Whoever writes first has it for as long as its process lives.
            self._file.execute("BEGIN EXCLUSIVE")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS journal (name TEXT PRIMARY KEY, entry BLOB NOT NULL)"
            )
            self._file.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise SitesError(
                f"The journal {self._path!r} cannot be used ({error}). Name a file of this fit "
                "that its owner can write, and that no other process uses."
            ) from None

    def get(self, name: str) -> bytes | None:
        """Return an entry, or None."""
        rows = self._file.execute("SELECT entry FROM journal WHERE name = ?", (name,))
        return next((bytes(entry) for (entry,) in rows), None)

    def once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """Return an entry; if there is none, make it and write it first."""
        known = self.get(name)
        if known is None:
            known = make()
            self._file.execute("INSERT INTO journal VALUES (?, ?)", (name, known))
        return known

    def close(self) -> None:
        """Let another process have the file."""
        self._file.close()

    def empty(self, name: str) -> None:
        """Overwrite an entry with nothing."""
        self._file.execute("UPDATE journal SET entry = ? WHERE name = ?", (b"", name))
