"""The ledger's promises to its callers: budgets, requests, reports, arguments."""

import dataclasses
import datetime
import json
import math
import platform
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from interpret_dp.accounting import gaussian_events_json, gaussian_part, mu_of_budget
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.exceptions import BudgetExceededError, LedgerError
from interpret_dp.fitting.account import account_of
from interpret_dp.ledger import PrivacyLedger, Reservation, chain, default_ledger
from interpret_dp.ledger.chain import now
from tests.ledger.requests import budgeted, reserve, reserve_epsilon, unchanged
from tests.ledger.team import days_later


def test_from_budget_to_refusal(ledger):
    budget = ledger.create_budget("adult", epsilon=2, delta=1e-6, delta_x=0.0, purpose="survey")
    assert ledger.budget("adult") == budget
    assert ledger.remaining("adult") == 2.0
    head = ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6))
    assert head == ledger.head == ledger.verify()
    spent = ledger.spent("adult")
    assert spent.mu == pytest.approx(mu_of_budget(1.0, 1e-6), rel=1e-12)
    assert spent.epsilon == pytest.approx(1.0, rel=1e-6)
    assert (spent.open_reservations, spent.n_requests) == (0, 1)
    left = ledger.remaining("adult")
    assert 1.0 < left < 2.0
    with unchanged(ledger), pytest.raises(BudgetExceededError) as refused:
        reserve_epsilon(ledger, left * 1.001, 1e-6)
    assert refused.value.largest_epsilon == left
    strict = ledger.remaining("adult", delta=1e-8)
    assert strict > left
    ledger.commit(reserve_epsilon(ledger, strict, 1e-8))
    assert ledger.remaining("adult") == 0.0
    assert ledger.spent("adult").epsilon == pytest.approx(2.0, rel=1e-6)


def test_threads_do_not_overspend(ledger):
    """Twelve ask at once for a fifth of the square of mu each."""
    budget = ledger.create_budget("adult", 1.0, 1e-6, delta_x=0.0)

    def is_refused(_):
        try:
            ledger.commit(reserve(ledger, "adult", mu=0.99 * budget.mu / math.sqrt(5.0)))
        except BudgetExceededError:
            return True
        return False

    with ThreadPoolExecutor(12) as threads:
        assert sum(threads.map(is_refused, range(12))) == 7
    assert ledger.spent("adult").epsilon <= 1.0 + 1e-9
    assert ledger.verify() == ledger.head


_OTHER_PROCESS = """
import json, sys
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import PrivacyLedger, Reservation
url, made = json.loads(sys.argv[1])
ledger, made = PrivacyLedger(url), Reservation(**made)
for close in (ledger.cancel, lambda r: ledger.commit(r, charged_mu=0.0)):
    try:
        close(made)
    except LedgerError as error:
        assert "was made by another process" in str(error), error
    else:
        raise AssertionError("what another process reserved was returned")
ledger.commit(made)
"""


def test_nobody_else_can_say_that_nothing_was_released(stored_ledger, store_url):
    # After a crash: who could return the reservation could spend it once more.
    stored_ledger.create_budget("adult", 1.0, 1e-6)
    made = reserve_epsilon(stored_ledger, 0.9, 1e-6)
    words = json.dumps([store_url, dataclasses.asdict(made)])
    subprocess.run([sys.executable, "-c", _OTHER_PROCESS, words], check=True, timeout=120)
    assert stored_ledger.report()["state"].tolist() == ["committed"]
    assert stored_ledger.spent("adult").mu == pytest.approx(made.mu)


@pytest.mark.parametrize("name", ["Adult", "ADULT ", "ad\uff55lt", "adult.", "-adult_"])
def test_a_name_that_is_taken_for_another_gets_no_budget(ledger, name):
    ledger.create_budget("adult", 1.0, 1e-6)
    message = "has a data set 'adult', which differs from"
    with unchanged(ledger), pytest.raises(LedgerError, match=message):
        ledger.create_budget(name.strip(), 1.0, 1e-6)
    # A known limit: the Cyrillic letter that looks like an a.
    ledger.create_budget("\u0430dult", 1.0, 1e-6)
    ledger.link(name.strip(), to="adult", reason="the same people")
    assert ledger.budget(name.strip()).dataset == "adult"


