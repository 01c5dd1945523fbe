"""Archives of the log are checked without the ledger, and every change in them is seen."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger, verify_archive
from interpret_dp.ledger.archive import read_archive
from interpret_dp.ledger.chain import Entry
from tests.ledger.requests import reserve
from tests.ledger.team import acting_as

HOSTILE = '=cmd() "quoted", with; commas\tand caf\u00e9 \U0001f600'


@pytest.fixture
def ledger() -> PrivacyLedger:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("ward", 3.0, 1e-6, purpose="line one\nline two\r\nline three")
    ledger.commit(reserve(ledger, "ward", purpose=HOSTILE, mu=1 / 3))
    reserve(ledger, "ward", mu=0.1, purpose=" ")
    with acting_as("anna"):
        ledger.appoint("anna", "officer", reason="O'Hara, \\ and \u2028")
    return ledger


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_archive_says_what_the_ledger_says(
    ledger: PrivacyLedger, tmp_path: Path, form: str
) -> None:
    path = ledger.export(tmp_path / f"privacy.{form}")
    assert [entry.to_dict() for entry in read_archive(path)] == ledger.entries()
    assert verify_archive(path) == verify_archive(path, ledger.head) == ledger.head


def test_any_spreadsheet_reads_the_table(ledger: PrivacyLedger, tmp_path: Path) -> None:
    with ledger.export(tmp_path / "privacy.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["budget", "reserve", "commit", "reserve", "appoint"]
    assert rows[1]["purpose"] == HOSTILE
    assert float(rows[1]["mu"]) == ledger.entries()[1]["mu"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_every_changed_line_is_seen(ledger: PrivacyLedger, tmp_path: Path, form: str) -> None:
    path = ledger.export(tmp_path / f"privacy.{form}")
    whole, entries = path.read_bytes(), read_archive(path)
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(bytes(changed))
        if _entries(path) == entries:
            # Some changes only write the same figure or text in another way.
            continue
        with pytest.raises(LedgerError):
            verify_archive(path)


def _entries(path: Path) -> list[Entry] | None:
    try:
        return read_archive(path)
    except LedgerError:
        return None


def test_removed_moved_and_cut_lines_are_seen(ledger: PrivacyLedger, tmp_path: Path) -> None:
    path = ledger.export(tmp_path / "privacy.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for changed in (lines[1:], [lines[1], lines[0], *lines[2:]], lines[:2] + lines[3:]):
        path.write_text("".join(changed), encoding="utf-8")
        with pytest.raises(LedgerError, match="of the ledger"):
            verify_archive(path)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    assert verify_archive(path) == json.loads(lines[-2])["hash"]
    with pytest.raises(LedgerError, match="cut off after entry 4"):
        verify_archive(path, ledger.head)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b"{}\n"),
        ("a.jsonl", b"[1]\n"),
        ("a.jsonl", b"\xff"),
        ("a.jsonl", b"not json"),
        ("a.csv", b"name,age\n1,2\n"),
        ("a.csv", b""),
        ("a.csv", b'"'),
    ],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="is no archive of a ledger"):
        verify_archive(path)


def test_an_empty_ledger_has_an_empty_archive(tmp_path: Path) -> None:
    for form in ("jsonl", "csv"):
        path = PrivacyLedger.in_memory().export(tmp_path / f"a.{form}")
        assert verify_archive(path) is None


def test_other_endings_are_refused(ledger: PrivacyLedger, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'\.xlsx'.*'\.jsonl', '\.csv'"):
        ledger.export(tmp_path / "privacy.xlsx")
    assert list(tmp_path.iterdir()) == []
