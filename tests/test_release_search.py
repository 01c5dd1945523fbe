"""A search through the door: the best of some runs leaves, and nothing else of them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from interpret_dp import PrivacyLedger, ReleaseError
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.accounting.repeated import Repetitions, selection_mu
from interpret_dp.mechanisms import Randomness, SeededRandomness, SystemRandomness
from interpret_dp.release import PlannedRelease, PlannedSearch, ReleaseDoor, ReleasePlan
from tests.accounting.test_repeated import probabilities

ONE = np.array([[LATTICE]])
LAW = Repetitions.of_mean(4.0, 1.0)
SUM, SCORE = PlannedRelease("sum", 0.1, 2), PlannedRelease("score", 0.05, 1)


def search_of(*candidates: tuple[PlannedRelease, ...]) -> PlannedSearch:
    return PlannedSearch("search", 0.2, 1, repetitions=LAW, candidates=candidates)


PLAN = ReleasePlan((PlannedRelease("before", 0.1, 1), search_of((SUM, SCORE), (SCORE,))))


def open_door(
    ledger: PrivacyLedger, plan: ReleasePlan = PLAN, randomness: Randomness | None = None
) -> ReleaseDoor:
    source = SeededRandomness(1) if randomness is None else randomness
    return ReleaseDoor(ledger, "people", plan, source, explainer="test", epsilon=1.0, delta=1e-5)


def kinds(ledger: PrivacyLedger) -> list[str]:
    return [entry["kind"] for entry in ledger.entries("people")]


@pytest.fixture
def ledger() -> PrivacyLedger:
    return PrivacyLedger.in_memory()


def release(door: ReleaseDoor, name: str) -> int:
    return int(door.gaussian(name, ONE, row_norm=LATTICE, aligned=True)[0][0, 0])


def test_runs_have_their_candidates_releases_each_time(ledger: PrivacyLedger) -> None:
    tried: list[int] = []
    with open_door(ledger) as door:

        def run(candidate: int) -> tuple[int, int]:
            tried.append(candidate)
            if candidate == 0:
                release(door, "sum"), release(door, "sum")
            return release(door, "score"), candidate

        door.search("search", run)
    assert set(tried) <= {0, 1}
    assert kinds(ledger) == ["reserve", "commit"]


def test_the_whole_is_charged_once_as_planned(ledger: PrivacyLedger) -> None:
    with open_door(ledger) as door:
        door.search("search", lambda _: (release(door, "score"), None))
    expected = np.hypot(0.1, selection_mu(0.2, LAW))
    assert door.charged.mu == pytest.approx(expected, rel=1e-9)
    assert door.charged.delta == 0.0


@pytest.mark.parametrize(
    "misuse",
    [
        lambda door: release(door, "before"),
        lambda door: [release(door, "score") for _ in range(2)],
        lambda door: door.search("search", lambda _: (0, None)),
        lambda door: release(door, "sum"),
    ],
    ids=["what is planned outside", "more than planned", "a search within", "another candidate's"],
)
def test_a_run_may_release_what_its_candidate_plans_and_no_more(
    ledger: PrivacyLedger, misuse: Any
) -> None:
    plan = ReleasePlan((PlannedRelease("before", 0.1, 1), search_of((SCORE,))))
    caught: list[str] = []
    with open_door(ledger, plan) as door:

        def run(_: int) -> tuple[int, None]:
            try:
                misuse(door)
            except ReleaseError as error:
                caught.append(str(error))
            return 0, None

        door.search("search", run)
        release(door, "before")
    assert caught
    assert all("the plan has 0 left" in text for text in caught)


def test_after_a_search_its_releases_are_gone(ledger: PrivacyLedger) -> None:
    with open_door(ledger) as door:
        door.search("search", lambda _: (0, None))
        for name in ("sum", "score"):
            with pytest.raises(ReleaseError, match="has 0 left"):
                release(door, name)
        with pytest.raises(ReleaseError, match="1 searches 'search' were asked for"):
            door.search("search", lambda _: (0, None))
        with pytest.raises(ReleaseError, match="releases 'search'"):
            release(door, "search")
        release(door, "before")


def test_a_search_needs_an_open_door(ledger: PrivacyLedger) -> None:
    with pytest.raises(ReleaseError, match="has 0 left"):
        open_door(ledger).search("search", lambda _: (0, None))


@pytest.mark.parametrize("error", [ValueError("Zebulon"), KeyboardInterrupt()])
def test_a_broken_off_search_is_charged_in_full(
    ledger: PrivacyLedger, error: BaseException
) -> None:
    def run(_: int) -> tuple[int, None]:
        raise error

    expected = ReleaseError if isinstance(error, Exception) else KeyboardInterrupt
    door = open_door(ledger)
    with pytest.raises(expected) as caught, door:
        door.search("search", run)
    assert "Zebulon" not in str(caught.value)
    assert kinds(ledger) == ["reserve", "commit"]
    assert door.charged.mu == PLAN.cost.mu


class Loser:
    """An outcome that can be looked for."""


def test_nothing_holds_a_loser(ledger: PrivacyLedger) -> None:
    made: list[weakref.ref[Loser]] = []
    with open_door(ledger, randomness=SeededRandomness(6)) as door:

        def run(_: int) -> tuple[int, Loser]:
            outcome = Loser()
            made.append(weakref.ref(outcome))
            return len(made) % 3, outcome

        score, best = door.search("search", run)
    gc.collect()
    assert len(made) > 3
    assert [ref() for ref in made if ref() is not None] == [best]
    assert score == 2
    assert made[1]() is best, "of several the first"


def test_noise_that_the_lattice_cannot_carry_is_refused_before(ledger: PrivacyLedger) -> None:
    plan = ReleasePlan((search_of((PlannedRelease("sum", 2.0**-34, 1), SCORE)),))
    with pytest.raises(ValueError, match="max_rows is 4"):
        ReleaseDoor(
            ledger,
            "people",
            plan,
            SeededRandomness(1),
            neighbourhood=Neighbourhood(unit="person", max_rows=4),
            explainer="test",
            epsilon=1.0,
            delta=1e-5,
        )


@pytest.mark.statistical
def test_the_winner_has_the_law_of_the_best_of_k_draws() -> None:
    """Candidate i of four scores i: it wins with f((i + 1) / 4) - f(i / 4), f generating K.

    Level 1e-6 with 4,000 searches; a winner that is drawn uniformly, or the best of exactly four,
    is told apart with power above 0.999 (the controls).
    """
    plan = ReleasePlan((search_of(*[(SCORE,)] * 4),))
    searches = 4_000
    wins = np.zeros(4)
    door = open_door(PrivacyLedger.in_memory(), plan, SystemRandomness())
    with door:
        whole = dict(door._left)
        for _ in range(searches):
            door._left = dict(whole)
            score, candidate = door.search("search", lambda index: (index, index))
            assert score == candidate
            wins[candidate] += 1
    chances = probabilities(LAW)
    k = np.arange(1, len(chances) + 1)
    generating = [float(chances @ (i / 4) ** k) for i in range(5)]

    def statistic(law: Any) -> float:
        expected = searches * np.asarray(law)
        return float(((wins - expected) ** 2 / expected).sum())

    limit = chi2.ppf(1.0 - 1e-6, df=3)
    assert statistic(np.diff(generating)) < limit
    assert statistic([0.25] * 4) > limit
    assert statistic(np.diff([(i / 4) ** 4 for i in range(5)])) > limit
