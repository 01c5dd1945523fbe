"""The integer lattice on which every released sum and count lives."""

from __future__ import annotations

#: Lattice points per unit. A count of one row, a residual at its clipping bound and a centred
#: target at the end of its range are each this many lattice units. Fine enough that sigma is
#: above 2**10 for every mu below 1000, coarse enough that 8.8e12 rows fit into an int64 sum.
LATTICE = 2**20
#: Size of a vector of integers whose square, times the largest weight, is ``LATTICE``.
PRODUCT_UNIT = 2**4