def test_a_reservation_is_closed_once_and_by_its_own_ledger(ledger):
    ledger.create_budget("adult", 1.0, 1e-6, delta_x=1e-7)
    first, second = reserve(ledger, delta=5e-8), reserve(ledger)
    with pytest.raises(ValueError, match=r"charged_mu is 0\.11"):
        ledger.commit(first, charged_mu=0.11)
    assert ledger.spent("adult").open_reservations == 2
    ledger.commit(first, charged_mu=0.05)
    ledger.cancel(second)
    assert (ledger.spent("adult").mu, ledger.spent("adult").delta) == (0.05, 5e-8)
    ledger.commit(reserve(ledger), charged_mu=1e-270)
    assert ledger.entries()[-1]["mu"] == 1e-100  # no entry can hold less
    for close in (ledger.commit, ledger.cancel):
        with pytest.raises(LedgerError, match="committed already"):
            close(first)
        with pytest.raises(LedgerError, match="cancelled already"):
            close(second)
    other = budgeted("adult", 1.0, 1e-6)
    with pytest.raises(LedgerError, match="is not in PrivacyLedger"):
        other.commit(reserve(ledger))
    with pytest.raises(LedgerError, match="is not in PrivacyLedger"):
        ledger.commit(Reservation("adult", 1, 0.1, 0.0, "00" * 32))
    with pytest.raises(TypeError, match="what reserve\\(\\) returned"):
        ledger.commit("reservation")


def test_a_budget_is_created_once_and_raised_as_a_logged_act(ledger):
    asked = {"epsilon": 1.0, "delta": 1e-6, "purpose": "x", "expires": "2099-12-31"}
    budget = ledger.create_budget("adult", **asked)
    assert budget.delta_x == pytest.approx(1e-7)
    assert ledger.create_budget("adult", **asked) == budget
    assert ledger.create_budget("adult", **asked, delta_x=budget.delta_x) == budget
    others = ({"epsilon": 3.0}, {"delta": 1e-5}, {"delta_x": 0.0}, {"purpose": "y"},
              {"unit": "id"}, {"expires": "2099-12-30"})  # fmt: skip
    for other in others:
        with pytest.raises(LedgerError, match=r"raise it: ledger\.raise_budget\('adult', epsilon="):
            ledger.create_budget("adult", **asked | other)
    assert len(ledger.entries()) == 1
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6))
    raised = ledger.raise_budget("adult", 2.0, 1e-6, reason="board, 3 May")
    assert ledger.budget("adult") == ledger.create_budget("adult", **asked) == raised
    assert ledger.spent("adult").epsilon == pytest.approx(1.0, rel=1e-6)
    assert ledger.entries()[-1]["kind"] == "raise"
    assert ledger.entries()[-1]["purpose"] == "board, 3 May"
    with pytest.raises(ValueError, match="may lower neither"):
        ledger.raise_budget("adult", 1.5, 1e-6, reason="less")
    with pytest.raises(ValueError, match="must raise one of them"):
        ledger.raise_budget("adult", 2.0, 1e-6, reason="the same")
    with pytest.raises(LedgerError, match="no budget for data set 'wine'"):
        ledger.raise_budget("wine", 3.0, 1e-6, reason="more")
    assert ledger.raise_budget("adult", 3.0, 1e-6, reason="x", delta_x=2e-7).delta_x == 2e-7


