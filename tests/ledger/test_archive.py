"""Archives of the log are checked without the ledger, and every change in them is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpret_dp.ledger import PrivacyLedger, verify_archive
from interpret_dp.ledger.core.chain import read_archive
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


def test_other_endings_are_refused(ledger: PrivacyLedger, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'\.xlsx'.*'\.jsonl', '\.csv'"):
        ledger.export(tmp_path / "privacy.xlsx")
    assert list(tmp_path.iterdir()) == []
