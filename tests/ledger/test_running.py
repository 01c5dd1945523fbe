"""What a process remembers of the log saves reading, and changes no answer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpret_dp.ledger import PrivacyLedger
from interpret_dp.ledger.core.account import Account
from interpret_dp.ledger.core.chain import Entry
from interpret_dp.ledger.core.folding import Running, fold_all
from tests.ledger.requests import reserve


def log_of(ledger: PrivacyLedger) -> list[Entry]:
    with ledger._opened().reading() as log:
        return list(log.entries())


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    """Return a log of two data sets with every kind of entry."""
    ledger = PrivacyLedger.in_memory()
    for dataset in ("adult", "ward"):
        ledger.create_budget(dataset, 2.0, 1e-6)
    for number in range(12):
        reservation = reserve(ledger, ("adult", "ward")[number % 3 == 1], mu=0.01 + number / 1e3)
        if number % 4:
            (ledger.cancel if number % 4 == 2 else ledger.commit)(reservation)
        if number == 6:
            ledger.raise_budget("adult", 3.0, 1e-6, reason="more")
    return log_of(ledger)


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_way_of_catching_up_gives_the_account_of_the_whole_log(
    entries: list[Entry], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(entries)))) | {len(entries)})
    running, done = Running(), 0
    for cut in cuts:
        known = entries[done - 1] if done else None
        running = running.after(known, entries[done:cut], "here")
        done = cut
        asked = data.draw(st.sets(st.sampled_from(["adult", "ward", "absent"])))
        for dataset in asked:
            own = [entry for entry in entries[:cut] if entry.dataset == dataset]
            assert running.account(dataset) == fold_all(own).get(
                dataset, Account(dataset, None, (), names=(dataset,))
            )
    assert (running.number, running.hash) == (len(entries), entries[-1].hash)
    own = [entry for entry in entries if entry.dataset == "adult"]
    assert running.account("adult") == fold_all(own)["adult"]
