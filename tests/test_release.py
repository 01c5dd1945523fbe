"""The release session keeps to the plan, charges what ran, and says nothing of the rows."""

import gc
import math
import traceback
import weakref
from dataclasses import replace
from types import TracebackType
from unittest.mock import Mock

import numpy as np
import pytest

from interpret_dp import LedgerError, PrivacyLedger, ReleaseError, release as release_module
from interpret_dp.accounting import GdpPair, plans
from interpret_dp.accounting.gaussian import lattice_sigma, mu_of_range
from interpret_dp.accounting.lattice import LATTICE, Neighbourhood
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.release import ReleaseRequest
from tests.audit.fits import FEATURES, base_records, classifier, frame

SECRET = "Zebulon-48.7295"
PLAN = plans.ReleasePlan(
    (plans.PlannedRelease("target", 0.1, 1), plans.PlannedRelease("rounds", 0.05, 4))
)
ONE = np.array([[LATTICE]])


class Watching(SeededRandomness):
    """Seeded noise that remembers what was asked for."""

    def __init__(self):
        super().__init__(1)
        self.asked = []

    def perturb(self, name, exact, sensitivity, sigma):
        self.asked.append((name, sensitivity, sigma, len(exact)))
        return super().perturb(name, exact, sensitivity, sigma)


def request_of(ledger, plan, *, randomness=None, neighbourhood=None):
    return ReleaseRequest(
        epsilon=1.0,
        delta=1e-5,
        neighbourhood=neighbourhood or Neighbourhood(),
        plan=plan,
        randomness=randomness or SeededRandomness(1),
        ledger=ledger,
        dataset="people",
    )


def release(session, name="target", count=1):
    return session.gaussian(name, np.repeat(ONE, count, axis=0), row_norm=LATTICE, aligned=True)


def open_session(ledger, plan=PLAN):
    return request_of(ledger, plan).opened("test")


def states(ledger, dataset="people"):
    kinds = [entry["kind"] for entry in ledger.entries(dataset)]
    return [kind for kind in kinds if kind != "budget"]


def spent_mu(ledger, dataset="people"):
    return float(ledger.spent(dataset).mu)


# ------------------------------------------------------------------------------------- plans


def test_an_unused_part_of_the_plan_is_charged_too(monkeypatch):
    """It cannot be returned: whether it was used may depend on the rows. So if the ledger fails."""
    ledger = PrivacyLedger.in_memory()
    with open_session(ledger) as session:
        release(session)
    assert spent_mu(ledger) == PLAN.cost.mu
    ledger = PrivacyLedger.in_memory()
    monkeypatch.setattr(ledger, "commit", Mock(side_effect=LedgerError("The ledger is locked.")))
    with pytest.raises(LedgerError), open_session(ledger) as session:
        release(session)
    assert spent_mu(ledger) == PLAN.cost.mu


@pytest.mark.parametrize("sensitivity", [LATTICE, 2 * LATTICE, 123_457])
def test_each_release_gets_the_noise_of_its_plan(sensitivity):
    randomness = Watching()
    with request_of(PrivacyLedger.in_memory(), PLAN, randomness=randomness).opened("t") as session:
        _, sigma = session.gaussian("target", ONE, row_norm=sensitivity, aligned=True)
        session.gaussian("rounds", np.repeat(ONE, 3, axis=0), row_norm=sensitivity, aligned=True)
    assert randomness.asked == [
        ("target", sensitivity, lattice_sigma(sensitivity, 0.1), 1),
        ("rounds", sensitivity, lattice_sigma(sensitivity, 0.05), 3),
    ]
    assert sigma == pytest.approx(math.hypot(sensitivity / 0.1, 3), rel=1e-15)


