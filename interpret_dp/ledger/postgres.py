"""Everything that is particular to PostgreSQL: its schema, locks, triggers and error codes."""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, text
from sqlalchemy.pool import NullPool

from interpret_dp._optional import import_optional
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.tables import Database, without_password

DRIVERS = ("postgresql", "postgresql+psycopg")

SCHEMA = "interpret_dp"
"""The schema of the tables, always: with a search path each user could see another ledger."""

_LOCK = int.from_bytes(b"dpledger")
"""Key of the advisory lock that a writer holds; such keys are those of one database."""

_FORM = "Write postgresql://user@host:5432/database."

# What libpq may be told in the URL. Passwords are not among it: a query is never masked.
_OPTIONS = {
    *("channel_binding", "gssencmode", "host", "krbsrvname", "port", "require_auth", "sslcert"),
    *("sslcrl", "sslkey", "sslmode", "sslnegotiation", "sslrootcert", "target_session_attrs"),
}


def resolve(url: URL) -> URL:
    """Return the checked URL.

    Raises
    ------
    ValueError
        If it names no database or has options that the ledger does not pass on. The message
        never shows a password.
    """
    shown = url.set(query={}).render_as_string(hide_password=True)
    if not url.database:
        raise ValueError(f"url is {shown!r}, which names no database. {_FORM}")
    unknown = sorted(set(url.query) - _OPTIONS)
    if unknown:
        raise ValueError(
            f"url is {shown!r} with the options {unknown}; the ledger takes {sorted(_OPTIONS)}. "
            "A password belongs into ~/.pgpass or the environment variable PGPASSWORD."
        )
    return url.set(drivername="postgresql")


