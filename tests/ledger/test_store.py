"""The log: append-only, tamper-evident, exclusive while writing, refused when it is not ours."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, event, text
from sqlalchemy.exc import IntegrityError

from interpret_dp._documents import canonical_json
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.ledger.core.chain import Entry
from interpret_dp.ledger.core.postgres import SCHEMA
from interpret_dp.ledger.core.store import Store, resolve_url
from tests.ledger.requests import ENTRIES, reserve, tamper


@pytest.fixture
def ledger(path: Path) -> PrivacyLedger:
    """Return a ledger file of five entries: a budget, two requests, a commit, a cancel."""
    return filled(PrivacyLedger(f"sqlite:///{path}"))


def filled(ledger: PrivacyLedger) -> PrivacyLedger:
    ledger.create_budget("adult", 2.0, 1e-6)
    first, second = reserve(ledger), reserve(ledger)
    ledger.commit(first)
    ledger.cancel(second)
    return ledger


class Hand:
    """Somebody who changes the database by hand, past the package."""

    def __init__(self, url: str) -> None:
        self.ledger = filled(PrivacyLedger(url))
        self.url = url
        self._engine = create_engine(
            url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool
        )

    def execute(self, *statements: str) -> None:
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SET search_path = {SCHEMA}"))
            for statement in statements:
                connection.execute(text(statement))

    def drop_triggers(self) -> None:
        names = ("no_update", "no_delete", "no_insert")
        of_table = ""
        if self.url.startswith("postgresql"):
            names, of_table = ("no_change", "next"), f" ON {ENTRIES}"
        self.execute(*(f"DROP TRIGGER {ENTRIES}_{name}{of_table}" for name in names))

    def rewrite(self, number: int, **changes: Any) -> None:
        """Change an entry and seal it and all that follow it again, as a forger would."""
        entries = [
            Entry(**(entry | {"event": canonical(entry["event"]), "context": "{}"}))
            for entry in self.ledger.entries()
        ]
        previous = entries[number - 2].hash
        for entry in entries[number - 1 :]:
            change = changes if entry.number == number else {}
            sealed = dataclasses.replace(entry, previous=previous, **change).sealed()
            values = ", ".join(
                f"{name} = {literal(value)}" for name, value in dataclasses.asdict(sealed).items()
            )
            self.execute(f"UPDATE {ENTRIES} SET {values} WHERE number = {entry.number}")
            previous = sealed.hash


def canonical(event: Any) -> str:
    return canonical_json(event) if event else ""


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    # A colon in a statement would be taken for the beginning of a parameter's name.
    return repr(value).replace(":", "\\:") if isinstance(value, str) else repr(value)


@pytest.fixture
def hand(store_url: str) -> Hand:
    return Hand(store_url)


COPIED = "time, kind, dataset, {}, explainer, purpose, mu, delta, epsilon, epsilon_delta, event, "
COPIED += "package_version, context, previous, hash"


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE {ENTRIES} SET mu = 0 WHERE number = 2",
        f"DELETE FROM {ENTRIES} WHERE number = 5",
        f"INSERT INTO {ENTRIES} SELECT 7, {COPIED.format(77)} FROM {ENTRIES} WHERE number = 4",
        # The next number, but the reservation of entry 2 once more.
        f"INSERT INTO {ENTRIES} SELECT 6, {COPIED.format(2)} FROM {ENTRIES} WHERE number = 4",
        "UPDATE interpret_dp_ledger SET schema_version = 9",
        "DELETE FROM interpret_dp_ledger",
        "INSERT INTO interpret_dp_ledger VALUES (9)",
    ],
)
def test_the_database_refuses_changes(hand: Hand, statement: str) -> None:
    with pytest.raises(IntegrityError, match=r"append-only|UNIQUE constraint|unique constraint"):
        hand.execute(statement)
    assert hand.ledger.verify() == hand.ledger.head
    assert len(hand.ledger.entries()) == 5


@pytest.mark.parametrize("act", ["cut", "rewritten", "changed"])
def test_a_process_sees_that_the_log_it_knew_is_gone(hand: Hand, act: str) -> None:
    """As after a restored backup: the entries that are there are a valid chain."""
    assert hand.ledger.spent("adult").n_requests == 1
    hand.drop_triggers()
    if act == "cut":
        hand.execute(f"DELETE FROM {ENTRIES} WHERE number > 3")
    elif act == "rewritten":
        hand.rewrite(4, mu=0.01)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reservation": 77}, "closes reservation 77, which is not open"),
        ({"kind": "gift"}, "unknown kind 'gift'"),
    ],
)
def test_a_log_that_contradicts_itself_admits_nothing(
    hand: Hand, change: dict[str, Any], message: str
) -> None:
    hand.drop_triggers()
    hand.rewrite(4, **change)
    fresh = PrivacyLedger(hand.url)
    assert fresh.verify() == fresh.head
    with pytest.raises(LedgerError, match=message):
        reserve(fresh)


def _write(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def _damage_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[120:] = b"\xff" * (len(content) - 120)
    path.write_bytes(content)


def _foreign(path: Path) -> None:
    path.unlink()
    tamper(path, "CREATE TABLE people (name TEXT)")


def _versionless(path: Path) -> None:
    tamper(path, "DELETE FROM interpret_dp_ledger")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_write(b"name,age\n" * 200), "is not an SQLite database"),
        (_damage_pages, "damaged. Restore it from a backup"),
        (_foreign, "holds other tables and no ledger"),
        (_versionless, "its version is missing"),
        (lambda path: tamper(path, f"DROP TABLE {ENTRIES}"), "other tables and no ledger"),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(
    ledger: PrivacyLedger, path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=message):
        PrivacyLedger(ledger.url)
    assert path.read_bytes() == before


def test_a_disk_that_fills_at_commit_leaves_a_reservation_that_counts(
    ledger: PrivacyLedger,
) -> None:
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


def test_a_writer_shuts_out_the_next_before_that_one_reads(store_url: str) -> None:
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
        assert log.last() is None


def test_a_reader_sees_one_state_of_the_log(store_url: str) -> None:
    url = resolve_url(store_url)
    writer, reader = Store(url, timeout=0.2), Store(url, timeout=10)
    writer.create()

    def write() -> None:
        with writer.writing() as log:
            log.append(kind="budget", dataset="adult", mu=1.0, delta=0.0)

    with reader.reading() as log:
        assert log.last() is None
        if store_url.startswith("sqlite"):
            # A file cannot be written while it is read: here it is the commit that fails.
            with pytest.raises(LedgerError, match=r"locked by another .* Nothing was written"):
                write()
        else:
            write()
        assert log.last() is None
        assert log.catch_up().number == 0


RACER = """
import sys, time, pathlib
from interpret_dp.exceptions import BudgetExceededError
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import reserve

folder, me, mu, url = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4]
ledger = PrivacyLedger(url)
(folder / me).touch()
while len(list(folder.glob("racer-*"))) < 2:
    time.sleep(0.001)
admitted = 0
for _ in range(16):
    try:
        ledger.commit(reserve(ledger, mu=mu))
        admitted += 1
    except BudgetExceededError:
        pass
print(admitted)
"""


@pytest.mark.thorough
def test_two_racing_processes_share_one_budget(store_url: str, tmp_path: Path) -> None:
    """32 requests of a quarter of B each race for the 16 places that sum mu^2 <= B^2 has."""
    ledger = PrivacyLedger(store_url)
    budget = ledger.create_budget("adult", 2.0, 1e-6)
    arguments = [sys.executable, "-c", RACER, str(tmp_path)]
    root = Path(__file__).parents[2]
    racers = [
        subprocess.Popen(
            [*arguments, f"racer-{name}", repr(budget.mu / 4 * (1 - 1e-9)), store_url],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for name in ("a", "b")
    ]
    admitted = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sum(admitted) == 16
    assert ledger.spent("adult").n_requests == 16
    assert ledger.spent("adult").mu <= budget.mu
    assert ledger.verify() == ledger.head
