"""Rows of a regression with a log link: residuals of the Poisson and of the gamma deviance.

Means and relative errors are looked up in tables by steps of the score, so that a row's residual is
an integer that depends on that row alone, the same wherever it is computed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.kernels import (
    _TABLE_BITS,
    advance_gamma,
    advance_poisson,
)
from interpret_dp.backends.local import Codes, LocalRegressionRows
from interpret_dp.schema.cells import chunks

__all__ = [
    "LocalGammaRows",
    "LocalPoissonRows",
    "gamma_table",
    "log_edges",
    "log_means",
    "log_steps",
    "lowest_log_step",
    "poisson_table",
]

_STEPS = LATTICE >> _TABLE_BITS  # table entries per unit of score: 256
_ENTRIES = 16 * _STEPS  # means down to e**-16 of the largest


def lowest_log_step(upper: float) -> int:
    """Return the step of the score at which :func:`log_means` begins."""
    return math.floor(math.log(upper if upper > 0 else 1.0) * _STEPS) - _ENTRIES + 1


def log_means(lower: float, upper: float) -> NDArray[np.float64]:
    """Tabulate exp(score), clipped into [lower, upper], in steps of 1/256 of a score.

    Returns
    -------
    ndarray of float64, shape (4096,)
        In the middle of each step; entry 0 is of :func:`lowest_log_step`.
    """
    scores = (lowest_log_step(upper) + np.arange(_ENTRIES) + 0.5) / _STEPS
    return np.clip(np.exp(scores), lower, upper)


def poisson_table(lower: float, upper: float, clip: float) -> NDArray[np.int32]:
    """Return :func:`log_means` on the lattice, centred as targets are; int32, shape (4096,).

    In units of ``clip / LATTICE``, truncated towards zero.
    """
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    means = log_means(lower, upper) - middle
    limit = int(half / clip * LATTICE)
    return np.clip(np.trunc(means / clip * LATTICE), -limit, limit).astype(np.int32)


def gamma_table(clip: float) -> NDArray[np.int32]:
    """Tabulate the relative error exp(gap) - 1 of a target ``exp(gap)`` times the mean.

    Parameters
    ----------
    clip : float
        At least 1. Errors are clipped here; they are never below -1.

    Returns
    -------
    ndarray of int32, shape (n_entries,)
        In units of ``clip / LATTICE``, truncated, from gaps of -16 to the first that is clipped.
    """
    gaps = (np.arange(_ENTRIES + math.ceil(math.log1p(clip) * _STEPS) + 1) + 0.5) / _STEPS - 16
    table = np.trunc(np.expm1(gaps) / clip * LATTICE)
    return np.clip(table, -LATTICE, LATTICE).astype(np.int32)


def log_steps(target: NDArray[np.float64], lower: float, upper: float) -> NDArray[np.int32]:
    """Return the logarithm of each target on the score lattice, in the middle of its step.

    Parameters
    ----------
    target : ndarray of float64, shape (n_rows,)
        From ``lower`` to ``upper``, both above 0.

    Notes
    -----
    By comparison with one table of edges: the last bit of a logarithm may depend on where in an
    array a number stands.
    """
    first = math.floor(math.log(lower) * _STEPS)
    steps = first + np.searchsorted(log_edges(lower, upper), target, side="right")
    return ((steps << _TABLE_BITS) + (1 << (_TABLE_BITS - 1))).astype(np.int32)


def log_edges(lower: float, upper: float) -> NDArray[np.float64]:
    """Return the targets at which the steps of :func:`log_steps` change, increasing."""
    first, last = (math.floor(math.log(bound) * _STEPS) for bound in (lower, upper))
    return np.exp(np.arange(first + 1, last + 1) / _STEPS)


class LocalPoissonRows(LocalRegressionRows):
    """Rows with a count; parameters as for :class:`LocalRegressionRows`, ``lower`` at least 0.

    Scores are logarithms of the mean. Residuals are target minus mean, clipped at ``clip``.
    """

    _kernel = staticmethod(advance_poisson)

    def clip_residuals(self, clip: float) -> None:
        """Choose the clipping bound of targets and means, before the first round."""
        super().clip_residuals(clip)
        self._table = poisson_table(*self._bounds, clip)
        self._lowest = lowest_log_step(self._bounds[1])


class LocalGammaRows(LocalRegressionRows):
    """Rows with an amount; parameters as for :class:`LocalRegressionRows`, ``lower`` above 0.

    Scores are logarithms of the mean. Residuals are target / mean - 1, clipped at ``clip``, which
    must be at least 1.
    """

    _kernel = staticmethod(advance_gamma)
    _lowest = -_ENTRIES

    def __init__(self, codes: Codes, target: NDArray[np.float64], **settings: Any) -> None:
        super().__init__(codes, target, **settings)
        for rows in chunks(len(self._numbers)):
            self._target[rows] = log_steps(self._numbers[rows], *self._bounds)

    def clip_residuals(self, clip: float) -> None:
        """Choose the clipping bound of relative errors, at least 1, before the first round."""
        self._table = gamma_table(clip)
