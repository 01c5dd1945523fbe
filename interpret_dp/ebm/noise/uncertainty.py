"""How the added noise shows in the released curves: covariance across the bins of a term.

What is left out: noise that reaches a term through other, correlated terms, and the noise of the
bin weights themselves. Tests compare the result with repeated fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.denoising import Curve, denoise
from interpret_dp.ebm.noise.monotone import projected_variances
from interpret_dp.ebm.noise.propagation import noise_variances, unit_covariance
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.boosting import BoostingResult

__all__ = ["TermNoise", "denoised_terms", "no_noise", "term_noise"]

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
    response : ndarray of float64, shaped as ``covariance``, or None
        How boosting blurs the curve, until the term is denoised.
    """

    covariance: NDArray[np.float64] | None = None
    variances: NDArray[np.float64] | None = None
    response: NDArray[np.float64] | None = None


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
            both = [
                unit_covariance(updates, b.weights, column * b.weights, averaged_rounds)
                for column in curvature.T
            ]
            square, response = (np.stack(found) for found in zip(*both, strict=True))
            square *= noise**2
            if n_scores == 1:
                square, response = square[0], response[0]
            noises.append(TermNoise(covariance=square, response=response))
        else:
            columns = np.stack([noise_variances(*fact, **how, rng=rng) for fact in facts], axis=1)
            noises.append(TermNoise(variances=columns[:, 0] if n_scores == 1 else columns))
    return noises


def denoised_terms(
    scores: Sequence[NDArray[np.float64]],
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    is_ordered: Sequence[bool],
) -> tuple[list[NDArray[np.float64]], list[TermNoise]]:
    """Denoise the terms; return their curves, and the noise that was added to them.

    Parameters
    ----------
    scores : sequence of ndarray, shape (n_codes,) or (n_codes, n_classes) each
        Released curves.
    noise : sequence of TermNoise
        Of these curves.
    bins : sequence of Bins
    is_ordered : sequence of bool

    Notes
    -----
    An ordered term without ``covariance`` stays as it is: neighbours share their noise, and how
    much is not kept.
    """
    owners: list[int] = []
    curves: list[Curve] = []
    for k, (score, spread, b) in enumerate(zip(scores, noise, bins, strict=True)):
        if spread.covariance is None and is_ordered[k]:
            continue
        for index, column in enumerate(np.atleast_2d(score.T)):
            owners.append(k)
            curves.append(_curve(column, spread, b.weights, is_ordered[k], index, score.ndim))
    found = denoise(curves)
    means, spreads = list(scores), list(noise)
    for k in dict.fromkeys(owners):
        own = [one for owner, one in zip(owners, found, strict=True) if owner == k]
        columns = np.stack(own, axis=1)
        # What the classes have in common changes no probability.
        common = columns.mean(axis=1, keepdims=True) if len(own) > 1 else 0.0
        means[k] = (columns - common).reshape(scores[k].shape)
        # The noise that was added stays what is known of the curve, though denoising takes part of
        # it out: the posterior holds no bias of what was smoothed away, so that tests of a curve
        # against it reject far too often where rows are few.
        spreads[k] = replace(noise[k], response=None)
    return means, spreads


def _curve(
    scores: NDArray[np.float64],
    noise: TermNoise,
    weights: NDArray[np.float64],
    is_ordered: bool,
    index: int,
    n_axes: int,
) -> Curve:
    """Return one class's curve, or that of a term with one score."""
    if noise.covariance is None or noise.response is None:
        if noise.variances is None:
            raise ValueError("The noise of a term is unknown; it must be given to denoise it.")
        return Curve(scores, np.atleast_2d(noise.variances.T)[index], weights, is_ordered)
    if n_axes == 1:
        return Curve(scores, noise.covariance, weights, is_ordered, noise.response)
    return Curve(scores, noise.covariance[index], weights, is_ordered, noise.response[index])
