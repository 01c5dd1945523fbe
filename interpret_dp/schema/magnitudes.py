"""A fixed public grid over all numbers: signed powers of two, and steps between them.

Where a column has no public bounds, a histogram over this grid, released with noise, shows in
which range its numbers lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interpret_dp.schema.cells import FloatArray, chunks, numbers_of
from interpret_dp.schema.columns import Values

__all__ = ["LARGEST_EXPONENT", "SMALLEST_EXPONENT", "MagnitudeGrid"]

SMALLEST_EXPONENT = -64
"""Numbers closer to zero than two to this power count as zero."""

LARGEST_EXPONENT = 64
"""Numbers of two to this power or more count as just below it."""


@dataclass(frozen=True)
class MagnitudeGrid:
    """Bins between signed powers of two, each octave cut into equal steps, and one bin at zero.

    Parameters
    ----------
    steps : int
        Bins per octave, at least 1: at 4, the octave from 4 to 8 has bins 4 to 5, 5 to 6 ...

    Notes
    -----
    Bins are in the order of their values: ``2 * n_signed + 1`` of them, zero in the middle.
    """

    steps: int = 1

    @property
    def n_signed(self) -> int:
        """Number of bins on each side of zero."""
        return (LARGEST_EXPONENT - SMALLEST_EXPONENT) * self.steps

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return 2 * self.n_signed + 1

    def bounds(self, first: int, last: int) -> tuple[float, float]:
        """Return the smallest and the largest value of a range of bins.

        Parameters
        ----------
        first, last : int
            Indices from 0, the last one included.

        Returns
        -------
        tuple of float
            Outer edges; the bin at zero counts as exactly 0.
        """
        # Adding zero turns -0.0 into 0.0.
        lower = 0.0 - self._outward(self.n_signed - first)
        return lower, self._outward(last - self.n_signed)

    def _outward(self, position: int) -> float:
        """Return the edge of a bin that points away from zero if ``position`` is above 0.

        Positions count from the bin at zero, away from it; one on the other side of zero, below
        0, has its edge next to zero, with the opposite sign.
        """
        if position == 0:
            return 0.0
        edge = position if position > 0 else -position - 1
        octave, step = divmod(edge, self.steps)
        size = math.ldexp(1.0 + step / self.steps, SMALLEST_EXPONENT + octave)
        return size if position > 0 else -size

    def counts(self, values: Values) -> npt.NDArray[np.int64]:
        """Count cells per bin, shape (n_bins,). Private.

        Each cell is placed by a rule that sees that cell alone. Cells that are missing, infinite
        or not numbers are not counted.

        Parameters
        ----------
        values : ndarray or pandas extension array, shape (n_rows,)
            A private column.
        """
        total = np.zeros(self.n_bins, dtype=np.int64)
        for rows in chunks(len(values)):
            found = numbers_of(values[rows])
            codes = self._codes(found[np.isfinite(found)])
            total += np.bincount(codes, minlength=self.n_bins)
        return total

    def _codes(self, numbers: FloatArray) -> npt.NDArray[np.int64]:
        # fraction is from 0.5 up to, but not including, 1; both outputs are exact.
        fraction, exponent = np.frexp(np.abs(numbers))
        octave = exponent.astype(np.int64) - 1 - SMALLEST_EXPONENT
        step = np.floor((2.0 * fraction - 1.0) * self.steps).astype(np.int64)
        position = np.clip(octave * self.steps + step, -1, self.n_signed - 1) + 1
        position[numbers == 0.0] = 0
        signed: npt.NDArray[np.int64] = np.where(numbers < 0.0, -position, position)
        return signed + self.n_signed
