"""Both methods: right where noise is small, honest about it where it is not, refused when wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interpret_dp import BudgetExceededError, PrivacyLedger, ReleaseError
from interpret_dp.accounting.gaussian import mu_of_lattice
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime import descent, statistics
from interpret_dp.lime.ball import minimum_on_ball
from interpret_dp.lime.descent import descend, gradients_release
from interpret_dp.lime.fitted import LinearFit
from interpret_dp.lime.labels import black_box
from interpret_dp.lime.moments import ExplanationData, Queries, exact_moments
from interpret_dp.lime.statistics import moments_release, release_moments
from interpret_dp.mechanisms import SeededRandomness
from interpret_dp.release import ReleaseDoor
from interpret_dp.schema import open_table
from tests.lime.explanation_sets import (
    ASKED,
    FEATURES,
    cells,
    door_of,
    explanation_data,
    queries,
    records,
    request,
    weights,
)

METHODS = ["statistics", "interactive"]
N_ROWS = 20_000


@pytest.fixture(scope="module")
def data() -> ExplanationData:
    return explanation_data(records(N_ROWS))


def excess_loss(data: ExplanationData, asked: Queries, fits: list[LinearFit]) -> list[float]:
    """Return equation 4 of each fit, over the loss of explaining nothing."""
    found = []
    for exact, fit in zip(exact_moments(data, asked, weights()), fits, strict=True):
        second, first = exact.second / weights().scale, exact.first / weights().scale

        def loss(phi: Any, a: Any = second, b: Any = first) -> float:
            return float(phi @ a @ phi - 2 * b @ phi)

        least = loss(minimum_on_ball(second, first)[0])
        found.append((loss(fit.coefficients) - least) / -least)
    return found


@pytest.mark.parametrize(
    ("method", "steps", "limit"), [("statistics", 2, 0.02), ("interactive", 400, 0.05)]
)
def test_with_little_noise_the_explanation_is_the_optimal_one(
    data: ExplanationData, method: str, steps: int, limit: float
) -> None:
    fits = request(data, queries(ASKED), weights(), method=method, mu=300.0, steps=steps)
    assert max(excess_loss(data, queries(ASKED), fits)) < limit


@pytest.mark.parametrize("method", METHODS)
def test_a_linear_model_is_explained_by_its_own_slopes(method: str) -> None:
    """The model is 0.2 and -0.1 times what lies between a row and the query."""
    rng = np.random.default_rng(1)
    rows = [(float(a), float(i), "a", 5) for a, i in rng.uniform(0, [100, 1e6], (5000, 2))]
    points = FEATURES.points(open_table(cells(rows), FEATURES.names)) / 256
    box = black_box(lambda rows: 0.5 + 0.5 * (points[:, 0] * 0.2 - points[:, 1] * 0.1))
    labelled = ExplanationData(
        FEATURES.points(open_table(cells(rows), FEATURES.names)), box.ask(rows, len(rows))[1]
    )
    middle = float(np.expm1(np.log1p(1e6) / 2))
    (fit,) = request(
        labelled, queries([(50, middle, "a", 5)]), weights(), method=method, mu=100.0, steps=400
    )
    point = queries([(50, middle, "a", 5)]).points[0]
    slopes = FEATURES.per_feature(fit.coefficients, point)
    assert slopes[0] == pytest.approx(0.2, abs=0.01)
    assert slopes[1] == pytest.approx(-0.1, abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_explanations_stay_in_the_unit_ball(method: str) -> None:
    for fit in request(
        explanation_data(records(5)), queries(ASKED), weights(), method=method, mu=0.01
    ):
        assert np.linalg.norm(fit.coefficients) <= 1 + 1e-12
        assert np.all(np.isfinite(fit.standard_errors))
        assert np.all(fit.standard_errors > 0)


@pytest.mark.statistical
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mu", [1.0, 0.1])
def test_the_claimed_standard_errors_are_those_of_repeated_releases(
    data: ExplanationData, method: str, mu: float
) -> None:
    """60 releases of 6 coefficients: their pooled spread is known to about 5 %.

    Statistics claim a first-order figure on the safe side; the control, standard errors of a
    fourth of the noise, lies far outside.
    """
    asked = queries(ASKED[:1])
    exact = exact_moments(data, asked, weights())
    module: Any = statistics if method == "statistics" else descent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "exact_moments", lambda *_: exact)
        fits = [
            request(
                data,
                asked,
                weights(),
                method=method,
                mu=mu,
                steps=25,
                randomness=SeededRandomness(seed),
            )[0]
            for seed in range(60)
        ]
    spread = np.var([fit.coefficients for fit in fits], axis=0, ddof=1).mean()
    claimed = np.mean([fit.standard_errors**2 for fit in fits])
    assert 0.8 < np.sqrt(claimed / spread) < 1.6


@pytest.mark.parametrize("method", METHODS)
def test_the_noise_costs_what_was_planned(
    data: ExplanationData, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 3 queries and 12 gradients each, mu 0.7 together."""
    seen = []
    release = ReleaseDoor.gaussian

    def watched(door: Any, name: str, exact: Any, *, row_norm: int, aligned: bool) -> Any:
        noisy, sigma = release(door, name, exact, row_norm=row_norm, aligned=aligned)
        seen.extend([mu_of_lattice(row_norm, sigma)] * len(exact))
        return noisy, sigma

    monkeypatch.setattr(ReleaseDoor, "gaussian", watched)
    request(data, queries(ASKED), weights(), method=method, mu=0.7, steps=12)
    assert len(seen) == (3 if method == "statistics" else 3 * 12)
    assert np.sqrt(np.sum(np.square(seen))) == pytest.approx(0.7, rel=1e-6)


