"""Simulated noise of a released curve, from a fixed public sequence of standard normals.

The sequence is no source of randomness: it is the same for everybody, protects nobody and decides
nothing but the third digit of a p-value. It comes from SHAKE-256, so that a p-value can be
recomputed bit for bit by anyone, whatever version of a generator they have.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from interpret_dp.released import AdditiveTerm

__all__ = ["N_SIMULATIONS", "CellTest", "simulated_noise", "tested_cells"]

FloatArray = NDArray[np.float64]

N_SIMULATIONS = 1_999
# As for curves: a thousandth of the largest standard deviation is the least that is believed.
_LEAST_DEVIATION = 1e-4
_SEQUENCE = b"interpret_dp editor: standard normals, version 1"


@lru_cache(maxsize=4)
def _standard_normals(n_columns: int) -> FloatArray:
    """Return the sequence as a matrix, shape (N_SIMULATIONS, n_columns)."""
    from scipy.special import ndtri

    n_bytes = 8 * N_SIMULATIONS * n_columns
    words = np.frombuffer(hashlib.shake_256(_SEQUENCE).digest(n_bytes), dtype="<u8")
    # The 53 highest bits, moved off 0 and 1.
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    normals: FloatArray = ndtri(uniform).reshape(N_SIMULATIONS, n_columns)
    normals.setflags(write=False)
    return normals


def simulated_noise(covariance: FloatArray) -> FloatArray:
    """Return draws of a normal vector of mean 0, shape (N_SIMULATIONS, n_bins).

    Parameters
    ----------
    covariance : ndarray of float64, shape (n_bins, n_bins)
        Symmetric; eigenvalues below zero, which rounding makes, count as zero.
    """
    values, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    noise: FloatArray = _standard_normals(len(covariance)) @ factor.T
    return noise


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

    A pair is made of interactions alone, so that without any all of its scores would be those of
    the noise, which is normal with the released covariance. The largest standardised score of any
    cell is compared with that of simulated noise: p-values hold for all cells at once
    (familywise).

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
