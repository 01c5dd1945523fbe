"""How much steeper the curves of two classes are than without noise.

Rows are scored with noisy curves while they are trained. The logistic function bends, so noise in a
score moves the mean probability of rows of that score towards one half, and boosting goes on until
the mean residuals vanish all the same: with curves that are steeper. That is how an error in the
regressors of a logistic regression attenuates its slopes, the other way round (Carroll, Ruppert,
Stefanski and Crainiceanu, 2006, "Measurement Error in Nonlinear Models", section 4.8).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interpret_dp.ebm.noise.sampling import explained_variance, noise_variance
from interpret_dp.ebm.noise.uncertainty import TermNoise
from interpret_dp.ebm.trainer.binning import Bins
from interpret_dp.ebm.trainer.curvature import mean_curvature, mean_probability

__all__ = ["steepness"]

FloatArray = NDArray[np.float64]

# More noise than that makes curves twice as steep, and nothing is known of them.
_LARGEST_NOISE = 10.0
_LARGEST_SCORE, _LARGEST_LEVEL = 12.0, 8.0
_NODES = 32
_LEAST_SIZE = 0.1
_STEPS = 10  # of Newton's method


def steepness(
    level: float,
    scores: Sequence[FloatArray],
    noise: Sequence[TermNoise],
    bins: Sequence[Bins],
    trained_with: Sequence[TermNoise],
) -> float:
    """Return the factor by which noise has made curves steeper, 1 or more.

    Parameters
    ----------
    level : float
        Intercept.
    scores : sequence of ndarray of float64, shape (n_codes,) each
        Released curves that rows are scored with, before they are denoised.
    noise : sequence of TermNoise
        Of each curve.
    bins : sequence of Bins
    trained_with : sequence of TermNoise
        Of each curve while rows were scored with it: the released one is an average.

    Notes
    -----
    Rows of score s without noise have log odds s. With noise n of the other terms in it they have
    those of ``E p(c + n)`` at a curve c, so that boosting looks for the c at which these are s. The
    factor is the slope of c on s over the rows, whose scores are taken as normal.
    """
    if not bins:
        return 1.0
    # A term's own noise is the same for all rows of a bin, and is no noise to them.
    others = noise_variance(trained_with, bins) * (1.0 - 1.0 / len(bins))
    spread = np.array([np.sqrt(min(others, _LARGEST_NOISE))])
    nodes, shares = np.polynomial.hermite_e.hermegauss(_NODES)
    size = max(np.sqrt(explained_variance(scores, noise, bins)), _LEAST_SIZE)
    # No score may make a probability that rounds to 0 or 1. Rarer classes are no steeper.
    level = min(max(level, -_LARGEST_LEVEL), _LARGEST_LEVEL)
    wanted = np.clip(level + size * nodes, -_LARGEST_SCORE, _LARGEST_SCORE)[:, np.newaxis]
    found = wanted.copy()
    for _ in range(_STEPS):
        mean = mean_probability(found, spread)
        told = mean * (1.0 - mean)
        found += (wanted - np.log(mean / (1.0 - mean))) * told / mean_curvature(found, spread)
    apart = shares * (wanted[:, 0] - shares @ wanted[:, 0] / shares.sum())
    return max(1.0, float(apart @ found[:, 0] / (apart @ wanted[:, 0])))