def test_the_released_moments_have_the_noise_that_they_claim(data: ExplanationData) -> None:
    """300 releases of 27 numbers: the scale of each kind is known to 2 %; limits 5 s.e. away."""
    asked = queries(ASKED[:1])
    (exact,) = exact_moments(data, asked, weights())
    planned = moments_release(weights(), Neighbourhood(), 300**0.5, 300)
    with (
        pytest.MonkeyPatch.context() as patch,
        door_of(planned, SeededRandomness(5)) as door,
    ):
        patch.setattr(statistics, "exact_moments", lambda *_: [exact])
        released = [release_moments(door, data, asked, weights())[0] for _ in range(300)]
    scale = weights().scale
    second = np.array([one.second - exact.second / scale for one in released])
    first = np.array([one.first - exact.first / scale for one in released])
    assert np.array_equal(second, second.transpose(0, 2, 1))
    beside = second[:, *np.triu_indices(6, 1)]
    for noise, expected in (
        (first, 1.0),
        (second[:, range(6), range(6)], 1.0),
        (beside, 29 / 41),
    ):
        claimed = released[0].sigma * expected
        n = noise.size
        assert np.std(noise) / claimed == pytest.approx(1, abs=5 / np.sqrt(2 * n))
        assert abs(np.mean(noise)) < 5 * claimed / np.sqrt(n)
    # sigma in units of 1: the norm of a row, at most c / 2, over a mu of 1.
    assert 0.2 < released[0].sigma < 0.25


@pytest.mark.parametrize("method", METHODS)
def test_the_plan_is_all_there_is(data: ExplanationData, method: str) -> None:
    three = queries(ASKED)

    def more_than_planned() -> Any:
        if method == "statistics":
            with door_of(moments_release(weights(), Neighbourhood(), 1.0, 1)) as door:
                return release_moments(door, data, three, weights())
        with door_of(gradients_release(weights(), Neighbourhood(), 1.0, 1, 2)) as door:
            return descend(door, data, three, weights(), 2)

    with pytest.raises(ReleaseError):
        more_than_planned()


def test_a_query_that_does_not_fit_is_refused_before_the_rows_are_read() -> None:
    ledger = PrivacyLedger.in_memory()
    ledger.create_budget("explained", epsilon=0.1, delta=1e-6)
    planned = moments_release(weights(), Neighbourhood(), 1.0, 1)
    with pytest.raises(BudgetExceededError), door_of(planned, ledger=ledger):
        pytest.fail("the door opened")


def test_a_budget_too_small_for_64_bits_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(ValueError, match="Ask for a larger epsilon"):
        moments_release(weights(), Neighbourhood(), 1e-8, 1)
    with pytest.raises(ValueError, match="Ask for a larger epsilon"):
        gradients_release(weights(), Neighbourhood(), 1e-5, 10, 300)


@pytest.mark.parametrize("wrong", [0, -1, 2.5])
def test_a_number_of_queries_or_steps_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="n_queries is"):
        moments_release(weights(), Neighbourhood(), 1.0, wrong)
    with pytest.raises((TypeError, ValueError), match="n_queries is"):
        gradients_release(weights(), Neighbourhood(), 1.0, wrong, 75)
    with pytest.raises((TypeError, ValueError), match="steps is"):
        gradients_release(weights(), Neighbourhood(), 1.0, 1, wrong)


@pytest.mark.parametrize("method", METHODS)
def test_exact_noise_of_the_system_works_too(data: ExplanationData, method: str) -> None:
    from interpret_dp.mechanisms import SystemRandomness

    asked = queries(ASKED)
    once, again = (
        request(data, asked, weights(), method=method, mu=30.0, randomness=SystemRandomness())
        for _ in range(2)
    )
    assert not np.array_equal(once[0].coefficients, again[0].coefficients)
