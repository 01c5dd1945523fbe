"""Counts of what occurs in a column that is not declared: of values, and of magnitudes.

The counts are private, and so is which values occur. Counts of values go to partition selection,
counts on the fixed public grid of magnitudes into a noisy histogram that shows in which range the
numbers lie, and neither goes elsewhere. What a cell counts as depends on that cell alone.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.cells import (
    FloatArray,
    cells_of,
    chunks,
    is_interval,
    level_key,
    numbers_of,
)
from interpret_dp.schema.columns import Values, category_values, is_category_coded
from interpret_dp.schema.declarations import Categorical, Level, level_label

_PLAIN_TEXT = frozenset({str})


def count_occurring(values: Values) -> dict[str | float, int]:
    """Count the rows of each value that could be declared as a level. Private.

    Parameters
    ----------
    values : ndarray or pandas extension array, shape (n_rows,)
        A private column.

    Returns
    -------
    dict of str or float to int
        Number of rows by :func:`~interpret_dp.schema.cells.level_key`. A row is counted at most
        once: not at all if its cell is missing or could not be a level, such as a list, an
        infinity, or a number of 2**53 and beyond; or if it is an interval of pandas.
    """
    if is_category_coded(values):
        return _count_categories(values)
    total: Counter[Any] = Counter()
    for rows in chunks(len(values)):
        total += _count_chunk(values[rows])
    return {key: count for key, count in total.items() if _could_be_level(key)}


def _count_categories(values: Values) -> dict[str | float, int]:
    codes = np.asarray(values.codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(values.categories)).tolist()
    total: Counter[Any] = Counter()
    for cell, count in zip(category_values(values), counts, strict=True):
        if count:
            total[_countable_key(cell)] += count
    return {key: count for key, count in total.items() if _could_be_level(key)}


def _count_chunk(values: Values) -> Counter[Any]:
    if values.dtype.kind in "biuf":
        # Adding zero turns -0.0 into 0.0, which are one key.
        numbers, counts = np.unique(numbers_of(values) + 0.0, return_counts=True)
        return Counter(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    cells = cells_of(values).tolist()
    if set(map(type, cells)) <= _PLAIN_TEXT:
        return Counter(cells)
    with np.errstate(all="ignore"):
        return Counter(map(_countable_key, cells))


def _countable_key(cell: object) -> object:
    # Edges of intervals may have been read off the rows: undeclared ones are never released.
    return None if is_interval(cell) else level_key(cell)


def _could_be_level(key: object) -> bool:
    """Return whether a schema could declare this value; the rule of :class:`Categorical`."""
    if not isinstance(key, str | float):
        return False
    try:
        Categorical([key])
    except SchemaError:
        return False
    return True


def number_kind(values: Values) -> str | None:
    """Return how the column's type writes numbers: ``"b"``, ``"i"``, ``"f"``, or None if by value.

    Parameters
    ----------
    values : ndarray or pandas extension array
        Only its type is looked at.
    """
    if is_category_coded(values):
        return None
    return {"b": "b", "i": "i", "u": "i", "f": "f"}.get(values.dtype.kind)


def levels_of_keys(keys: Sequence[str | float], kind: str | None) -> list[Level]:
    """Write released values as levels, in the given order.

    Parameters
    ----------
    keys : sequence of str or float
        Released; public.
    kind : str or None
        As :func:`number_kind` returns it. None writes whole numbers as integers.

    Returns
    -------
    list of str, int, float or bool
        A value that would be written like an earlier one (``"1"`` after ``1``) is left out.
    """
    levels: dict[str, Level] = {}
    for key in keys:
        # One object a text: in a pickle, whether two names are one object shows, and the keys are
        # the very objects of some rows.
        level = sys.intern(key) if isinstance(key, str) else _number(key, kind)
        levels.setdefault(level_label(level), level)
    return list(levels.values())


def _number(key: float, kind: str | None) -> Level:
    if kind == "b":
        return bool(key)
    if kind == "f":
        return float(key)
    return int(key) if key.is_integer() else float(key)


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
            numbers = numbers_of(values[rows])
            codes = self._codes(numbers[np.isfinite(numbers)])
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
