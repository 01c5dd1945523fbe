"""What the store asks of a database, and which databases there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GONE", "Database", "open_database", "resolve_url", "without_password"]

GONE = (
    "is gone. Put it back where it was, or restore it from a backup: a new one, which "
    "PrivacyLedger(url).create_budget(...) would make, knows nothing of what was spent"
)
"""The end of a sentence about a ledger that was there before."""

_FORMS = "sqlite:///privacy.db or postgresql://user@host/database"


class Database(Protocol):
    """Everything in which one database differs from another.

    Attributes
    ----------
    name : str
        For messages; never with a password.
    timeout : float
        Seconds to wait for another process's lock, and for a server that was there before.
    """

    name: str
    timeout: float

    def exists(self) -> bool:
        """Whether the database is there, with or without a ledger.

        Raises
        ------
        LedgerError
            If it cannot be where the URL says.
        """

    def create(self) -> None:
        """Create the database itself, where that is not left to its owner."""

    def open_engine(self) -> Engine:
        """Return an engine; nothing is connected yet."""

    def options(self, *, exclusive: bool) -> dict[str, Any]:
        """Return the execution options of a connection before its transaction begins."""

    def begin(self, connection: Connection, *, exclusive: bool) -> None:
        """Do what a transaction starts with; shut out other writers if ``exclusive``."""

    def tables(self, connection: Connection) -> Sequence[str]:
        """Return the names of the tables where the ledger's are, or are to be."""

    def prepare(self, connection: Connection) -> None:
        """Make room for tables that are about to be created.

        Raises
        ------
        LedgerError
            If the database is of a kind that cannot hold a ledger.
        """

    def append_only(self, table: str, number: str) -> list[str]:
        """Return statements that forbid every change of a table but the insert of the next number.

        Parameters
        ----------
        table : str
            Name of the table.
        number : str
            Name of its running number.
        """

    def explain(self, error: BaseException) -> str:
        """Return what is wrong and what to do, as the end of a sentence about the ledger."""

    def damage(self, connection: Connection) -> str | None:
        """Return what the database finds damaged in itself; None if nothing, or if it never looks.

        Entries have their chain; this is for what lies around them, such as an index in which a
        data set has another name.
        """

    def may_come_back(self, error: BaseException) -> bool:
        """Whether a connection that failed like this may succeed a little later."""


def resolve_url(url: str) -> URL:
    """Return the checked URL of a ledger; that of a file has its full path.

    Raises
    ------
    TypeError, ValueError
        If it is no URL of a database that the ledger knows. The message never shows a password.
    """
    from interpret_dp.ledger.core import postgres, sqlite

    if not isinstance(url, str):
        raise TypeError(f"url is of type {type(url).__name__}; it must be a text.")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The text may hold a password, and what cannot be parsed cannot be masked.
        scheme = url.partition("://")[0] if "://" in url else "missing"
        raise ValueError(
            f"url cannot be read (its scheme is {scheme[:40]!r}); it must be a URL such as "
            f"{_FORMS}."
        ) from None
    if parsed.drivername in sqlite.DRIVERS:
        if "?" in url:
            raise ValueError(
                f"url is {url!r}; an SQLite ledger takes a path alone, without options. Give a "
                "path without '?'."
            )
        return sqlite.resolve(parsed)
    if parsed.drivername in postgres.DRIVERS:
        return postgres.resolve(parsed)
    raise ValueError(
        f"url is of the dialect {parsed.drivername!r}; the ledger knows 'sqlite' and 'postgresql' "
        f"(with the driver psycopg). Write {_FORMS}."
    )


def without_password(url: URL) -> str:
    """Return a URL as a text that may be shown and stored."""
    # URL.set takes None for "leave it as it is".
    parts = url._asdict() | {"password": None}
    return URL.create(**parts).render_as_string(hide_password=False)


def open_database(url: URL | None, timeout: float) -> Database:
    """Return the database of a URL that `resolve_url` gave, or one in memory for None."""
    from interpret_dp.ledger.core import postgres, sqlite

    if url is None or url.drivername in sqlite.DRIVERS:
        return sqlite.SQLiteDatabase(url, timeout)
    return postgres.PostgresDatabase(url, timeout)
