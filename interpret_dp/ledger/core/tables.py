"""The tables of the ledger, in portable SQL.

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

from sqlalchemy import (
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    select,
    text,
)

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.core.chain import CLOSING, Entry, verify_chain
from interpret_dp.ledger.core.database import Database

__all__ = [
    "CLOSED_ONCE",
    "ENTRIES",
    "METADATA",
    "SCHEMA_VERSION",
    "STEPS",
    "VERSIONS",
    "create_tables",
    "migrate",
    "stored_version",
]

SCHEMA_VERSION = 2
"""Of the tables and of the kinds of entries. Raise it with a step in `STEPS` whenever an older
interpret_dp, reading a newer log, would count less than it should."""

METADATA = MetaData()

VERSIONS = Table(
    "interpret_dp_ledger",
    METADATA,
    Column("schema_version", Integer, primary_key=True, autoincrement=False),
)

ENTRIES = Table(
    "interpret_dp_ledger_entries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("time", String(40), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("dataset", String(200), nullable=False, index=True),
    Column("reservation", Integer, nullable=True),
    Column("explainer", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("mu", Double, nullable=False),
    Column("delta", Double, nullable=False),
    Column("epsilon", Double, nullable=True),
    Column("epsilon_delta", Double, nullable=True),
    Column("event", Text, nullable=False),
    Column("package_version", String(40), nullable=False),
    Column("context", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

_closing = ENTRIES.c.kind.in_(CLOSING)
CLOSED_ONCE = Index(
    "interpret_dp_ledger_closed_once",
    ENTRIES.c.reservation,
    unique=True,
    sqlite_where=_closing,
    postgresql_where=_closing,
)
"""A reservation is closed once, whatever program writes the entry."""


def stored_version(connection: Connection, name: str) -> int:
    """Return the version of a ledger's tables, which this package can read or migrate.

    Raises
    ------
    LedgerError
        If it is newer than this package, or there is none.
    """
    stored = connection.execute(select(VERSIONS.c.schema_version)).scalars().all()
    # A damaged file may hold anything here.
    versions = sorted(version for version in stored if type(version) is int)
    if not versions or versions[0] < 1 or len(versions) < len(stored):
        raise LedgerError(
            f"The ledger {name} is damaged: it says nothing of its version, or no number. "
            "Restore it from a backup."
        )
    if versions[-1] > SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger {name} is of schema version {versions[-1]}; this interpret_dp reads "
            f"version {SCHEMA_VERSION}. Upgrade interpret_dp to the version that wrote it: pip "
            "install --upgrade interpret-dp."
        )
    return int(versions[-1])


def create_tables(connection: Connection, database: Database) -> None:
    """Make an empty ledger of the newest version, inside a transaction."""
    database.prepare(connection)
    METADATA.create_all(connection)
    connection.execute(VERSIONS.insert().values(schema_version=SCHEMA_VERSION))
    statements = database.append_only(VERSIONS.name, VERSIONS.c.schema_version.name)
    statements += database.append_only(ENTRIES.name, ENTRIES.c.number.name)
    for statement in statements:
        connection.execute(text(statement))


def migrate(connection: Connection, database: Database, version: int) -> None:
    """Bring the tables from a version to the newest, inside an exclusive transaction.

    Raises
    ------
    LedgerError
        If the log is damaged, before or after: nothing was changed then.
    """
    head = verify_chain(_entries(connection))
    for known in range(version, SCHEMA_VERSION):
        STEPS[known](connection, database)
        connection.execute(VERSIONS.insert().values(schema_version=known + 1))
    if verify_chain(_entries(connection)) != head:
        raise LedgerError(
            f"The step of the ledger {database.name} to schema version {SCHEMA_VERSION} would "
            "change its entries, and was undone. Report this as a bug of interpret_dp."
        )


def _entries(connection: Connection) -> Iterator[Entry]:
    for row in connection.execute(select(ENTRIES).order_by(ENTRIES.c.number)).mappings():
        yield Entry.from_row(dict(row))


def _from_1(connection: Connection, database: Database) -> None:
    """Close reservations once by an index, and let the versions be appended to.

    Only files have tables of version 1.
    """
    CLOSED_ONCE.create(connection)
    for statement in database.append_only(VERSIONS.name, VERSIONS.c.schema_version.name):
        name = statement.split()[2]
        connection.execute(text(f"DROP TRIGGER {name}"))
        connection.execute(text(statement))


STEPS: dict[int, Callable[[Connection, Database], None]] = {1: _from_1}
"""By the version that they start from."""
