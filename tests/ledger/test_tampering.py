"""Whoever writes the file by other programs is seen: by the chain, or by a head that was kept."""

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger, verify_archive
from interpret_dp.ledger.chain import read_archive
from interpret_dp.ledger.folding import HANDLERS
from tests.ledger.requests import ENTRIES, reserve, reserve_epsilon, tamper
from tests.ledger.team import acting_as

HOSTILE = '=cmd() "quoted", with; commas\tand caf\u00e9 \U0001f600'


@pytest.fixture
def ledger(path):
    """Return a ledger with every kind of entry."""
    ledger = PrivacyLedger(f"sqlite:///{path}")
    with acting_as("anna"):
        ledger.create_budget("ward", 3.0, 1e-6, purpose="one\ntwo\r\nthree", expires="2099-12-31")
        ledger.appoint("anna", "officer", reason="O'Hara, \\ and \u2028")
        ledger.appoint("olga", "officer")
        ledger.appoint("ben", "analyst")
        ledger.dismiss("olga")
        ledger.require_approval("ward", above=0.9, reason="board")
    with acting_as("ben"):
        numbers = [ledger.request_approval("ward", 1.0, 1e-6).number for _ in range(3)]
        with acting_as("anna"):
            ledger.approve(numbers[0], expires="2099-12-31")
            ledger.reject(numbers[1], reason="enough")
        ledger.withdraw(numbers[2])
        ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "ward"))
        ledger.cancel(reserve(ledger, "ward", purpose=HOSTILE))
    with acting_as("anna"):
        ledger.raise_budget("ward", 4.0, 1e-6, reason="more")
        ledger.renew_budget("ward", reason="2027", expires="2099-12-31")
        ledger.link("copy", to="ward", reason="same people")
        ledger.change_unit("ward", unit="patient_id", reason="it was left out")
    return ledger


def numbers_of(ledger):
    return [entry["number"] for entry in ledger.entries()]


def test_the_fixture_holds_every_kind(ledger):
    kinds = {entry["kind"] for entry in ledger.entries()}
    assert kinds == HANDLERS.keys() | {"link", "appoint", "dismiss"}
    assert ledger.verify() == ledger.head


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_archive_says_what_the_ledger_says(ledger, tmp_path, form):
    path = ledger.export(tmp_path / f"archive.{form}")
    assert [entry.to_dict() for entry in read_archive(path)] == ledger.entries()
    assert verify_archive(path) == verify_archive(path, ledger.head) == ledger.head
    with pytest.raises(ValueError, match=r"\.xlsx'.*\.jsonl or \.csv"):
        ledger.export(tmp_path / "archive.xlsx")
    assert not (tmp_path / "archive.xlsx").exists()


@pytest.mark.thorough
def test_any_field_of_any_entry_that_is_changed_is_named(ledger, path):
    """One changed field at a time, in every entry; the file is put back in between."""
    original = path.read_bytes()
    changes = {
        "time": "'2020-01-01T00:00:00+00:00'",
        "dataset": "'other'",
        "purpose": "'something else'",
        "mu": "mu + 0.5",
        "epsilon": "coalesce(epsilon, 0.0) + 1.0",
        "context": """json_set(context, '$.user', 'somebody else')""",
        "package_version": "'9'",
        "explainer": "explainer || 'x'",
    }
    for number in numbers_of(ledger):
        for column, value in changes.items():
            path.write_bytes(original)
            tamper(path, f"UPDATE {ENTRIES} SET {column} = {value} WHERE number = {number}")
            with pytest.raises(LedgerError, match=f"Entry {number} of the ledger was changed"):
                ledger.verify()


def test_any_entry_that_is_removed_is_named(ledger, path):
    original = path.read_bytes()
    for number in numbers_of(ledger)[:-1]:
        for closing_ranks in (False, True):
            path.write_bytes(original)
            statements = [f"DELETE FROM {ENTRIES} WHERE number = {number}"]
            if closing_ranks:
                statements += [
                    f"UPDATE {ENTRIES} SET number = -number WHERE number > {number}",
                    f"UPDATE {ENTRIES} SET number = -number - 1 WHERE number < 0",
                ]
            tamper(path, *statements)
            with pytest.raises(LedgerError, match=rf"Entry {number} of the ledger (is|does)"):
                ledger.verify()


def test_a_cut_tail_is_seen_by_every_head_that_it_took_along(ledger, path):
    heads = {entry["number"]: entry["hash"] for entry in ledger.entries()}
    kept = len(heads) - 4
    tamper(path, f"DELETE FROM {ENTRIES} WHERE number > {kept}")
    assert ledger.verify() == heads[kept]
    for number, head in heads.items():
        if number <= kept:
            assert ledger.verify(head) == heads[kept]
        else:
            with pytest.raises(LedgerError, match=f"cut off after entry {kept}"):
                ledger.verify(head)


def test_a_rewritten_tail_is_seen_by_its_old_head(ledger, path):
    """A whole new chain can be forged: only a head that was kept outside shows it."""
    head = ledger.head
    tamper(path, f"DELETE FROM {ENTRIES} WHERE number > 9")
    forged = PrivacyLedger(ledger.url)
    with acting_as("anna"):
        forged.raise_budget("ward", 9.0, 1e-6, reason="forged")
    assert forged.verify() == forged.head != head
    with pytest.raises(LedgerError, match="is not among the"):
        forged.verify(head)


CONTRADICTING_ACTS = [
    ("approve", {}, "answers request for approval"),
    ("link", {}, "shares an account already"),
    ("commit", {"reservation": 77}, "closes reservation 77, which is not open"),
    ("commit", {"kind": "gift"}, "unknown kind 'gift'"),
]


@pytest.mark.parametrize(("kind", "change", "message"), CONTRADICTING_ACTS)
def test_acts_that_contradict_the_log_admit_nothing(ledger, kind, change, message):
    """A chain can be forged by anybody; what it then says must still make sense."""
    entry = next(e for e in ledger.entries() if e["kind"] == kind)
    with ledger._opened().writing() as log:
        names = ("kind", "dataset", "reservation", "mu", "delta")
        log.append(entry["context"], **{name: entry[name] for name in names} | change)
    assert ledger.verify() == ledger.head
    for ask in (ledger.spent, ledger.remaining, ledger.report):
        with pytest.raises(LedgerError, match=message):
            ask("ward")
