"""What a function makes of each partition's rows, as one lazy Dask array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from interpret_dp.backends.dask.collections import Pieces, da

__all__ = ["mapped_array"]


def mapped_array(
    function: Callable[..., NDArray[Any]], shared: Any, pieces: Pieces, form: NDArray[Any]
) -> Any:
    """Return a function of the rows of each partition as an array; nothing is computed here.

    Parameters
    ----------
    function : callable
        Called with ``shared`` and the pieces of a partition; returns one entry a row.
    shared : object
        Public; in the graph once.
    pieces : Pieces
    form : ndarray, shape (0, ...)
        What the function returns of no rows.

    Returns
    -------
    dask.array.Array
        One block a partition, of unknown length: rows are not counted.
    """
    # Names of tasks are random, not hashes of what they hold.
    once = delayed(shared, pure=False, traverse=False)
    call = delayed(function, pure=False)
    shape = (np.nan, *form.shape[1:])
    blocks = [
        da.from_delayed(call(once, *some), shape=shape, dtype=form.dtype) for some in pieces.pieces
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)
