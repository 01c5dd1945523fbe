"""An officer decides before something is spent; what is approved is what may be done."""

import pytest

from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger import ApprovalNeededError, RoleError
from tests.ledger.requests import budgeted, reserve, reserve_epsilon, unchanged
from tests.ledger.team import acting_as, days_later


@pytest.fixture
def ledger():
    """Return a ledger where requests above epsilon 0.5 need anna's or olga's word."""
    made = budgeted("ward", 3.0, 1e-6, delta_x=1e-7)
    with acting_as("anna"):
        made.appoint("anna", "officer")
        made.appoint("olga", "officer")
        made.require_approval("ward", above=0.5, reason="board, 3 May")
    return made


def refused(ledger, epsilon=1.0, user="ben"):
    with acting_as(user), pytest.raises(ApprovalNeededError) as error:
        reserve_epsilon(ledger, epsilon, 1e-6, "ward")
    return error.value


def decide(ledger, number, how="approve", **words):
    with acting_as("anna"):
        return getattr(ledger, how)(number, **words)


def spend(ledger, epsilon=1.0, user="ben"):
    with acting_as(user):
        reservation = reserve_epsilon(ledger, epsilon, 1e-6, "ward")
        ledger.commit(reservation)
    return reservation


def test_from_refusal_to_spending(ledger):
    error = refused(ledger)
    assert error.state == "waiting"
    assert f"interpret-dp ledger approve {error.number}" in str(error)
    assert "'anna' or 'olga'" in str(error)
    assert ledger.spent("ward").n_requests == 0
    (asked,) = ledger.approvals("ward")
    assert (asked.number, asked.user, asked.explainer) == (error.number, "ben", "test")
    assert asked.epsilon == pytest.approx(1.0, rel=1e-6)
    assert decide(ledger, error.number, reason="fine").status == "approved"
    reservation = spend(ledger)
    (approval,) = ledger.approvals()
    assert (approval.status, approval.decided_by) == ("used", "anna")
    request = ledger.to_dict("ward")["datasets"][0]["requests"][0]
    assert (request["number"], request["approval"]) == (reservation.number, error.number)
    # One use: the next one is asked for anew.
    assert refused(ledger).number > error.number
    assert ledger.verify() == ledger.head


def test_an_approval_binds_user_cost_purpose_class_and_name(ledger):
    number = refused(ledger).number
    decide(ledger, number)
    others = ({"purpose": "else"}, {"explainer": "OtherClass"}, {"mu": 0.3}, {"delta": 5e-8})
    for change in others:
        with acting_as("ben"), pytest.raises(ApprovalNeededError):
            reserve(ledger, "ward", **{"mu": 0.2395, "epsilon": 1.0} | change)
    refused(ledger, user="carla")
    with acting_as("anna"):
        ledger.link("copy of ward", to="ward", reason="same people")
    with acting_as("ben"), pytest.raises(ApprovalNeededError):
        reserve_epsilon(ledger, 1.0, 1e-6, "copy of ward")
    # The control: the very request goes through, and so would a cheaper one.
    spend(ledger, 0.9)
    assert next(a for a in ledger.approvals() if a.number == number).status == "used"


def test_asking_ahead(ledger):
    with acting_as("ben"):
        asked = ledger.for_purpose("quarterly audit").request_approval("ward", 1.0, 1e-6)
    assert (asked.status, asked.purpose, asked.explainer) == ("waiting", "quarterly audit", "")
    decide(ledger, asked.number)
    refused(ledger)
    spend(ledger.for_purpose("quarterly audit"))
    with acting_as("ben"):
        for_carla = ledger.request_approval("ward", 0.7, 1e-6, user="carla", explainer="test")
    decide(ledger, for_carla.number)
    assert refused(ledger, 0.7).number != for_carla.number
    spend(ledger, 0.7, user="carla")