def test_the_first_request_may_use_the_whole_budget_and_is_then_the_only_one(ledger):
    for name in ("declared", "undeclared", "second"):
        ledger.create_budget(name, 1.0, 1e-6)
    whole, without_selections = mu_of_budget(1.0, 1e-6), gaussian_part(1e-6, 1e-7)
    reserve(ledger, "undeclared", mu=mu_of_budget(1.0, without_selections), delta=1e-7)
    reserve(ledger, "second", mu=1e-3)
    # What it leaves unused must not be spent on selections, so it is charged in full.
    ledger.commit(reserve(ledger, "declared", mu=whole), charged_mu=0.01)
    assert ledger.spent("declared").mu == pytest.approx(whole, rel=1e-12)
    refused = (("second", whole - 1e-3, 0.0), ("declared", 1e-3, 0.0), ("declared", 0.0, 1e-9))
    for name, mu, delta in refused:
        with pytest.raises(BudgetExceededError):
            reserve(ledger, name, mu=mu, delta=delta)
    with pytest.raises(ValueError, match=r"which epsilon 0\.5 does not cover"):
        ledger.raise_budget("declared", 0.5, 1.85e-3, reason="x")
    ledger.raise_budget("declared", 1.2, 1e-6, reason="more")
    reserve(ledger, "declared", mu=1e-3, delta=1e-9)
    # A raise between reservation and commit changes nothing of that.
    ledger.create_budget("raised", 1.0, 1e-6)
    reservation = reserve(ledger, "raised", mu=whole)
    ledger.raise_budget("raised", 2.0, 1e-6, reason="more")
    ledger.commit(reservation, charged_mu=0.01)
    assert ledger.spent("raised").mu == pytest.approx(whole, rel=1e-12)


def _charged_by_a_fit(ledger, dataset):
    return account_of(ledger, dataset, Neighbourhood())


ASKS = (reserve, _charged_by_a_fit, PrivacyLedger.spent, PrivacyLedger.remaining)


def test_only_a_budget_begins_a_ledger(stored_ledger, store_url):
    assert stored_ledger.budget("adult") is None
    for ask in (*ASKS, PrivacyLedger.verify, PrivacyLedger.report, PrivacyLedger.oversight):
        with pytest.raises(LedgerError, match=r"There is no ledger .*create_budget.*--budget"):
            ask(stored_ledger, "adult")
    with pytest.raises(LedgerError, match="is gone"):
        PrivacyLedger.existing(store_url).datasets()
    stored_ledger.create_budget("adult", 1.0, 1e-6)
    assert PrivacyLedger.existing(store_url).datasets() == ["adult"]


def test_an_unknown_data_set_is_refused_once_there_is_a_budget(ledger):
    ledger.create_budget("adult", 1.0, 1e-6)
    before = ledger.verify()
    for ask in ASKS:
        with pytest.raises(LedgerError, match=r"'Adlut'. Did you mean 'adult'\? .*--budget"):
            ask(ledger, "Adlut")
        with pytest.raises(LedgerError, match=r"'wine'. It has one for 'adult'. Declare"):
            ask(ledger, "wine")
    assert ledger.verify() == before


def test_a_ledger_in_memory_records_without_a_limit():
    assert default_ledger() is default_ledger()
    ledger = PrivacyLedger.in_memory()
    assert "Nothing was declared or spent yet" in ledger._repr_html_()
    ledger.commit(reserve(ledger, "unlimited", mu=5.0))
    assert ledger.budget("unlimited") is None
    assert ledger.remaining("unlimited") == math.inf
    assert ledger.spent("unlimited").epsilon is None
    assert ledger.spent("unlimited").epsilon_at(1e-6) > 20
    assert ledger.to_dict("unlimited")["datasets"][0]["limit"] == "no limit declared"
    assert "no limit declared" in ledger._repr_html_()
    with pytest.raises(LedgerError, match="already, while no limit was declared"):
        ledger.create_budget("unlimited", 1.0, 1e-6)
    ledger.create_budget("unlimited", 100.0, 1e-6)


def test_entries_hold_what_the_audit_needs(ledger):
    ledger.create_budget("adult", 1.0, 1e-6)
    ledger.commit(reserve(ledger, explainer="ebm", purpose="tuning"))
    budget, request, commit = ledger.entries()
    assert [e["kind"] for e in (budget, request, commit)] == ["budget", "reserve", "commit"]
    assert request["event"] == gaussian_events_json([(0.1, 1)])
    assert (request["explainer"], request["purpose"]) == ("ebm", "tuning")
    assert (request["epsilon"], request["epsilon_delta"]) == (0.4, 1e-6)
    with ledger._opened().reading() as log:
        user = log.user()
    assert request["context"].pop("token")
    says = {"protected": "add_or_remove_one: one row", "user": user, "host": platform.node()}
    assert request["context"] == says
    assert request["package_version"]
    assert request["time"] == budget["time"] == now().date().isoformat()
    assert commit["time"] == ""
    assert commit["reservation"] == request["number"] == 2
    assert commit["previous"] == request["hash"]


