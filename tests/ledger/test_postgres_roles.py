"""The row rules of docs/ledger_team.md hold on a real server, whatever program writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import ProgrammingError

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger, RoleError
from tests.ledger.requests import reserve

pytestmark = pytest.mark.postgres


def test_analysts_spend_under_their_own_login(login: Callable[[str], str]) -> None:
    ledger = PrivacyLedger(login("ben"))
    ledger.commit(reserve(ledger, "ward"))
    assert ledger.report()["user"].tolist() == ["ben"]
    assert ledger.verify() == ledger.head


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


def test_officers_decide_and_the_library_knows_them_by_login(login: Callable[[str], str]) -> None:
    officer = PrivacyLedger(login("anna"))
    officer.appoint("anna", "officer")
    officer.raise_budget("ward", 4.0, 1e-6, reason="more")
    with pytest.raises(RoleError, match="User 'ben' may not raise a budget"):
        PrivacyLedger(login("ben")).raise_budget("ward", 9.0, 1e-6, reason="more")
    assert officer.entries()[-1]["context"]["user"] == "anna"


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
