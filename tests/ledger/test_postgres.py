"""A ledger on a server: what can go wrong there, and what a lost connection leaves behind."""

import contextlib
import threading

import pytest

from interpret_dp import LedgerError, PrivacyLedger
from interpret_dp.fitting.account import ledger_of
from interpret_dp.ledger.store import Log, Store, resolve_url
from tests.ledger.cut_wire import CutWire
from tests.ledger.postgres_server import running_server, why_not
from tests.ledger.requests import reserve, unchanged

pytestmark = pytest.mark.postgres

TABLE = "interpret_dp.interpret_dp_ledger_entries"


@pytest.fixture
def database(postgres_server):
    return postgres_server.new_database()


@pytest.fixture
def wire(postgres_server):
    with contextlib.closing(CutWire(postgres_server.port)) as wire:
        yield wire


def direct(server, database):
    return PrivacyLedger(server.url(database))


# Lost connections.


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_lost_commit_is_found_or_made_again(wire, postgres_server, database, cut):
    behind = PrivacyLedger(postgres_server.url(database, port=wire.port), timeout=10)
    behind.create_budget("adult", 2.0, 1e-6)
    wire.cut = cut
    reservation = reserve(behind)
    wire.cut = cut
    head = behind.commit(reservation)
    assert wire.cuts == 2
    ledger = direct(postgres_server, database)
    assert ledger.verify(head) == ledger.head == head
    assert [entry["kind"] for entry in ledger.entries()] == ["budget", "reserve", "commit"]
    assert behind.spent("adult").n_requests == 1


@pytest.mark.thorough
@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_that_cannot_be_decided_says_how_to_find_out(wire, postgres_server, database, cut):
    ledger = PrivacyLedger(postgres_server.url(database, port=wire.port), timeout=1)
    ledger.create_budget("adult", 2.0, 1e-6)
    reservation = reserve(ledger)
    wire.cut, wire.refuses_after_cut = cut, True
    with pytest.raises(LedgerError, match="It is unknown whether entry 3 was written") as raised:
        ledger.commit(reservation)
    wire.refuses = False
    head = str(raised.value).partition("head='")[2].partition("'")[0]
    assert len(head) == 64
    if cut == "after":
        assert ledger.verify(head) == head
        with pytest.raises(LedgerError, match="committed already"):
            ledger.commit(reservation)
    else:
        with pytest.raises(LedgerError, match="is not among the ledger's 2 entries"):
            ledger.verify(head)
        ledger.commit(reservation)
    assert ledger.spent("adult").mu == reservation.mu


def test_a_session_ended_by_the_server_writes_nothing(postgres_server, database):
    url = postgres_server.url(database)
    store = Store(resolve_url(url), timeout=5)
    store.create()
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"

    def write():
        with store.writing() as log:
            log.append(kind="budget", dataset="adult", mu=1.0, delta=0.0)
            postgres_server.execute(end)

    with pytest.raises(LedgerError, match=r"lost the connection .* Nothing was written"):
        write()
    with store.reading() as log:
        assert log.head() is None


@pytest.mark.thorough
def test_a_server_that_restarts_is_waited_for(monkeypatch):
    if why_not() is not None:
        pytest.skip(str(why_not()))
    with running_server() as server:
        database = server.new_database()
        ledger = PrivacyLedger(server.url(database), timeout=60)
        ledger.create_budget("adult", 2.0, 1e-6)
        append = Log.append
        restart = threading.Timer(0.5, server.start)

        def append_and_go_down(log, *details, **values):
            monkeypatch.setattr(Log, "append", append)
            entry = append(log, *details, **values)
            server.stop("immediate")
            restart.start()
            return entry

        reservation = reserve(ledger)
        monkeypatch.setattr(Log, "append", append_and_go_down)
        head = ledger.commit(reservation)
        restart.join()
        assert ledger.verify(head) == head
        # A crash before the transaction, as a training may see it.
        reservation = reserve(ledger)
        server.stop("immediate")
        restart = threading.Timer(0.5, server.start)
        restart.start()
        head = ledger.commit(reservation)
        restart.join()
        assert [entry["kind"] for entry in ledger.entries()].count("commit") == 2
        server.stop()
        with pytest.raises(LedgerError, match="no server answers there"):
            PrivacyLedger(server.url(database))
        impatient = PrivacyLedger.existing(server.url(database), timeout=0.1)
        with pytest.raises(LedgerError, match="no server answers there"):
            impatient.spent("adult")
        server.start()


# Errors.


def refused(url):
    """Return the message with which a ledger is refused; no part of the chain shows a password."""
    with pytest.raises(LedgerError) as raised:
        PrivacyLedger(url, timeout=2).create_budget("ward", 1.0, 1e-6)
    link = raised.value
    while link is not None:
        assert "wrong-secret" not in f"{link!s} {link!r}"
        link = link.__cause__ or link.__context__
    return str(raised.value)


