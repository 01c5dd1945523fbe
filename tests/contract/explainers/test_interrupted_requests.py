"""Every explainer is stopped at each of its releases: what the ledger says must hold then.

The rule (docs/proofs/ledger-filter.md): a reservation is charged in full once the first release of
its request was begun, and returned only if none was. A user who stops a training of DP-LLM pays for
the steps begun. Nothing stays open, and the log's chain is whole.
"""

import math
import traceback
from dataclasses import replace
from unittest import mock

import pytest

from interpret_dp import PrivacyLedger, ReleaseError
from interpret_dp.ebm import config
from interpret_dp.mechanisms import SeededRandomness
from interpret_dp.release import ReleaseSession
from tests.contract.explainers.registry import DATASET, names
from tests.contract.explainers.tables import requested

# Of 24 rows nothing that is undeclared is found.
pytestmark = pytest.mark.filterwarnings("ignore::interpret_dp.DeclarationWarning")

RELEASES = ("gaussian", "select", "choose", "sampled_gaussian")
SECRET = "row 61"


class StoppedError(Exception):
    """An error of the computation, which the session replaces."""


class Stopping:
    """Stops the process at a release: before it begins, within it, or after it."""

    def __init__(self, monkeypatch):
        self.calls = 0
        self.at = None
        self.when = "before"
        self.error = StoppedError
        # (mu, delta, charges_used) of each request, and whether it released anything.
        self.requests = []
        for name in RELEASES:
            monkeypatch.setattr(ReleaseSession, name, self._watched(getattr(ReleaseSession, name)))
        monkeypatch.setattr(ReleaseSession, "__enter__", self._entering(ReleaseSession.__enter__))

    def _entering(self, enter):
        def entered(session):
            cost = session.request.plan.cost
            self.requests.append(
                {"mu": cost.mu, "delta": cost.delta, "used": session._charges_used, "begun": 0}
            )
            return enter(session)

        return entered

    def _watched(self, release):
        def stopped(session, *arguments, **keywords):
            is_here = self.calls == self.at
            self.calls += 1
            if is_here and self.when == "before":
                raise self.error(SECRET)
            self.requests[-1]["begun"] += 1
            if is_here and self.when == "within":
                with mock.patch.object(session, "_randomness", broken(self.error)):
                    return release(session, *arguments, **keywords)
            found = release(session, *arguments, **keywords)
            if is_here:
                raise self.error(SECRET)
            return found

        return stopped


def broken(error):
    """Return noise that fails while it is drawn."""

    def fail(*_):
        raise error(SECRET)

    return type("Broken", (SeededRandomness,), {"noise": fail, "below": fail})(0)


# Counts are released as numbers are, and a background for SHAP values as one for LIME. A training
# of maps that is stopped is charged by a rule of its own, below.
REQUESTS = {
    **{name.values[0]: (name.values[0], {}) for name in names("counts", "shap", "maps")},
    # With private selections of levels and labels, and private bounds.
    "undeclared": ("binary", {"schema": None}),
}

# The session tells errors and stops by users apart, whatever it releases: one of each sort will do.
LIKE_OTHERS = {"multiclass", "regression", "lime"}


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    """Boost for two rounds in place of forty, whose releases are all alike."""
    monkeypatch.setattr(config, "TUNING", replace(config.TUNING, rounds=2))


def attempt(stopping, at, name, **given):
    ledger = PrivacyLedger.in_memory()
    stopping.calls, stopping.at, stopping.requests = 0, at, []
    try:
        requested(name, ledger, seed=3, **given)
    except (ReleaseError, KeyboardInterrupt) as error:
        return ledger, error
    return ledger, None


