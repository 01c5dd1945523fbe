"""Approximate bounds of a column, from a noisy histogram over signed powers of two.

The histogram is a Gaussian release like any other; what happens here is post-processing of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from interpret_dp.mechanisms.selection import normal_tail_quantile

__all__ = ["FALSE_ALARM", "occupied_range"]

#: Probability that an empty bin anywhere in the grid is taken for an occupied one, per column.
FALSE_ALARM = 1e-4

_NEIGHBOUR_FALSE_ALARM = 1e-3


def occupied_range(noisy: NDArray[np.int64], sigma: float) -> tuple[int, int] | None:
    """Return the first and the last bin of a noisy histogram that hold rows beyond doubt.

    Parameters
    ----------
    noisy : ndarray of int64, shape (n_bins,)
        Released counts, of bins in the order of their values, in lattice units.
    sigma : float
        Noise scale of each, in lattice units.

    Returns
    -------
    tuple of int, or None
        Indices from 0; None if no bin rises above the noise.

    Notes
    -----
    Two thresholds (docs/proofs/approximate_bounds.md). A bin anywhere must pass the one that all
    empty bins together pass with probability at most ``FALSE_ALARM``. From there the range grows
    while the next bin passes a lower one, since rows are likely next to rows, and a false alarm
    there widens the range by one bin only.
    """
    quantile = normal_tail_quantile(FALSE_ALARM / len(noisy))
    certain = np.flatnonzero(noisy > sigma * quantile)
    if not len(certain):
        return None
    likely = noisy > sigma * normal_tail_quantile(_NEIGHBOUR_FALSE_ALARM)
    first, last = int(certain[0]), int(certain[-1])
    while first > 0 and likely[first - 1]:
        first -= 1
    while last < len(noisy) - 1 and likely[last + 1]:
        last += 1
    return first, last
