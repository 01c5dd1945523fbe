"""How the added noise shows in the released curves: covariance across the bins of a term.

What is left out: noise that reaches a term through other, correlated terms, and the noise of the
bin weights themselves. Tests compare the result with repeated fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.binning import Bins
from interpret_dp.ebm.boosting import BoostingResult
from interpret_dp.ebm.monotone_noise import projected_variances
from interpret_dp.ebm.propagation import noise_covariance, noise_variances

__all__ = ["TermNoise", "log_loss_curvatures", "mean_curvature", "no_noise", "term_noise"]

_NODES = 32
# A term keeps at most so many covariances: 512 bins, or 295 with three classes. They go into the
# model file, and a matrix of all 65,536 bins would take 34 GB.
_MOST_COVARIANCES = 512**2


@dataclass(frozen=True)
class TermNoise:
    """What is known of the added noise in one term, in units of score squared; public.

    Attributes
    ----------
    covariance : ndarray of float64, (n_codes, n_codes) or (n_classes, n_codes, n_codes), or None
        None where it would have more than 512**2 entries, and for a term that was kept
        monotone.
    variances : ndarray of float64, shape (n_codes,) or (n_codes, n_classes), or None
        Its diagonal, for a term without ``covariance``.
    """

    covariance: NDArray[np.float64] | None = None
    variances: NDArray[np.float64] | None = None


def log_loss_curvatures(result: BoostingResult, bins: Sequence[Bins]) -> list[NDArray[np.float64]]:
    """Return the expected second derivative of the log loss in each bin, from released numbers.

    It is the mean of p (1 - p) when the other terms' scores are taken as independent and normal.

    Returns
    -------
    list of ndarray of float64, shape (n_codes, n_scores) each
    """
    spreads = np.array(
        [
            b.weights @ scores**2 / max(b.weights.sum(), 1e-300)
            for b, scores in zip(bins, result.scores, strict=True)
        ]
    )
    curvatures = []
    for scores, own in zip(result.scores, spreads, strict=True):
        others = np.sqrt(np.maximum(spreads.sum(axis=0) - own, 0.0))
        curvatures.append(mean_curvature(result.intercept + scores, others))
    return curvatures


def mean_curvature(
    centres: NDArray[np.float64], spread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Average p (1 - p) over normal scores around ``centres``, by Gauss-Hermite quadrature.

    With several classes the others' scores stay at their centres.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    if centres.shape[1] > 1:
        rest = np.logaddexp.reduce(centres, axis=1, keepdims=True)
        own = np.exp(np.minimum(centres - rest, -1e-12))
        centres = np.log(own) - np.log1p(-own)
    averaged = np.zeros_like(centres)
    for node, weight in zip(nodes, weights, strict=True):  # one at a time: there may be many bins
        probabilities = 1.0 / (1.0 + np.exp(-np.clip(centres + spread * node, -500, 500)))
        averaged += weight * probabilities * (1.0 - probabilities)
    return averaged


def _is_narrow(n_codes: int, n_scores: int) -> bool:
    return n_scores * n_codes**2 <= _MOST_COVARIANCES


def no_noise(n_codes: int) -> TermNoise:
    """Return the noise of a term with one score that nothing was added to."""
    if _is_narrow(n_codes, 1):
        return TermNoise(covariance=np.zeros((n_codes, n_codes)))
    return TermNoise(variances=np.zeros(n_codes))


def term_noise(
    result: BoostingResult,
    bins: Sequence[Bins],
    directions: Sequence[int],
    *,
    averaged_rounds: int,
    curvatures: Sequence[NDArray[np.float64]],
    scale: float,
    rng: np.random.Generator,
) -> list[TermNoise]:
    """Return the noise of every term.

    Parameters
    ----------
    result : BoostingResult
    bins : sequence of Bins, one per term
    directions : sequence of {1, -1, 0}, one per term
        Of terms that are kept monotone: what a projection leaves of noise is no linear map, so that
        their variances are simulated.
    averaged_rounds : int
        How many of the last rounds were averaged.
    curvatures : sequence of ndarray of float64, shape (n_codes, n_scores), one per term
        Expected second derivative of the loss in each bin, in units of ``result``.
    scale : float
        Units of the released scores per unit of ``result``.
    rng : numpy.random.Generator
        For public choices.
    """
    n_scores = len(result.intercept)
    # Taking away what the classes have in common takes away that part of the noise.
    noise = scale * result.noise * (1.0 if n_scores == 1 else (1.0 - 1.0 / n_scores) ** 0.5)
    noises = []
    for k, (updates, b, curvature) in enumerate(zip(result.updates, bins, curvatures, strict=True)):
        facts = [(updates, b.weights, column) for column in curvature.T]
        how: dict[str, Any] = {"noise": noise, "averaged_rounds": averaged_rounds}
        if directions[k]:
            curve = scale * result.scores[k][:, 0]
            square = projected_variances(*facts[0], curve, directions[k], **how, rng=rng)
            noises.append(TermNoise(variances=square))
        elif _is_narrow(b.n_codes, n_scores):
            square = np.stack([noise_covariance(*fact, **how) for fact in facts])
            noises.append(TermNoise(covariance=square[0] if n_scores == 1 else square))
        else:
            columns = np.stack([noise_variances(*fact, **how, rng=rng) for fact in facts], axis=1)
            noises.append(TermNoise(variances=columns[:, 0] if n_scores == 1 else columns))
    return noises
