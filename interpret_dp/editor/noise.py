"""Simulated noise of a released curve, from a fixed public sequence of standard normals.

The sequence is no source of randomness: it is the same for everybody, protects nobody and decides
nothing but the third digit of a p-value. It comes from SHAKE-256, so that a p-value can be
recomputed bit for bit by anyone, whatever version of a generator they have.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["N_SIMULATIONS", "simulated_noise"]

FloatArray = NDArray[np.float64]

N_SIMULATIONS = 1_999
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
