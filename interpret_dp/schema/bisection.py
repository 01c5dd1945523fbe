"""The loop that finds the bin of each number, compiled by numba: seconds a million rows fewer.

Import it where it is needed: numba takes long to import, and declaring a schema needs none of it.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from interpret_dp._compiled import compiled

# Of arrays that may be read-only, as pandas hands them out: one compilation serves both.
_NUMBERS = numba.types.Array(numba.float64, 1, "C", readonly=True)
_SIGNATURES = [
    numba.void(_NUMBERS, _NUMBERS, numba.int64[::1], codes)
    for codes in (numba.uint8[::1], numba.uint16[::1])
]
# Equally wide ranges between the first and the last cut, each with few cuts.
_RANGES = 1024


@compiled(*_SIGNATURES, error_model="numpy")
def _write_bins(
    numbers: npt.NDArray[np.float64],
    cuts: npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    codes: npt.NDArray[Any],
) -> None:
    n_cuts, n_ranges = cuts.shape[0], starts.shape[0] - 1
    per_number = 0.0
    if n_cuts > 1:
        per_number = n_ranges / (cuts[n_cuts - 1] - cuts[0])
    for row in range(numbers.shape[0]):
        number = numbers[row]
        if math.isnan(number):
            codes[row] = 0
            continue
        below = 0
        if n_cuts > 1:
            # A guess, wherever it lies; the comparisons at the end decide.
            place = (number - cuts[0]) * per_number
            if place >= n_ranges:
                below = n_cuts
            elif place > 0.0:
                below, above = starts[int(place)], starts[int(place) + 1]
                while below < above:
                    middle = (below + above) // 2
                    if cuts[middle] <= number:
                        below = middle + 1
                    else:
                        above = middle
        while below < n_cuts and cuts[below] <= number:
            below += 1
        while below > 0 and cuts[below - 1] > number:
            below -= 1
        codes[row] = below + 1


def write_bins(
    numbers: npt.NDArray[np.float64], cuts: npt.NDArray[np.float64], codes: npt.NDArray[Any]
) -> None:
    """Write 1 plus the number of cuts that are not above each number; 0 for NaN.

    Parameters
    ----------
    numbers : ndarray of float64, shape (n_rows,)
    cuts : ndarray of float64, shape (n_cuts,)
        Increasing.
    codes : ndarray of uint8 or uint16, shape (n_rows,)
        Where the codes are written.
    """
    places = np.linspace(0.0, 1.0, _RANGES + 1)
    starts = np.zeros(_RANGES + 1, dtype=np.int64)
    if len(cuts) > 1:
        starts = np.searchsorted(cuts, cuts[0] + places * (cuts[-1] - cuts[0]))
    _write_bins(np.ascontiguousarray(numbers), cuts, starts.astype(np.int64), codes)
