"""The officer's document: who did what, and the result of the check."""

import json

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger
from tests.ledger.requests import ENTRIES, reserve, tamper
from tests.ledger.team import acting_as


@pytest.fixture
def ledger(tmp_path):
    ledger = PrivacyLedger(f"sqlite:///{tmp_path}/privacy.db")
    with acting_as("anna"):
        ledger.create_budget("ward", 3.0, 1e-6, purpose="board")
        ledger.create_budget("clinic", 1.0, 1e-6)
        ledger.appoint("anna", "officer")
    for user in ("ben", "carla"):
        with acting_as(user):
            ledger.commit(reserve(ledger, "ward"))
    return ledger


def test_it_is_json_and_says_who_made_it(ledger):
    with acting_as("anna"):
        document = ledger.oversight()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["made_by"] == "anna"
    assert document["head"] == ledger.head
    assert document["verification"] == {"whole": True, "problem": "", "head_given": None}
    assert document["roles"]["officers"] == ["anna"]
    assert len(document["entries"]) == document["n_entries"] == len(ledger.entries())
    assert {entry["user"] for entry in document["entries"]} >= {"anna", "ben", "carla"}


def test_acts_are_told_with_who_and_why(ledger):
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


def test_one_data_set_leaves_out_the_others(ledger):
    document = ledger.oversight("clinic")
    assert [a["dataset"] for a in document["datasets"]] == ["clinic"]
    assert {entry["dataset"] for entry in document["entries"]} == {"clinic"}
    assert document["n_entries"] == len(ledger.entries())
    with pytest.raises(LedgerError, match="no entry of data set 'absent'"):
        ledger.oversight("absent")


@pytest.mark.parametrize("change", ["mu = 0", "context = 'no json'", "event = 'no json'"])
def test_a_broken_log_is_told_and_not_hidden(ledger, tmp_path, change):
    tamper(tmp_path / "privacy.db", f"UPDATE {ENTRIES} SET {change} WHERE number = 6")
    document = ledger.oversight()
    assert not document["verification"]["whole"]
    assert "Entry 6 of the ledger was changed" in document["verification"]["problem"]
    assert document["datasets"] == []
    assert len(document["entries"]) == document["n_entries"]
