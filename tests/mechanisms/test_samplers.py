"""Both samplers, OpenDP's and ours, at the scales that this package uses; and who is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from interpret_dp.accounting.gaussian import lattice_sigma
from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.mechanisms import samplers
from interpret_dp.mechanisms.samplers import OPENDP_DRAWS, discrete_gaussian
from tests.statistical.noise_checks import LEVEL, all_p

# The smallest allowed scale, that of a fit's rounds at epsilon 1, and close to the largest.
SIGMAS = [2.0**10, lattice_sigma(LATTICE, 0.0112), 2.0**55]

# The length of a call decides which sampler is asked.
both_samplers = pytest.mark.parametrize("call", [4_000, 20_000], ids=["OpenDP", "ours"])


def draws_of(sigma: float, call: int, count: int = 20_000) -> Any:
    """Return draws, ``call`` of them at a time."""
    assert 4_000 <= OPENDP_DRAWS < 20_000
    return np.concatenate([discrete_gaussian(sigma, call) for _ in range(count // call)])


def test_the_length_of_a_call_decides_which_sampler_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ours(sigma: float, size: int) -> Any:
        return np.full(size, 7)

    monkeypatch.setattr(samplers, "vectorised_discrete_gaussian", ours)
    monkeypatch.setattr(samplers, "_noise_measurement", lambda sigma: lambda zeros: zeros)
    assert not discrete_gaussian(2.0**20, OPENDP_DRAWS).any()
    assert (discrete_gaussian(2.0**20, OPENDP_DRAWS + 1) == 7).all()


@pytest.mark.statistical
@both_samplers
@pytest.mark.parametrize("sigma", SIGMAS)
def test_draws_follow_the_discrete_gaussian(sigma: float, call: int) -> None:
    """Six tests at level 1e-9 on 20,000 draws; their power is measured in test_noise_checks."""
    values = all_p(draws_of(sigma, call), sigma)
    assert min(values.values()) > LEVEL, values


@pytest.mark.statistical
@both_samplers
@pytest.mark.parametrize("factor", [2 / 3, 3 / 2])
def test_control_two_thirds_and_three_halves_of_the_scale_are_rejected(
    factor: float, call: int
) -> None:
    sigma = SIGMAS[1]
    values = all_p(draws_of(factor * sigma, call), sigma)
    assert values["variance"] < LEVEL
    assert values["shape"] < LEVEL


def small_scale_p(draws: np.ndarray, sigma: float) -> float:
    """Chi-square against exp(-z^2 / (2 sigma^2)) at every integer, tails pooled."""
    reach = 3
    points = np.arange(-20, 21)
    weights = np.exp(-(points**2) / (2 * sigma**2))
    weights /= weights.sum()
    inner = weights[20 - reach : 21 + reach]
    expected = len(draws) * np.append(inner, 1 - inner.sum())
    counts = [np.count_nonzero(draws == point) for point in range(-reach, reach + 1)]
    counts.append(np.count_nonzero(np.abs(draws) > reach))
    return float(chi2.sf(np.sum((np.array(counts) - expected) ** 2 / expected), len(counts) - 1))


@pytest.mark.statistical
@both_samplers
def test_the_sampler_is_discrete_and_not_rounded(call: int) -> None:
    """Below the scales in use the two differ visibly: level 1e-9, 100,000 draws.

    At sigma = 1 the discrete Gaussian has probability 0.3989 at zero, a rounded normal 0.3829: ten
    standard deviations there alone, and as much again elsewhere.
    """
    sigma = 1.0
    assert small_scale_p(draws_of(sigma, call, 100_000), sigma) > LEVEL
    rounded = np.rint(np.random.default_rng(0).normal(scale=sigma, size=100_000))
    assert small_scale_p(rounded, sigma) < LEVEL


def test_shapes_and_types() -> None:
    assert discrete_gaussian(2.0**10, 0).shape == (0,)
    draws = discrete_gaussian(2.0**10, 3)
    assert draws.shape == (3,)
    assert draws.dtype == np.int64


@both_samplers
def test_sums_beyond_32_bits_are_possible(call: int) -> None:
    """OpenDP reads Python's int as 32 bits, which 2,048 rows on the lattice overflow."""
    draws = draws_of(2.0**40, call)
    assert np.abs(draws).max() > 2**33


@pytest.mark.parametrize("call", [20, OPENDP_DRAWS + 1], ids=["OpenDP", "ours"])
def test_calls_and_forked_processes_draw_different_noise(call: int) -> None:
    """A generator that is copied by a fork would give both processes the same noise."""
    script = """
import json, os, sys
from interpret_dp.mechanisms.samplers import discrete_gaussian
def some():
    return discrete_gaussian(2.0**50, int(sys.argv[1]))[:20].tolist()
draws = [some() for _ in range(2)]
for _ in range(2):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        os.write(theirs, json.dumps(some()).encode())
        os._exit(0)
    os.wait()
    draws.append(json.loads(os.read(ours, 10_000)))
draws.append(some())
print(json.dumps(draws))
"""
    if sys.platform == "win32":
        pytest.skip("there is no fork on Windows")
    output = subprocess.run(
        [sys.executable, "-c", script, str(call)], capture_output=True, text=True, check=True
    ).stdout
    draws = json.loads(output)
    assert len(draws) == 5
    # Two draws of this scale coincide with a probability below 1e-15.
    assert len({value for values in draws for value in values}) == 100
