"""The row rules of docs/ledger_team.md hold on a real server, whatever program writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import ProgrammingError

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger

pytestmark = pytest.mark.postgres


def test_analysts_cannot_decide_even_where_the_library_lets_them(
    login: Callable[[str], str],
) -> None:
    ledger = PrivacyLedger(login("ben"))
    head = ledger.head
    for act in (
        lambda: ledger.raise_budget("ward", 9.0, 1e-6, reason="more"),
        lambda: ledger.create_budget("other", 9.0, 1e-6),
        lambda: ledger.appoint("ben", "officer"),
    ):
        with pytest.raises(LedgerError):
            act()
    assert ledger.head == head


def test_nobody_writes_in_anothers_name_or_changes_an_entry(login: Callable[[str], str]) -> None:
    url = login("ben").replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url, poolclass=NullPool)
    table = "interpret_dp.interpret_dp_ledger_entries"
    forged = (
        f"INSERT INTO {table} SELECT number + 1, time, 'reserve', dataset, reservation, explainer, "
        "purpose, mu, delta, epsilon, epsilon_delta, event, package_version, "
        """'{"user": "anna"}', previous, hash FROM """ + table
    )
    for statement in (forged, f"UPDATE {table} SET mu = 9", f"DELETE FROM {table}"):
        with (
            pytest.raises(ProgrammingError, match=r"row-level security|permission denied"),
            engine.begin() as connection,
        ):
            connection.exec_driver_sql(statement)
