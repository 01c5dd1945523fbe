"""Budgets end, are renewed as a logged act, and forget nothing by it."""

import datetime

import pytest

from interpret_dp.exceptions import BudgetExceededError, LedgerError
from interpret_dp.ledger import BudgetExpiredError
from interpret_dp.ledger.chain import until
from tests.ledger.requests import budgeted, reserve, reserve_epsilon, unchanged
from tests.ledger.team import days_later

SOON = datetime.date.today() + datetime.timedelta(days=10)
LATER = datetime.date.today() + datetime.timedelta(days=100)


@pytest.fixture
def ledger():
    ledger = budgeted("ward", 2.0, 1e-6, expires=SOON, unit="patient_id")
    ledger.commit(reserve_patient(ledger, 1.0))
    return ledger


def reserve_patient(ledger, epsilon):
    protected = "add_or_remove_one: one 'patient_id'"
    return reserve_epsilon(ledger, epsilon, 1e-6, "ward", protected=protected)


def test_an_expired_budget_refuses_and_nothing_is_spent(ledger):
    running, message = reserve_patient(ledger, 0.1), r"has expired, on .*UTC.*renew"
    with days_later(12):
        with unchanged(ledger), pytest.raises(BudgetExpiredError, match=message) as refused:
            reserve_patient(ledger, 0.1)
        assert ledger.remaining("ward") == 0.0
        assert ledger.to_dict("ward")["datasets"][0]["remaining_epsilon"] == 0.0
        assert ledger.to_dict("ward")["datasets"][0]["budget"]["expired"]
        # What was reserved in time may end.
        ledger.commit(running)
    assert refused.value.dataset == "ward"
    reserve_patient(ledger, 0.1)


def test_a_renewal_gives_time_and_not_room(ledger):
    before = ledger.spent("ward")
    with days_later(12):
        renewed = ledger.renew_budget("ward", reason="board, June", expires=LATER)
        assert ledger.budget("ward") == renewed
        assert (renewed.epsilon, renewed.delta) == (2.0, 1e-6)
        assert renewed.protected == "add_or_remove_one: one 'patient_id'"
        after = ledger.spent("ward")
        assert (after.mu, after.n_requests) == (before.mu, 1)
        assert after.period.mu == 0.0
        with pytest.raises(BudgetExceededError):
            reserve_patient(ledger, 2.0)
        ledger.commit(reserve_patient(ledger, 0.5))
        spent = ledger.spent("ward")
        assert 0 < spent.period.mu < spent.mu == spent.ever.mu
    entry = ledger.entries()[-3]
    assert (entry["kind"], entry["purpose"]) == ("renew", "board, June")
    assert "new_people" not in entry["context"]


def test_new_people_start_at_zero_and_the_total_is_told(ledger):
    words = "all patients of 2026 were deleted, ticket 71"
    ledger.renew_budget("ward", reason="2027", new_people=words)
    assert ledger.entries()[-1]["context"]["new_people"] == words
    spent = ledger.spent("ward")
    assert (spent.mu, spent.n_requests, spent.epsilon) == (0.0, 0, pytest.approx(0.0))
    assert spent.ever.epsilon_at(1e-6) == pytest.approx(1.0, rel=1e-6)
    assert ledger.remaining("ward") == 2.0
    ledger.commit(reserve_patient(ledger, 2.0))
    assert ledger.remaining("ward") == 0.0
    assert ledger.spent("ward").ever.mu > ledger.spent("ward").mu
    assert ledger.report()["total_epsilon"].iloc[-1] > 2.0
    # Whom the account protects is bound by the earlier promises all the same.
    with pytest.raises(LedgerError, match="do not add up"):
        reserve(ledger, "ward")


def test_new_people_need_closed_requests_and_words(ledger):
    running = reserve_patient(ledger, 0.1)
    with pytest.raises(LedgerError, match="1 requests on data set 'ward' are open"):
        ledger.renew_budget("ward", reason="2027", new_people="all are new")
    ledger.cancel(running)
    with pytest.raises(ValueError, match="new_people is ' '"):
        ledger.renew_budget("ward", reason="2027", new_people=" ")
    assert ledger.spent("ward").n_requests == 1


def test_what_cannot_be_renewed_is_named(ledger):
    with pytest.raises(LedgerError, match="no budget for data set 'clinic'"):
        ledger.renew_budget("clinic", reason="x")
    with pytest.raises(ValueError, match="reason is ''"):
        ledger.renew_budget("ward", reason="")
    for expires, error, message in (
        ("2001-01-01", ValueError, "which has passed"),
        ("soon", ValueError, "expires is 'soon'"),
        ("2099-01-01T12:00", ValueError, "no time zone"),
        (7, TypeError, "expires is 7"),
    ):
        with pytest.raises(error, match=message):
            ledger.renew_budget("ward", reason="x", expires=expires)
    assert ledger.entries()[-1]["kind"] == "commit"


def test_moments_mean_the_same_everywhere():
    assert until("expires", "2099-12-31") == "2100-01-01T00:00:00+00:00"
    assert until("expires", "2099-12-31T18:00+01:00") == "2099-12-31T17:00:00+00:00"
    assert until("expires", datetime.date.max) == "9999-12-31T00:00:00+00:00"


# ------------------------------------------------------------------------------- clocks set back


@pytest.fixture
def set_back(any_ledger):
    """Return a ledger whose log holds a later date than the ends of "ward"; the clock is back."""
    any_ledger.create_budget("ward", 2.0, 1e-6, expires=SOON)
    with days_later(12):
        # The log is one: any data set's entry says how late it is.
        any_ledger.create_budget("clinic", 1.0, 1e-6)
    return any_ledger


def test_a_clock_that_is_set_back_does_not_bring_a_budget_back(set_back):
    later = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=12)).date()
    message = rf"has expired.*clock says.*but entry 2 of the log is dated {later}\. Set the clock"
    with unchanged(set_back), pytest.raises(BudgetExpiredError, match=message):
        reserve(set_back, "ward")
    # Another process reads the same from the log.
    (account,) = set_back.oversight("ward")["datasets"]
    assert account["budget"]["expired"]
    assert set_back.remaining("ward") == account["remaining_epsilon"] == 0.0
    # A raise gives room and no time.
    set_back.raise_budget("ward", 3.0, 1e-6, reason="x")
    assert set_back.budget("ward").has_expired
    reserve(set_back, "clinic")


def test_a_renewal_mends_a_date_of_a_clock_that_ran_ahead(set_back):
    set_back.renew_budget("ward", reason="the clock of 12 May ran ahead", expires=SOON)
    reserve(set_back, "ward")
    with days_later(12):
        set_back.link("copy", to="clinic", reason="x")
    with pytest.raises(BudgetExpiredError, match="but entry 6 of the log"):
        reserve(set_back, "ward")


def test_the_start_of_the_last_day_is_no_end(any_ledger):
    """An entry's date proves that its day has begun, in UTC, and no more."""
    today = datetime.datetime.now(datetime.UTC).date()
    any_ledger.create_budget("ward", 2.0, 1e-6, expires=today + datetime.timedelta(days=3))
    with days_later(3):
        any_ledger.create_budget("clinic", 1.0, 1e-6)
    reserve(any_ledger, "ward")
    with days_later(4):
        any_ledger.create_budget("home", 1.0, 1e-6)
    with pytest.raises(BudgetExpiredError, match="but entry 4 of the log"):
        reserve(any_ledger, "ward")
