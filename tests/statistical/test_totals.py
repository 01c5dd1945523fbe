"""Predictions of skewed targets add up to what was observed, as ``total_error_`` states.

Each target is fitted five times at epsilon 4 to 10,000 rows. A fit fails by chance if its total is
more than four stated errors off, or if the mean of five is more than 3 % and four of its own
errors off: below 1e-3 for normal errors. Power: with the clip of 1.25 standard deviations that
version 0.1 had, and without the released total, every target must fail.
"""

import math

import numpy as np
import pytest

from benchmarks.totals import SCHEMA, TARGETS, drawn
from interpret_dp import Continuous, DPExplainableBoostingRegressor, PrivacyUnit
from interpret_dp.ebm import losses, shape, training

pytestmark = pytest.mark.statistical

FITS = 5


def fits_of(name, n_fits):
    """Return the total that each fit predicts over that of its rows, and what it states."""
    target, found = TARGETS[name], []
    schema = SCHEMA.replace(target=Continuous(target.lower, target.upper))
    for seed in range(n_fits):
        X, _, y = drawn(target, 10_000, seed)
        model = DPExplainableBoostingRegressor(
            epsilon=4.0, delta=1e-6, schema=schema, objective=target.objective
        ).fit(X, y)
        found.append((model.predict(X).mean() / y.mean(), model.total_error_ / y.mean()))
    return np.array(found).T


@pytest.mark.parametrize("case", ["pairs", "monotone", "weights", "starts", "people"])
def test_totals_are_right_whatever_is_fitted(case):
    """At 4 stated errors a case fails by chance in fewer than 1e-4 fits."""
    target = TARGETS["costs"]
    schema = SCHEMA.replace(target=Continuous(target.lower, target.upper))
    X, _, y = drawn(target, 20_000, 0)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, len(y)) if case == "weights" else None
    start = np.full(len(y), 100.0) if case == "starts" else None
    unit = None
    if case == "people":
        schema = schema.replace(unit=PrivacyUnit("id", max_rows=2))
        unit = np.arange(len(y)) // 2
    model = DPExplainableBoostingRegressor(
        **{"epsilon": 4.0, "delta": 1e-6, "schema": schema},
        interactions=[("age", "power")] if case == "pairs" else 0,
        monotone_constraints={"age": -1} if case == "monotone" else None,
        privacy_weight_max=None if weights is None else 1.0,
    ).fit(X, y, sample_weight=weights, init_score=start, unit=unit)
    gaps = model.predict(X, init_score=start) - y
    assert abs(np.average(gaps, weights=weights)) <= 4 * model.total_error_


def narrow(shape, clips, noise, gaps):
    return min(1.25 * gaps(shape.mean + shape.spread, shape.mean), clips[0])


@pytest.mark.parametrize("name", ["rare flag", "costs", "claims", "severities", "collective"])
def test_totals_are_right(name, monkeypatch):
    totals, errors = fits_of(name, FITS)
    assert (np.abs(totals - 1) <= 4 * errors).all()
    assert abs(totals.mean() - 1) <= max(0.03, 4 * errors.mean() / math.sqrt(FITS))
    # Control: the clip and the intercept of version 0.1.
    monkeypatch.setattr(losses, "best_clip", narrow)
    monkeypatch.setattr(training, "release_total", lambda *given: (0.0, 1e-9))
    assert fits_of(name, 2)[0].mean() < 0.95


def error_over_stated(n_fits):
    """Yield how far the totals of small tables are off, over the error that each fit states."""
    schema = SCHEMA.replace(target=Continuous(0, 10))
    for seed in range(n_fits):
        X, _, _ = drawn(TARGETS["costs"], 500, seed)
        y = np.minimum(np.random.default_rng(seed).exponential(size=500), 10)
        model = DPExplainableBoostingRegressor(delta=1e-6, schema=schema).fit(X, y)
        yield abs(model.predict(X).mean() - y.mean()) / model.total_error_


def test_a_total_that_noise_hides_does_not_pass_for_a_right_one(monkeypatch):
    """500 rows at epsilon 1: of 25 fits none was 2.5 stated errors off, 5 are allowed in 10.

    Control: taken at its word, a histogram of which noise hides most cells asks for a narrow clip,
    and one of a few fits states an error that is ten times too small, or more.
    """
    assert max(error_over_stated(10)) < 5
    monkeypatch.setattr(shape, "_least_rows", lambda n_rows, noise: 0.0)
    real = losses.errors_of_mean
    monkeypatch.setattr(losses, "errors_of_mean", lambda *given, start=0.0: real(*given))
    assert any(error > 10 for error in error_over_stated(30))
