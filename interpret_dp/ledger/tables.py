"""The tables of the ledger, in portable SQL, and the operations in which databases differ.

One table holds the append-only log; budgets are entries of it, so that no second table can
contradict the hash chain. The other table holds the version of the schema, and keeps those that it
had before.

Alembic would be another way to go from one version to the next. It keeps its version in a table of
its own, which it updates in place, and its strength is the comparison of many tables with many
models; here are two tables, of which one only ever grows. So a version is a row that is appended,
and a step is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.chain import CLOSING, Entry, verify_chain

if TYPE_CHECKING:
    from collections.abc import Sequence


GONE = (
    "is gone. Put it back where it was, or restore it from a backup: a new one, made by "
    "PrivacyLedger(url).create_budget(...), would have no record of what was spent"
)
"""The end of a sentence about a ledger that was there before."""

SCHEMA_VERSION = 2
"""Of the tables and of the kinds of entries. Raise it with a step in `STEPS` whenever an older
interpret_dp, reading a newer log, would count less than it should."""

METADATA = sa.MetaData()

VERSIONS = sa.Table(
    "interpret_dp_ledger",
    METADATA,
    sa.Column("schema_version", sa.Integer, primary_key=True, autoincrement=False),
)

ENTRIES = sa.Table(
    "interpret_dp_ledger_entries",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.String(40), nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("dataset", sa.String(200), nullable=False, index=True),
    sa.Column("reservation", sa.Integer, nullable=True),
    sa.Column("explainer", sa.Text, nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("mu", sa.Double, nullable=False),
    sa.Column("delta", sa.Double, nullable=False),
    sa.Column("epsilon", sa.Double, nullable=True),
    sa.Column("epsilon_delta", sa.Double, nullable=True),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("package_version", sa.String(40), nullable=False),
    sa.Column("context", sa.Text, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)

IN_ORDER = sa.select(ENTRIES).order_by(ENTRIES.c.number)

_closing = ENTRIES.c.kind.in_(CLOSING)
CLOSED_ONCE = sa.Index(
    "interpret_dp_ledger_closed_once",
    ENTRIES.c.reservation,
    unique=True,
    sqlite_where=_closing,
    postgresql_where=_closing,
)
"""A reservation is closed once, whatever program writes the entry."""


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
        """Whether the database is there, with or without a ledger; True where only a server knows.

        Raises
        ------
        LedgerError
            If it cannot be where the URL says.
        """
        return True

    def create(self) -> None:
        """Create the database itself, where that is not left to its owner."""
        return

    def open_engine(self) -> sa.Engine:
        """Return an engine; nothing is connected yet."""

    def options(self, *, exclusive: bool) -> dict[str, Any]:
        """Return the execution options of a connection before its transaction begins."""
        return {}

    def begin(self, connection: sa.Connection, *, exclusive: bool) -> None:
        """Start a transaction; shut out other writers if ``exclusive``."""

    def tables(self, connection: sa.Connection) -> Sequence[str]:
        """Return the names of the tables where the ledger's are, or are to be."""

    def prepare(self, connection: sa.Connection) -> None:
        """Make room for tables that are about to be created.

        Raises
        ------
        LedgerError
            If the database is of a kind that cannot hold a ledger.
        """
        return

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

    def damage(self, connection: sa.Connection) -> str | None:
        """Return what the database finds damaged in itself; None if nothing, or if it never looks.

        Entries have their chain; this is for what lies around them, such as an index in which a
        data set has another name. A server looks after its own pages (checksums, ``pg_amcheck``).
        """
        return None

    def may_come_back(self, error: BaseException) -> bool:
        """Whether a connection that failed like this may succeed a little later."""
        return False


def without_password(url: sa.URL) -> str:
    """Return a URL as a text that may be shown and stored."""
    # URL.set takes None for "leave it as it is".
    parts = url._asdict() | {"password": None}
    return sa.URL.create(**parts).render_as_string(hide_password=False)


def stored_version(connection: sa.Connection, name: str) -> int:
    """Return the version of a ledger's tables, which this package can read or migrate.

    Raises
    ------
    LedgerError
        If it is newer than this package, or there is none.
    """
    stored = connection.execute(sa.select(VERSIONS.c.schema_version)).scalars().all()
    # A damaged file may hold anything here.
    versions = sorted(version for version in stored if type(version) is int)
    if not versions or versions[0] < 1 or len(versions) < len(stored):
        raise LedgerError(
            f"The ledger {name} is damaged: its version is missing or no number. Restore a backup."
        )
    if versions[-1] > SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger {name} is of schema version {versions[-1]}; this interpret_dp reads "
            f"version {SCHEMA_VERSION}. Upgrade interpret_dp to the version that wrote it: pip "
            "install --upgrade interpret-dp."
        )
    return int(versions[-1])


def create_tables(connection: sa.Connection, database: Database) -> None:
    """Make an empty ledger of the newest version, inside a transaction."""
    database.prepare(connection)
    METADATA.create_all(connection)
    connection.execute(VERSIONS.insert().values(schema_version=SCHEMA_VERSION))
    statements = database.append_only(VERSIONS.name, VERSIONS.c.schema_version.name)
    statements += database.append_only(ENTRIES.name, ENTRIES.c.number.name)
    for statement in statements:
        connection.execute(sa.text(statement))


def migrate(connection: sa.Connection, database: Database, version: int) -> None:
    """Bring the tables from a version to the newest, inside an exclusive transaction.

    Raises
    ------
    LedgerError
        If the log is damaged, before or after: nothing was changed then.
    """
    head = verify_chain(read_entries(connection, IN_ORDER))
    for known in range(version, SCHEMA_VERSION):
        STEPS[known](connection, database)
        connection.execute(VERSIONS.insert().values(schema_version=known + 1))
    if verify_chain(read_entries(connection, IN_ORDER)) != head:
        raise LedgerError(
            f"Migrating the ledger {database.name} to schema version {SCHEMA_VERSION} would change "
            "its entries, and was undone. Report this as a bug of interpret_dp."
        )


def read_entries(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[Entry]:
    """Yield the entries that a query selects, as they are stored."""
    for row in connection.execute(query).mappings():
        yield Entry.from_row(dict(row))


def _from_1(connection: sa.Connection, database: Database) -> None:
    """Close reservations once by an index, and let the versions be appended to.

    Only files have tables of version 1.
    """
    CLOSED_ONCE.create(connection)
    for statement in database.append_only(VERSIONS.name, VERSIONS.c.schema_version.name):
        name = statement.split()[2]
        connection.execute(sa.text(f"DROP TRIGGER {name}"))
        connection.execute(sa.text(statement))


STEPS: dict[int, Callable[[sa.Connection, Database], None]] = {1: _from_1}
"""By the version that they start from."""
