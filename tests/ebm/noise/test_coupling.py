"""The noise of correlated curves, against dense algebra and repeated least squares."""

from itertools import pairwise

import numpy as np
import pytest

from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.noise.variances import with_coupling
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations, orthonormal_scores

FOREVER = 1e9


def bins_of(weights):
    return Bins(np.arange(len(weights), dtype=np.uint16), np.asarray(weights, dtype=float), None)


@pytest.fixture
def case():
    """Three terms with covariances and responses of their own, and correlations."""
    rng = np.random.default_rng(0)
    bins = [bins_of([0, *rng.integers(20, 90, size=n), 0]) for n in (5, 7, 6)]
    noise, functions = [], []
    for b in bins:
        root, n = rng.normal(size=(b.n_codes, b.n_codes)), b.n_codes
        moved = np.diag((b.weights > 0).astype(float))
        blur = moved @ (0.9 * np.eye(n) + 0.02) @ moved
        noise.append(TermNoise(covariance=moved @ root @ root.T @ moved, response=blur))
        shares = b.weights / b.weights.sum()
        functions.append(orthonormal_scores(shares, np.zeros((n, 0)), is_ordered=True))
    table = rng.uniform(-0.2, 0.2, size=(9, 9))
    table += table.T
    for k in range(3):
        table[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = 0.0
    return noise, bins, Correlations([0, 1, 2], functions, table)


def dense(noise, bins, correlations, ridge):
    """Covariance of inverse(I + R P / (1 + ridge)) N, with all matrices written out."""
    ends = np.cumsum([0] + [b.n_codes for b in bins])
    own, response = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
    functions, shares = np.zeros((ends[-1], len(correlations.matrix))), np.zeros(ends[-1])
    for k, (one, b) in enumerate(zip(noise, bins, strict=True)):
        part = slice(ends[k], ends[k + 1])
        own[part, part], response[part, part] = one.covariance, one.response
        functions[part, 3 * k : 3 * k + 3] = correlations.functions[k]
        shares[part] = b.weights / b.weights.sum()
    tables = functions @ correlations.matrix @ functions.T * shares / (1 + ridge)
    inverse = np.linalg.inv(np.eye(ends[-1]) + response @ tables)
    joint = inverse @ own @ inverse.T
    return [joint[a:b, a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("full_steps", [1.0, 5.0, FOREVER])
def test_the_covariances_are_those_of_the_whole_system(case, full_steps):
    noise, bins, correlations = case
    found = with_coupling(noise, bins, correlations, full_steps=full_steps)
    for one, expected in zip(found, dense(noise, bins, correlations, 1 / full_steps), strict=True):
        assert one.covariance == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_what_grew_beyond_numbers_is_left_alone(case):
    noise, bins, correlations = case
    wild = [noise[0], TermNoise(variances=np.full(bins[1].n_codes, 1e150)), noise[2]]
    found = with_coupling(wild, bins, correlations, full_steps=5.0)
    assert all(one is other for one, other in zip(found, wild, strict=True))
