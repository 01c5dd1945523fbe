"""Variance beyond a term's own noise: sampling error, and the noise of other terms.

Sampling. A fit without noise would still follow its rows: the score at which a bin's residuals
vanish differs from a smooth curve, by sampling error. Generalised linear models say by how much
(McCullagh and Nelder, 1989, "Generalized Linear Models", section 2.5): with a residual variance of
dispersion times curvature per row, its variance is the dispersion over the bin's rows times their
curvature. The noise that was added to other terms is in the scores of these rows, too.

Correlated terms. Rows are scored with all curves, so a curve is trained on what the others leave.
Let N_k be the deviation of the curve of term k that its own noise would make, R_k its response
(:mod:`interpret_dp.ebm.noise.propagation`), and P_kl the table that maps a curve of term l to its
mean in each bin of term k. Once boosting has settled, the deviations E meet

    E_k = N_k - R_k sum over l of P_kl E_l,

so that ``E = inverse(I + R P) N``: as in least squares, correlation inflates the variance of each
curve (Belsley, Kuh and Welsch, 1980, "Regression Diagnostics", chapter 3), and noise in one is
compensated by the other.

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

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.uncertainty import MOST_SAMPLING, TermNoise
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.correlations import Correlations

FloatArray = NDArray[np.float64]

# Where noise grows from round to round, its variance may be beyond any number.
_MAX_VARIANCE = 1e200


def sampling_variances(
    weights: FloatArray, curvatures: FloatArray, dispersion: float
) -> FloatArray:
    """Return the variance of each bin's score that sampling error explains.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_codes,)
        Released bin weights.
    curvatures : ndarray of float64, shape (n_codes, n_scores)
        Expected second derivative of the loss per row.
    dispersion : float
        Variance of a row's residual over its curvature; 1 for the log loss.

    Returns
    -------
    ndarray of float64, shape (n_codes, n_scores)
        In units of score squared.
    """
    n_scores = curvatures.shape[1]
    # Taking away what the classes have in common takes away that part of it.
    shared = 1.0 if n_scores == 1 else 1.0 - 1.0 / n_scores
    # A count may be smaller than its noise: a bin that moves is believed to have a row.
    rows = np.maximum(weights, 1.0)[:, np.newaxis]
    return np.asarray(shared * dispersion / np.maximum(rows * curvatures, 1e-12))


def explained_variance(
    scores: Sequence[FloatArray], noise: Sequence[TermNoise], bins: Sequence[Bins]
) -> float:
    """Return the variance of the predictions over the rows, less what noise has in it.

    Terms are taken as independent of one another.

    Parameters
    ----------
    scores : sequence of ndarray of float64, shape (n_codes,) or (n_codes, n_classes) each
        Before they are denoised.
    noise : sequence of TermNoise
    bins : sequence of Bins
    """
    total = 0.0
    for score, spread, b in zip(scores, noise, bins, strict=True):
        part = b.weights @ (score**2 - spread.diagonal) / max(float(b.weights.sum()), 1e-300)
        total += max(float(np.sum(part)), 0.0)
    return total


def noise_variance(noise: Sequence[TermNoise], bins: Sequence[Bins]) -> float:
    """Return the variance of the predictions over the rows that the added noise has in them.

    Parameters
    ----------
    noise : sequence of TermNoise
    bins : sequence of Bins
    """
    return float(np.sum([_mean_over_rows(one, b) for one, b in zip(noise, bins, strict=True)]))


def with_noise_of_others(
    noise: Sequence[TermNoise], bins: Sequence[Bins], pruned: Collection[int] = ()
) -> list[TermNoise]:
    """Add to the noise of each term what reaches it from the noise of independent others.

    Parameters
    ----------
    noise : sequence of TermNoise
        That of each term by itself.
    bins : sequence of Bins
    pruned : collection of int
        Terms of which nothing is in the scores of the rows.

    Notes
    -----
    The noise of a term has mean zero over all rows. Over the n rows that share a bin of another,
    independent term its mean has the variance of the noise over n, and that term follows it as it
    follows residuals. Where terms are correlated it is more (:func:`with_coupling`).
    """
    means = [
        (k not in pruned) * np.minimum(_mean_over_rows(one, b), _MAX_VARIANCE)
        for k, (one, b) in enumerate(zip(noise, bins, strict=True))
    ]
    total = np.sum(means, axis=0)
    return [
        _with_variances(one, (total - own) / np.maximum(b.weights, 1.0)[:, np.newaxis])
        for one, own, b in zip(noise, means, bins, strict=True)
    ]


def _mean_over_rows(noise: TermNoise, bins: Bins) -> FloatArray:
    """Return the mean variance of a term's noise over the rows, shape (n_scores,)."""
    variances = noise.diagonal.reshape(bins.n_codes, -1)
    return np.asarray(bins.weights @ variances / max(float(bins.weights.sum()), 1e-300))


