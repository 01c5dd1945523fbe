"""Noise in the curves of correlated features: each follows the noise of all others.

Rows are scored with all curves, so a curve is trained on what the others leave. Let N_k be the
deviation of the curve of term k that its own noise would make, R_k its response
(:mod:`interpret_dp.ebm.noise.propagation`), and P_kl the table that maps a curve of term l to its
mean in each bin of term k. Once boosting has settled, the deviations E meet

    E_k = N_k - R_k sum over l of P_kl E_l,

so that ``E = inverse(I + R P) N``: as in least squares, what columns share is divided between them
in an uncertain way (the variance inflation of Belsley, Kuh and Welsch, 1980, "Regression
Diagnostics", chapter 3), and noise of the one is compensated by the other.

P is what :mod:`interpret_dp.ebm.trainer.correlations` knows of it: with F the orthonormal functions
of each term's bins, W its shares of the rows and G the correlations, ``P = F G F' W``. The inverse
is that of a matrix of the functions then (Woodbury), not of all bins.

Boosting ends before it has settled: noise in a combination of columns that hardly varies grows for
as long as there are rounds. After t full steps least squares by small steps is much as ridge
regression with a penalty of 1 / t (Ali, Kolter and Tibshirani, 2019, "A Continuous-Time View of
Early Stopping for Least Squares Regression", section 4), which is added to the variance of each
function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations

__all__ = ["with_coupling"]

FloatArray = NDArray[np.float64]

# Where noise grows from round to round, nothing settles.
_LARGEST_VARIANCE = 1e100


def with_coupling(
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    correlations: Correlations,
    *,
    full_steps: float,
) -> list[TermNoise]:
    """Return the noise of each term once the correlated terms have met.

    Parameters
    ----------
    noise : sequence of TermNoise
        That of each term by itself.
    bins : sequence of Bins
    correlations : Correlations
        Of the terms that rows are scored with.
    full_steps : float
        How many full steps a term has made: rounds times the share of a full step in each.
    """
    found = list(noise)
    if any(not _settles(noise[k]) for k in correlations.terms):
        return found
    shares = [bins[k].weights / bins[k].weights.sum() for k in correlations.terms]
    n_scores = noise[correlations.terms[0]].diagonal.reshape(len(shares[0]), -1).shape[1]
    ridge = 1.0 / max(full_steps, 1.0)
    parts = []
    for score in range(n_scores):
        own = [_score_of(noise[k], score) for k in correlations.terms]
        parts.append(_coupled(own, shares, correlations, ridge))
    for place, k in enumerate(correlations.terms):
        found[k] = _joined(noise[k], [part[place] for part in parts])
    return found


def _settles(noise: TermNoise) -> bool:
    return bool((np.abs(noise.diagonal) < _LARGEST_VARIANCE).all())


def _score_of(noise: TermNoise, score: int) -> tuple[FloatArray, FloatArray | None]:
    """Return covariance, or variances, and response of one of a term's scores."""
    if noise.covariance is None or noise.response is None:
        return noise.diagonal.reshape(len(noise.diagonal), -1)[:, score], None
    if noise.covariance.ndim == 2:
        return noise.covariance, noise.response
    return noise.covariance[score], noise.response[score]


def _coupled(
    own: Sequence[tuple[FloatArray, FloatArray | None]],
    shares: Sequence[FloatArray],
    correlations: Correlations,
    ridge: float,
) -> list[FloatArray]:
    """Return the covariances, or variances, of one score of each term.

    Notes
    -----
    With U the responses times F, and V = W F, ``inverse(I + U G V') = I - U X V'`` where ``X =
    inverse(I + G V' U) G``; the covariance of term k is that block of ``(I - U X V') C (I - V X'
    U')``, with C the terms' own.
    """
    functions, matrix = correlations.functions, correlations.matrix / (1.0 + ridge)
    ends = np.cumsum([table.shape[1] for table in functions])
    blocks = [slice(end - table.shape[1], end) for end, table in zip(ends, functions, strict=True)]
    responses, variances = np.zeros_like(matrix), np.zeros_like(matrix)
    left, right, carried = [], [], []
    for block, table, share, (spread, response) in zip(blocks, functions, shares, own, strict=True):
        left.append(table if response is None else response @ table)
        right.append(share[:, np.newaxis] * table)
        carried.append(
            spread[:, np.newaxis] * right[-1] if spread.ndim == 1 else spread @ right[-1]
        )
        responses[block, block] = right[-1].T @ left[-1]
        variances[block, block] = right[-1].T @ carried[-1]
    answer = np.linalg.solve(np.eye(len(matrix)) + matrix @ responses, matrix)
    compensated = answer @ variances @ answer.T
    found = []
    for block, (spread, _), u, c in zip(blocks, own, left, carried, strict=True):
        # Of the matrix between functions of the term alone.
        lost = u @ answer[block, block]
        if spread.ndim == 1:
            square = np.einsum("bi,ij,bj->b", u, compensated[block, block], u)
            met = spread - 2.0 * (lost * c).sum(axis=1) + square
            # A bin that no update moves has no noise, of whatever others.
            found.append(np.where(spread > 0, np.maximum(met, 0.0), 0.0))
        else:
            crossed = lost @ c.T
            found.append(spread - crossed - crossed.T + u @ compensated[block, block] @ u.T)
    return found


def _joined(noise: TermNoise, spreads: Sequence[FloatArray]) -> TermNoise:
    """Return a term's noise with other covariances, or variances, of its scores."""
    if noise.covariance is None or noise.response is None:
        return replace(noise, variances=np.stack(spreads, axis=1).reshape(noise.diagonal.shape))
    if noise.covariance.ndim == 2:
        return replace(noise, covariance=spreads[0])
    return replace(noise, covariance=np.stack(spreads))