@pytest.mark.parametrize("rounds", [7, None])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_fit_draws_the_noise_that_it_is_charged_for(task, rounds):
    """The plan, the noise, the guarantee and the ledger agree on every release."""
    from tests.audit.fits import regressor

    randomness = Watching()
    with use_randomness(randomness):
        model = (classifier if task == "classification" else regressor)(
            frame(base_records(task) * 200), max_rounds=rounds
        )
    per_name = {}
    for name, sensitivity, sigma, count in randomness.asked:
        per_name.setdefault(name, []).extend([sensitivity / math.sqrt(sigma**2 - 9)] * count)
    for share in model.guarantee_.releases:
        drawn = len(per_name[share.name])
        if share.name == "boosting":
            # A term whose counts cannot be told from noise stands still (one column is constant).
            # Its releases go to the others, unless the caller chose the rounds.
            least = 7 if rounds else share.count - len(FEATURES)
            assert least < drawn <= share.count
        else:
            assert drawn == share.count
        each = share.mu / math.sqrt(share.count)
        assert per_name[share.name] == pytest.approx([each] * drawn, rel=1e-9)
        assert max(per_name[share.name]) <= each * (1 + 1e-12)
    assert set(per_name) == {share.name for share in model.guarantee_.releases}
    charged = spent_mu(model.ledger, "audit")
    assert math.hypot(*(mu for mus in per_name.values() for mu in mus)) <= charged * (1 + 1e-12)
    assert charged == model.guarantee_.mu


@pytest.mark.parametrize(("name", "count"), [("target", 2), ("rounds", 5), ("other", 1)])
def test_releases_beyond_the_plan_are_refused(name, count):
    with (
        open_session(PrivacyLedger.in_memory()) as session,
        pytest.raises(ReleaseError, match=f"{count} releases '{name}' were asked for"),
    ):
        release(session, name, count)


def test_a_plan_is_used_up():
    with open_session(PrivacyLedger.in_memory()) as session:
        release(session, "rounds", 3)
        release(session, "rounds")
        with pytest.raises(ReleaseError, match="the plan has 0 left"):
            release(session, "rounds")
    twice = plans.ReleasePlan((plans.PlannedSelection("levels", 0.1, 2, 1e-7),))
    assert twice.cost.delta == twice.shares[0].delta == pytest.approx(2e-7)
    with open_session(PrivacyLedger.in_memory(), twice) as session:
        for _ in range(2):
            session.select("levels", {})
        with pytest.raises(ReleaseError, match="the plan has 0 left"):
            session.select("levels", {})


def test_a_promise_of_a_ledger_in_memory_says_that_nobody_counts_its_cost(tmp_path):
    stored = PrivacyLedger(f"sqlite:///{tmp_path / 'ledger.db'}")
    for ledger, says in ((PrivacyLedger.in_memory(), True), (stored, False)):
        assumptions = request_of(ledger, PLAN).guarantee("mechanism").assumptions
        assert any("memory of a process" in clause for clause in assumptions) is says


STEPS = plans.ReleasePlan((plans.PlannedSampling("steps", 0.5, 1e-7),))


def sample(session):
    return session.sampled_gaussian("steps", 9, lambda rows: np.zeros(1, np.int64), row_norm=1)


def test_samples_are_refused_before_and_beyond_their_steps_and_in_a_closed_session():
    def refuses(session):
        with pytest.raises(ReleaseError, match="the plan has none left"):
            sample(session)

    for used in (1, 2):
        with open_session(PrivacyLedger.in_memory(), STEPS) as session:
            refuses(session)
            session.settle("steps", probability=1.0, count=2)
            for _ in range(used):
                sample(session)
            if used == 2:
                refuses(session)
        refuses(session)


def test_samples_of_rows_are_refused_where_nothing_is_proved_of_them():
    ledger = PrivacyLedger.in_memory()

    def session(**of):
        return request_of(ledger, STEPS, neighbourhood=Neighbourhood(**of)).opened("test")

    session(unit="person", max_rows=1)
    people = {"unit": "person", "max_rows": 2}
    for of in (people, people | {"shares_weight": True}, {"relation": "replace_one"}):
        with pytest.raises(ValueError, match="only for adding or removing one unit of which one"):
            session(**of)
    assert ledger.datasets() == []


