"""What passes the door, as an attacker may see it: every release that was paid for.

The ledger charges for all releases of a fit, also for those that the model does not show. So an
attack may use them all, and along the direction in which one row moves them nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_real
from interpret_dp.audit.replaying import Recorded, Recording, Replaying
from interpret_dp.mechanisms import SystemRandomness, use_randomness

__all__ = ["LessNoise", "Passed", "Signal", "Watching", "signal_of"]

_Table = TypeVar("_Table")
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Passed:
    """One call of the mechanism: what it released, and the scale of its noise.

    Attributes
    ----------
    name : str
    noisy : ndarray of int64
    sigma : float
    """

    name: str
    noisy: Integers
    sigma: float


class Watching(SystemRandomness):
    """The operating system's noise, as in every fit, and a note of what was released.

    Selections and choices are not noted: the sums of the fit carry nearly all of its budget.
    """

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[Passed] = []

    def perturb(self, name: str, exact: Integers, sensitivity: int, sigma: float) -> Integers:
        """Release and note."""
        noisy = super().perturb(name, exact, sensitivity, sigma)
        self.passed.append(Passed(name, noisy.copy(), sigma))
        return noisy

    def perturb_sampled(
        self, name: str, exact: Integers, sensitivity: int, sigma: float
    ) -> Integers:
        """Release and note the sums of a sample."""
        noisy = super().perturb_sampled(name, exact, sensitivity, sigma)
        self.passed.append(Passed(name, noisy.copy(), sigma))
        return noisy


class LessNoise(Watching):
    """The negative control of an audit: a share of the noise that is declared and charged.

    For tests of audits only; guarantees that are made with it say so.

    Parameters
    ----------
    share : float
        0.5 for half of the noise.
    """

    tests_only = True

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = check_real("share", share, low=0, low_open=True, high=1)

    def noise(self, sigma: float, size: int) -> Integers:
        """Draw a share of what was asked for."""
        return super().noise(sigma * self._share, size)


@dataclass(frozen=True)
class Signal:
    """How one row moves the releases of a fit, in units of the variance of their noise.

    Attributes
    ----------
    directions : tuple of (str, ndarray of float64)
        For each release of sums, in order; empty where it is of another form without the row.
        Private, as exact sums are: audits run on tables that they made up.
    """

    directions: tuple[tuple[str, NDArray[np.float64]], ...]

    def along(self, passed: Sequence[Passed]) -> float:
        """Return how far a fit's releases lie in the row's direction.

        Where all sums of a fit are asked for whatever came before, this is the logarithm of the
        likelihood ratio, up to a constant: no attacker can do better. A release of another form
        than in the fit that the signal was taken from counts as nothing.
        """
        total = 0.0
        for (name, direction), one in zip(self.directions, passed, strict=False):
            if name == one.name and direction.size == one.noisy.size:
                total += float(direction @ one.noisy.ravel())
        return total


def signal_of(
    fit: Callable[[_Table], Any], with_row: _Table, without_row: _Table, *, seed: int = 0
) -> Signal | None:
    """Take the signal of a row from one fit, replayed without it.

    Parameters
    ----------
    fit : callable
        As :func:`interpret_dp.audit.replay` takes it.
    with_row, without_row : object
        Made-up tables that differ by the row.
    seed : int

    Returns
    -------
    Signal or None
        None for a fit that releases no sums through the door, such as one of another package.
    """
    recording = Recording(seed)
    with use_randomness(recording):
        fit(with_row)
    replaying = _Comparing(seed, recording)
    with use_randomness(replaying):
        fit(without_row)
    return Signal(tuple(replaying.directions)) if replaying.directions else None


class _Comparing(Replaying):
    """Notes how far apart the exact sums of both runs are."""

    def __init__(self, seed: int, recording: Recording) -> None:
        super().__init__(seed, recording)
        self.directions: list[tuple[str, NDArray[np.float64]]] = []

    def _note(self, name: str, exact: Integers, twin: Recorded | None) -> None:
        direction = np.zeros(0)
        if twin is not None and twin.exact.shape == exact.shape:
            apart = twin.exact.ravel().astype(np.float64) - exact.ravel().astype(np.float64)
            direction = apart / twin.sigma**2
        self.directions.append((name, direction))
