"""Rows of a regression, and tables of residuals.

Means and functions of the gap of target and score are looked up in tables by steps of the score. So
a row's residual is an integer that depends on that row alone, the same wherever it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.lattice import LATTICE
from interpret_dp.backends.base import MAX_RESIDUAL, MAX_SCORE
from interpret_dp.backends.kernels import (
    _TABLE_BITS,
    advance_gap,
    advance_poisson,
    exponential_table,
)
from interpret_dp.backends.local import Codes, LocalRegressionRows
from interpret_dp.schema.cells import chunks

Residual: TypeAlias = Callable[[NDArray[np.float64], float], NDArray[np.float64]]

_STEPS = LATTICE >> _TABLE_BITS  # table entries per unit of score: 256
_ENTRIES = 16 * _STEPS  # means down to e**-16 of the largest
_LARGEST_SCORE = 2.0**20  # of a model as released; larger ones count as that


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


def means_at(scores: NDArray[np.float64], lower: float, upper: float) -> NDArray[np.float64]:
    """Return the entries of :func:`log_means` for some scores: a row's depends on nothing else."""
    means = log_means(lower, upper)
    places = np.clip(score_steps(scores) - lowest_log_step(upper), 0, len(means) - 1)
    return np.asarray(means[places.astype(np.int64)])


def class_odds(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return what is in proportion to the probability of each class, from that row alone.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_classes)

    Returns
    -------
    ndarray of int64, shape (n_rows, n_classes)
        From 0 to ``LATTICE``.
    """
    steps = score_steps(scores)
    gaps = steps.max(axis=1, keepdims=True) - steps
    table = exponential_table()
    return np.asarray(table[np.minimum(gaps, len(table) - 1).astype(np.int64)])


def score_steps(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step of a table in which each score lies, whatever the scores are."""
    return np.floor(np.clip(np.nan_to_num(scores), -_LARGEST_SCORE, _LARGEST_SCORE) * _STEPS)


def poisson_table(lower: float, upper: float, clip: float) -> NDArray[np.int32]:
    """Return :func:`log_means` on the lattice, centred as targets are; int32, shape (4096,).

    In units of ``clip / LATTICE``, truncated towards zero.
    """
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    means = log_means(lower, upper) - middle
    limit = int(min(half / clip * LATTICE, MAX_SCORE))
    return np.clip(np.trunc(means / clip * LATTICE), -limit, limit).astype(np.int32)


def gap_table(residual: Residual, clip: float) -> NDArray[np.int32]:
    """Tabulate a residual by the gap of target and score.

    Parameters
    ----------
    residual : callable
        From gaps and ``clip`` to residuals in units of the clip.
    clip : float

    Returns
    -------
    ndarray of int32, shape (8192,)
        In units of ``clip / LATTICE``, truncated, for gaps from -16 to 16. The loop over rows clips
        them at the bound of the residuals.
    """
    gaps = (np.arange(2 * _ENTRIES) + 0.5) / _STEPS - 16
    table = np.trunc(residual(gaps, clip) * LATTICE)
    return np.clip(table, -MAX_RESIDUAL, MAX_RESIDUAL).astype(np.int32)


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


class LocalGapRows(LocalRegressionRows):
    """Rows whose residual is a function of the gap of target and score, read from a table.

    Parameters
    ----------
    codes, target
        As for :class:`LocalRegressionRows`.
    residual : callable
        As for :func:`gap_table`.
    has_log_target : bool
        Whether the gap is that of the target's logarithm, ``lower`` being above 0. Else it is in
        units of the clip, as scores are.
    **settings
        As for :class:`LocalRegressionRows`.
    """

    _kernel = staticmethod(advance_gap)
    _lowest = -_ENTRIES

    def __init__(
        self,
        codes: Codes,
        target: NDArray[np.float64],
        *,
        residual: Residual,
        has_log_target: bool,
        **settings: Any,
    ) -> None:
        self._residual, self._has_log_target = residual, has_log_target
        super().__init__(codes, target, **settings)
        if has_log_target:
            for rows in chunks(len(self._numbers)):
                self._target[rows] = log_steps(self._numbers[rows], *self._bounds)

    def clip_residuals(self, clip: float) -> None:
        """Choose the clipping bound of residuals, before the first round."""
        if not self._has_log_target:
            super().clip_residuals(clip)
        self._table = gap_table(self._residual, clip)


def regression_rows(
    rule: str, residual: Residual, codes: Codes, target: NDArray[np.float64], **settings: Any
) -> LocalRegressionRows:
    """Return the rows of a regression.

    Parameters
    ----------
    rule : {"difference", "mean", "gap", "log gap"}
        The residual: target minus score, target minus exp(score), or ``residual`` of the gap of the
        target or its logarithm. The loop over rows clips each.
    residual : callable
        As for :func:`gap_table`.
    codes, target, **settings
        As for :class:`LocalRegressionRows`.
    """
    if rule == "difference":
        return LocalRegressionRows(codes, target, **settings)
    if rule == "mean":
        return LocalPoissonRows(codes, target, **settings)
    has_log_target = rule == "log gap"
    return LocalGapRows(codes, target, residual=residual, has_log_target=has_log_target, **settings)
