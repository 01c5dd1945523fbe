"""Effects with their noise: of one row's features, and ranks that noise could change."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from interpret_dp._validate import check_int
from interpret_dp.explanation.plots.parts import literal, number_text
from interpret_dp.released import AdditiveModel, AdditiveTerm
from interpret_dp.released.background import public_generator

# Conclusions from plausible curves: ranks of terms, and decisions that noise could change.
#
# Plausible curves are draws around the released ones (:meth:`AdditiveTerm.sample`), so they cost no
# privacy. Displays draw with a fixed seed: the same model always shows the same figures.

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

    Importance is the root mean square of the scores over the released rows, and the classes.

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
    draws = term.sample(_N_DRAWS, rng) ** 2
    weighted = np.tensordot(draws, term.weights, axes=(1, 0)).reshape(_N_DRAWS, -1)
    return np.asarray(np.sqrt(weighted.mean(axis=1) / max(float(term.weights.sum()), 1e-300)))


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


def of_hundred(share: float) -> str:
    """Return "97 of 100"; a share is never rounded to none or all."""
    if 0.995 <= share < 1:
        return "more than 99 of 100"
    if 0 < share < 0.005:
        return "fewer than 1 of 100"
    return f"{100 * share:.0f} of 100"


ERROR_BARS = 1.96
"""Standard errors on either side of an effect: 95 % of the added noise, for it by itself."""

FADED = 0.32
"""Opacity of what noise alone could give."""

_CHANCE = 0.05
_PROBABILITY = "probability of "
_LONGEST_OUTPUT = 60
_WIDE = 30


def faded_words(n_effects: int) -> str:
    """Say in a legend what is drawn faded among so many effects."""
    return "faded: could be noise" + ("" if n_effects == 1 else f", among {n_effects:,} effects")


def error_text(error: float) -> str:
    """Return what follows an effect in words: its error bar."""
    return f" ± {ERROR_BARS * error:.2g}" if np.isfinite(error) else " (noise not known)"


@dataclass(frozen=True)
class Influence:
    """Effects with the standard errors that the added noise gives them.

    Attributes
    ----------
    names : tuple of str, shape (n,)
    effects, errors : ndarray of float64, shape (n,)
        In units of the explained output; a standard error that is not known is NaN.
    """

    names: tuple[str, ...]
    effects: FloatArray
    errors: FloatArray

    @property
    def order(self) -> list[int]:
        """Indices, largest effect first; of equal ones, the earlier first."""
        return [int(i) for i in np.argsort(-np.abs(self.effects), kind="stable")]

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which effects noise alone would hardly give; True where the noise is not known.

        So large that, if all n effects were noise, one of them or more would be as large with a
        chance of at most 5 % (Bonferroni's bound): of the largest of 500 effects some are always
        far out.
        """
        reach = NormalDist().inv_cdf(1.0 - _CHANCE / (2.0 * max(1, len(self.names))))
        known = np.isfinite(self.errors)
        return np.asarray(~known | (np.abs(self.effects) > reach * np.where(known, self.errors, 0)))

    @property
    def words(self) -> str:
        """The number of significant effects, for the heading of a figure."""
        if not len(self.names):
            return "no effects"
        if not np.isfinite(self.errors).any():
            return "the size of the noise is not known"
        count = int(self.significant.sum())
        kind = "is" if count == 1 else "are"
        return f"{count:,} of {len(self.names):,} effects {kind} larger than noise"


@dataclass(frozen=True)
class RowInfluence:
    """One explained row.

    Attributes
    ----------
    features : Influence
    values : tuple, shape (n_features,)
        The row's cells: the caller's own, and protected by nothing.
    output : str
        What is explained, such as ``"probability of yes"``.
    predicted, actual : float
        That output at the row, as the model gives it; and what came true, NaN if not known.
    meaning : str
        What an effect is the result of.
    fit : mapping or None
        What a local fit predicts for the row (``prediction``), and the share of the variance around
        the row that it explains (``fidelity``).
    """

    features: Influence
    values: tuple[Any, ...]
    output: str
    predicted: float
    actual: float
    meaning: str
    fit: Mapping[str, float] | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RowInfluence:
        """Return the reading of a checked record."""
        return cls(
            features=Influence(
                tuple(str(name) for name in record["names"]),
                # What a row has nothing of does nothing.
                np.nan_to_num(np.asarray(record["scores"], dtype=np.float64)),
                np.asarray(record["standard_errors"], dtype=np.float64),
            ),
            values=tuple(record["values"]),
            output=textwrap.shorten(record["output"], _LONGEST_OUTPUT, placeholder=" …"),
            predicted=record["predicted"],
            actual=float((record.get("perf") or {}).get("actual", math.nan)),
            meaning=record["meaning"],
            fit=record.get("fit"),
        )

    @property
    def outcome(self) -> str:
        """Prediction for the row, and what came true if that is known."""
        text = f"{self.output[:1].upper()}{self.output[1:]}: {self._figure(self.predicted)}"
        if math.isnan(self.actual):
            return text
        if not self.output.startswith(_PROBABILITY):
            return f"{text}, actual: {number_text(self.actual)}"
        label = self.output.removeprefix(_PROBABILITY)
        return f"{text}, actual: {label if self.actual >= 0.5 else f'not {label}'}"

    @property
    def heading(self) -> str:
        """Cost and, below, the number of significant effects; for a figure's heading."""
        words = self.features.words
        if self.fit is not None:
            value, share = self.fit["prediction"], self.fit["fidelity"]
            is_share = self.output.startswith(_PROBABILITY)
            text = f"{100 * value:.0f} %" if is_share else number_text(value)
            part = "?" if math.isnan(share) else math.floor(100 * max(share, 0.0))
            words += f" · local fit: {text}, explains {part} % of the variance"
        return f"From the background: free\n{words}"

    @property
    def axis(self) -> str:
        """Meaning of an effect, as the title of an axis in two lines."""
        return f"change of the {literal(self.output)}<br>{literal(self.meaning)}"

    @property
    def is_sparse(self) -> bool:
        """Whether the row is one of many columns that are mostly 0, such as a bag of words."""
        zeros = sum(isinstance(value, int | float) and value == 0 for value in self.values)
        return len(self.values) > _WIDE and 2 * zeros >= len(self.values)

    def _figure(self, value: float) -> str:
        if self.output.startswith(_PROBABILITY) and 0 <= value <= 1:
            return f"{100 * value:.0f} %"
        return number_text(value)