def test_a_closed_session_releases_nothing():
    session = open_session(PrivacyLedger.in_memory())
    with pytest.raises(ReleaseError):
        release(session)
    with session:
        pass
    with pytest.raises(ReleaseError):
        release(session)


@pytest.mark.parametrize("mu", [0.0, -1.0, 2.0**-29, 1025.0, math.inf, math.nan])
def test_noise_that_the_lattice_cannot_carry_is_refused_in_the_plan(mu):
    with pytest.raises(ValueError, match="mu of each release 'a' is"):
        plans.PlannedRelease("a", mu, 1)


def test_plans_are_checked():
    with pytest.raises(ValueError, match="number of releases 'a' is 0"):
        plans.PlannedRelease("a", 0.1, 0)
    with pytest.raises(ValueError, match="each needs its own name"):
        plans.ReleasePlan((plans.PlannedRelease("a", 0.1, 1), plans.PlannedRelease("a", 0.2, 1)))
    for delta in (0.0, 1.0, -1e-9, math.nan):
        with pytest.raises(ValueError, match="delta of each release 'levels' is"):
            plans.PlannedSelection("levels", 0.1, 1, delta)


# ------------------------------------------------------------------------------- three kinds

KINDS = plans.ReleasePlan(
    (
        plans.PlannedRelease("sums", 0.1, 2),
        plans.PlannedSelection("levels", 0.2, 1, 1e-9),
        plans.PlannedChoice("start", 0.3, 2),
    )
)


def use(session, kind, name):
    if kind == "sums":
        return release(session, name)
    if kind == "levels":
        return session.select(name, {"a": 10_000})
    return session.choose(name, [3, 1, 2], row_norm=1)


@pytest.mark.parametrize("charges_used", [False, True])
def test_a_whole_plan_is_charged_once_and_no_more(charges_used):
    ledger = PrivacyLedger.in_memory()
    with using_session(ledger, charges_used=charges_used) as session:
        for kind in ("sums", "levels", "start", "start", "sums"):
            use(session, kind, kind)
    assert states(ledger) == ["reserve", "commit"]
    assert session.head == ledger.head
    assert spent_mu(ledger) == session.charged.mu
    assert KINDS.cost.mu * (1 - 1e-14) <= session.charged.mu <= KINDS.cost.mu
    assert spent_mu(ledger) == pytest.approx(math.sqrt(2 * 0.01 + 0.04 + 2 * 0.09), rel=1e-9)
    assert KINDS.cost.mu == pytest.approx(math.hypot(*(share.mu for share in KINDS.shares)))
    assert ledger.spent("people").delta == 1e-9
    assert [share.delta for share in KINDS.shares] == [0.0, 1e-9, 0.0]
    assert KINDS.releases[2].share.mu == pytest.approx(0.3 * math.sqrt(2))


def test_a_choice_beyond_its_largest_range_is_billed_as_it_is_charged():
    plan = plans.ReleasePlan((plans.PlannedChoice("start", 50.0, 2),))
    assert plan.shares[0].mu == plan.cost.mu < 50


@pytest.mark.parametrize("name", ["sums", "levels", "start"])
@pytest.mark.parametrize("kind", ["sums", "levels", "start"])
def test_a_release_is_of_the_kind_that_was_planned(kind, name):
    """And a refusal uses nothing up."""
    with open_session(PrivacyLedger.in_memory(), KINDS) as session:
        if kind == name:
            use(session, kind, name)
            return
        with pytest.raises(ReleaseError, match=f"'{name}' were asked for; the plan has 0 left"):
            use(session, kind, name)
        use(session, name, name)


