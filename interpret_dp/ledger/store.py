"""The log and its transactions, the same for every database.

What depends on the database lives in that database's own module. A writing transaction shuts out
all other writers before it reads, so that a check and the entry that follows it are one step.
"""

from __future__ import annotations

import contextlib
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import URL, Connection, Select, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from interpret_dp._documents import canonical_json
from interpret_dp._version import __version__
from interpret_dp.exceptions import ConnectionLostError, LedgerError
from interpret_dp.ledger import chain, postgres, sqlite, tables
from interpret_dp.ledger.account import Account
from interpret_dp.ledger.folding import Running

_LONGEST_PAUSE = 1.0
_FORMS = "sqlite:///privacy.db or postgresql://user@host/database"


class Log:
    """The log as one transaction sees it.

    Parameters
    ----------
    connection : Connection
        Inside its transaction.
    known : Running
        What the process knew before the transaction began.
    database : Database
        What the connection is of.

    Attributes
    ----------
    known : Running
        What is known by now; with uncommitted entries of this transaction.
    appended : Entry or None
        The last entry that this transaction appended.
    """

    def __init__(self, connection: Connection, known: Running, database: tables.Database) -> None:
        self._connection = connection
        self._database = database
        self._name = database.name
        self._is_caught_up = False
        self.known = known
        self.appended: chain.Entry | None = None

    def catch_up(self) -> Running:
        """Read, verify and return the log up to its end, with what was appended here.

        Raises
        ------
        LedgerError
            If the log was changed.
        """
        if not self._is_caught_up:
            rows = self._read(tables.IN_ORDER.where(tables.ENTRIES.c.number >= self.known.number))
            last = next(rows, None) if self.known.number else None
            self.known = self.known.after(last, rows, self._name)
            self._is_caught_up = True
        return self.known

    def account(self, dataset: str) -> Account:
        """Return the account of which a data set's name is one.

        Raises
        ------
        LedgerError
            If the log was changed, or contradicts itself.
        """
        return self.catch_up().account(dataset)

    def entries(self, dataset: str | None = None) -> Iterator[chain.Entry]:
        """Yield the entries in order, of one data set or of all, as they are stored."""
        query = tables.IN_ORDER
        if dataset is not None:
            query = query.where(tables.ENTRIES.c.dataset == dataset)
        return self._read(query)

    def _read(self, query: Select[Any]) -> Iterator[chain.Entry]:
        return tables.read_entries(self._connection, query)

    def datasets(self) -> list[str]:
        """Return the names of all data sets, sorted; acts on the whole ledger carry none."""
        query = select(tables.ENTRIES.c.dataset).where(tables.ENTRIES.c.dataset != "").distinct()
        return sorted(self._connection.execute(query).scalars())

    def check_pages(self) -> None:
        """Raise LedgerError if the database itself finds its pages or indexes damaged."""
        damage = self._database.damage(self._connection)
        if damage is not None:
            raise LedgerError(f"The ledger {self._name} is damaged ({damage}). Restore a backup.")

    def user(self) -> str:
        """Return who acts: the login that a database server checked, else the user account."""
        if self._connection.dialect.name != "postgresql":
            return chain.current_user()
        return str(self._connection.execute(text("SELECT session_user")).scalar_one())

    def entry(self, number: int) -> chain.Entry | None:
        """Return one entry by its number."""
        return next(self._read(tables.IN_ORDER.where(tables.ENTRIES.c.number == number)), None)

    def reserved(self, token: str) -> tuple[chain.Entry, chain.Entry | None] | None:
        """Return what was reserved with a token, and the entry that closed it."""
        entries = tables.ENTRIES.c
        query = tables.IN_ORDER.where(entries.context.contains(token, autoescape=True))
        for entry in self._read(query):
            if entry.kind == "reserve" and entry.details.get("token") == token:
                closing = tables.IN_ORDER.where(entries.reservation == entry.number)
                return entry, next(self._read(closing), None)
        return None

    def head(self) -> str | None:
        """Return the hash of the last entry; None while the log is empty.

        Raises
        ------
        LedgerError
            If an entry was changed.
        """
        running = self.catch_up()
        return running.hash if running.number else None

    def append(
        self, details: Mapping[str, Any] | None = None, *, kind: str, dataset: str, **fields: Any
    ) -> chain.Entry:
        """Chain one entry to the log and return it; only inside a writing transaction.

        It says who wrote it, and where.

        Parameters
        ----------
        details : mapping, optional
            Further entries of its context; those that are None are left out.
        kind, dataset : str
        **fields
            Further fields of :class:`~interpret_dp.ledger.chain.Entry`.

        Raises
        ------
        LedgerError
            If the log was changed: nothing may be chained to it.
        """
        given = {name: value for name, value in (details or {}).items() if value is not None}
        running = self.catch_up()
        entry = chain.Entry(
            number=running.number + 1,
            time="" if kind in chain.CLOSING else chain.now().date().isoformat(),
            kind=kind,
            dataset=dataset,
            context=canonical_json({"user": self.user(), "host": platform.node(), **given}),
            package_version=__version__,
            previous=running.hash,
            **fields,
        ).sealed()
        self._connection.execute(tables.ENTRIES.insert().values(vars(entry)))
        self.known = running.extended([entry])
        self.appended = entry
        return entry


