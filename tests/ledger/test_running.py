"""What a process remembers of the log saves reading, and changes no answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger
from interpret_dp.ledger.account import Account
from interpret_dp.ledger.chain import GENESIS, Entry
from interpret_dp.ledger.folding import fold_all
from interpret_dp.ledger.running import Running
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


def test_what_is_known_does_not_change(entries: list[Entry]) -> None:
    first = Running().after(None, entries[:5], "here")
    before = first.account("adult")
    second = first.after(entries[4], entries[5:], "here")
    assert first.number == 5
    assert first.account("adult") == before != second.account("adult")


@pytest.mark.parametrize("position", [0, 3, 8])
def test_a_chain_that_does_not_go_on_is_refused(entries: list[Entry], position: int) -> None:
    known = Running().after(None, entries[:position], "here")
    last = entries[position - 1] if position else None
    with pytest.raises(LedgerError, match="is missing"):
        known.after(last, entries[position + 1 :], "here")
    swapped = [entries[position + 1], entries[position]]
    with pytest.raises(LedgerError, match="is missing"):
        known.after(last, swapped, "here")
    if position:
        for wrong in (None, entries[position]):
            with pytest.raises(LedgerError, match="is not what this process saw"):
                known.after(wrong, [], "here")
    assert Running().hash == GENESIS


def test_threads_that_ask_at_once_fold_once(entries: list[Entry]) -> None:
    expected = Running().after(None, entries, "here").account("adult")
    for _ in range(50):
        running = Running().after(None, entries, "here")
        with ThreadPoolExecutor(4) as pool:
            accounts = list(pool.map(lambda _, r=running: r.account("adult"), range(8)))
        assert accounts == [expected] * 8


@pytest.mark.thorough
def test_a_charge_reads_the_new_entries_alone(store_url: str) -> None:
    """Whatever the log's length: the statements, and the rows that they give, stay the same."""
    ledger = PrivacyLedger(store_url)
    ledger.create_budget("adult", 2.0, 1e-6)
    statements: list[str] = []
    rows = 0
    original = Entry.from_row.__func__  # type: ignore[attr-defined]

    def count(cls: Any, row: Any) -> Entry:
        nonlocal rows
        rows += 1
        return original(cls, row)  # type: ignore[no-any-return]

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        statements.append(statement)

    event.listen(ledger._opened()._engine, "before_cursor_execute", note)
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Entry, "from_row", classmethod(count))
        for _ in range(30):
            statements.clear()
            rows = 0
            ledger.commit(reserve(ledger, mu=0.01))
            seen.append((len(statements), rows))
    assert set(seen[1:]) == {seen[1]}
    # Of each of the two entries: the last one that is known; and the reservation that is closed.
    assert seen[1][1] == 3


def test_another_process_entries_count_at_once(store_url: str) -> None:
    first, second = PrivacyLedger(store_url), PrivacyLedger(store_url)
    first.create_budget("adult", 2.0, 1e-6)
    for one, other in [(first, second), (second, first)] * 3:
        one.commit(reserve(one))
        assert other.spent("adult") == one.spent("adult")
    assert first.spent("adult").n_requests == 6