def test_a_choice_gets_the_epsilon_of_its_plan_and_the_sensitivity_of_the_promise():
    asked = []

    class Choosing(SeededRandomness):
        def choose(self, name, scores, sensitivity, epsilon):
            asked.append((name, list(scores), sensitivity, epsilon))
            return super().choose(name, scores, sensitivity, epsilon)

    for neighbourhood, factor in (
        (Neighbourhood(), 1),
        (Neighbourhood(relation="replace_one"), 2),
        (Neighbourhood(unit="person", max_rows=3), 3),
        (Neighbourhood(relation="replace_one", unit="person", max_rows=3), 6),
    ):
        request = request_of(
            PrivacyLedger.in_memory(), KINDS, randomness=Choosing(1), neighbourhood=neighbourhood
        )
        with request.opened("test") as session:
            assert session.choose("start", [300, 100, 200], row_norm=7) in (0, 1, 2)
        name, scores, sensitivity, epsilon = asked.pop()
        assert (name, scores, sensitivity) == ("start", [-300, -100, -200], 7 * factor)
        assert mu_of_range(epsilon) == pytest.approx(0.3, rel=1e-9)
        assert mu_of_range(epsilon) <= 0.3


# ---------------------------------------------------------------------------- charges of use


def using_session(ledger, *, charges_used=True, plan=KINDS):
    return request_of(ledger, plan).opened("test", charges_used=charges_used)


def test_a_request_may_be_charged_for_what_it_used():
    ledger = PrivacyLedger.in_memory()
    with using_session(ledger) as session:
        # The whole plan is reserved until it is known.
        assert spent_mu(ledger) == KINDS.cost.mu
        assert session.charged == GdpPair(0.0)
        use(session, "sums", "sums")
        use(session, "start", "start")
    assert session.charged.mu == pytest.approx(math.sqrt(0.01 + 0.09), rel=1e-9)
    assert spent_mu(ledger) == session.charged.mu
    # The delta of a plan is not returned: the ledger's filter knows no smaller one.
    assert ledger.spent("people").delta == session.charged.delta == 1e-9
    ledger = PrivacyLedger.in_memory()
    with using_session(ledger) as unused:
        pass
    assert states(ledger) == ["reserve", "commit"]
    assert spent_mu(ledger) == unused.charged.mu == 0.0


def test_a_failure_costs_the_whole_plan_even_where_use_is_charged():
    """How much was used by then may depend on the rows."""

    def fail(session, *kinds):
        with session:
            for kind in kinds:
                use(session, kind, kind)
            raise ValueError(SECRET)

    ledger = PrivacyLedger.in_memory()
    session, nothing = using_session(ledger), using_session(PrivacyLedger.in_memory())
    with pytest.raises(ReleaseError, match="charged in full"):
        fail(session, "sums")
    assert spent_mu(ledger) == session.charged.mu == KINDS.cost.mu
    with pytest.raises(ReleaseError, match="nothing was charged"):
        fail(nothing)
    assert nothing.charged == GdpPair(0.0)


# ---------------------------------------------------------------------------------- failures


class PrivateError(Exception):
    """An error that knows too much."""


def fail_with_a_chain():
    private_row = SECRET
    try:
        raise PrivateError(f"cell {private_row}")
    except PrivateError as cause:
        raise KeyError(private_row) from cause


def attempt(ledger, release_first, failure=fail_with_a_chain):
    with open_session(ledger) as session:
        if release_first:
            release(session)
        failure()


def interrupt():
    try:
        fail_with_a_chain()
    except KeyError:
        raise KeyboardInterrupt  # noqa: B904


def chain_of(error):
    pending = [error]
    while pending:
        link = pending.pop()
        if link is not None:
            yield link
            pending += [link.__cause__, link.__context__]


def local_variables(trace, file):
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            yield from trace.tb_frame.f_locals.values()
        trace = trace.tb_next


def assert_says_nothing(error):
    """Nothing that a log, a debugger or an error tracker can reach from the error is private."""
    for link in chain_of(error):
        assert not isinstance(link, PrivateError | KeyError)
        assert SECRET not in repr(link)
        assert SECRET not in repr(vars(link))
        for value in local_variables(link.__traceback__, release_module.__file__):
            assert not isinstance(value, BaseException | TracebackType)
    printed = "".join(traceback.format_exception(error))
    assert SECRET not in printed
    assert "During handling" not in printed
    assert PrivateError.__name__ not in printed


