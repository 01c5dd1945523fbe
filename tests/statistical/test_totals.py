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
from interpret_dp import Continuous, DPExplainableBoostingRegressor
from interpret_dp.ebm import training
from interpret_dp.ebm.losses import base

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


def narrow(shape, clips, noise, gaps):
    return min(1.25 * gaps(shape.mean + shape.spread, shape.mean), clips[0])


@pytest.mark.parametrize("name", ["rare flag", "costs", "claims", "severities", "collective"])
def test_totals_are_right(name, monkeypatch):
    totals, errors = fits_of(name, FITS)
    assert (np.abs(totals - 1) <= 4 * errors).all()
    assert abs(totals.mean() - 1) <= max(0.03, 4 * errors.mean() / math.sqrt(FITS))
    # Control: the clip and the intercept of version 0.1.
    monkeypatch.setattr(base, "best_clip", narrow)
    monkeypatch.setattr(training, "release_total", lambda *given: (0.0, 1e-9))
    assert fits_of(name, 2)[0].mean() < 0.95
