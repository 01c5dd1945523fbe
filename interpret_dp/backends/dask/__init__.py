"""Rows on Dask workers: exact sums over partitions, and never noise.

Only this package imports Dask. Workers hold integer codes and answer with integer sums; which rows
are used, what is asked and what is released is decided by the caller.
"""

from __future__ import annotations

from interpret_dp.backends.dask.parts import Pieces, open_pieces
from interpret_dp.backends.dask.rows import DaskRows, Held, Partitions

__all__ = ["DaskRows", "Held", "Partitions", "Pieces", "open_pieces"]