def _with_variances(noise: TermNoise, added: FloatArray) -> TermNoise:
    """Add variances of what the bins' residuals vanish at, shape (n_codes, n_scores)."""
    variances = noise.diagonal
    largest = MOST_SAMPLING * variances.max(initial=0.0)
    if not 0 < largest < _MAX_VARIANCE:
        return noise
    added = np.minimum(added, largest)
    if noise.covariance is None or noise.response is None:
        of_others = np.where(variances > 0, added.reshape(variances.shape), 0.0)
        return replace(noise, variances=variances + of_others)
    columns = added.T if noise.covariance.ndim == 3 else added[:, 0]
    through = noise.response * columns[..., np.newaxis, :]
    return replace(noise, covariance=noise.covariance + through @ noise.response.swapaxes(-1, -2))


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
    coupled = list(noise)
    if any(not _settles(noise[k]) for k in correlations.terms):
        return coupled
    shares = [bins[k].weights / bins[k].weights.sum() for k in correlations.terms]
    n_scores = noise[correlations.terms[0]].diagonal.reshape(len(shares[0]), -1).shape[1]
    ridge = 1.0 / max(full_steps, 1.0)
    parts = []
    for score in range(n_scores):
        own = [noise[k].of_score(score) for k in correlations.terms]
        parts.append(_coupled(own, shares, correlations, ridge))
    for place, k in enumerate(correlations.terms):
        coupled[k] = _joined(noise[k], [part[place] for part in parts])
    return coupled


def _settles(noise: TermNoise) -> bool:
    return bool((np.abs(noise.diagonal) < _LARGEST_VARIANCE).all())


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
    left, right, products = [], [], []
    for block, table, share, (spread, response) in zip(blocks, functions, shares, own, strict=True):
        left.append(table if response is None else response @ table)
        right.append(share[:, np.newaxis] * table)
        products.append(
            spread[:, np.newaxis] * right[-1] if spread.ndim == 1 else spread @ right[-1]
        )
        responses[block, block] = right[-1].T @ left[-1]
        variances[block, block] = right[-1].T @ products[-1]
    answer = np.linalg.solve(np.eye(len(matrix)) + matrix @ responses, matrix)
    compensated = answer @ variances @ answer.T
    coupled = []
    for block, (spread, _), u, c in zip(blocks, own, left, products, strict=True):
        # Of the matrix between functions of the term alone.
        shared = u @ answer[block, block]
        if spread.ndim == 1:
            square = np.einsum("bi,ij,bj->b", u, compensated[block, block], u)
            variance = spread - 2.0 * (shared * c).sum(axis=1) + square
            # A bin that no update moves has no noise, of whatever others.
            coupled.append(np.where(spread > 0, np.maximum(variance, 0.0), 0.0))
        else:
            cross = shared @ c.T
            coupled.append(spread - cross - cross.T + u @ compensated[block, block] @ u.T)
    return coupled


def _joined(noise: TermNoise, spreads: Sequence[FloatArray]) -> TermNoise:
    """Return a term's noise with other covariances, or variances, of its scores."""
    if noise.covariance is None or noise.response is None:
        return replace(noise, variances=np.stack(spreads, axis=1).reshape(noise.diagonal.shape))
    if noise.covariance.ndim == 2:
        return replace(noise, covariance=spreads[0])
    return replace(noise, covariance=np.stack(spreads))
