"""Poisson samples of rows, and releases of their sums: each step of a training.

Statement and proof: ``docs/proofs/sampled_gaussian.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpret_dp.accounting.rounding import reciprocal_down
from interpret_dp.mechanisms.additive import noise_scale

if TYPE_CHECKING:
    from interpret_dp.mechanisms.entropy import Randomness

__all__ = ["sampled_gaussian_mechanism", "sampled_rows", "system_bytes"]

ByteSource = Callable[[int], NDArray[np.uint8]]


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
    """
    sigma = noise_scale(name, sensitivity, reciprocal_down(noise_multiplier))
    exact = sums(randomness.sample(n_rows, probability))
    if exact.dtype != np.int64:
        raise TypeError(
            f"The sums {name!r} are of type {exact.dtype}; they must be int64. Round them towards "
            "zero on the lattice first."
        )
    return randomness.perturb_sampled(name, exact, sensitivity, sigma), sigma


def system_bytes(count: int) -> NDArray[np.uint8]:
    """Return independent uniform bytes from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(count), dtype=np.uint8)


def sampled_rows(
    n_rows: int, probability: float, first: ByteSource, more: ByteSource
) -> NDArray[np.int64]:
    """Return the positions of a Poisson sample.

    Parameters
    ----------
    n_rows : int
    probability : float
        Above 0 and at most 1. A row is in the sample with exactly this probability, rounded down
        to a multiple of 2**-64, independently of all others.
    first, more : callable
        Return as many independent uniform bytes, uint8, as they are asked for. Of ``first`` each
        row takes one; of ``more`` seven are taken by each row whose first byte leaves it open
        whether its number of 64 bits is below the probability, in order.

    Returns
    -------
    ndarray of int64, shape (n_sampled,)
        Increasing. Private, and so is their number.
    """
    threshold = int(Fraction(probability) * 2**64)
    if threshold >= 2**64:
        return np.arange(n_rows, dtype=np.int64)
    highest, rest = divmod(threshold, 2**56)
    leading = first(n_rows)
    inside = leading < highest
    open_rows = np.flatnonzero(leading == highest)
    digits = more(7 * len(open_rows)).reshape(-1, 7).astype(np.uint64)
    numbers = np.zeros(len(open_rows), dtype=np.uint64)
    for place in range(7):
        numbers = numbers << np.uint64(8) | digits[:, place]
    inside[open_rows] = numbers < rest
    return np.flatnonzero(inside).astype(np.int64, copy=False)
