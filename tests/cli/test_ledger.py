"""The ledger's commands, as officers and analysts type them."""

import json

import pytest

from interpret_dp import PrivacyLedger, load_model
from tests.ledger.requests import reserve, reserve_epsilon, tamper
from tests.ledger.team import acting_as, days_later

REASON = "--reason 'board, 3 May'"


@pytest.fixture
def ledger(typed):
    study = "--purpose 'study 7' --expires 2099-12-31"
    typed(f"ledger create --dataset ward --epsilon 3 --delta 1e-6 {study}")
    made = PrivacyLedger()
    assert made.budget("ward").purpose == "study 7"
    return made


def test_a_budget_may_set_a_part_of_delta_aside_for_selections(typed, folder):
    def create(words):
        return typed(f"ledger create --epsilon 2 --delta 1e-6 --dataset {words}")

    assert "of which 4e-07 for selections" in create("x --delta-x 4e-7").out
    assert PrivacyLedger("sqlite:///privacy.db").budget("x").delta_x == 4e-7
    shown = " ".join(typed("ledger show").out.split())
    assert "of which 4e-07 for selections" in shown
    assert "Used nothing" in shown
    assert "declared for 'z', of which 1e-07 for selections" in create("z").out
    assert "was declared before for 'z', of which 1e-07" in create("z").out
    assert "selections" not in create("none --delta-x 0").out


def test_show_tells_budget_spending_and_requests(typed, ledger):
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "ward", explainer="Model"))
    reserve(ledger, "ward", explainer="Crashed", purpose="\x1b[2Jgone")
    outcome = typed("ledger show")
    assert ledger.head in outcome.out
    assert "epsilon 3 at delta 1e-06" in outcome.out
    assert "Expires     2100-01-01 00:00 UTC" in outcome.out
    assert "1 of them run or crashed; they count in full" in outcome.out
    lines = [line.split() for line in outcome.out.splitlines() if "1e-06 " in line]
    rows = {words[1]: words for words in lines}
    assert "committed" in rows["Model"]
    assert "open" in rows["Crashed"]
    # Words of users do not steer the terminal.
    assert "gone" in outcome.out
    assert "\x1b" not in outcome.out
    typed("ledger show --dataset absent", code=1)


def test_verify_finds_the_head_that_was_kept(typed, ledger):
    without = typed("ledger verify")
    assert "Only --head shows" in without.out
    assert "holds the given head" in typed(f"ledger verify --head {ledger.head}").out
    wrong = typed(f"ledger verify --head {'0' * 64}", code=1)
    assert "0" * 64 in wrong.err


def test_raise(typed, ledger):
    raised = typed(f"ledger raise --dataset ward --epsilon 4 --delta 1e-6 --delta-x 1e-7 {REASON}")
    assert "epsilon 4 at delta 1e-06 for 'ward' now, of which 1e-07 for selections" in raised.out
    assert ledger.entries()[-1]["purpose"] == "board, 3 May"


def test_an_expired_budget_is_renewed(typed, ledger):
    ledger.commit(reserve(ledger, "ward"))
    with days_later(40_000):
        shown = typed("ledger show").out
        assert "One more    no: the budget has expired" in shown
        renewed = typed(f"ledger renew --dataset ward --expires 2300-01-01 {REASON}")
        assert "its end: 2300-01-02 00:00 UTC" in renewed.out
        assert "Used        2.5 %, by 1 request" in renewed.out
        new = typed(f"ledger renew --dataset ward --new-people 'deleted all' {REASON}")
        assert "Used        nothing" in new.out
    assert "Ever        epsilon 0.3" in typed("ledger show").out


def test_an_account_protects_people_from_now_on(typed, ledger):
    ledger.commit(reserve(ledger, "ward"))
    change = f"ledger unit --dataset ward --unit patient_id --at-most 2 {REASON}"
    changed = typed(change)
    assert "one 'patient_id'" in changed.out
    assert ledger.spent("ward").mu == pytest.approx(0.2, rel=0.01)
    typed(change, code=1)


def test_link(typed, ledger):
    ledger.create_budget("copy", 1.0, 1e-6)
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "copy"))
    ledger.commit(reserve_epsilon(ledger, 2.8, 1e-6, "ward"))
    line = f"ledger link --dataset ward --to copy {REASON}"
    refused = typed(line, code=1)
    assert "have spent epsilon" in refused.err
    linked = typed(f"{line} --accept-overspent")
    assert "'ward' shares the budget of 'copy'" in linked.out
    assert ledger.entries()[-1]["context"]["overspent"] is True
    shown = typed("ledger show").out
    assert "'copy' = 'ward'" in shown
    assert shown.count("Budget ") == 1
    assert "Used        100 %" in shown
    assert "One more    like the latest request: no" in shown


