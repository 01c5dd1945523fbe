"""The officer's document: totals that add up, who did what, and the result of the check."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import reserve
from tests.ledger.team import acting_as


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    ledger = PrivacyLedger(f"sqlite:///{tmp_path}/privacy.db")
    with acting_as("anna"):
        ledger.create_budget("ward", 3.0, 1e-6, purpose="board")
        ledger.create_budget("clinic", 1.0, 1e-6)
        ledger.appoint("anna", "officer")
    for user, explainer, purpose, mu in (
        ("ben", "EBM", "audit", 0.1),
        ("carla", "EBM", "audit", 0.2),
        ("ben", "LIME", "care", 0.2),
    ):
        with acting_as(user):
            ledger.commit(reserve(ledger, "ward", explainer=explainer, purpose=purpose, mu=mu))
    ledger.cancel(reserve(ledger, "ward", explainer="failed", mu=0.3))
    return ledger


def account(document: dict[str, Any], name: str = "ward") -> dict[str, Any]:
    return next(account for account in document["datasets"] if account["dataset"] == name)


def test_it_is_json_and_says_who_made_it(ledger: PrivacyLedger) -> None:
    with acting_as("anna"):
        document = ledger.oversight()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["made_by"] == "anna"
    assert document["head"] == ledger.head
    assert document["verification"] == {"whole": True, "problem": "", "head_given": None}
    assert document["roles"]["officers"] == ["anna"]
    assert len(document["entries"]) == document["n_entries"] == len(ledger.entries())
    assert {entry["user"] for entry in document["entries"]} >= {"anna", "ben", "carla"}


def test_totals_by_class_user_and_purpose_add_up(ledger: PrivacyLedger) -> None:
    found = account(ledger.oversight())
    for group in ("explainer", "user", "purpose"):
        lines = found[f"by_{group}"]
        assert sum(line["share"] for line in lines) == pytest.approx(1.0)
        assert sum(line["mu"] ** 2 for line in lines) == pytest.approx(found["spent"]["mu"] ** 2)
        assert sum(line["n_requests"] for line in lines) == 3
    shares = {line["explainer"]: line["share"] for line in found["by_explainer"]}
    assert shares == {"EBM": pytest.approx(5 / 9), "LIME": pytest.approx(4 / 9)}
    assert found["totals"][-1]["mu"] == pytest.approx(found["spent"]["mu"])
    assert found["spent_epsilon"]["ever"] == found["spent"]["epsilon"]
    assert len(found["totals"]) == len(found["requests"]) == 4


def test_acts_are_told_with_who_and_why(ledger: PrivacyLedger) -> None:
    with acting_as("anna"):
        ledger.raise_budget("ward", 4.0, 1e-6, reason="more")
        ledger.link("clinic", to="ward", reason="same people")
        document = ledger.oversight()
    (found,) = document["datasets"]
    acts = [(act["kind"], act["user"], act["purpose"]) for act in found["acts"]]
    assert acts == [
        ("budget", "anna", "board"),
        ("budget", "anna", ""),
        ("raise", "anna", "more"),
        ("link", "anna", "same people"),
    ]
    assert ledger.oversight("clinic")["datasets"][0]["names"] == ["ward", "clinic"]


def test_one_data_set_leaves_out_the_others(ledger: PrivacyLedger) -> None:
    document = ledger.oversight("clinic")
    assert [a["dataset"] for a in document["datasets"]] == ["clinic"]
    assert {entry["dataset"] for entry in document["entries"]} == {"clinic"}
    assert document["n_entries"] == len(ledger.entries())
    with pytest.raises(LedgerError, match="no entry of data set 'absent'"):
        ledger.oversight("absent")


@pytest.mark.parametrize("change", ["mu = 0", "context = 'no json'", "event = 'no json'"])
def test_a_broken_log_is_told_and_not_hidden(
    ledger: PrivacyLedger, tmp_path: Path, change: str
) -> None:
    with closing(sqlite3.connect(tmp_path / "privacy.db")) as connection:
        connection.execute("DROP TRIGGER interpret_dp_ledger_entries_no_update")
        connection.execute(f"UPDATE interpret_dp_ledger_entries SET {change} WHERE number = 6")
        connection.commit()
    document = ledger.oversight()
    assert not document["verification"]["whole"]
    assert "Entry 6 of the ledger was changed" in document["verification"]["problem"]
    assert document["datasets"] == []
    assert len(document["entries"]) == document["n_entries"]


def test_a_missing_head_is_told(ledger: PrivacyLedger) -> None:
    assert ledger.oversight(head=ledger.head)["verification"]["whole"]
    document = ledger.oversight(head="0" * 64)
    assert "is not among the" in document["verification"]["problem"]


def test_no_limit_and_no_entry_are_told() -> None:
    ledger = PrivacyLedger.in_memory()
    assert ledger.oversight()["datasets"] == []
    ledger.commit(reserve(ledger, "adult"))
    found = account(ledger.oversight(), "adult")
    assert found["spent_epsilon"] == {"budget": None, "period": None, "ever": None}
    assert found["totals"][0]["epsilon"] is None
