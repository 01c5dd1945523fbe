"""The Gaussian mechanism on an integer lattice, for sums of all rows or of a Poisson sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.gaussian import lattice_sigma
from interpret_dp.accounting.rounding import reciprocal_down
from interpret_dp.mechanisms.entropy import Randomness
from interpret_dp.mechanisms.vectorised import LARGEST_SIGMA


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
        Bound on the L2 norm of the change of one release between neighbouring tables, in lattice
        units. It must hold for the integers themselves.
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

    Raises
    ------
    TypeError
        If ``exact`` holds anything but 64-bit integers, for which nothing is proved.
    ValueError
        If sigma would be above 2**56.

    Notes
    -----
    sigma = sqrt((sensitivity / mu)**2 + 9), and at least 2**10: the discrete Gaussian of scale
    sigma is a post-processing of a continuous Gaussian of variance sigma**2 - 9, up to 1e-60 in
    delta (docs/proofs/lattice_gaussian.md).
    """
    _refuse_other_types(name, exact)
    sigma = noise_scale(name, sensitivity, mu)
    return randomness.perturb(name, exact, sensitivity, sigma), sigma


def sampled_gaussian_mechanism(
    name: str,
    n_rows: int,
    sums: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    *,
    sensitivity: int,
    noise_multiplier: float,
    probability: float,
    randomness: Randomness,
) -> tuple[NDArray[np.int64], float]:
    """Release integer sums over a fresh Poisson sample of the rows, with Gaussian noise.

    Parameters
    ----------
    name : str
        Name of the release, for audits.
    n_rows : int
        Private number of rows.
    sums : callable
        Gives the sums, ndarray of int64, of the rows at the positions that it is handed (ndarray
        of int64, increasing). Whatever it does with them must not depend on other rows.
    sensitivity : int
        Bound on the L2 norm of what one row adds, in lattice units. It must hold for the integers.
    noise_multiplier : float
        Noise scale over the sensitivity.
    probability : float
        With which each row is in the sample.
    randomness : Randomness

    Returns
    -------
    noisy : ndarray of int64
        Released.
    sigma : float
        Scale of the noise in lattice units; public.

    Raises
    ------
    TypeError
        If the sums are not of 64-bit integers.
    ValueError
        If sigma would be above 2**56.

    Notes
    -----
    Statement and proof: ``docs/proofs/sampled_gaussian.md``.
    """
    sigma = noise_scale(name, sensitivity, reciprocal_down(noise_multiplier))
    exact = sums(randomness.sample(n_rows, probability))
    _refuse_other_types(name, exact)
    return randomness.perturb_sampled(name, exact, sensitivity, sigma), sigma


def _refuse_other_types(name: str, exact: NDArray[Any]) -> None:
    if exact.dtype != np.int64:
        raise TypeError(
            f"The sums {name!r} are of type {exact.dtype}; they must be int64. Round them towards "
            "zero on the lattice first."
        )


def noise_scale(name: str, sensitivity: int, mu: float) -> float:
    """Return the scale of the noise of one release, in lattice units.

    Parameters
    ----------
    name : str
        Name of the release, for the message.
    sensitivity : int
        L2 sensitivity, in lattice units.
    mu : float
        Gaussian-DP parameter of the release.

    Raises
    ------
    ValueError
        If it would be above 2**56.
    """
    sigma = lattice_sigma(sensitivity, mu)
    if sigma > LARGEST_SIGMA:
        raise ValueError(
            f"Noise of {name!r} for sensitivity {sensitivity} at mu {mu:.6g} has sigma "
            f"{sigma:.6g} in lattice units; it must be at most {LARGEST_SIGMA:g} to fit into 64 "
            "bits. Ask for a larger epsilon or delta, or choose a coarser lattice."
        )
    return sigma
