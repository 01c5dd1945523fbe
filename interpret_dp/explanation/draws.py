"""Conclusions from plausible curves: ranks of terms, and decisions that noise could change.

Plausible curves are draws around the released ones (:meth:`AdditiveTerm.sample`), so they cost no
privacy. Displays draw with a fixed seed: the same model always shows the same figures.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from interpret_dp._validate import check_int
from interpret_dp.released import AdditiveModel, AdditiveTerm
from interpret_dp.released.background import public_generator

__all__ = [
    *("decision_shares", "decision_text", "drawn_curves"),
    *("of_hundred", "top_k", "top_shares", "top_text"),
]

FloatArray = NDArray[np.float64]

_SEED = 0
# A share of so many draws has a standard error of at most 2.2 points.
_N_DRAWS = 500
_N_CURVES = 12
_LARGEST_K = 5


def drawn_curves(term: AdditiveTerm) -> FloatArray:
    """Return a few plausible curves of a term, shape (n_draws, ...), the same in each call."""
    return term.sample(_N_CURVES, public_generator(_SEED))


def top_k(model: AdditiveModel) -> int:
    """Return the number of leading terms that displays speak of; 0 where there is one term."""
    return min(_LARGEST_K, len(model.terms) - 1)


@lru_cache(maxsize=8)
def top_shares(model: AdditiveModel, k: int) -> dict[str, float]:
    """Return the share of draws in which each term is among the k of largest importance.

    Importance is the mean absolute score over the released rows, and the classes.

    Parameters
    ----------
    model : AdditiveModel
    k : int
        From 1 to the number of terms.

    Returns
    -------
    dict of str to float
        By name of the term. Terms whose noise is not known do not vary.

    Raises
    ------
    TypeError, ValueError
        If ``k`` is out of range.
    """
    k = check_int("k", k, low=1, high=len(model.terms))
    rng = public_generator(_SEED)
    importances = np.stack([_importances(term, rng) for term in model.terms], axis=1)
    leading = np.argpartition(-importances, k - 1, axis=1)[:, :k]
    counts = np.bincount(leading.ravel(), minlength=len(model.terms))
    return dict(zip(model.term_names, (counts / _N_DRAWS).tolist(), strict=True))


def _importances(term: AdditiveTerm, rng: np.random.Generator) -> FloatArray:
    draws = np.abs(term.sample(_N_DRAWS, rng))
    weighted = np.tensordot(draws, term.weights, axes=(1, 0)).reshape(_N_DRAWS, -1)
    return np.asarray(weighted.mean(axis=1) / max(float(term.weights.sum()), 1e-300))


def decision_shares(uncertain: FloatArray) -> list[float | None]:
    """Return how probable it is that plausible curves predict the same class for each row.

    Parameters
    ----------
    uncertain : ndarray of float64, shape (n_rows, 2) or (n_rows, 2, n_classes)
        Scores and their standard deviations, as ``predict_with_uncertainty`` returns them.

    Returns
    -------
    list of float or None
        None where the noise is not known. For two classes exact: the score is a sum of independent
        normal draws. For more classes a share of draws.
    """
    scores, deviations = uncertain[:, 0], uncertain[:, 1]
    if uncertain.ndim == 2:
        ratios = np.abs(scores) / np.where(deviations == 0, 1.0, deviations)
        shares = np.where(deviations == 0, 1.0, ndtr(ratios))
    else:
        noise = public_generator(_SEED).standard_normal((_N_DRAWS, scores.shape[-1]))
        shares = np.array(
            [_same_class(*row, noise) for row in zip(scores, deviations, strict=True)]
        )
    return [None if math.isnan(share) else float(share) for share in shares]


def _same_class(scores: FloatArray, deviations: FloatArray, noise: FloatArray) -> float:
    if np.isnan(deviations).any():
        return math.nan
    drawn = (scores + deviations * noise).argmax(axis=1)
    return float((drawn == scores.argmax()).mean())


def top_text(share: float, k: int) -> str:
    """Say how often a term is among the k most important."""
    leading = "the most important" if k == 1 else f"among the {k} most important"
    return f"without noise {leading} in {of_hundred(share)} plausible models"


def decision_text(share: float) -> str:
    """Say how often the decision about a row is the same."""
    return f"Without noise the decision would be the same in {of_hundred(share)} plausible models."


def of_hundred(share: float) -> str:
    """Return "97 of 100"; a share is never rounded to none or all."""
    if 0.995 <= share < 1:
        return "more than 99 of 100"
    if 0 < share < 0.005:
        return "fewer than 1 of 100"
    return f"{100 * share:.0f} of 100"