def test_a_rejected_request_does_not_ask_again_by_itself(ledger):
    number = refused(ledger).number
    with acting_as("anna"), pytest.raises(ValueError, match="reason is ''"):
        ledger.reject(number, reason="")
    assert decide(ledger, number, "reject", reason="too much").status == "rejected"
    with unchanged(ledger):
        error = refused(ledger)
    assert (error.number, error.state) == (number, "rejected")
    assert "'anna' rejected" in str(error)
    assert "too much" in str(error)
    # One that costs less is another request, and asks.
    assert refused(ledger, 0.6).state == "waiting"
    with acting_as("ben"):
        again = ledger.request_approval("ward", 1.0, 1e-6)
    decide(ledger, again.number)
    spend(ledger)


def test_approvals_end(ledger):
    number = refused(ledger).number
    decide(ledger, number)
    with days_later(29):
        assert ledger.approvals()[0].status == "approved"
    with days_later(31):
        assert ledger.approvals()[0].status == "expired"
        assert refused(ledger).number != number
    second = ledger.approvals()[-1].number
    with acting_as("olga"), pytest.raises(ValueError, match="which has passed"):
        ledger.approve(second, expires="2001-01-01")
    with acting_as("olga"):
        ledger.approve(second, expires="2099-12-31")
    with days_later(400):
        spend(ledger)


def test_an_approval_ends_with_a_later_date_in_the_log(ledger):
    number = refused(ledger).number
    decide(ledger, number)
    with days_later(31), acting_as("olga"):
        ledger.create_budget("clinic", 1.0, 1e-6)
    approval = ledger.approvals("ward")[0]
    assert approval.status == "expired"
    assert "of the log is dated" in approval.ended_by
    assert refused(ledger).number != number


def test_withdrawal_of_what_was_not_used(ledger):
    number = refused(ledger).number
    decide(ledger, number)
    with acting_as("carla"), pytest.raises(RoleError, match="withdraw what others asked for"):
        ledger.withdraw(number)
    assert decide(ledger, number, "withdraw", reason="new rules").status == "withdrawn"
    later = refused(ledger).number
    assert later != number
    with acting_as("ben"):
        assert ledger.withdraw(later).status == "withdrawn"
        with pytest.raises(LedgerError, match="withdrawn already"):
            ledger.withdraw(later)
    used = refused(ledger).number
    decide(ledger, used)
    spend(ledger)
    with acting_as("anna"), pytest.raises(LedgerError, match="what was spent stays spent"):
        ledger.withdraw(used)


def test_officers_do_not_approve_what_they_asked_for(ledger):
    number = refused(ledger, user="anna").number
    with acting_as("anna"), pytest.raises(RoleError, match="Other officers: 'olga'"):
        ledger.approve(number)
    with acting_as("ben"), pytest.raises(RoleError, match="officers are 'anna', 'olga'"):
        ledger.approve(number)
    with acting_as("olga"):
        ledger.approve(number)
        with pytest.raises(LedgerError, match=r"is approved already \(by 'olga'\)"):
            ledger.reject(number, reason="late")
    spend(ledger, user="anna")


def test_what_is_no_request_for_approval_is_named(ledger):
    for number in (1, 99):
        with pytest.raises(LedgerError, match=f"Entry {number} of the ledger is no request"):
            decide(ledger, number)
    with pytest.raises(TypeError, match="number is '1'"):
        decide(ledger, "1")
    number = refused(ledger).number
    with pytest.raises(ValueError, match="uses is 0"):
        decide(ledger, number, uses=0)
    for change, message in (({"epsilon": 0}, "epsilon is 0"), ({"delta": 1}, "delta is 1")):
        with pytest.raises(ValueError, match=message):
            ledger.request_approval("ward", **({"epsilon": 1.0, "delta": 1e-6} | change))
    with pytest.raises(LedgerError, match="no budget for data set 'clinic'"):
        ledger.request_approval("clinic", 1.0, 1e-6)
    with acting_as("anna"), pytest.raises(LedgerError, match="no budget for data set 'clinic'"):
        ledger.require_approval("clinic", reason="x")
