"""The log: append-only, tamper-evident, exclusive while writing, refused when it is not ours."""

import pytest
from sqlalchemy import NullPool, create_engine, event, text
from sqlalchemy.exc import IntegrityError

from interpret_dp import LedgerError, PrivacyLedger
from interpret_dp.ledger.postgres import SCHEMA
from interpret_dp.ledger.store import Store, resolve_url
from tests.ledger.requests import ENTRIES, reserve, tamper


@pytest.fixture
def ledger(path):
    """Return a ledger file of five entries: a budget, two requests, a commit, a cancel."""
    return filled(PrivacyLedger(f"sqlite:///{path}"))


def filled(ledger):
    ledger.create_budget("adult", 2.0, 1e-6)
    first, second = reserve(ledger), reserve(ledger)
    ledger.commit(first)
    ledger.cancel(second)
    return ledger


class Hand:
    """Somebody who changes the database by hand, past the package."""

    def __init__(self, url):
        self.ledger = filled(PrivacyLedger(url))
        self.url = url
        self._engine = create_engine(
            url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool
        )

    def execute(self, *statements):
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SET search_path = {SCHEMA}"))
            for statement in statements:
                connection.execute(text(statement))

    def drop_triggers(self):
        names = ("no_update", "no_delete", "no_insert")
        of_table = ""
        if self.url.startswith("postgresql"):
            names, of_table = ("no_change", "next"), f" ON {ENTRIES}"
        self.execute(*(f"DROP TRIGGER {ENTRIES}_{name}{of_table}" for name in names))


@pytest.fixture
def hand(store_url):
    return Hand(store_url)


COPIED = "time, kind, dataset, {}, explainer, purpose, mu, delta, epsilon, epsilon_delta, event, "
COPIED += "package_version, context, previous, hash"


CHANGES = (
    f"UPDATE {ENTRIES} SET mu = 0 WHERE number = 2",
    f"DELETE FROM {ENTRIES} WHERE number = 5",
    f"INSERT INTO {ENTRIES} SELECT 7, {COPIED.format(77)} FROM {ENTRIES} WHERE number = 4",
    # The next number, but the reservation of entry 2 once more.
    f"INSERT INTO {ENTRIES} SELECT 6, {COPIED.format(2)} FROM {ENTRIES} WHERE number = 4",
    "UPDATE interpret_dp_ledger SET schema_version = 9",
    "DELETE FROM interpret_dp_ledger",
    "INSERT INTO interpret_dp_ledger VALUES (9)",
)


def test_the_database_refuses_changes(hand):
    for statement in CHANGES:
        with pytest.raises(IntegrityError, match=r"append-only|(UNIQUE|unique) constraint"):
            hand.execute(statement)
    assert hand.ledger.verify() == hand.ledger.head
    assert len(hand.ledger.entries()) == 5


@pytest.mark.parametrize("act", ["cut", "rewritten", "changed"])
def test_a_process_sees_that_the_log_it_knew_is_gone(hand, act):
    """As after a restored backup: the entries that are there are a valid chain."""
    assert hand.ledger.spent("adult").n_requests == 1
    hand.drop_triggers()
    if act == "cut":
        hand.execute(f"DELETE FROM {ENTRIES} WHERE number > 3")
    elif act == "rewritten":
        hand.execute(f"DELETE FROM {ENTRIES} WHERE number > 3")
        forged = PrivacyLedger(hand.url)
        forged.cancel(reserve(forged))
    else:
        hand.execute(f"UPDATE {ENTRIES} SET purpose = 'x' WHERE number = 5")
    message = "Entry 5 .* was changed" if act == "changed" else "is not what this process saw"
    for spend in (reserve, lambda ledger: ledger.spent("adult")):
        with pytest.raises(LedgerError, match=message):
            spend(hand.ledger)
    if act != "changed":
        # What the message advises.
        anew = PrivacyLedger(hand.url)
        assert anew.commit(reserve(anew)) == anew.verify()


NO_LEDGERS = [
    ("", "is not an SQLite database"),
    ("DELETE FROM interpret_dp_ledger", "its version is missing"),
    (f"DROP TABLE {ENTRIES}", "holds other tables and no ledger"),
]


@pytest.mark.parametrize(("statement", "message"), NO_LEDGERS)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(ledger, path, statement, message):
    if statement:
        tamper(path, statement)
    else:
        path.write_bytes(b"name,age\n" * 200)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=message):
        PrivacyLedger(ledger.url)
    assert path.read_bytes() == before


def test_a_disk_that_fills_at_commit_leaves_a_reservation_that_counts(ledger):
    reservations = [reserve(ledger, mu=0.01) for _ in range(20)]
    spent = ledger.spent("adult").mu
    event.listen(
        ledger._store._engine, "connect", lambda file, _: file.execute("PRAGMA max_page_count = 1")
    )
    words = r"disk is full.*Reservation \d+ of data set 'adult' is open and counts.*commit\(reserv"
    with pytest.raises(LedgerError, match=words):
        list(map(ledger.commit, reservations))
    assert ledger.spent("adult").mu == spent
    assert ledger.spent("adult").open_reservations


def test_a_writer_shuts_out_the_next_before_that_one_reads(store_url):
    url = resolve_url(store_url)
    first, second = Store(url, timeout=0.2), Store(url, timeout=0.2)
    first.create()
    with (
        first.writing(),
        pytest.raises(LedgerError, match=r"locked by another process .* larger timeout"),
        second.writing(),
    ):
        pytest.fail("two processes could both pass the check")
    # The control: readers may look while someone writes.
    with first.writing(), second.reading() as log:
        assert log.head() is None


def test_a_reader_sees_one_state_of_the_log(store_url):
    url = resolve_url(store_url)
    writer, reader = Store(url, timeout=0.2), Store(url, timeout=10)
    writer.create()

    def write():
        with writer.writing() as log:
            log.append(kind="budget", dataset="adult", mu=1.0, delta=0.0)

    with reader.reading() as log:
        assert log.head() is None
        if store_url.startswith("sqlite"):
            # A file cannot be written while it is read: here it is the commit that fails.
            with pytest.raises(LedgerError, match=r"locked by another .* Nothing was written"):
                write()
        else:
            write()
        assert log.head() is None
        assert log.catch_up().number == 0
