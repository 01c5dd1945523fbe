"""Everything that is particular to SQLite: files, locks, triggers and error codes."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect
from sqlalchemy.pool import NullPool, StaticPool

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.tables import GONE, Database

DRIVERS = ("sqlite", "sqlite+pysqlite")


def resolve(url: URL, text: str) -> URL:
    """Return the URL with a full path, so that it means the same file in every process.

    Raises
    ------
    ValueError
        If the text of the URL names no file or carries options.
    """
    path = url.database or ":memory:"
    if path == ":memory:" or path.startswith("file:") or url.query or url.host or "?" in text:
        raise ValueError(
            f"url is {url.render_as_string()!r}; an SQLite ledger takes a path alone, without "
            "host or options. Write sqlite:///privacy.db, or sqlite:////data/privacy.db for a full "
            "path. For one that ends with the process use PrivacyLedger.in_memory()."
        )
    return url.set(drivername="sqlite", database=str(Path(path).expanduser().resolve()))


class SQLiteDatabase(Database):
    """A file, or memory.

    Parameters
    ----------
    url : URL or None
        Of :func:`resolve`; None keeps everything in memory.
    timeout : float
        Seconds to wait for another process's lock.
    """

    def __init__(self, url: URL | None, timeout: float) -> None:
        self._path = None if url is None else Path(url.database or "")
        self.name = "in memory" if url is None else repr(url.database)
        self.timeout = timeout

    def exists(self) -> bool:
        """Whether the file is there.

        Raises
        ------
        LedgerError
            If it cannot be there.
        """
        path = self._path
        if path is None:
            return True
        if not path.parent.is_dir():
            raise LedgerError(
                f"The ledger's folder {str(path.parent)!r} does not exist. Create or change it."
            )
        if os.path.isdir(path):
            raise LedgerError(f"The ledger's path {str(path)!r} is a folder. Give that of a file.")
        return os.path.exists(path)

    def create(self) -> None:
        """Create an empty file.

        Raises
        ------
        LedgerError
            If that is not allowed.
        """
        if self._path is not None:
            try:
                self._path.touch()
            except OSError as error:
                message = f"The ledger {self.name} {_BY_CODE[sqlite3.SQLITE_CANTOPEN]}."
                raise LedgerError(message) from error

    def open_engine(self) -> Engine:
        """Return an engine; nothing is connected yet."""
        if self._path is None:
            engine = create_engine(
                "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
            )
        else:
            # One connection per transaction: nothing to share by mistake across forks or threads.
            # SQLite would make a file that is gone anew, and empty.
            url = URL.create(
                "sqlite", database=self._path.as_uri(), query={"uri": "true", "mode": "rw"}
            )
            engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": self.timeout})
        event.listen(engine, "connect", _on_connect)
        return engine

    def begin(self, connection: Connection, *, exclusive: bool) -> None:
        """Start a transaction, which the driver leaves to this."""
        connection.exec_driver_sql("BEGIN IMMEDIATE" if exclusive else "BEGIN")

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of all tables of the file."""
        return inspect(connection).get_table_names()

    def append_only(self, table: str, number: str) -> list[str]:
        """Return the triggers that forbid every change but the insert of the next number."""
        # INSERT OR REPLACE deletes without firing delete triggers, hence the third trigger.
        condition = f"WHEN NEW.{number} <> (SELECT coalesce(max({number}), 0) + 1 FROM {table})"
        clauses = {"UPDATE": "", "DELETE": "", "INSERT": condition}
        return [
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {clause} "
            f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            for verb, clause in clauses.items()
        ]

    def explain(self, error: BaseException) -> str:
        """Return what is wrong and what to do, as the end of a sentence about the ledger."""
        if self._path is not None and not os.path.exists(self._path):
            return GONE
        code = getattr(error, "sqlite_errorcode", None)
        unknown = "cannot be used. Run verify(), and restore the ledger from a backup if it fails"
        return _BY_CODE.get(code & 0xFF, unknown) if isinstance(code, int) else unknown

    def damage(self, connection: Connection) -> str | None:
        """Return the first finding of SQLite's own check of all pages and indexes."""
        result = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one())
        return None if result == "ok" else " ".join(result.split())


def _on_connect(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver would otherwise begin transactions late, after the check was read.
    connection.isolation_level = None
    # With FULL, a power cut just after a commit may bring the old state back.
    connection.execute("PRAGMA synchronous = EXTRA")


_BY_CODE = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another process for longer than the timeout. Wait for that process to end, "
        "or open the ledger with a larger timeout"
    ),
    sqlite3.SQLITE_LOCKED: "is locked by another connection. Try again",
    sqlite3.SQLITE_NOTADB: (
        "is not an SQLite database. Give another path, or restore the ledger from a backup"
    ),
    sqlite3.SQLITE_CORRUPT: "is damaged. Restore it from a backup",
    sqlite3.SQLITE_READONLY: (
        "cannot be written. Give this user the right to write the file and its folder"
    ),
    sqlite3.SQLITE_CANTOPEN: "cannot be opened. Check the path and this user's rights, or name "
    "another file: --ledger on the command line, ledger= in Python",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full. Free some space",
    sqlite3.SQLITE_IOERR: "cannot be read or written. Check the disk",
    sqlite3.SQLITE_CONSTRAINT: "refuses the change. It is append-only: entries are never changed",
}
