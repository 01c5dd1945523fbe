"""The file: append-only, tamper-evident, exclusive while writing, refused when it is not ours."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.ledger.store import Store, resolve_url
from tests.ledger.requests import reserve

ENTRIES = "interpret_dp_ledger_entries"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "privacy.db"


@pytest.fixture
def ledger(path: Path) -> PrivacyLedger:
    """Return a ledger of five entries: a budget, two requests, a commit, a cancel."""
    ledger = PrivacyLedger(f"sqlite:///{path}")
    ledger.create_budget("adult", 2.0, 1e-6)
    first, second = reserve(ledger), reserve(ledger)
    ledger.commit(first)
    ledger.cancel(second)
    return ledger


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def drop_triggers(path: Path) -> None:
    names = (
        f"{table}_no_{verb}" for table in (ENTRIES,) for verb in ("update", "delete", "insert")
    )
    execute(path, *(f"DROP TRIGGER {name}" for name in names))


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE {ENTRIES} SET mu = 0 WHERE number = 2",
        f"DELETE FROM {ENTRIES} WHERE number = 5",
        f"INSERT OR REPLACE INTO {ENTRIES} SELECT * FROM {ENTRIES} WHERE number = 2",
        "UPDATE interpret_dp_ledger SET schema_version = 9",
        "DELETE FROM interpret_dp_ledger",
        "INSERT INTO interpret_dp_ledger VALUES (9)",
    ],
)
def test_the_database_refuses_changes(ledger: PrivacyLedger, path: Path, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        execute(path, statement)
    assert ledger.verify() == ledger.head


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ([f"UPDATE {ENTRIES} SET mu = 0 WHERE number = 2"], "Entry 2 of the ledger was changed"),
        ([f"UPDATE {ENTRIES} SET purpose = 'x' WHERE number = 5"], "Entry 5 .* was changed"),
        ([f"UPDATE {ENTRIES} SET mu = 'x' WHERE number = 3"], "Entry 3 .* mu is of type str"),
        ([f"DELETE FROM {ENTRIES} WHERE number = 3"], "Entry 3 of the ledger is missing"),
        ([f"DELETE FROM {ENTRIES} WHERE number = 1"], "Entry 1 of the ledger is missing"),
        (
            [
                f"UPDATE {ENTRIES} SET number = 9 WHERE number = 2",
                f"UPDATE {ENTRIES} SET number = 2 WHERE number = 3",
                f"UPDATE {ENTRIES} SET number = 3 WHERE number = 9",
            ],
            "Entry 2 of the ledger does not follow entry 1",
        ),
        (
            [
                f"DELETE FROM {ENTRIES} WHERE number = 3",
                f"UPDATE {ENTRIES} SET number = number - 1 WHERE number > 3",
            ],
            "Entry 3 of the ledger does not follow entry 2",
        ),
    ],
)
def test_verify_names_the_first_bad_entry(
    ledger: PrivacyLedger, path: Path, statements: list[str], message: str
) -> None:
    assert ledger.verify() == ledger.head
    drop_triggers(path)
    execute(path, *statements)
    with pytest.raises(LedgerError, match=message):
        ledger.verify()


def test_a_cut_tail_is_seen_by_its_head_alone(ledger: PrivacyLedger, path: Path) -> None:
    head = ledger.head
    drop_triggers(path)
    execute(path, f"DELETE FROM {ENTRIES} WHERE number > 3")
    assert ledger.verify() == ledger.head
    with pytest.raises(LedgerError, match="cut off after entry 3"):
        ledger.verify(head)


def test_an_earlier_head_stays_valid_while_the_log_grows(ledger: PrivacyLedger) -> None:
    head = ledger.head
    reserve(ledger)
    assert ledger.verify(head) == ledger.head != head


def test_nothing_is_chained_to_a_changed_entry(ledger: PrivacyLedger, path: Path) -> None:
    drop_triggers(path)
    execute(path, f"UPDATE {ENTRIES} SET purpose = 'x' WHERE number = 5")
    with pytest.raises(LedgerError, match="Entry 5 of the ledger was changed"):
        reserve(ledger)
    assert len(ledger.entries()) == 5


def test_a_log_that_contradicts_itself_admits_nothing(ledger: PrivacyLedger, path: Path) -> None:
    drop_triggers(path)
    execute(path, f"UPDATE {ENTRIES} SET reservation = 77 WHERE number = 4")
    with pytest.raises(LedgerError, match="closes reservation 77, which is not open"):
        reserve(ledger)
    execute(path, f"UPDATE {ENTRIES} SET kind = 'gift' WHERE number = 4")
    with pytest.raises(LedgerError, match="unknown kind 'gift'"):
        reserve(ledger)


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
    execute(path, "CREATE TABLE people (name TEXT)")


def _future(path: Path) -> None:
    execute(
        path,
        "DROP TRIGGER interpret_dp_ledger_no_update",
        "UPDATE interpret_dp_ledger SET schema_version = 2",
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_write(b"name,age\n" * 200), "is not an SQLite database"),
        (_damage_pages, "damaged. Restore it from a backup"),
        (_foreign, "holds other tables and no ledger"),
        (_future, "schema version \\[2\\].* Upgrade interpret_dp"),
        (lambda path: execute(path, f"DROP TABLE {ENTRIES}"), "other tables and no ledger"),
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


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    PrivacyLedger(f"sqlite:///{path}").create_budget("adult", 1.0, 1e-6)


def test_a_locked_file_is_refused_and_nothing_is_half_spent(
    ledger: PrivacyLedger, path: Path
) -> None:
    impatient = PrivacyLedger(ledger.url, timeout=0.05)
    head = ledger.head
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"locked by another process .* larger timeout"):
            reserve(impatient)
        other.execute("ROLLBACK")
    assert ledger.head == head
    reserve(impatient)


def test_a_writer_shuts_out_the_next_before_that_one_reads(path: Path) -> None:
    url = resolve_url(f"sqlite:///{path}")
    first, second = Store(url, timeout=0.05), Store(url, timeout=0.05)
    with (
        first.writing(),
        pytest.raises(LedgerError, match="locked"),
        second.writing(),
    ):
        pytest.fail("two processes could both pass the check")
    # The control: readers may look while someone writes.
    with first.writing(), second.reading() as log:
        assert log.last() is None


def test_an_error_inside_a_transaction_undoes_it(path: Path) -> None:
    store = Store(resolve_url(f"sqlite:///{path}"), timeout=0.05)

    def fail_after_writing() -> None:
        with store.writing() as log:
            log.append(kind="budget", dataset="adult", mu=1.0, delta=0.0)
            assert log.last() is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_writing()
    with store.reading() as log:
        assert log.last() is None


RACER = """
import sys, time, pathlib
from interpret_dp.exceptions import BudgetExceededError
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import reserve

folder, me, mu = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
ledger = PrivacyLedger(f"sqlite:///{folder}/privacy.db")
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


def test_two_racing_processes_share_one_budget(path: Path) -> None:
    """32 requests of a quarter of B each race for the 16 places that sum mu^2 <= B^2 has."""
    ledger = PrivacyLedger(f"sqlite:///{path}")
    budget = ledger.create_budget("adult", 2.0, 1e-6)
    arguments = [sys.executable, "-c", RACER, str(path.parent)]
    root = Path(__file__).parents[2]
    racers = [
        subprocess.Popen(
            [*arguments, f"racer-{name}", repr(budget.mu / 4 * (1 - 1e-9))],
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
