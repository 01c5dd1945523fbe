from __future__ import annotations

import json

import pytest

from interpret_dp import PrivacyLedger
from tests.ledger.requests import reserve_epsilon


@pytest.fixture
def ledger(folder):
    """Return the default ledger with one committed and one open request."""
    made = PrivacyLedger()
    made.create_budget("ward", epsilon=4, delta=1e-6, purpose="board")
    made.commit(reserve_epsilon(made, 1.0, 1e-6, "ward", explainer="Model"))
    reserve_epsilon(made, 1.0, 1e-6, "ward", explainer="Crashed")
    return made


def test_show_tells_budget_spending_and_requests(typed, ledger):
    outcome = typed("ledger show")
    assert outcome.code == 0
    assert ledger.head in outcome.out
    assert "epsilon 4 at delta 1e-06" in outcome.out
    assert "1 of the requests run now or were left by a crash" in outcome.out
    lines = [line.split() for line in outcome.out.splitlines() if "1e-06 " in line]
    rows = {words[1]: words[-1] for words in lines}
    assert rows["Model"] == "committed"
    assert rows["Crashed"] == "open"


def test_verify_finds_the_head_that_was_kept(typed, ledger):
    without = typed("ledger verify")
    assert without.code == 0
    assert "Only --head shows" in without.out
    assert "holds the given head" in typed(f"ledger verify --head {ledger.head}").out
    wrong = typed(f"ledger verify --head {'0' * 64}")
    assert wrong.code == 1
    assert "0" * 64 in wrong.err


def test_a_budget_may_set_a_part_of_delta_aside_for_selections(typed, folder):
    def create(words):
        return typed(f"ledger create --epsilon 2 --delta 1e-6 --dataset {words}")

    assert "of which 4e-07 for selections" in create("x --delta-x 4e-7").out
    assert PrivacyLedger("sqlite:///privacy.db").budget("x").delta_x == 4e-7
    shown = " ".join(typed("ledger show").out.split())
    assert "of which 4e-07 for selections" in shown
    assert "delta 4e-07 left for selections" in shown
    assert "declared for 'z', of which 1e-07 for selections" in create("z").out
    assert "was declared before for 'z', of which 1e-07" in create("z").out
    assert "selections" not in create("none --delta-x 0").out
    refused = create("y --delta-x 1e-6")
    assert refused.code == 2
    assert "delta_x is 1e-06" in refused.err


def test_report_as_json_is_the_ledgers_document(typed, ledger):
    outcome = typed("ledger report --json - --dataset ward")
    found, expected = json.loads(outcome.out), ledger.oversight("ward")
    assert found | {"made": ""} == expected | {"made": ""}
    assert typed(f"ledger report --json - --head {'0' * 64}").code == 1
    assert typed("ledger show --dataset absent").code == 1
