"""What spending is for is said once, and written to every charge."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import pandas as pd
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


def test_a_purpose_goes_with_the_ledger(ledger: PrivacyLedger) -> None:
    ledger.create_budget("adult", 2.0, 1e-6)
    audit = ledger.for_purpose("quarterly audit")
    assert (audit.purpose, ledger.purpose) == ("quarterly audit", "")
    assert audit == ledger
    assert hash(audit) == hash(ledger)
    reserve(audit)
    reserve(ledger)
    reserve(audit, purpose="this one is special")
    reserve(audit.for_purpose("another one"))
    assert purposes(ledger) == ["quarterly audit", "", "this one is special", "another one"]
    assert ledger.spent("adult") == audit.spent("adult")
    assert repr(audit) == f"{ledger!r}.for_purpose('quarterly audit')"


def test_copies_and_pickles_keep_it(ledger: PrivacyLedger) -> None:
    audit = ledger.for_purpose("quarterly audit")
    assert copy.deepcopy(audit) is audit
    again = pickle.loads(pickle.dumps(audit))
    assert (again, again.purpose) == (ledger, "quarterly audit")
    again.create_budget("adult", 2.0, 1e-6)
    reserve(again)
    assert purposes(ledger) == ["quarterly audit"]


def test_it_keeps_a_ledger_in_memory_alive() -> None:
    audit = PrivacyLedger.in_memory().for_purpose("quarterly audit")
    gc.collect()
    reserve(audit)
    assert pickle.loads(pickle.dumps(audit)).spent("adult").n_requests == 1


def test_estimators_write_it_to_their_charges(ledger: PrivacyLedger) -> None:
    from sklearn.base import clone

    from interpret_dp import Categorical, Continuous, DPExplainableBoostingClassifier, Schema

    ledger.create_budget("toy", 2.0, 1e-6)
    model = DPExplainableBoostingClassifier(
        epsilon=0.5,
        delta=1e-6,
        schema=Schema({"x": Continuous(0, 1)}, target=Categorical([0, 1])),
        ledger=ledger.for_purpose("quarterly audit"),
        dataset="toy",
    )
    clone(model).fit(pd.DataFrame({"x": [0.1, 0.9, 0.4]}), [0, 1, 1])
    assert purposes(ledger) == ["quarterly audit"]


@pytest.mark.parametrize(
    ("purpose", "error"),
    [("", ValueError), (" a", ValueError), ("a\nb", ValueError), (None, TypeError)],
)
def test_bad_purposes_are_named(purpose: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="purpose is"):
        PrivacyLedger.in_memory().for_purpose(purpose)