@pytest.mark.parametrize("release_first", [False, True])
def test_a_failure_costs_everything_after_the_first_release_and_nothing_before(release_first):
    cost, closed = (PLAN.cost.mu, "commit") if release_first else (0.0, "cancel")
    ledger = PrivacyLedger.in_memory()
    message = "charged in full" if release_first else "nothing was charged"
    with pytest.raises(ReleaseError, match=message) as caught:
        attempt(ledger, release_first)
    assert (states(ledger), spent_mu(ledger)) == (["reserve", closed], cost)
    assert_says_nothing(caught.value)
    # An interruption passes, and is charged like a failure.
    ledger = PrivacyLedger.in_memory()
    with pytest.raises(KeyboardInterrupt) as stopped:
        attempt(ledger, release_first, interrupt)
    assert (states(ledger), spent_mu(ledger)) == (["reserve", closed], cost)
    assert list(chain_of(stopped.value)) == [stopped.value]


def test_the_message_is_fixed():
    """The text depends on whether something was released, and on nothing else."""
    texts = set()
    for error in (ValueError(SECRET), KeyError(), ReleaseError("3 rows"), MemoryError()):
        with pytest.raises(ReleaseError) as caught, open_session(PrivacyLedger.in_memory()):
            raise error
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_control_a_plain_reraise_would_tell():
    """The checks above see what `raise ... from None` alone leaves behind."""

    def reraise():
        try:
            fail_with_a_chain()
        except KeyError:
            raise ReleaseError("fixed") from None

    with pytest.raises(ReleaseError) as caught:
        reraise()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(AssertionError):
        assert_says_nothing(caught.value)


@pytest.mark.parametrize("release_first", [False, True])
def test_a_ledger_that_fails_while_a_failure_is_charged(release_first, monkeypatch):
    """Both go wrong: the ledger's error passes, without the private one behind it."""

    def locked(*arguments, **clauses):
        try:
            raise OSError("database is locked")
        except OSError as cause:
            raise LedgerError("The ledger is locked.") from cause

    ledger = PrivacyLedger.in_memory()
    monkeypatch.setattr(ledger, "commit", locked)
    monkeypatch.setattr(ledger, "cancel", locked)
    with pytest.raises(LedgerError, match="is locked") as caught:
        attempt(ledger, release_first)
    assert isinstance(caught.value.__cause__, OSError)
    assert_says_nothing(caught.value)
    assert states(ledger) == ["reserve"]
    assert spent_mu(ledger) == PLAN.cost.mu


def at_site(ledger, **given):
    numbers = {"max_sites": 1, "n_sites": 2, "n_shares": 1, "has_released": False}
    site = Mock(**numbers, token="a" * 32, **given)
    site.open.return_value = 1
    return site, replace(request_of(ledger, PLAN), site=site).opened("test")


def test_a_site_that_cannot_stop_leaves_the_private_error_behind():
    ledger = PrivacyLedger.in_memory()
    site, session = at_site(ledger)
    site.stop.side_effect = OSError("disk is full")
    with pytest.raises(OSError, match="disk is full") as caught, session:
        fail_with_a_chain()
    assert_says_nothing(caught.value)
    assert states(ledger) == ["reserve"]


def test_what_was_reserved_before_a_crash_is_not_returned_if_the_journal_knows_of_no_message():
    """It may have been put back to before the first release."""
    ledger = PrivacyLedger.in_memory()
    site, session = at_site(ledger)
    site.open.side_effect = KeyboardInterrupt
    session._reserve()
    with pytest.raises(KeyboardInterrupt), session:
        pass
    assert (states(ledger), spent_mu(ledger)) == (["reserve"], PLAN.cost.mu)


def test_the_error_does_not_keep_itself_alive():
    """A cycle from error to frame to error would keep the rows until the next collection."""

    def attempt_with_rows():
        rows = np.ones(3)
        watched = weakref.ref(rows)
        try:
            with open_session(PrivacyLedger.in_memory()):
                raise ValueError(rows)
        except ReleaseError:
            pass
        return watched

    gc.collect()
    gc.disable()
    try:
        assert attempt_with_rows()() is None
    finally:
        gc.enable()
