"""Signal or noise in a heat map: whether the noise of the mechanism explains all of its effects.

A pair is made of interactions alone, so that without any all of its scores would be those of the
noise, which is normal with the released covariance. The largest standardised score of any cell is
compared with that of simulated noise: p-values hold for all cells at once (familywise).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpret_dp.editor.noise import N_SIMULATIONS, simulated_noise
from interpret_dp.released import AdditiveTerm

__all__ = ["CellTest", "tested_cells"]

FloatArray = NDArray[np.float64]

# As for curves: a thousandth of the largest standard deviation is the least that is believed.
_LEAST_DEVIATION = 1e-4


@dataclass(frozen=True, eq=False)
class CellTest:
    """The cells of a heat map that noise was added to.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_tested,)
        Indices into the term's scores.
    scores, deviations, p_values : ndarray of float64, shape (n_tested,)
    """

    codes: NDArray[np.int64]
    scores: FloatArray
    deviations: FloatArray
    p_values: FloatArray


def tested_cells(term: AdditiveTerm) -> CellTest:
    """Return each cell's p-value: how often noise alone makes so clear an effect in any cell.

    Parameters
    ----------
    term : AdditiveTerm
        With the covariance of its noise.
    """
    if term.covariance is None:
        raise ValueError("The term's covariance is not known.")
    variances = np.diagonal(term.covariance)
    codes = np.flatnonzero(variances > 0)
    if not len(codes):
        nothing = np.zeros(0)
        return CellTest(codes, nothing, nothing, nothing)
    deviations = np.sqrt(variances[codes])
    deviations = np.maximum(deviations, _LEAST_DEVIATION * deviations.max())
    noise = simulated_noise(term.covariance[np.ix_(codes, codes)])
    null = (np.abs(noise) / deviations).max(axis=1)
    clear = np.abs(term.scores[codes]) / deviations
    counts = (null[:, np.newaxis] >= clear).sum(axis=0)
    p_values: FloatArray = (1.0 + counts) / (1.0 + N_SIMULATIONS)
    return CellTest(codes, term.scores[codes], deviations, p_values)
