"""The operations in which one database differs from another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import URL, Connection, Engine

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GONE", "Database", "without_password"]

GONE = (
    "is gone. Put it back where it was, or restore it from a backup: a new one, which "
    "PrivacyLedger(url).create_budget(...) would make, knows nothing of what was spent"
)
"""The end of a sentence about a ledger that was there before."""


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


def without_password(url: URL) -> str:
    """Return a URL as a text that may be shown and stored."""
    # URL.set takes None for "leave it as it is".
    parts = url._asdict() | {"password": None}
    return URL.create(**parts).render_as_string(hide_password=False)