def test_no_entry_says_how_long_a_request_ran(monkeypatch):
    """The duration may depend on a row: of a black box that is slow on one kind of row it does."""
    start = datetime.datetime(2030, 5, 1, 12, tzinfo=datetime.UTC)
    # Random: two equal requests of one day are told apart by it.
    monkeypatch.setattr("interpret_dp.ledger.ledger.uuid4", lambda: uuid.UUID(int=0))
    found = []
    for seconds in (1, 100):
        ledger = PrivacyLedger.in_memory()
        monkeypatch.setattr(chain, "now", lambda: start)
        ledger.create_budget("adult", 1.0, 1e-6)
        requests = [reserve(ledger), reserve(ledger)]
        monkeypatch.setattr(chain, "now", lambda s=seconds: start + datetime.timedelta(seconds=s))
        ledger.commit(requests[0])
        ledger.cancel(requests[1])
        found.append((ledger.entries(), ledger.head, ledger.report().to_dict("list")))
    assert found[0] == found[1]
    # Control: the day of a request is public, and in its entry.
    assert found[0][0][1]["time"] == "2030-05-01"
    monkeypatch.undo()
    assert reserve(PrivacyLedger.in_memory()).hash != reserve(PrivacyLedger.in_memory()).hash


def test_report_and_document(ledger):
    ledger.create_budget("adult", 2.0, 1e-6)
    ledger.commit(reserve_epsilon(ledger, 0.5, 1e-6))
    ledger.cancel(reserve_epsilon(ledger, 0.5, 1e-6))
    reserve_epsilon(ledger, 0.5, 1e-6)
    report = ledger.report()
    assert report["state"].tolist() == ["committed", "cancelled", "open"]
    assert report["total_epsilon"].is_monotonic_increasing
    assert report["total_epsilon"].iloc[-1] == pytest.approx(ledger.spent("adult").epsilon)
    document = ledger.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["head"] == ledger.head
    assert document["datasets"][0]["remaining_epsilon"] == ledger.remaining("adult")
    for ask in (ledger.report, ledger.to_dict, ledger.entries):
        with pytest.raises(LedgerError, match="no entry of data set 'adlut'; it knows 'adult'"):
            ask("adlut")


def test_a_notebook_shows_a_table_of_budgets(ledger):
    ledger.create_budget("<b>ward", 4, 1e-6, expires="2999-12-31")
    ledger.create_budget("other", 2, 1e-6)
    ledger.commit(reserve_epsilon(ledger, 1.0, 1e-6, "<b>ward"))
    page = ledger._repr_html_()
    assert page.count("<tr>") == 3
    assert "&lt;b&gt;ward" in page
    assert "<b>ward" not in page
    assert "epsilon 4 at delta 1e-06, of which 1e-07 for selections" in page
    share = (ledger.spent("<b>ward").mu / ledger.budget("<b>ward").mu) ** 2
    assert f">{math.ceil(1000 * share) / 10:g} %<" in page
    assert ledger.head in page
    with days_later(400_000):
        assert "for selections, expired<" in ledger._repr_html_()


