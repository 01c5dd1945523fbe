"""``standard_deviations_`` against repeated fits.

The bands are conditional on the released bins, so the histograms' noise is drawn once and the
noise of the rounds anew in each of R = 100 fits of the simulated cohort (20,000 rows). A bin is
honest if claimed over observed lies within 0.8 and 1.25, and 90 % of the bins that ever moved
must be. With R = 100 an exact claim misses that interval in 2 % of bins (the observed deviation
has a relative standard error of 7 %), so that some 200 bins fail the test by chance with
probability below 1e-6; bands that are a third too narrow or half too wide leave less than 30 % of
the bins honest, and must fail.

Terms that are kept monotone have simulated variances, which take the released curve for the truth.
At a bend of the curve they are up to a third off, so that 80 % of their bins must be honest.
"""

from __future__ import annotations

import numpy as np
import pytest

from interpret_dp import (
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
)
from interpret_dp.datasets import make_cohort
from interpret_dp.mechanisms import SeededRandomness, use_randomness

pytestmark = pytest.mark.statistical

FITS = 100


class FixedHistograms(SeededRandomness):
    """Noise of the histograms is the same for every seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._fixed = np.random.default_rng(0)

    def perturb(self, name, exact, sensitivity, sigma):
        if name == "boosting":
            return super().perturb(name, exact, sensitivity, sigma)
        return exact + np.rint(self._fixed.normal(scale=sigma, size=exact.shape)).astype(np.int64)


def claimed_over_observed(fit, names=None):
    """Return the ratio of each bin that ever moved, of the named terms or of all."""
    scores, claims = [], []
    for seed in range(FITS):
        with use_randomness(FixedHistograms(seed)):
            model = fit()
        chosen = [model.term_names_.index(name) for name in names or model.term_names_]
        scores.append(np.concatenate([model.term_scores_[k] for k in chosen]))
        claims.append(np.concatenate([model.standard_deviations_[k] for k in chosen]))
    claimed = np.mean(claims, axis=0)
    # Bins without rows never move but for rounding.
    moved = claimed > 1e-3 * claimed.max()
    return claimed[moved] / np.std(scores, axis=0, ddof=1)[moved]


def honest(ratio):
    return float(np.mean((ratio > 0.8) & (ratio < 1.25)))


@pytest.mark.parametrize(
    ("kind", "task", "epsilon"),
    [
        (DPExplainableBoostingClassifier, "classification", 1.0),
        pytest.param(
            DPExplainableBoostingClassifier, "classification", 4.0, marks=pytest.mark.slow
        ),
        (DPExplainableBoostingRegressor, "regression", 1.0),
        pytest.param(DPExplainableBoostingRegressor, "regression", 4.0, marks=pytest.mark.slow),
    ],
)
def test_bands_are_honest(kind, task, epsilon):
    cohort = make_cohort(20_000, seed=3, task=task)
    model = kind(epsilon=epsilon, delta=1e-6, schema=cohort.schema)
    ratio = claimed_over_observed(lambda: model.fit(cohort.X, cohort.y))
    assert len(ratio) > 100
    assert honest(ratio) >= 0.9
    # Controls: the same check must fail for bands that are too narrow or too wide.
    assert honest(ratio * 2 / 3) < 0.5
    assert honest(ratio * 3 / 2) < 0.5


RISING = {"age": 1, "length_of_stay": 1, "prior_admissions": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "task"),
    [
        (DPExplainableBoostingClassifier, "classification"),
        (DPExplainableBoostingRegressor, "regression"),
    ],
)
def test_bands_of_monotone_terms_are_honest(kind, task):
    cohort = make_cohort(20_000, seed=3, task=task)
    model = kind(epsilon=1.0, delta=1e-6, schema=cohort.schema, monotone_constraints=RISING)
    ratio = claimed_over_observed(lambda: model.fit(cohort.X, cohort.y), RISING)
    assert len(ratio) > 50
    assert honest(ratio) >= 0.8
    assert 0.9 < np.median(ratio) < 1.1
    assert honest(ratio * 2 / 3) < 0.5
    assert honest(ratio * 3 / 2) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["poisson_deviance", "gamma_deviance"])
def test_bands_under_a_log_link_are_honest(objective):
    """Amounts are clipped, by which the loss bends a little less than is taken for granted."""
    cohort = make_cohort(20_000, seed=3)
    mean, rng = np.exp(0.5 * cohort.score(cohort.X) + 1.0), np.random.default_rng(0)
    is_count = objective == "poisson_deviance"
    y = rng.poisson(mean) if is_count else rng.gamma(2.0, 50.0 * mean)
    target = Continuous(0, 20) if is_count else Continuous(1, 2_000)
    model = DPExplainableBoostingRegressor(
        epsilon=1.0,
        delta=1e-6,
        objective=objective,
        schema=Schema(cohort.schema.features, target=target),
    )
    ratio = claimed_over_observed(lambda: model.fit(cohort.X, y))
    assert len(ratio) > 100
    assert honest(ratio) >= 0.85
    assert honest(ratio * 2 / 3) < 0.5
    assert honest(ratio * 3 / 2) < 0.5