def check_the_rule(ledger, stopping, error):
    """Compare the ledger with what was planned and begun, request by request."""
    begun = any(request["begun"] for request in stopping.requests)
    if error is not None:
        assert error.__cause__ is error.__context__ is None
    if isinstance(error, ReleaseError):
        assert SECRET not in "".join(traceback.format_exception(error))
        said = "charged in full" if stopping.requests[-1]["begun"] else "nothing was charged"
        assert said in str(error)
    spent = ledger.spent(DATASET)
    least = most = deltas = 0.0
    for number, request in enumerate(stopping.requests):
        if not request["begun"] and error is not None and number == len(stopping.requests) - 1:
            continue
        is_partial = request["used"] and not (
            isinstance(error, ReleaseError) and number == len(stopping.requests) - 1
        )
        most += request["mu"] ** 2
        least += 0.0 if is_partial else request["mu"] ** 2
        deltas += request["delta"]
    assert math.sqrt(least) * (1 - 1e-9) <= spent.mu <= math.sqrt(most) * (1 + 1e-9)
    assert spent.delta == pytest.approx(deltas)
    assert (spent.mu > 0.0) is begun
    states = [entry["kind"] for entry in ledger.entries(DATASET)]
    assert states.count("reserve") == states.count("commit") + states.count("cancel")
    ledger.verify()


STOPS = [
    (request, error)
    for request in REQUESTS
    for error in (StoppedError, KeyboardInterrupt)
    if error is StoppedError or request not in LIKE_OTHERS
]


@pytest.mark.thorough
@pytest.mark.parametrize(("request_of", "error"), STOPS)
def test_stopped_at_every_release(request_of, error, monkeypatch):
    name, given = REQUESTS[request_of]
    # What is public, as the model of the metrics, is made before any release is counted.
    requested(name, PrivacyLedger.in_memory(), **given)
    stopping = Stopping(monkeypatch)
    stopping.error = error
    whole, failure = attempt(stopping, None, name, **given)
    assert failure is None
    check_the_rule(whole, stopping, None)
    n_releases = stopping.calls
    assert n_releases > 0
    for when in ("before", "within", "after"):
        stopping.when = when
        for at in range(n_releases):
            ledger, failure = attempt(stopping, at, name, **given)
            assert type(failure) is (ReleaseError if error is StoppedError else KeyboardInterrupt)
            assert stopping.calls == at + 1
            check_the_rule(ledger, stopping, failure)
    # What follows on the same ledger is charged as if nothing had happened.
    before, stopping.at = ledger.spent(DATASET).mu, None
    requested(name, ledger, seed=3, **given)
    both = math.hypot(before, whole.spent(DATASET).mu)
    assert ledger.spent(DATASET).mu == pytest.approx(both, rel=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["before", "within", "after"])
def test_a_training_that_is_stopped_pays_for_the_steps_begun(when, monkeypatch):
    """An error charges the whole; the user's own stop the count, the centre and the steps begun."""
    given = {"sampling_rate": 0.3}
    stopping = Stopping(monkeypatch)
    whole, _ = attempt(stopping, None, "maps", **given)
    reserved, n_releases = stopping.requests[0], stopping.calls
    stopping.when = when
    by_user = []
    for at in range(n_releases):
        stopping.error = KeyboardInterrupt
        ledger, failure = attempt(stopping, at, "maps", **given)
        assert isinstance(failure, KeyboardInterrupt)
        check_the_rule(ledger, stopping, failure)
        by_user.append(ledger.spent(DATASET).mu)
        stopping.error = StoppedError
        ledger, failure = attempt(stopping, at, "maps", **given)
        assert isinstance(failure, ReleaseError)
        nothing = at == 0 and when == "before"
        spent = ledger.spent(DATASET)
        assert spent.mu == pytest.approx(0.0 if nothing else reserved["mu"])
        assert spent.delta == pytest.approx(0.0 if nothing else reserved["delta"])
    # Whoever stops it while rows are counted or centred, before the first step, pays for the whole.
    assert by_user[2:] == sorted(by_user[2:])
    assert by_user[-1] <= whole.spent(DATASET).mu * (1 + 1e-9)
    assert by_user[3] < by_user[-1]


def test_control_a_session_that_returns_what_was_used_is_noticed(monkeypatch):
    """A ledger that forgets a request after a failure must fail the check."""
    original = ReleaseSession.__exit__

    def forgiving(session, kind, error, trace):
        session._anything_released = False
        return original(session, kind, error, trace)

    stopping = Stopping(monkeypatch)
    stopping.when = "after"
    monkeypatch.setattr(ReleaseSession, "__exit__", forgiving)
    ledger, failure = attempt(stopping, 1, "binary")
    with pytest.raises(AssertionError):
        check_the_rule(ledger, stopping, failure)
