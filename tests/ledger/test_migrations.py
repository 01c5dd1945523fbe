"""Ledgers of older versions go on, with the same hashes; newer ones are refused."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from interpret_dp import LedgerError, PrivacyLedger
from interpret_dp.ledger import tables
from tests.ledger.requests import ENTRIES, reserve, tamper

FIXTURE = Path(__file__).parent / "fixtures" / "version_1.sql"
HEAD = "b10a4a3f86bc2f00b17dd19ff1e34a77d50f7e5e16d3f086dd4cef4b60fb8394"


@pytest.fixture
def old(tmp_path):
    """Return a file of version 1: two data sets, one open reservation, a raise."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE.read_text(encoding="utf-8"))
    return path


def read(path, query):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_ledger_of_version_1_goes_on_with_its_hashes(old):
    stored = read(old, f"SELECT * FROM {ENTRIES}")
    ledger = PrivacyLedger(f"sqlite:///{old}")
    assert ledger.verify(HEAD) == ledger.head == HEAD
    assert read(old, f"SELECT * FROM {ENTRIES}") == stored
    # What version 1 said of it, to the last digit.
    assert ledger.spent("adult").mu == 0.14248626679124915
    assert ledger.spent("adult").delta == 5e-8
    assert ledger.spent("ward").mu == 0.03333333333333334
    assert ledger.spent("ward").open_reservations == 1
    assert read(old, "SELECT * FROM interpret_dp_ledger ORDER BY 1") == [(1,), (2,)]
    # What version 1 did not know is empty, and can be used.
    budget = ledger.budget("adult")
    assert budget is not None
    assert (budget.epsilon, budget.purpose) == (3.0, "board, 3 May")
    assert (budget.expires, ledger.roles().officers) == (None, ())
    report = ledger.report("adult")
    assert report["state"].tolist() == ["committed", "committed", "cancelled"]
    assert set(report["user"]) == {""}
    ledger.link("ward since May", to="ward", reason="renamed")
    ledger.renew_budget("adult", reason="x", expires="2099-12-31")
    ledger.commit(reserve(ledger))
    assert ledger.spent("ward since May").n_requests == 1
    assert PrivacyLedger(f"sqlite:///{old}").verify(HEAD) == ledger.head != HEAD


def test_many_may_open_an_old_ledger_at_once(old):
    with ThreadPoolExecutor(8) as pool:
        ledgers = list(pool.map(lambda _: PrivacyLedger(f"sqlite:///{old}"), range(8)))
    assert [ledger.verify() for ledger in ledgers] == [HEAD] * 8
    assert read(old, "SELECT * FROM interpret_dp_ledger ORDER BY 1") == [(1,), (2,)]


def test_a_damaged_old_ledger_is_not_migrated(old):
    tamper(old, f"UPDATE {ENTRIES} SET mu = 0 WHERE number = 4")
    before = old.read_bytes()
    with pytest.raises(LedgerError, match="Entry 4 of the ledger was changed"):
        PrivacyLedger(f"sqlite:///{old}")
    assert old.read_bytes() == before


def add_a_table(connection, database):
    connection.execute(text("CREATE TABLE interpret_dp_ledger_next (number INTEGER)"))


def fail_after_a_change(connection, database):
    add_a_table(connection, database)
    raise ZeroDivisionError


def change_an_entry(connection, database):
    """Do what no step may do, and what only a step could: triggers come off first."""
    table = ENTRIES if connection.dialect.name == "sqlite" else f"interpret_dp.{ENTRIES}"
    name = "_no_update" if connection.dialect.name == "sqlite" else "_no_change"
    of_table = "" if connection.dialect.name == "sqlite" else f" ON {table}"
    connection.execute(text(f"DROP TRIGGER {ENTRIES}{name}{of_table}"))
    connection.execute(text(f"UPDATE {table} SET purpose = 'better' WHERE number = 1"))


def next_version(patch, step):
    """Let the package be of a version that does not exist yet."""
    new = tables.SCHEMA_VERSION + 1
    patch.setattr(tables, "SCHEMA_VERSION", new)
    patch.setitem(tables.STEPS, new - 1, step)


@pytest.mark.thorough
def test_a_newer_ledger_is_refused_with_what_to_do(store_url, monkeypatch):
    ledger = PrivacyLedger(store_url)
    ledger.create_budget("adult", 1.0, 1e-6)
    head = ledger.head
    with monkeypatch.context() as patch:
        next_version(patch, add_a_table)
        assert PrivacyLedger(store_url).head == head
    match = r"schema version 3; this interpret_dp reads version 2\. Upgrade .* pip install"
    with pytest.raises(LedgerError, match=match):
        PrivacyLedger(store_url)
    # One that was open meanwhile must not go on by rules that it does not know.
    for ask in (lambda: reserve(ledger), lambda: ledger.spent("adult")):
        with pytest.raises(LedgerError, match=match):
            ask()


@pytest.mark.parametrize(
    ("step", "error"), [(fail_after_a_change, ZeroDivisionError), (change_an_entry, LedgerError)]
)
def test_a_step_that_fails_changes_nothing(store_url, monkeypatch, step, error):
    PrivacyLedger(store_url).create_budget("adult", 1.0, 1e-6)
    with monkeypatch.context() as patch:
        next_version(patch, step)
        with pytest.raises(error):
            PrivacyLedger(store_url)
    ledger = PrivacyLedger(store_url)
    assert ledger.verify() == ledger.head
    assert ledger.budget("adult") is not None
    with monkeypatch.context() as patch:
        next_version(patch, add_a_table)
        assert PrivacyLedger(store_url).verify() == ledger.head


def test_maps_of_versions_that_could_overflow_are_marked(ledger, monkeypatch):
    ledger.create_budget("ward", epsilon=3, delta=1e-6)
    for version in ("0.1.0", "0.2.0.dev0", "0.2.0.dev1"):
        monkeypatch.setattr("interpret_dp.ledger.store.__version__", version)
        for explainer in ("DPLocallyLinearClassifier", "DPExplainableBoostingClassifier"):
            ledger.commit(reserve(ledger, "ward", explainer=explainer))
    (account,) = ledger.to_dict("ward")["datasets"]
    assert [len(request["conditions"]) for request in account["requests"]] == [1, 0, 1, 0, 0, 0]
