"""Minimise a quadratic over the unit ball, exactly: the trust-region problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spectrum", "minimum_on_ball"]

Floats = NDArray[np.float64]

# Bisection of a bracket of 64-bit floats cannot need more.
_STEPS = 200


@dataclass(frozen=True)
class Spectrum:
    """A symmetric matrix by its eigenvalues, which cost most of what is done with it.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        Eigenvalues, in ascending order.
    vectors : ndarray of float64, shape (n, n)
        Eigenvectors, one a column.
    """

    values: Floats
    vectors: Floats

    @classmethod
    def of_matrix(cls, second: Floats) -> Spectrum:
        """Return the spectrum of a symmetric matrix, shape (n, n)."""
        size = float(np.abs(second).max(initial=0.0)) or 1.0
        values, vectors = np.linalg.eigh(second / size)
        return cls(values * size, vectors)

    def raised(self, least: float) -> Spectrum:
        """Return the matrix with every eigenvalue below ``least`` replaced by it."""
        return Spectrum(np.maximum(self.values, least), self.vectors)

    def shifted_inverse(self, shift: float) -> Floats:
        """Return the inverse of the matrix plus ``shift`` times the identity, shape (n, n).

        Parameters
        ----------
        shift : float
            Such that every eigenvalue of the sum is above 0.
        """
        inverse: Floats = (self.vectors / (self.values + shift)) @ self.vectors.T
        return inverse


def minimum_on_ball(
    second: Floats | Spectrum, first: Floats, radius: float = 1.0
) -> tuple[Floats, float]:
    """Return a global minimum of ``phi' A phi - 2 b' phi`` over ``||phi|| <= radius``.

    Parameters
    ----------
    second : ndarray of float64, shape (n, n), or Spectrum
        A: symmetric, definite or not.
    first : ndarray of float64, shape (n,)
        b.
    radius : float, default=1
        Above 0.

    Returns
    -------
    phi : ndarray of float64, shape (n,)
    multiplier : float
        The number with ``(A + multiplier I) phi = b``, at least 0, and 0 inside the ball.

    Notes
    -----
    phi is a global minimum if, and only if, A + multiplier I is positive semidefinite and the
    multiplier is 0 or ||phi|| is the radius (Moré and Sorensen 1983, Lemmas 2.1 and 2.3). In A's
    eigenbasis ||phi|| decreases in the multiplier, which bisection finds. In the 'hard case', where
    b is orthogonal to the eigenvectors of a lowest eigenvalue below 0, one of them fills phi up to
    the radius.
    """
    spectrum = second if isinstance(second, Spectrum) else Spectrum.of_matrix(second)
    if radius != 1.0:
        # In units of the radius it is the unit ball.
        scaled = Spectrum(spectrum.values * radius**2, spectrum.vectors)
        phi, multiplier = minimum_on_ball(scaled, first * radius)
        return radius * phi, multiplier / radius**2
    vectors = spectrum.vectors
    size = float(max(np.abs(spectrum.values).max(initial=0.0), np.abs(first).max(initial=0.0)))
    if size == 0.0:
        return np.zeros_like(first), 0.0
    values, target = spectrum.values / size, vectors.T @ (first / size)
    least = max(0.0, -float(values[0]))
    if least == 0.0:
        inside = _divided(target, values)
        if np.linalg.norm(inside) <= 1.0:
            return vectors @ inside, 0.0
    # At this multiplier every |target / (values + multiplier)| sums to a norm of at most 1.
    low, high = least, least + float(np.linalg.norm(target))
    if np.linalg.norm(_divided(target, values + least)) < 1.0:
        phi = _divided(target, values + least)
        phi[0] += np.sqrt(max(0.0, 1.0 - float(phi @ phi)))
        return vectors @ phi, least * size
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        is_long = np.linalg.norm(_divided(target, values + middle)) > 1.0
        low, high = (middle, high) if is_long else (low, middle)
    phi = _divided(target, values + high)
    return vectors @ (phi / max(1.0, float(np.linalg.norm(phi)))), high * size


def _divided(target: Floats, values: Floats) -> Floats:
    """Return ``target / values``; 0 where both are nothing but rounding errors of a 0."""
    nothing = (np.abs(target) <= 1e-14) & (values <= 1e-14)
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(nothing, 0.0, target / np.where(nothing, 1.0, values))
