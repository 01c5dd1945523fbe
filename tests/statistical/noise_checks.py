"""Goodness-of-fit checks of discrete Gaussian draws; each returns a p-value or takes a level.

They are tests themselves, so tests/statistical/test_noise_checks.py tests them: they accept the
true distribution as often as they say and reject every wrong one that the other tests rely on.
"""

import math

import numpy as np
from scipy.stats import binom, chi2, norm

# Level of each check of draws from the system, which are others in every run.
#
# A run holds 83 p-values against it: 61 in test_vectorised_draws, 16 in test_additive, 4 in
# test_sampling, 1 in test_selection, 1 in test_choice (all in tests/mechanisms).
# Some are of chi-square or normal approximations, whose tails are up to six times as heavy there.
# So a correct sampler fails a run with probability below 83 * 6e-9 < 1e-6. Controls, which must be
# rejected, are at least eight standard deviations beyond the level, or draw from a seed.
LEVEL = 1e-9


def variance_p(draws, sigma):
    """Two-sided p-value of 'the variance is sigma^2', for draws that are nearly normal.

    sum z^2 / sigma^2 is chi-square with n degrees of freedom. With n = 20,000 draws a relative
    error of the scale of r shifts it by 200 r standard deviations: at level 1e-6 a 5 % error is
    rejected with probability above 0.999.
    """
    statistic = float(np.sum((draws / sigma) ** 2))
    tail = min(chi2.cdf(statistic, len(draws)), chi2.sf(statistic, len(draws)))
    return min(1.0, 2 * float(tail))


def mean_p(draws, sigma):
    """Two-sided p-value of 'the mean is 0'."""
    return float(2 * norm.sf(abs(float(np.mean(draws / sigma))) * math.sqrt(len(draws))))


def shape_p(draws, sigma, n_cells=40):
    """Chi-square p-value of 'these are discrete Gaussian draws of scale sigma'.

    Cells are about equally likely; their probabilities are exact sums for small scales, and for
    scales of 2**10 and above the normal distribution between half-integers, which is within
    1e-7 of them.
    """
    edges = np.unique(np.floor(norm.ppf(np.arange(1, n_cells) / n_cells) * sigma) + 0.5)
    probabilities = np.diff(_cumulative(edges, sigma), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    expected = len(draws) * probabilities
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    return float(chi2.sf(statistic, len(edges)))


def residue_p(draws, modulus=16):
    """Chi-square p-value of 'the lowest digits are uniform', for a scale well above ``modulus``.

    Draws that come from floating point with too few digits fail it.
    """
    counts = np.bincount(np.mod(draws, modulus), minlength=modulus)
    expected = len(draws) / modulus
    return float(chi2.sf(np.sum((counts - expected) ** 2) / expected, modulus - 1))


def dependence_p(draws, sigma, lag=1):
    """Two-sided p-value of 'draws that far apart are uncorrelated'."""
    z = draws / sigma
    statistic = float(np.sum(z[:-lag] * z[lag:])) / math.sqrt(len(z) - lag)
    return float(2 * norm.sf(abs(statistic)))


def all_p(draws, sigma):
    """Return every p-value by name."""
    return {
        "variance": variance_p(draws, sigma),
        "mean": mean_p(draws, sigma),
        "shape": shape_p(draws, sigma),
        "residues": residue_p(draws),
        "lag 1": dependence_p(draws, sigma),
        "lag 2": dependence_p(draws, sigma, 2),
    }


def check_scale(noise, *without):
    """Accept noise, and reject two thirds and three halves of it.

    Parameters
    ----------
    noise : callable (factor) -> draws, sigma
        Draws of the factor times their scale, and the scale.
    without : str
        Names of checks that are left out.
    """
    values = all_p(*noise(1.0))
    assert min(p for name, p in values.items() if name not in without) > LEVEL, values
    for factor in (2 / 3, 3 / 2):
        values = all_p(*noise(factor))
        assert values["variance"] < LEVEL
        assert values["shape"] < LEVEL


def binomial_p(successes, trials, probability):
    """Two-sided p-value of 'the probability of a success is this one'."""
    law = binom(trials, probability)
    return float(min(1.0, 2 * min(law.cdf(successes), law.sf(successes - 1))))


def _cumulative(edges, sigma):
    if sigma >= 2**10:
        return norm.cdf(edges / sigma)
    reach = math.ceil(40 * sigma)
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-(points**2) / (2 * sigma**2))
    total = np.cumsum(weights) / weights.sum()
    return total[np.floor(edges).astype(int) + reach]
