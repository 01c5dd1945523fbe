"""Both methods: standard errors are those of the noise; releases are planned, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interpret_dp import ReleaseError
from interpret_dp.accounting.neighbourhood import Neighbourhood
from interpret_dp.lime import descent, statistics
from interpret_dp.lime.descent import descend, gradients_release
from interpret_dp.lime.moments import ExplanationData, exact_moments
from interpret_dp.lime.statistics import moments_release, release_moments
from interpret_dp.mechanisms import SeededRandomness
from tests.lime.explanation_sets import (
    ASKED,
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
