"""Noise that is drawn ahead: many short releases of one scale from a few long calls of a sampler.

Independent draws are the same whenever they are made. Each is handed out once, in the order in
which it was drawn, whatever is released with it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpret_dp.mechanisms.samplers import OPENDP_DRAWS, discrete_gaussian

__all__ = ["NoiseStock"]

# Beyond what goes to OpenDP, whose draws take a thousand times as long.
_DRAWS = 2 * OPENDP_DRAWS
# 64 KiB each. The rounds of an EBM have some ten: terms differ in their leaves.
_MOST_SCALES = 32

# One for all stocks, so that a fork can wait for it: no child inherits a lock that nobody opens.
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


class NoiseStock:
    """Draws that nobody has seen, of the scales that were asked for last.

    It is neither copied nor pickled with its draws, and a process that was forked finds it empty:
    noise that is used twice protects nothing. Threads may share it.
    """

    def __init__(self) -> None:
        self._empty()

    def _empty(self) -> None:
        self._draws: OrderedDict[float, NDArray[np.int64]] = OrderedDict()
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
            if self._process != os.getpid():
                self._empty()
            # Gone while a sampler runs: what fails half-way leaves nothing to use twice.
            draws = self._draws.pop(sigma, None)
            if draws is None or (size >= _DRAWS and not len(draws)):
                self._remember(sigma, np.zeros(0, dtype=np.int64))
                return discrete_gaussian(sigma, size)
            missing = size - len(draws)
            if missing > 0:
                more = discrete_gaussian(sigma, max(missing, _DRAWS))
                draws = np.concatenate([draws, more])
            self._remember(sigma, draws[size:])
            return draws[:size].copy()

    def _remember(self, sigma: float, draws: NDArray[np.int64]) -> None:
        self._draws[sigma] = draws
        if len(self._draws) > _MOST_SCALES:
            self._draws.popitem(last=False)
