"""Fine histograms without what is likely noise, from released counts alone (post-processing).

Bins are found in fine counts that may be as noisy as they are high. They are sums of Haar wavelets
of several widths, each with the noise of a count; where rows are spread evenly, and where there are
none, nearly all wavelets are nothing else. How large those of a width are is learned from the
histograms of all features (empirical Bayes): a mixture of normal distributions, the narrowest of
them zero. A spike is far beyond the noise, and is kept as it is.

Sources: Coifman and Donoho (1995), "Translation-invariant de-noising"; Xing, Carbonetto and
Stephens (2021), "Flexible signal denoising via flexible empirical Bayes shrinkage", sections 2 and
3; Stephens (2017), "False discovery rates: a new deal", for the mixture.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["smoothed_counts"]

FloatArray = NDArray[np.float64]

# Variances a wavelet's coefficient may have been drawn with, in units of the noise's.
_VARIANCES = np.concatenate(([0.0], 4.0 ** np.arange(-2, 12)))
# What the estimate of their shares starts from, half of it at zero, weighs as much as so many
# coefficients.
_PRIOR_COEFFICIENTS = 10.0
_START = np.concatenate(([0.5], np.full(len(_VARIANCES) - 1, 0.5 / (len(_VARIANCES) - 1))))
_STEPS = 20
# Coefficients beyond so many noises are kept as they are; of others, the posterior mean is worked
# out at some, and interpolated between.
_BEYOND_NOISE = 1e4
_KNOTS = 512


def smoothed_counts(noisy: Sequence[FloatArray], noise: float) -> list[FloatArray]:
    """Return the posterior mean of each histogram; it may be negative, and sums are not kept.

    Parameters
    ----------
    noisy : sequence of ndarray of float64, shape (n_cells,) each
        Released counts of neighbouring cells, one histogram a feature.
    noise : float
        Standard deviation of the noise of each count, above 0; the noise is independent.
    """
    transformed = [_transformed(counts / noise) for counts in noisy]
    n_widths = max((len(details) for details, _ in transformed), default=0)
    means = [
        _posterior_means([details[k] for details, _ in transformed if k < len(details)], k)
        for k in range(n_widths)
    ]
    return [
        noise * _summed(details, widest, means)[: len(counts)]
        for counts, (details, widest) in zip(noisy, transformed, strict=True)
    ]


def _transformed(counts: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    """Return wavelets of each width at each place, narrowest first, and what is wider.

    Beyond its ends a histogram goes on as in a mirror.
    """
    level = np.concatenate((counts, counts[::-1]))
    details = []
    for k in range(int(np.log2(len(counts)))):
        right = np.roll(level, -(2**k))
        details.append((level - right) / np.sqrt(2.0))
        level = (level + right) / np.sqrt(2.0)
    return details, level


def _summed(
    details: Sequence[FloatArray], widest: FloatArray, means: Sequence[FloatArray]
) -> FloatArray:
    """Return the mean of what all wavelets say that cover a cell, after they were shrunk."""
    knots, level = _knots(), widest
    for k in reversed(range(len(details))):
        sizes = np.abs(details[k])
        kept = np.sign(details[k]) * np.interp(sizes, knots, means[k])
        kept = np.where(sizes > _BEYOND_NOISE, details[k], kept)
        as_left, as_right = level + kept, np.roll(level - kept, 2**k)
        level = (as_left + as_right) / (2.0 * np.sqrt(2.0))
    return level


def _posterior_means(coefficients: Sequence[FloatArray], k: int) -> FloatArray:
    """Return the posterior mean of a coefficient at each knot.

    Parameters
    ----------
    coefficients : sequence of ndarray of float64
        Of one width in all histograms.
    k : int
        Their width is 2 to the power of k + 1 cells: those of neighbours overlap.
    """
    apart = [c[: len(c) // 2 : 2 ** (k + 1)] for c in coefficients]
    spread = 1.0 + _VARIANCES
    likely = _densities(np.concatenate(apart), spread)
    shares = start = _START
    # Expectation-maximisation, the same number of steps for every table.
    for _ in range(_STEPS):
        found = likely * shares
        counted = (found / found.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = counted + _PRIOR_COEFFICIENTS * start
        shares /= shares.sum()
    knots = _knots()
    posterior = _densities(knots, spread) * shares
    posterior /= posterior.sum(axis=1, keepdims=True)
    means: FloatArray = knots * (posterior @ (_VARIANCES / spread))
    return means


def _knots() -> FloatArray:
    return np.asarray(np.sinh(np.linspace(0.0, np.arcsinh(_BEYOND_NOISE), _KNOTS)))


def _densities(values: FloatArray, variances: FloatArray) -> FloatArray:
    """Return normal densities up to a factor for each value, one column a variance."""
    logs = -0.5 * values[:, np.newaxis] ** 2 / variances - 0.5 * np.log(variances)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))
