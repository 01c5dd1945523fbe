"""Processes that are killed at any moment leave a ledger that is right."""

import pytest

from tests.ledger.fleet import PHASES, Fleet, check, run_fleet


def judge(fleet, found):
    """Check what the fleet itself could not: that kills hit, and what they left."""
    kills = sum(found["kills"].values())
    requests = fleet.workers * fleet.charges
    assert kills > 0
    # A killed request may have been refused just before, be open, or be committed.
    assert found["open"] <= kills
    assert found["open"] >= found["kills"].get("between", 0)
    assert found["reserved_but_not_told"] + found["committed_but_not_told"] <= kills
    assert found["requests"] + found["refused"] <= requests
    assert found["requests"] + found["refused"] >= requests - kills
    assert found["requests"] == fleet.capacity


@pytest.mark.thorough
def test_a_small_fleet_with_kills(store_url, tmp_path):
    fleet = Fleet(store_url, str(tmp_path / "journals"), 4, 20, 40, kill_share=0.25, seed=1)
    judge(fleet, run_fleet(fleet))
    # The control: the check sees an entry that a process was told of and that is gone.
    journal = tmp_path / "journals" / "worker-0-0.journal"
    journal.write_text(f"{journal.read_text()}reserved 9999 {'0' * 64}\n")
    with pytest.raises(AssertionError):
        check(fleet)


@pytest.mark.slow
def test_sixteen_processes_of_fifty_requests(store_url, tmp_path):
    fleet = Fleet(store_url, str(tmp_path / "journals"), 16, 50, 500, kill_share=0.22, seed=7)
    found = run_fleet(fleet)
    judge(fleet, found)
    # As docs/ledger.md says.
    assert sum(found["kills"].values()) > 100
    assert set(found["kills"]) == set(PHASES)
