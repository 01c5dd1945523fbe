"""The Gaussian mechanism: its scale, its limits, and the noise of whole releases and fits."""

import math
from functools import partial

import numpy as np
import pytest

from interpret_dp import PrivacyLedger, mechanisms
from interpret_dp.accounting.gaussian import mu_of_lattice
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.accounting.plans import PlannedRelease, ReleasePlan
from tests.audit.fits import base_records, classifier, frame, regressor
from tests.statistical.noise_checks import check_scale
from tests.test_release import request_of


def release(exact, mu=0.5, sensitivity=LATTICE):
    return mechanisms.gaussian_mechanism(
        "sums", exact, sensitivity=sensitivity, mu=mu, randomness=mechanisms.SeededRandomness(1)
    )


@pytest.mark.parametrize("mu", [1e-9, 0.01, 1.0, 900.0])
@pytest.mark.parametrize("sensitivity", [LATTICE, 2 * LATTICE, 1_482_911])
def test_the_scale_is_that_of_the_accounting(mu, sensitivity):
    _, sigma = release(np.zeros((1, 1), dtype=np.int64), mu, sensitivity)
    assert mu_of_lattice(sensitivity, sigma) <= mu
    assert sigma == pytest.approx(math.hypot(sensitivity / mu, 3), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint64, np.bool_])
def test_only_64_bit_integers_pass(dtype):
    with pytest.raises(TypeError, match="must be int64"):
        release(np.zeros((1, 2), dtype=dtype))


def test_noise_that_would_not_fit_into_64_bits_is_refused():
    with pytest.raises(ValueError, match="must be at most"):
        release(np.zeros((1, 1), dtype=np.int64), mu=1e-13)
    _, sigma = release(np.zeros((1, 1), dtype=np.int64), mu=2.0**-35)
    assert sigma < 2**56


def standardised_noise(rounds, planned, claimed):
    """Return the noise of a session's releases in units of what ``claimed`` would need."""
    exact = np.arange(rounds, dtype=np.int64)[:, np.newaxis] * LATTICE
    plan = ReleasePlan((PlannedRelease("sums", planned, rounds),))
    ledger, randomness = PrivacyLedger.in_memory(), mechanisms.SystemRandomness()
    with request_of(ledger, plan, randomness=randomness).opened("test") as session:
        noisy, _ = session.gaussian("sums", exact, row_norm=LATTICE, aligned=True)
    return (noisy - exact).ravel(), math.hypot(LATTICE / claimed, 3)


@pytest.mark.statistical
def test_the_session_adds_the_noise_of_the_plan():
    """20,000 releases at mu = 0.03; level 1e-9; 2/3 and 3/2 of the noise are both rejected."""
    check_scale(lambda factor: standardised_noise(20_000, 0.03 / factor, 0.03))


class Watching(mechanisms.SystemRandomness):
    """The operating system's noise; keeps each draw beside its name and sensitivity."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = factor
        self.draws = []

    def perturb(self, name, exact, sensitivity, sigma):
        noisy = super().perturb(name, exact, sensitivity, self.factor * sigma)
        self.draws.append((name, sensitivity, (noisy - exact).ravel()))
        return noisy


def noise_of_a_fit(task, factor):
    """Return all noise of one fit, scaled to 2**20 by what its guarantee's bill says, and that."""
    randomness = Watching(factor)
    with mechanisms.use_randomness(randomness):
        fit = classifier if task == "classification" else regressor
        # So many rows that no term stands still.
        model = fit(frame(base_records(task) * 250), max_rounds=150, max_bins=64, max_leaves=16)
    each = {share.name: share.mu / math.sqrt(share.count) for share in model.guarantee_.releases}
    noise = np.concatenate(
        [draws * (each[name] / sensitivity) for name, sensitivity, draws in randomness.draws]
    )
    assert len(noise) > 3_000
    return np.rint(noise * 2**20).astype(np.int64), 2.0**20


@pytest.mark.statistical
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_whole_fit_draws_the_noise_that_its_guarantee_bills(task):
    """Every draw of a fit over its billed scale is standard normal: more than 3,000 of them.

    Level 1e-9 for each check. The residue check is left out, since scaled draws are no integers.
    A scale of 2/3 is 21 and one of 3/2 is 48 standard errors of the variance away.
    """
    check_scale(partial(noise_of_a_fit, task), "residues")
