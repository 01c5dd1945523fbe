"""Log loss of two classes or more: residual 1{y} - p; Hessian p (1 - p).

A full Newton step divides a leaf's residual sum by the sum of p (1 - p) over its rows. That sum
would be a release; here the expected p (1 - p) of each bin takes its place, with the other terms'
scores as independent and normal.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.config import LossScale, TrainerConfig
from interpret_dp.ebm.losses.base import Loss, Start, Terms

FloatArray = NDArray[np.float64]

# Of the quadrature over the other terms' scores.
_NODES, _ROUGH_NODES = 32, 8


@dataclass(frozen=True)
class LogLoss(Loss):
    """Log loss, with one score for two classes and one a class for more."""

    link = "logit"
    rule = "probability"
    is_classification = True

    def start(
        self, sums: FloatArray, noise: float, norm: float, config: TrainerConfig, has_scores: bool
    ) -> Start:
        """Return the start of boosting; ``sums`` are the rows of each class."""
        # A class may be smaller than its noise: no count is believed to be below one noise unit.
        counts = np.maximum(sums, noise)
        shares = counts / counts.sum()
        curvature = float(np.mean(shares * (1.0 - shares)))
        scale = LossScale(
            curvature=4.0 * curvature, step=1.0 / curvature, norm=norm, start_curvature=curvature
        )
        logs = np.log(counts)
        levels = logs[1:] - logs[0] if len(counts) == 2 else logs - logs.mean()
        # Scores that rows start from know of the classes' sizes already.
        level = np.zeros_like(levels) if has_scores else levels
        return Start(float(counts.sum()), level, scale, self, has_scores)

    def curvatures(
        self, scores: Terms, level: FloatArray, weights: Terms, average: float, rough: bool = False
    ) -> list[FloatArray]:
        """Return the expected p (1 - p) in each bin, terms being independent."""
        own = np.array(
            [
                w @ term**2 / max(float(w.sum()), 1e-300)
                for term, w in zip(scores, weights, strict=True)
            ]
        )
        variances = np.maximum(own.sum(axis=0) - own, 0.0)
        sizes = [len(term) for term in scores]
        spread = np.repeat(np.sqrt(variances), sizes, axis=0)
        n_nodes = _ROUGH_NODES if rough else _NODES
        curvature = self.mean_curvature(level + np.concatenate(scores), spread, n_nodes)
        return np.split(curvature, np.cumsum(sizes)[:-1])

    def mean_curvature(
        self, centres: FloatArray, spread: FloatArray, n_nodes: int = _NODES
    ) -> FloatArray:
        """Average p (1 - p) over normal scores around ``centres``, by Gauss-Hermite quadrature.

        With several classes the others' scores stay at their centres.
        """
        nodes, weights = _quadrature(n_nodes)
        if centres.shape[1] > 1:
            # Against all other classes together.
            rest = np.logaddexp.reduce(centres, axis=1, keepdims=True)
            own = np.exp(np.minimum(centres - rest, -1e-12))
            centres = np.log(own) - np.log1p(-own)
        averaged = np.zeros_like(centres)
        for node, weight in zip(nodes, weights, strict=True):  # one at a time: bins may be many
            probabilities = 1.0 / (1.0 + np.exp(-np.clip(centres + spread * node, -500, 500)))
            averaged += weight * probabilities * (1.0 - probabilities)
        return averaged


@functools.cache
def _quadrature(n_nodes: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return nodes and weights, which add up to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return tuple(nodes.tolist()), tuple((weights / weights.sum()).tolist())
