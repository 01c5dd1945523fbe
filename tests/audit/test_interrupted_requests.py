"""Every explainer is stopped at each of its releases: what the ledger says must hold then.

The rule (docs/proofs/ledger-filter.md): a reservation is charged in full once the first release of
its request was begun, and returned only if none was. A user who stops a training of DP-LLM pays for
the steps begun. Nothing stays open, and the log's chain is whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    PrivateSurrogate,
    ReleaseError,
    Schema,
)
from interpret_dp.ebm.evaluation import private_metrics
from interpret_dp.lime.paper.explainer import PaperLimeTabular
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from interpret_dp.release import ReleaseSession
from tests.audit.fits import FEATURES, LABELS, base_records, classifier, frame

DATASET = "people"
RELEASES = ("gaussian", "select", "choose", "sampled_gaussian")
X, Y = frame(base_records("classification"))
NUMBERS = np.random.default_rng(1).uniform(0, 1, (60, 2))


class StoppedError(Exception):
    """An error of the computation, which the session replaces."""


class Stopping:
    """Stops the process at a release: before it begins, within it, or after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.at: int | None = None
        self.when = "before"
        self.error: type[BaseException] = StoppedError
        # (mu, delta, charges_used) of each request, and whether it released anything.
        self.requests: list[dict[str, Any]] = []
        for name in RELEASES:
            monkeypatch.setattr(ReleaseSession, name, self._watched(getattr(ReleaseSession, name)))
        monkeypatch.setattr(ReleaseSession, "__enter__", self._entering(ReleaseSession.__enter__))

    def _entering(self, enter: Callable[[Any], Any]) -> Any:
        def entered(session: Any) -> Any:
            cost = session.request.plan.cost
            self.requests.append(
                {"mu": cost.mu, "delta": cost.delta, "used": session._charges_used, "begun": 0}
            )
            return enter(session)

        return entered

    def _watched(self, release: Callable[..., Any]) -> Any:
        def stopped(session: Any, *arguments: Any, **keywords: Any) -> Any:
            is_here = self.calls == self.at
            self.calls += 1
            if is_here and self.when == "before":
                raise self.error(f"row {arguments}")
            self.requests[-1]["begun"] += 1
            if is_here and self.when == "within":
                with use_broken(session, self.error):
                    return release(session, *arguments, **keywords)
            found = release(session, *arguments, **keywords)
            if is_here:
                raise self.error("after")
            return found

        return stopped


class use_broken:  # noqa: N801
    """Make the session's noise fail while it is drawn."""

    def __init__(self, session: Any, error: type[BaseException]) -> None:
        self.session, self.error = session, error

    def __enter__(self) -> None:
        error = self.error

        class Broken(SeededRandomness):
            def noise(self, sigma: float, size: int) -> Any:
                raise error("noise")

            def below(self, bound: int) -> int:
                raise error("noise")

        self.kept, self.session._randomness = self.session._randomness, Broken(0)

    def __exit__(self, *_: object) -> None:
        self.session._randomness = self.kept


def declared(ledger: PrivacyLedger) -> Any:
    return DPExplainableBoostingClassifier(
        schema=LABELS, feature_names=list(FEATURES), max_rounds=2, ledger=ledger, dataset=DATASET
    ).fit(X, Y)


def undeclared(ledger: PrivacyLedger) -> Any:
    """With private selections of levels and labels, and private bounds."""
    return DPExplainableBoostingRegressor(max_rounds=1, ledger=ledger, dataset=DATASET).fit(
        X, np.arange(len(Y), dtype=float)
    )


def three_classes(ledger: PrivacyLedger) -> Any:
    schema = Schema(FEATURES, target=Categorical(["no", "perhaps", "yes"]))
    return DPExplainableBoostingClassifier(
        schema=schema, feature_names=list(FEATURES), max_rounds=1, ledger=ledger, dataset=DATASET
    ).fit(X, Y)


_MODELS: list[Any] = []


def metrics(ledger: PrivacyLedger) -> Any:
    models = {"a": _MODELS[0], "b": _MODELS[0]}
    return private_metrics(models, X, Y, epsilon=1.0, delta=1e-6, ledger=ledger, dataset=DATASET)


def explained(method: str) -> Callable[[PrivacyLedger], Any]:
    def run(ledger: PrivacyLedger) -> Any:
        explainer = PaperLimeTabular(
            lambda rows: np.asarray(rows)[:, 0],
            NUMBERS,
            schema=Schema(default=Continuous(0, 1)),
            output_bounds=(0.0, 1.0),
            trained_on_same_people=False,
            method=method,
            steps=8,
            epsilon=2.0,
            per_query=0.5,
            ledger=ledger,
            dataset=DATASET,
        )
        return explainer.explain_local(NUMBERS[:2])

    run.__name__ = method
    return run