class PostgresDatabase(Database):
    """A database of a server; the ledger has a schema of its own in it.

    Parameters
    ----------
    url : URL
        Of :func:`resolve`.
    timeout : float
        Seconds to wait for another process's lock, and for a server that restarts.

    Notes
    -----
    What makes the check of a budget and the entry that follows one step is an advisory lock, which
    a writer takes before it reads anything and which the server releases when the transaction has
    ended, however it ends. Since transactions are READ COMMITTED, each statement after it sees all
    that was committed before; under REPEATABLE READ or SERIALIZABLE the snapshot would be older
    than the lock. SERIALIZABLE alone would do as well, but any two writers conflict, since both
    append the next number: all but one of them would have to begin again, at every entry. A lock
    on the row of a data set would not do, for the chain of hashes runs through all data sets; one
    on the table needs rights to change entries, which no user should have. Writers that ignore the
    lock cannot fork the chain: the number is the primary key.
    """

    def __init__(self, url: URL, timeout: float) -> None:
        self._url = url
        self.name = repr(without_password(url))
        self.timeout = timeout

    def open_engine(self) -> Engine:
        """Return an engine; nothing is connected yet.

        Raises
        ------
        ModuleNotFoundError
            If the extra ``postgres`` is not installed.
        """
        import_optional("psycopg", extra="postgres", purpose="A ledger in PostgreSQL")
        return create_engine(
            self._url.set(drivername="postgresql+psycopg"),
            # One connection per transaction, as for files: forks share nothing, and a process
            # that trains for hours holds no connection meanwhile.
            poolclass=NullPool,
            # Would ask the server for a type that the ledger does not use, at every connection.
            use_native_hstore=False,
            connect_args={
                "connect_timeout": min(10, max(2, math.ceil(self.timeout))),
                "client_encoding": "utf8",
                "fallback_application_name": "interpret_dp ledger",
                # A server that vanished is noticed within a minute.
                "keepalives_idle": 20,
                "keepalives_interval": 10,
                "keepalives_count": 3,
                "tcp_user_timeout": 60_000,
                # Prepared statements do not survive poolers between us and the server.
                "prepare_threshold": None,
            },
        )

    def options(self, *, exclusive: bool) -> dict[str, Any]:
        """Return the isolation of a writer, or of a reader, who sees one state of the log."""
        if exclusive:
            return {"isolation_level": "READ COMMITTED"}
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}

    def begin(self, connection: Connection, *, exclusive: bool) -> None:
        """Set what must not depend on server, role or pooler; take the lock."""
        # A client that hangs in a transaction holds up all others, but not for longer than this.
        idle = round(1000 * min(30.0, max(5.0, self.timeout / 2)))
        lock = max(1, round(1000 * self.timeout))
        times = {"lock_timeout": f"{lock}ms", "idle": f"{idle}ms"}
        connection.execute(_SETTINGS, {"search_path": SCHEMA, **times})
        if exclusive:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})

    def tables(self, connection: Connection) -> list[str]:
        """Return the names of the tables in the ledger's schema."""
        query = text("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = :schema")
        names = list(connection.execute(query, {"schema": SCHEMA}).scalars())
        if names:
            # Without the right to use it a schema is left out of the path, and its tables would
            # seem to be gone; this asks for the right.
            connection.execute(text(f"SELECT to_regclass('{SCHEMA}.{names[0]}')"))
        return names

    def prepare(self, connection: Connection) -> None:
        """Create the schema, if the owner of the database has not.

        Raises
        ------
        LedgerError
            If the database's encoding cannot hold every text.
        """
        encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
        if encoding != "UTF8":
            raise LedgerError(
                f"The database {self.name} has the encoding {encoding}; the ledger needs UTF8. "
                "Create one with: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0."
            )
        known = text("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = :schema")
        # CREATE SCHEMA IF NOT EXISTS asks for the right to create it, even if it is there.
        if not connection.execute(known, {"schema": SCHEMA}).scalar_one():
            connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))

    def append_only(self, table: str, number: str) -> list[str]:
        """Return the triggers that forbid every change but the insert of the next number."""
        full = f"{SCHEMA}.{table}"
        refuse = (
            "RAISE EXCEPTION 'the ledger is append-only' "
            "USING ERRCODE = 'integrity_constraint_violation';"
        )
        return [
            f"CREATE FUNCTION {full}_no_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {refuse} END $$",
            f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {full} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {full}_no_change()",
            f"CREATE FUNCTION {full}_next() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF NEW.{number} <> (SELECT coalesce(max({number}), 0) + 1 FROM {full}) THEN "
            f"{refuse} END IF; RETURN NEW; END $$",
            f"CREATE TRIGGER {table}_next BEFORE INSERT ON {full} "
            f"FOR EACH ROW EXECUTE FUNCTION {full}_next()",
        ]

    def explain(self, error: BaseException) -> str:
        """Return what is wrong and what to do, as the end of a sentence about the ledger."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            return self._explain_connection(str(error))
        if state in _BY_STATE:
            return _BY_STATE[state]
        return _BY_CLASS.get(state[:2]) or (
            f"cannot be used: the server answers {self._first_line(str(error))!r} ({state})"
        )

    def may_come_back(self, error: BaseException) -> bool:
        """Whether the server restarts, is full, or is cut off just now."""
        if getattr(error, "sqlstate", None) is not None:
            return False
        return any(sign in str(error) for signs in _PASSING.values() for sign in signs)

    def _explain_connection(self, message: str) -> str:
        # A refused connection has no code, so that only its text can tell what was wrong.
        for meaning, signs in (*_PASSING.items(), *_LASTING.items()):
            if any(sign in message for sign in signs):
                return meaning
        return f"cannot be reached: {self._first_line(message)!r}"

    def _first_line(self, message: str) -> str:
        # libpq does not show passwords; should one ever be part of a message, it is cut out.
        line = next(iter(message.strip().splitlines()), "")
        password = str(self._url.password or "")
        return line.replace(password, "***") if password else line


_SETTINGS = text(
    "SELECT set_config('search_path', :search_path, true), "
    "set_config('lock_timeout', :lock_timeout, true), "
    "set_config('idle_in_transaction_session_timeout', :idle, true), "
    # Fewer digits would come back as other numbers, with other hashes.
    "set_config('extra_float_digits', '3', true), "
    # Otherwise a power cut just after a commit brings the old state back.
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
)

_LOST = "lost the connection to its server. Check that the server runs, and try again"
_NO_RIGHTS = (
    "refuses this user. Let the database's owner grant USAGE on the schema "
    f"{SCHEMA}, SELECT on its tables, and INSERT on interpret_dp_ledger_entries to whoever spends; "
    "to set up a new ledger, the right to create is needed: CREATE SCHEMA "
    f"{SCHEMA} AUTHORIZATION user"
)

_FULL = "has no connection left. Wait, or raise max_connections"

# What the text of an error without a code means: what passes by itself, and what does not.
_PASSING = {
    "cannot be reached: no server answers there. Check host and port, and whether the server runs "
    "and lets this machine in": (
        *("Connection refused", "No such file or directory", "No route to host"),
        *("timeout expired", "connection timeout", "Network is unreachable"),
    ),
    # Clients of the server, or connections of the role or the database.
    _FULL: ("too many c", "remaining connection slots are reserved"),
    # After a crash: while it reads its own log, and until what that holds is consistent.
    "is starting up. Try again in a moment": (
        "is starting up",
        "is in recovery mode",
        "is not yet accepting connections",
    ),
    "is shutting down. Try again when it is back": ("is shutting down",),
    _LOST: ("server closed the connection",),
}
_LASTING = {
    "refuses this user: the name or the password is wrong. The password is taken from the URL, "
    "from the environment variable PGPASSWORD, or from the file ~/.pgpass": (
        "password authentication failed",
    ),
    "asks for a password, and none was given. Put it into the file ~/.pgpass or the environment "
    "variable PGPASSWORD: a ledger that comes out of a pickle carries none": (
        "no password supplied",
    ),
    "refuses this user from this machine. Let the server's owner allow it in pg_hba.conf": (
        "no pg_hba.conf entry",
    ),
    "is not there: the server knows no such database or no such user. Create it with CREATE "
    "DATABASE, or check the URL": ("does not exist",),
    "cannot be reached: its host name is unknown. Check the URL": (
        "could not translate host name",
        "failed to resolve host",
    ),
    "cannot be reached by an encrypted connection as the URL asks for. Check sslmode and the "
    "certificates": ("SSL",),
    _LOST: (
        "connection is lost",
        "connection is closed",
        "consuming input failed",
        "sending query failed",
    ),
}

_BY_STATE = {
    "25006": (
        "is read-only for this user or on this server. Use the primary server, and a role without "
        "default_transaction_read_only"
    ),
    "25P03": "ended the transaction: this process did not go on for too long. Try again",
    "42501": _NO_RIGHTS,
    "53100": "cannot grow: the server's disk is full. Free some space",
    "53300": _FULL,
    "55P03": (
        "is locked by another process for longer than the timeout. Wait for that process to end, "
        "or open the ledger with a larger timeout"
    ),
}

_BY_CLASS = {
    "08": _LOST,
    "23": "refuses the change. It is append-only: entries are never changed",
    "57": _LOST,
    "XX": "is damaged. Restore it from a backup",
}