class Store:
    """A database that holds a ledger.

    Parameters
    ----------
    url : URL or None
        Of :func:`resolve_url`; None keeps everything in memory.
    timeout : float
        Seconds to wait for another process's lock, and for a server that went away.
    must_exist : bool
        Refuse to begin a ledger: what was spent would be forgotten.

    Raises
    ------
    LedgerError
        If the database is locked, damaged, foreign, of a newer version, or cannot be there.
    ModuleNotFoundError
        If the extra that brings the database's driver is not installed.
    """

    def __init__(self, url: URL | None, *, timeout: float, must_exist: bool = False) -> None:
        if url is None or url.drivername in sqlite.DRIVERS:
            self._database: tables.Database = sqlite.SQLiteDatabase(url, timeout)
        else:
            self._database = postgres.PostgresDatabase(url, timeout)
        self._name = self._database.name
        self._lock = threading.RLock() if url is None else contextlib.nullcontext()
        self._running = Running()
        self._engine = self._database.open_engine()
        self._was_seen = False
        # A server that is not there now is a wrong URL more often than one that restarts.
        if not self.is_there(patient=False) and must_exist:
            raise LedgerError(f"The ledger {self._name} {tables.GONE}.")

    def is_there(self, *, patient: bool = True) -> bool:
        """Whether a ledger is there, or was; bring an older one forward.

        Raises
        ------
        LedgerError
            If something else is there.
        """
        if not self._was_seen and self._database.exists():
            with self._explained():
                with self._transaction(exclusive=False, patient=patient) as connection:
                    version = self._recognise(connection)
                if version is not None and version < tables.SCHEMA_VERSION:
                    with self._transaction(exclusive=True) as connection:
                        # Another process may have been faster.
                        version = tables.stored_version(connection, self._name)
                        if version < tables.SCHEMA_VERSION:
                            tables.migrate(connection, self._database, version)
            self._was_seen = version is not None
        return self._was_seen

    def create(self) -> None:
        """Begin a ledger, unless one is there or was."""
        if self.is_there():
            return
        self._database.create()
        with self._explained(), self._transaction(exclusive=True) as connection:
            # Another process may have been faster.
            if self._recognise(connection) is None:
                tables.create_tables(connection, self._database)
        self._was_seen = True

    def _require(self) -> None:
        if not self.is_there():
            raise LedgerError(
                f"There is no ledger {self._name}. Check the URL. If there was one, restore it "
                "from a backup; if not, begin one with ledger.create_budget(...), `interpret-dp "
                "ledger create` or `interpret-dp fit --budget EPSILON`."
            )

    @contextlib.contextmanager
    def reading(self) -> Iterator[Log]:
        """Open a transaction that sees one state of the log."""
        self._require()
        known = self._running
        with self._explained(), self._transaction(exclusive=False) as connection:
            tables.stored_version(connection, self._name)
            log = Log(connection, known, self._database)
            yield log
            self._remember(log)

    @contextlib.contextmanager
    def writing(self, if_not_written: str = "") -> Iterator[Log]:
        """Open a transaction that shuts out every other writer until it ends.

        If the connection is lost while the transaction is committed, the log itself says
        whether it was: no entry is lost, and none is written twice.

        Parameters
        ----------
        if_not_written : str
            What it means if nothing was written, as the end of the error's message.

        Raises
        ------
        ConnectionLostError
            If the connection was lost, and nothing was written.
        LedgerError
            If the entry was not written, or if that cannot be found out; the message says which.
        """
        self._require()
        if not self._running.number:
            # A long log is verified before the others are shut out.
            with self.reading() as before:
                before.catch_up()
        known, finished = self._running, False
        log: Log | None = None
        try:
            with self._transaction(exclusive=True) as connection:
                tables.stored_version(connection, self._name)
                log = Log(connection, known, self._database)
                yield log
                finished = True
        except DBAPIError as error:
            appended = log.appended if log else None
            if not finished or appended is None or not self._was_written(appended, error):
                tail = f" Nothing was written. {if_not_written}".rstrip()
                raise self._refusal(error, tail) from error
        if log is not None:
            self._remember(log)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _remember(self, log: Log) -> None:
        """Keep what a transaction found out, for the next one."""
        if log.known.number > self._running.number:
            self._running = log.known

    def _was_written(self, entry: chain.Entry, error: DBAPIError) -> bool:
        """Find out whether a transaction whose end was not seen has written its last entry."""
        stored, has_looked = None, False
        try:
            # Its lock is free only when it has ended one way or the other.
            with self._transaction(exclusive=True) as connection:
                stored = Log(connection, self._running, self._database).entry(entry.number)
                has_looked = True
        except DBAPIError:
            # How the look ended does not matter: it changes nothing.
            if not has_looked:
                raise LedgerError(
                    f"The ledger {self._name} {self._explain(error)}. It is unknown whether entry "
                    f"{entry.number} was written: if so, verify(head={entry.hash!r}) passes once "
                    "the ledger can be reached again. A reservation counts as spent, and still "
                    "does if this entry was to close it and is missing."
                ) from error
        return stored is not None and stored.hash == entry.hash

    @contextlib.contextmanager
    def _transaction(self, *, exclusive: bool, patient: bool = True) -> Iterator[Connection]:
        options = self._database.options(exclusive=exclusive)
        try:
            with (
                self._lock,
                self._connect(patient).execution_options(**options) as connection,
                connection.begin(),
            ):
                self._database.begin(connection, exclusive=exclusive)
                yield connection
        except UnicodeDecodeError as error:
            # Of the driver, which cannot even read the database's message on what is damaged.
            raise LedgerError(f"The ledger {self._name} is damaged. Restore a backup.") from error

    def _connect(self, patient: bool) -> Connection:
        """Return a connection; wait for a server that went away, as one does for a lock."""
        deadline = time.monotonic() + (self._database.timeout if patient else 0.0)
        pause = 0.05
        while True:
            try:
                return self._engine.connect()
            except DBAPIError as error:
                left = deadline - time.monotonic()
                if left <= 0 or not self._database.may_come_back(error.orig or error):
                    raise
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _explain(self, error: DBAPIError) -> str:
        return self._database.explain(error.orig or error)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: DBAPIError, tail: str = "") -> LedgerError:
        kind = ConnectionLostError if error.connection_invalidated else LedgerError
        return kind(f"The ledger {self._name} {self._explain(error)}.{tail}")

    def _recognise(self, connection: Connection) -> int | None:
        """Return the version of the ledger in the database; None if nothing is there."""
        names = self._database.tables(connection)
        if not names:
            return None
        if tables.VERSIONS.name not in names or tables.ENTRIES.name not in names:
            raise LedgerError(
                f"The database {self._name} holds other tables and no ledger. Give another path."
            )
        return tables.stored_version(connection, self._name)


def resolve_url(url: str) -> URL:
    """Return the checked URL of a ledger; that of a file has its full path.

    Raises
    ------
    TypeError, ValueError
        If it is no URL of a database that the ledger knows. The message never shows a password.
    """
    if not isinstance(url, str):
        raise TypeError(f"url is of type {type(url).__name__}; it must be a text.")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The text may hold a password, and what cannot be parsed cannot be masked.
        scheme = url.partition("://")[0] if "://" in url else "missing"
        raise ValueError(
            f"url cannot be read (its scheme is {scheme[:40]!r}); it must be one such as {_FORMS}."
        ) from None
    if parsed.drivername in sqlite.DRIVERS:
        return sqlite.resolve(parsed, url)
    if parsed.drivername in postgres.DRIVERS:
        return postgres.resolve(parsed)
    raise ValueError(
        f"url is of the dialect {parsed.drivername!r}; the ledger knows 'sqlite' and 'postgresql' "
        f"(with the driver psycopg). Write {_FORMS}."
    )