BAD_REQUESTS = [
    ({"dataset": " adult"}, ValueError, "spaces at its ends"),
    ({"dataset": "a\nb"}, ValueError, "printable"),
    ({"mu": -0.1}, ValueError, "mu is -0.1"),
    ({"mu": math.nan}, ValueError, "mu is nan"),
    ({"delta": -1e-9}, ValueError, "delta is"),
    ({"epsilon": -1}, ValueError, "epsilon is -1"),
    ({"epsilon_delta": 1.0}, ValueError, "epsilon_delta is 1.0"),
    ({"explainer": ""}, ValueError, "explainer is ''"),
    ({"purpose": 3}, TypeError, "purpose is 3"),
    ({"event": {}}, ValueError, "has no .format."),
    ({"event": gaussian_events_json([(0.11, 1)])}, ValueError, "event costs mu 0.11"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD_REQUESTS)
def test_bad_requests_are_named_and_cost_nothing(change, error, message):
    ledger = PrivacyLedger.in_memory()
    event = gaussian_events_json([(0.1, 1)])
    with pytest.raises(error, match=message):
        reserve(ledger, **({"dataset": "adult", "event": event} | change))
    assert ledger.entries() == []


SERVER = "postgresql://me:secret@host"


def begin(url):
    return PrivacyLedger(url).create_budget("a", 1.0, 1e-6)


BAD_LOCATIONS = [
    (lambda f: PrivacyLedger("privacy.db"), ValueError, "scheme is 'missing'"),
    (lambda f: PrivacyLedger("mongodb://u:secret@h/d"), ValueError, "knows 'sqlite' and"),
    (lambda f: PrivacyLedger(f"{SERVER}"), ValueError, "names no database"),
    (lambda f: PrivacyLedger(f"{SERVER}:port/db"), ValueError, "cannot be read"),
    (lambda f: PrivacyLedger(f"{SERVER}/db?password=secret"), ValueError, r"\['password'\]"),
    (lambda f: PrivacyLedger(f"{SERVER}/db?options=-cx"), ValueError, r"\['options'\]"),
    (lambda f: PrivacyLedger("postgresql+psycopg2://u:secret@h/d"), ValueError, "psycopg"),
    (lambda f: PrivacyLedger("sqlite://"), ValueError, "in_memory"),
    (lambda f: PrivacyLedger("sqlite:///:memory:"), ValueError, "in_memory"),
    (lambda f: PrivacyLedger(f"sqlite:///{f}/p.db?mode=ro"), ValueError, "path alone"),
    (lambda f: PrivacyLedger(f), TypeError, "must be a text"),
    (lambda f: PrivacyLedger(f"sqlite:///{f}/no/p.db"), LedgerError, "does not exist"),
    (lambda f: PrivacyLedger(f"sqlite:///{f}"), LedgerError, "is a folder"),
    (lambda f: begin(f"sqlite:///{f}/{'a' * 300}.db"), LedgerError, "be opened"),
    (lambda f: PrivacyLedger(f"sqlite:///{f}/p.db", timeout=-1), ValueError, "timeout is -1"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_LOCATIONS)
def test_bad_locations_are_named(call, error, message, tmp_path):
    with pytest.raises(error, match=message) as raised:
        call(tmp_path)
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_promises_of_different_kinds_do_not_share_an_account(ledger):
    """Losses about rows and about people do not add up: the second kind is refused, unspent."""
    ledger.create_budget("adult", 1.0, 1e-6)
    ledger.commit(reserve(ledger))
    before = ledger.spent("adult")
    other = "add_or_remove_one: one 'person'"
    with pytest.raises(LedgerError, match=r"protects \(add_or_remove_one: one row\); this request"):
        reserve(ledger, protected=other)
    assert ledger.spent("adult") == before
    assert ledger.to_dict("adult")["datasets"][0]["protected"] == "add_or_remove_one: one row"
    # A control: an account of its own holds them.
    ledger.create_budget("people of adult", 1.0, 1e-6)
    ledger.commit(reserve(ledger, "people of adult", protected=other))


def test_an_owner_says_whom_the_budget_protects(ledger):
    """Otherwise an analyst could spend a budget meant for people row by row."""
    budget = ledger.create_budget("ward", 1.0, 1e-6, unit="patient_id")
    assert budget.protected == "add_or_remove_one: one 'patient_id'"
    with pytest.raises(LedgerError, match="Nothing was spent"):
        reserve(ledger, "ward")
    ledger.commit(reserve(ledger, "ward", protected=budget.protected))
    ledger.raise_budget("ward", 2.0, 1e-6, reason="more")
    assert ledger.budget("ward").protected == budget.protected
    with pytest.raises(LedgerError, match="Nothing was spent"):
        reserve(ledger, "ward", protected="replace_one: one 'patient_id'")
    rows = ledger.create_budget("rows", 1.0, 1e-6, neighboring="add_or_remove_one")
    assert rows.protected == "add_or_remove_one: one row"
    ledger.commit(reserve(ledger, "rows"))
    with pytest.raises(ValueError, match="neighboring is 'swap'"):
        ledger.create_budget("other", 1.0, 1e-6, neighboring="swap")


def test_a_budget_is_not_declared_against_what_was_spent():
    ledger = PrivacyLedger.in_memory()
    ledger.commit(reserve(ledger, "ward"))
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.create_budget("ward", 1.0, 1e-6, unit="patient_id")