def test_from_request_to_withdrawal(typed, ledger):
    rule = typed(f"ledger require-approval --dataset ward --above 0.5 {REASON}")
    assert "requests on 'ward' above epsilon 0.5" in rule.out
    asked = typed("ledger request --dataset ward --epsilon 1 --delta 1e-6 --purpose 'an audit'")
    number = ledger.approvals()[0].number
    assert f"interpret-dp ledger approve {number}" in asked.out
    assert "waiting" in typed("ledger approvals --waiting").out
    approved = typed(f"ledger approve {number} --expires 2099-12-31 --uses 2 --reason fine")
    assert "Approved" in approved.out
    assert "2 times, until 2100-01-01 00:00 UTC" in " ".join(approved.out.split())
    assert "no requests for approval that wait" in typed("ledger approvals --waiting").out
    ledger.commit(reserve_epsilon(ledger.for_purpose("an audit"), 1.0, 1e-6, "ward"))
    assert "Withdrawn" in typed(f"ledger withdraw {number}").out
    typed("ledger request --dataset ward --epsilon 1 --delta 1e-6")
    rejected = ledger.approvals()[-1].number
    assert "Rejected" in typed(f"ledger reject {rejected} --reason 'too much'").out
    assert ledger.approvals()[-1].reason == "too much"
    assert "an officer must approve" in typed("ledger show").out
    never = typed(f"ledger require-approval --dataset ward --never {REASON}")
    assert "need no approval" in never.out


def test_roles(typed, ledger):
    with acting_as("anna"):
        assert "'anna' is officer now" in typed("ledger appoint anna officer").out
        typed("ledger appoint ben analyst")
    assert "Officers    anna; others who may spend: ben" in typed("ledger show").out
    with acting_as("ben"):
        refused = typed(f"ledger raise --dataset ward --epsilon 9 --delta 1e-6 {REASON}", code=1)
    assert "officers are 'anna'" in refused.err
    with acting_as("anna"):
        assert "has no role any more" in typed("ledger dismiss ben").out


def test_a_fit_waits_for_its_approval(typed, ledger, fit, patients, folder):
    """The message of the refused fit is all that officer and analyst need."""
    typed(f"ledger require-approval --dataset ward {REASON}")
    refused = fit(patients, purpose="readmission model", code=1)
    (asked,) = ledger.approvals()
    assert f"`interpret-dp ledger approve {asked.number}`" in refused.err
    assert asked.explainer == "DPExplainableBoostingClassifier"
    assert asked.purpose == "readmission model"
    assert ledger.spent("ward").n_requests == 0
    typed(f"ledger approve {asked.number}")
    fit(patients, purpose="readmission model")
    assert ledger.spent("ward").n_requests == 1
    head = load_model(folder / "model.json").guarantee_.ledger_head
    assert "holds the given head" in typed(f"ledger verify --head {head}").out
    fit(patients, purpose="readmission model", out="other.json", code=1)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_export_and_check_without_the_ledger(typed, ledger, folder, form):
    out = folder / f"archive.{form}"
    out.write_text("mine")
    assert "add --overwrite" in typed(f"ledger export --out {out}", code=2).err
    assert out.read_text() == "mine"
    assert ledger.head in typed(f"ledger export --out {out} --overwrite").out
    head = ledger.head
    (folder / "privacy.db").unlink()
    checked = typed(f"ledger verify --file {out} --head {head}")
    assert "holds the given head" in checked.out
    typed(f"ledger verify --file {out} --head {'0' * 64}", code=1)
    out.write_bytes(out.read_bytes().replace(b"study 7", b"study 8"))
    changed = typed(f"ledger verify --file {out}", code=1)
    assert "Entry 1 of the ledger was changed" in changed.err


def test_report_writes_a_page_and_a_document(typed, ledger, folder):
    assert "r.html and r.json" in typed("ledger report --html r.html --json r.json").out
    written = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    printed = json.loads(typed("ledger report --json - --dataset ward").out)
    for found in (written, printed):
        assert found | {"made": ""} == ledger.oversight("ward") | {"made": ""}
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert ledger.head in page
    # A log that fails its check is reported all the same.
    typed(f"ledger report --json - --head {'0' * 64}", code=1)
    tamper(folder / "privacy.db", "UPDATE interpret_dp_ledger_entries SET mu = 9")
    assert "add --overwrite" in typed("ledger report --json new.json --html r.html", code=2).err
    assert not (folder / "new.json").exists()
    failed = typed("ledger report --html r.html --overwrite", code=1)
    assert "Entry 1 of the ledger was changed" in failed.err
    assert "The log failed its check" in (folder / "r.html").read_text(encoding="utf-8")
