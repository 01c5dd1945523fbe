"""What spending is for is said once, and written to every charge."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import reserve


@pytest.fixture(params=["file", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> PrivacyLedger:
    if request.param == "memory":
        return PrivacyLedger.in_memory()
    return PrivacyLedger(f"sqlite:///{tmp_path}/privacy.db")


def purposes(ledger: PrivacyLedger) -> list[str]:
    return [entry["purpose"] for entry in ledger.entries() if entry["kind"] == "reserve"]


def test_copies_and_pickles_keep_it(ledger: PrivacyLedger) -> None:
    ledger.create_budget("adult", 2.0, 1e-6)
    audit = ledger.for_purpose("quarterly audit")
    assert copy.deepcopy(audit) is audit
    again = pickle.loads(pickle.dumps(audit))
    assert (again, again.purpose) == (ledger, "quarterly audit")
    reserve(again)
    assert purposes(ledger) == ["quarterly audit"]


@pytest.mark.parametrize(
    ("purpose", "error"),
    [("", ValueError), (" a", ValueError), ("a\nb", ValueError), (None, TypeError)],
)
def test_bad_purposes_are_named(purpose: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="purpose is"):
        PrivacyLedger.in_memory().for_purpose(purpose)
