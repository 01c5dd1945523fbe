"""The Gaussian mechanism on an integer lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.gaussian import lattice_sigma
from interpret_dp.mechanisms.entropy import Randomness

__all__ = ["gaussian_mechanism"]


def gaussian_mechanism(
    name: str,
    exact: NDArray[np.int64],
    *,
    sensitivity: int,
    mu: float,
    randomness: Randomness,
) -> tuple[NDArray[np.int64], float]:
    """Release integer sums with discrete Gaussian noise; each release is mu-GDP.

    Parameters
    ----------
    name : str
        Name of the release, for audits.
    exact : ndarray of int64, shape (n_releases, ...)
        Private sums on the lattice; the first axis stacks releases.
    sensitivity : int
        Bound on the L2 norm of the change of one release when one row is added or removed, in
        lattice units. It must hold for the integers themselves.
    mu : float
        Gaussian-DP parameter of each release.
    randomness : Randomness
        Source of the noise.

    Returns
    -------
    noisy : ndarray of int64, same shape
        Released.
    sigma : float
        Scale of the noise in lattice units; public.

    Notes
    -----
    sigma = sqrt((sensitivity / mu)**2 + 9): the discrete Gaussian of scale sigma is a
    post-processing of a continuous Gaussian of variance sigma**2 - 9, up to 1e-60 in delta
    (docs/proofs/lattice_gaussian.md).
    """
    sigma = lattice_sigma(sensitivity, mu)
    return randomness.perturb(name, exact, sensitivity, sigma), sigma
