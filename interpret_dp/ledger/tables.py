"""The tables of the ledger, in portable SQL.

One table holds the append-only log; budgets are entries of it, so that no second table can
contradict the hash chain. The other table holds the version of the schema, and keeps those that it
had before.
"""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, MetaData, String, Table, Text

from interpret_dp.ledger.chain import CLOSING

__all__ = ["CLOSED_ONCE", "ENTRIES", "METADATA", "SCHEMA_VERSION", "VERSIONS"]

SCHEMA_VERSION = 2
"""Of the tables and of the kinds of entries. Raise it with a step in `migrations` whenever an older
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
