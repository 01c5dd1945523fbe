"""Posterior shares of a histogram's cells, from noisy counts (post-processing).

To set negative counts to zero would invent rows: of forty levels that nobody has, half would get
about as many rows as the noise is large. So each count has a sparse prior: it is zero, or comes
from an exponential distribution of one of several scales. How common each scale is, is estimated
from the counts of the same histogram (empirical Bayes).

Sources: Stephens (2017), "False discovery rates: a new deal", for the mixture of many scales;
Johnstone and Silverman (2004), "Needles and straw in haystacks", for zero beside a wide prior.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SharePosterior"]

FloatArray = NDArray[np.float64]

# Scales of the exponential distributions, in standard deviations of the noise; zero comes first.
_SCALES = 4.0 ** np.arange(-1, 9)
_RATES = np.concatenate(([0.0], 1.0 / _SCALES))
# What their frequencies start from, half of it at zero, weighs as much as so many cells.
_PRIOR_CELLS = 2.0
_START = np.concatenate(([0.5], np.full(len(_SCALES), 0.5 / len(_SCALES))))
_STEPS = 50
_FAR_BELOW = -30.0


class SharePosterior:
    """Posterior of the shares of cells, given their noisy counts.

    Parameters
    ----------
    counts : ndarray of float64, shape (n_cells,)
        Released counts, negative ones as they are.
    noise : ndarray of float64, shape (n_cells,)
        Standard deviation of the noise of each, above 0; the noise is independent.
    total : float
        Released number of rows, which is much less noisy than a sum of many counts.
    """

    def __init__(self, counts: FloatArray, noise: FloatArray, total: float) -> None:
        variances = noise**2
        excess = counts.sum() - total
        self._noise = noise
        self._counts = (counts - excess * variances / variances.sum()) / noise
        likely = _log_likelihoods(self._counts)
        frequencies = _START
        for _ in range(_STEPS):
            posterior = _normalised(likely + np.log(frequencies))
            frequencies = posterior.sum(axis=0) + _PRIOR_CELLS * _START
            frequencies /= frequencies.sum()
        self._components = _normalised(likely + np.log(frequencies))

    def mean(self) -> FloatArray:
        """Return the share of each cell at the posterior means of the counts."""
        from scipy.special import log_ndtr

        # The mean of a normal distribution cut off below zero; far below, that of an exponential.
        centres = self._counts[:, np.newaxis] - _RATES
        near = np.maximum(centres, _FAR_BELOW)
        ratios = np.exp(-0.5 * near**2 - log_ndtr(near)) / np.sqrt(2.0 * np.pi)
        means = np.where(centres < _FAR_BELOW, 1.0 / np.maximum(-centres, 1.0), near + ratios)
        means[:, 0] = 0.0
        return _shares(self._noise * (self._components * means).sum(axis=1))

    def draws(self, uniforms: FloatArray) -> FloatArray:
        """Return draws of the shares.

        Parameters
        ----------
        uniforms : ndarray of float64, shape (2, n_draws, n_cells)
            Independent numbers between 0 and 1.

        Returns
        -------
        ndarray of float64, shape (n_draws, n_cells)
            Each draw adds up to 1.
        """
        from scipy.special import ndtr, ndtri

        ends = self._components.cumsum(axis=1)
        component = (uniforms[0][..., np.newaxis] > ends).sum(axis=-1)
        component = np.minimum(component, len(_RATES) - 1)
        centres = self._counts - _RATES[component]
        # The upper tail of a normal distribution, which is exact where zero is far away.
        tail = np.maximum(ndtr(centres) * uniforms[1], np.finfo(np.float64).tiny)
        drawn = np.where(component == 0, 0.0, np.maximum(centres - ndtri(tail), 0.0))
        return _shares(self._noise * drawn)


def _log_likelihoods(counts: FloatArray) -> FloatArray:
    """Return log densities of counts with unit noise, one column a component of the prior."""
    from scipy.special import log_ndtr

    at_zero = -0.5 * counts**2 - 0.5 * np.log(2.0 * np.pi)
    rates, column = 1.0 / _SCALES, counts[:, np.newaxis]
    wide = np.log(rates) - rates * column + 0.5 * rates**2 + log_ndtr(column - rates)
    return np.column_stack([at_zero, wide])


def _normalised(logs: FloatArray) -> FloatArray:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _shares(counts: FloatArray) -> FloatArray:
    """Divide by the sum over the last axis; where it is zero all cells are alike."""
    totals = counts.sum(axis=-1, keepdims=True)
    alike = 1.0 / counts.shape[-1]
    return np.asarray(np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), alike))