def maps(ledger: PrivacyLedger) -> Any:
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier

    schema = Schema(default=Continuous(0, 1), target=Categorical([0, 1]))
    return DPLocallyLinearClassifier(
        schema=schema,
        batch_size=20,
        epochs=2,
        n_maps=1,
        device="cpu",
        ledger=ledger,
        dataset=DATASET,
    ).fit(NUMBERS, np.arange(60) % 2)


def surrogate(ledger: PrivacyLedger) -> Any:
    return PrivateSurrogate(
        lambda rows: np.asarray(rows)[:, 0],
        Schema(default=Continuous(0, 1)),
        trained_on_same_people=False,
        ledger=ledger,
        dataset=DATASET,
    ).fit(NUMBERS)


REQUESTS = [declared, undeclared, three_classes, metrics, surrogate] + [
    explained(method) for method in ("interactive", "adaptive", "enhanced")
]


@pytest.fixture(autouse=True)
def _public_things_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit the model of the metrics before any release is counted.

    A surrogate is boosted for two rounds in place of forty, whose releases are all alike.
    """
    from interpret_dp.ebm import config

    monkeypatch.setattr(config, "TUNING", replace(config.TUNING, rounds=2))
    if not _MODELS:
        _MODELS.append(classifier((X, Y)))


def attempt(
    request_of: Callable[[PrivacyLedger], Any], stopping: Stopping, at: int | None
) -> tuple[PrivacyLedger, BaseException | None]:
    ledger = PrivacyLedger.in_memory()
    stopping.calls, stopping.at, stopping.requests = 0, at, []
    with use_randomness(SeededRandomness(3)):
        try:
            request_of(ledger)
        except (ReleaseError, KeyboardInterrupt) as error:
            return ledger, error
    return ledger, None


def check_the_rule(ledger: PrivacyLedger, stopping: Stopping, error: BaseException | None) -> None:
    """Compare the ledger with what was planned and begun, request by request."""
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
    if any(request["begun"] for request in stopping.requests):
        assert spent.mu > 0.0
    states = [entry["kind"] for entry in ledger.entries(DATASET)]
    assert states.count("reserve") == states.count("commit") + states.count("cancel")
    ledger.verify()


@pytest.mark.thorough
@pytest.mark.parametrize("error", [StoppedError, KeyboardInterrupt])
@pytest.mark.parametrize("request_of", REQUESTS, ids=lambda one: one.__name__)
def test_stopped_at_every_release(
    request_of: Callable[[PrivacyLedger], Any],
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopping = Stopping(monkeypatch)
    stopping.error = error
    whole, failure = attempt(request_of, stopping, None)
    assert failure is None
    check_the_rule(whole, stopping, None)
    n_releases = stopping.calls
    assert n_releases > 0
    for when in ("before", "within", "after"):
        stopping.when = when
        for at in range(n_releases):
            ledger, failure = attempt(request_of, stopping, at)
            assert type(failure) is (ReleaseError if error is StoppedError else KeyboardInterrupt)
            assert stopping.calls == at + 1
            check_the_rule(ledger, stopping, failure)
            if at == 0 and when == "before":
                assert ledger.spent(DATASET).mu == 0.0


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["before", "within", "after"])
def test_a_training_that_is_stopped_pays_for_the_steps_begun(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error charges the whole; the user's own stop the count, the centre and the steps begun."""
    pytest.importorskip("torch")
    stopping = Stopping(monkeypatch)
    whole, _ = attempt(maps, stopping, None)
    reserved, n_releases = stopping.requests[0], stopping.calls
    stopping.when = when
    by_user = []
    for at in range(n_releases):
        stopping.error = KeyboardInterrupt
        ledger, failure = attempt(maps, stopping, at)
        assert isinstance(failure, KeyboardInterrupt)
        check_the_rule(ledger, stopping, failure)
        by_user.append(ledger.spent(DATASET).mu)
        stopping.error = StoppedError
        ledger, failure = attempt(maps, stopping, at)
        assert isinstance(failure, ReleaseError)
        nothing = at == 0 and when == "before"
        spent = ledger.spent(DATASET)
        assert spent.mu == pytest.approx(0.0 if nothing else reserved["mu"])
        assert spent.delta == pytest.approx(0.0 if nothing else reserved["delta"])
    # Whoever stops it while rows are counted or centred, before the first step, pays for the whole.
    assert by_user[2:] == sorted(by_user[2:])
    assert by_user[-1] <= whole.spent(DATASET).mu * (1 + 1e-9)
    assert by_user[3] < by_user[-1]


def test_control_a_session_that_returns_what_was_used_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A ledger that forgets a request after a failure must fail the check."""
    original = ReleaseSession.__exit__

    def forgiving(session: Any, kind: Any, error: Any, trace: Any) -> Any:
        session._anything_released = False
        return original(session, kind, error, trace)

    stopping = Stopping(monkeypatch)
    stopping.when = "after"
    monkeypatch.setattr(ReleaseSession, "__exit__", forgiving)
    ledger, failure = attempt(declared, stopping, 1)
    with pytest.raises(AssertionError):
        check_the_rule(ledger, stopping, failure)
