"""Noise that is drawn ahead: many short releases of one scale from a few long calls of a sampler.

Independent draws are the same whenever they are made. Each is handed out once, in the order in
which it was drawn, whatever is released with it.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.mechanisms.samplers import OPENDP_DRAWS, discrete_gaussian

__all__ = ["NoiseStock"]

# Beyond what goes to OpenDP, whose draws take a thousand times as long.
_DRAWS = 2 * OPENDP_DRAWS

# One for all stocks, so that a fork can wait for it: no child inherits a lock that nobody opens.
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class NoiseStock:
    """Draws of one scale that nobody has seen; another scale empties it.

    It is neither copied nor pickled with its draws, and a process that was forked finds it empty:
    noise that is used twice protects nothing. Threads may share it.
    """

    def __init__(self) -> None:
        self._empty()

    def _empty(self, sigma: float | None = None) -> None:
        self._sigma = sigma
        self._draws = np.zeros(0, dtype=np.int64)
        self._process = os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as an empty stock."""
        return NoiseStock, ()

    def take(self, sigma: float, size: int) -> NDArray[np.int64]:
        """Return ``size`` draws of :func:`~interpret_dp.mechanisms.samplers.discrete_gaussian`.

        Parameters
        ----------
        sigma : float
            Scale, in lattice units. The first call at a scale draws what it needs; the next ones,
            at the same scale, draw 8,192 at a time, unless they need more at once.
        size : int
        """
        with _lock:
            if sigma != self._sigma or self._process != os.getpid():
                self._empty(sigma)
                return discrete_gaussian(sigma, size)
            if size >= _DRAWS and not len(self._draws):
                return discrete_gaussian(sigma, size)
            missing = size - len(self._draws)
            if missing > 0:
                more = discrete_gaussian(sigma, max(missing, _DRAWS))
                self._draws = np.concatenate([self._draws, more])
            taken, self._draws = self._draws[:size].copy(), self._draws[size:]
            return taken
