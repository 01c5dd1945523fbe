"""The loop that turns random words into points of layers, compiled by numba.

Import it where it is needed: numba takes long to import.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from interpret_dp._compiled import compiled

# Of a word: which layer, the sign, low bits of the place, and 32 bits for its step.
_LAYER, _SIGN_BIT, _LOW_FROM, _STEP_FROM = (np.uint64(n) for n in (255, 8, 9, 32))
_LOW_32, _ONE = np.uint64(2**32 - 1), np.uint64(1)
LOW_BITS = 23

# Words of the operating system are read-only; one compilation serves others as well.
_WORDS = numba.types.Array(numba.uint64, 1, "C", readonly=True)
_TAKEN = (_WORDS, _WORDS, numba.uint64, _WORDS, _WORDS, *([numba.int64[::1]] * 3))
_SIGNATURE = numba.types.UniTuple(numba.int64, 2)(*_TAKEN)  # type: ignore[no-untyped-call]


@compiled(_SIGNATURE, error_model="numpy")
def _propose(
    words: NDArray[np.uint64],
    low_words: NDArray[np.uint64],
    shift: np.uint64,
    widths: NDArray[np.uint64],
    inner: NDArray[np.uint64],
    points: NDArray[np.int64],
    open_at: NDArray[np.int64],
    open_layers: NDArray[np.int64],
) -> tuple[int, int]:
    n_points = n_open = 0
    mask = (_ONE << shift) - _ONE
    from_same = low_words.shape[0] == 0
    for i in range(words.shape[0]):
        word = words[i]
        layer = word & _LAYER
        width = widths[layer]
        # Lemire 2019: without the few whose low half is small each step is equally likely.
        product = (word >> _STEP_FROM) * width
        rest = product & _LOW_32
        if rest < width and rest < (_LOW_32 - width + _ONE) % width:
            continue
        step = product >> _STEP_FROM
        low = word >> _LOW_FROM if from_same else low_words[i]
        magnitude = np.int64((step << shift) | (low & mask))
        # No branch for the sign, which nobody can foresee.
        minus = np.int64((word >> _SIGN_BIT) & _ONE)
        # Zero has two signs and counts once.
        if magnitude < minus:
            continue
        points[n_points] = (magnitude ^ -minus) + minus
        if step >= inner[layer]:
            open_at[n_open] = n_points
            open_layers[n_open] = layer
            n_open += 1
        n_points += 1
    return n_points, n_open


def propose(
    words: NDArray[np.uint64],
    low_words: NDArray[np.uint64],
    shift: int,
    widths: NDArray[np.uint64],
    inner: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return points of layers, and which of them may lie above the curve.

    Parameters
    ----------
    words : ndarray of uint64, shape (n,)
        Uniform. One says layer, sign and step of a point.
    low_words : ndarray of uint64, shape (n,) or (0,)
        Uniform, for the place within a step; none where ``shift`` is at most ``LOW_BITS``, so that
        ``words`` have bits enough.
    shift : int
        A step is 2**shift integers.
    widths, inner : ndarray of uint64, shape (256,)
        As :class:`~interpret_dp.mechanisms.vectorised.Layers` has them.

    Returns
    -------
    points : ndarray of int64, shape (n_points,)
        Points, with their signs, in order; a few words make none.
    open_at : ndarray of int64, shape (n_open,)
        Positions in ``points`` of those that are not surely below the curve; increasing.
    open_layers : ndarray of int64, shape (n_open,)
        Their layers.
    """
    points, open_at, open_layers = np.empty((3, len(words)), dtype=np.int64)
    bits = np.uint64(shift)
    given: Any = (words, low_words, bits, widths, inner, points, open_at, open_layers)
    n_points, n_open = _propose(*given)
    return points[:n_points], open_at[:n_open], open_layers[:n_open]
