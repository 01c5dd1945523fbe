"""The tables of the ledger and its transactions; portable SQL only.

One table holds the append-only log; budgets are entries of it, so that no second table can
contradict the hash chain. What depends on the database lives in that database's own module.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Double,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from interpret_dp._version import __version__
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import sqlite
from interpret_dp.ledger.chain import GENESIS, Entry

__all__ = ["SCHEMA_VERSION", "Log", "Store", "resolve_url"]

SCHEMA_VERSION = 1

_METADATA = MetaData()
_VERSIONS = Table(
    "interpret_dp_ledger",
    _METADATA,
    Column("schema_version", Integer, primary_key=True, autoincrement=False),
)
_ENTRIES = Table(
    "interpret_dp_ledger_entries",
    _METADATA,
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


def resolve_url(url: str) -> URL:
    """Return the checked URL of a ledger, with a full path.

    Raises
    ------
    TypeError, ValueError
        If it is no URL of a database that the ledger knows. The message never shows a password.
    """
    if not isinstance(url, str):
        raise TypeError(f"url is of type {type(url).__name__}; it must be a text.")
    try:
        parsed = make_url(url)
    except ArgumentError:
        # The text may hold a password, and what cannot be parsed cannot be masked.
        scheme = url.partition("://")[0] if "://" in url else "missing"
        raise ValueError(
            f"url cannot be read (its scheme is {scheme[:40]!r}); it must be an SQLite URL such as "
            "sqlite:///privacy.db."
        ) from None
    if parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise ValueError(
            f"url is {parsed.render_as_string()!r} of the dialect {parsed.drivername!r}; the "
            "ledger knows 'sqlite'. Write sqlite:///privacy.db."
        )
    return sqlite.resolve(parsed.set(drivername="sqlite"))


class Log:
    """The log as one transaction sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """Yield the entries in order, of one data set or of all."""
        query = select(_ENTRIES).order_by(_ENTRIES.c.number)
        if dataset is not None:
            query = query.where(_ENTRIES.c.dataset == dataset)
        for row in self._connection.execute(query).mappings():
            yield Entry.from_row(dict(row))

    def datasets(self) -> list[str]:
        """Return the names of all data sets, sorted."""
        query = select(_ENTRIES.c.dataset).distinct()
        return sorted(self._connection.execute(query).scalars())

    def session_user(self) -> str | None:
        """Return the login that a database server checked; None where there is no server."""
        if self._connection.dialect.name != "postgresql":
            return None
        return str(self._connection.execute(text("SELECT session_user")).scalar_one())

    def entry(self, number: int) -> Entry | None:
        """Return one entry by its number."""
        query = select(_ENTRIES).where(_ENTRIES.c.number == number)
        row = self._connection.execute(query).mappings().one_or_none()
        return None if row is None else Entry.from_row(dict(row))

    def last(self) -> Entry | None:
        """Return the last entry.

        Raises
        ------
        LedgerError
            If it was changed: nothing may be chained to it.
        """
        query = select(_ENTRIES).order_by(_ENTRIES.c.number.desc()).limit(1)
        row = self._connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        entry = Entry.from_row(dict(row))
        if entry.digest() != entry.hash:
            raise LedgerError(
                f"Entry {entry.number} of the ledger was changed: its content does not match its "
                "hash. Restore the ledger from a backup."
            )
        return entry

    def append(
        self,
        *,
        kind: str,
        dataset: str,
        mu: float,
        delta: float,
        epsilon: float | None = None,
        epsilon_delta: float | None = None,
        reservation: int | None = None,
        explainer: str = "",
        purpose: str = "",
        event: str = "",
        context: str = "{}",
    ) -> Entry:
        """Chain one entry to the log and return it; only inside a writing transaction."""
        last = self.last()
        entry = Entry(
            number=last.number + 1 if last else 1,
            time=datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds"),
            kind=kind,
            dataset=dataset,
            reservation=reservation,
            explainer=explainer,
            purpose=purpose,
            mu=mu,
            delta=delta,
            epsilon=epsilon,
            epsilon_delta=epsilon_delta,
            event=event,
            package_version=__version__,
            context=context,
            previous=last.hash if last else GENESIS,
        ).sealed()
        values: dict[str, Any] = {name: getattr(entry, name) for name in _ENTRIES.c.keys()}  # noqa: SIM118
        self._connection.execute(_ENTRIES.insert().values(values))
        return entry


class Store:
    """A database that holds a ledger.

    Parameters
    ----------
    url : URL or None
        Of :func:`resolve_url`; None keeps everything in memory.
    timeout : float
        Seconds to wait for another process's lock.
    must_exist : bool
        Refuse to create a file: what was spent would be forgotten.

    Raises
    ------
    LedgerError
        If the file is locked, damaged, foreign, of a newer version, or cannot be there.
    """

    def __init__(self, url: URL | None, *, timeout: float, must_exist: bool = False) -> None:
        self._name = "in memory" if url is None else repr(url.database)
        self._lock = threading.RLock() if url is None else contextlib.nullcontext()
        if url is not None:
            sqlite.check_location(url, must_exist=must_exist)
        self._engine = sqlite.open_engine(url, timeout)
        with self._transaction(exclusive=False) as connection:
            ready = self._recognise(connection)
        if not ready:
            with self._transaction(exclusive=True) as connection:
                if not self._recognise(connection):
                    _create_tables(connection)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Log]:
        """Open a transaction that sees one state of the log."""
        with self._transaction(exclusive=False) as connection:
            yield Log(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Log]:
        """Open a transaction that shuts out every other writer until it ends."""
        with self._transaction(exclusive=True) as connection:
            yield Log(connection)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _transaction(self, *, exclusive: bool) -> Iterator[Connection]:
        options = {sqlite.EXCLUSIVE: exclusive}
        try:
            with (
                self._lock,
                self._engine.connect().execution_options(**options) as connection,
                connection.begin(),
            ):
                yield connection
        except DBAPIError as error:
            cause = error.orig or error
            raise LedgerError(f"The ledger {self._name} {sqlite.explain(cause)}.") from error

    def _recognise(self, connection: Connection) -> bool:
        """Whether the database holds a ledger (True) or nothing (False)."""
        tables = inspect(connection).get_table_names()
        if not tables:
            return False
        if _VERSIONS.name not in tables or _ENTRIES.name not in tables:
            raise LedgerError(
                f"The database {self._name} holds other tables and no ledger. Give another path."
            )
        versions = list(connection.execute(select(_VERSIONS.c.schema_version)).scalars())
        if versions != [SCHEMA_VERSION]:
            raise LedgerError(
                f"The ledger {self._name} is of schema version {versions}; this interpret_dp "
                f"reads version {SCHEMA_VERSION}. Upgrade interpret_dp to the version that wrote "
                "it."
            )
        return True


def _create_tables(connection: Connection) -> None:
    _METADATA.create_all(connection)
    connection.execute(_VERSIONS.insert().values(schema_version=SCHEMA_VERSION))
    statements = sqlite.append_only_triggers(_VERSIONS.name, None)
    statements += sqlite.append_only_triggers(_ENTRIES.name, _ENTRIES.c.number.name)
    for statement in statements:
        connection.execute(text(statement))