def test_a_wrong_password_is_named_and_not_shown(postgres_server, database, monkeypatch):
    wrong = postgres_server.url(database, password="wrong-secret")
    assert "the name or the password is wrong" in refused(wrong)
    without = f"postgresql://postgres@127.0.0.1:{postgres_server.port}/{database}"
    monkeypatch.setenv("PGPASSFILE", "/nonexistent")
    assert "none was given. Put it into the file ~/.pgpass" in refused(without)
    monkeypatch.setenv("PGPASSWORD", "wrong-secret")
    assert "the name or the password is wrong" in refused(without)
    monkeypatch.setenv("PGPASSWORD", postgres_server.password)
    assert PrivacyLedger(without) == direct(postgres_server, database)


def test_an_estimators_parameter_holds_no_password():
    with pytest.raises(ValueError, match="would show and carry into every file") as raised:
        ledger_of("postgresql://me:wrong-secret@host/db")
    assert "wrong-secret" not in str(raised.value)


def test_users_need_the_rights_that_the_message_names(postgres_server, database):
    user = f"analyst_{database}"
    postgres_server.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{postgres_server.password}'")
    url = postgres_server.url(database, user=user)
    assert "CREATE SCHEMA interpret_dp AUTHORIZATION user" in refused(url)
    owner = direct(postgres_server, database)
    owner.create_budget("adult", 2.0, 1e-6)
    assert "refuses this user" in refused(url)
    tables = "ON ALL TABLES IN SCHEMA interpret_dp"
    grants = (f"GRANT USAGE ON SCHEMA interpret_dp TO {user}", f"GRANT SELECT {tables} TO {user}")
    postgres_server.execute(*grants, database=database)
    reader = PrivacyLedger(url)
    assert reader.spent("adult").mu == 0
    with pytest.raises(LedgerError, match="INSERT on interpret_dp_ledger_entries"):
        reserve(reader)
    postgres_server.execute(f"GRANT INSERT ON {TABLE} TO {user}", database=database)
    reader.commit(reserve(reader))
    assert owner.spent("adult").n_requests == 1
    document = reader.oversight()
    assert document["made_by"] == document["entries"][-1]["user"] == user
    # Whoever may only append cannot take the triggers off either.
    with pytest.raises(Exception, match=r"must be owner|permission denied"):
        postgres_server.execute(
            f"DROP TRIGGER interpret_dp_ledger_entries_next ON {TABLE}",
            database=database,
            user=user,
        )


def test_a_full_server_and_a_foreign_encoding_are_named(postgres_server):
    full = postgres_server.new_database()
    user = f"crowd_{full}"
    postgres_server.execute(
        f"CREATE ROLE {user} LOGIN PASSWORD '{postgres_server.password}' CONNECTION LIMIT 0"
    )
    assert "has no connection left" in refused(postgres_server.url(full, user=user))
    latin = postgres_server.new_database("ENCODING 'LATIN1' TEMPLATE template0")
    assert "the ledger needs UTF8" in refused(postgres_server.url(latin))


def test_other_tables_do_not_matter_and_half_a_ledger_does(postgres_server, database):
    postgres_server.execute("CREATE TABLE people (name text)", database=database)
    direct(postgres_server, database).create_budget("adult", 2.0, 1e-6)
    postgres_server.execute(f"DROP TABLE {TABLE}", database=database)
    assert "holds other tables and no ledger" in refused(postgres_server.url(database))


# -------------------------------------- row rules of docs/ledger_team.md, whatever program writes


def test_analysts_cannot_decide_even_where_the_library_lets_them(login):
    ledger = PrivacyLedger(login("ben"))
    for act in (
        lambda: ledger.raise_budget("ward", 9.0, 1e-6, reason="more"),
        lambda: ledger.create_budget("other", 9.0, 1e-6),
        lambda: ledger.appoint("ben", "officer"),
    ):
        with unchanged(ledger), pytest.raises(LedgerError):
            act()


def test_nobody_writes_in_anothers_name_or_changes_an_entry(login):
    from psycopg import connect, errors

    forged = (
        f"INSERT INTO {TABLE} SELECT number + 1, time, 'reserve', dataset, reservation, explainer, "
        "purpose, mu, delta, epsilon, epsilon_delta, event, package_version, "
        """'{"user": "anna"}', previous, hash FROM """ + TABLE
    )
    for statement in (forged, f"UPDATE {TABLE} SET mu = 9", f"DELETE FROM {TABLE}"):
        with connect(login("ben")) as connection, pytest.raises(errors.InsufficientPrivilege):
            connection.execute(statement)
