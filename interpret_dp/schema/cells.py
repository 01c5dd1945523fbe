"""Scalar rules: the meaning of one cell, whatever the other cells of its column are.

Columns are read in chunks through functions of one cell (or of one category). Nothing here
looks for common types, unique values, minima or orders of a column, so that no cell can change
what another one means. The proof is in docs/proofs/encoding.md.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from operator import ne
from types import NoneType
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from interpret_dp.schema.columns import Values, category_values, is_category_coded
from interpret_dp.schema.declarations import Level

__all__ = [
    "FloatArray",
    "LevelTable",
    "cells_of",
    "chunks",
    "in_chunks",
    "is_category_coded",
    "is_interval",
    "level_key",
    "number_of",
    "numbers_of",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
CodeArray: TypeAlias = npt.NDArray[np.uint16]
_Found = TypeVar("_Found", np.float64, np.uint16)

# Small enough that the temporaries of a chunk stay in the processor's cache.
_CHUNK_ROWS: Final = 2**16

# Types whose equality and hash agree with level_key, so that a dict look-up is the scalar rule.
# (np.float32 is not one: NumPy calls np.float32(0.1) equal to 0.1 and hashes it differently.)
_PLAIN_FLOATS: Final = frozenset({float, np.float64})
_PLAIN_NUMBERS: Final = _PLAIN_FLOATS | {int, bool, np.int64, np.bool_}
_PLAIN_CELLS: Final = _PLAIN_NUMBERS | {str, np.str_, NoneType}


class _NoLevel:
    """Key of a cell that no level can be equal to."""


_NO_LEVEL: Final = _NoLevel()


def number_of(cell: object) -> float:
    """Return the number that a cell stands for; NaN if it is missing or cannot be read as one.

    Strings are read as Python's ``float`` reads them, bools are 0 and 1, numbers beyond the
    floats are infinities. Never raises.

    Parameters
    ----------
    cell : object
        Any cell of a table.
    """
    try:
        if not _is_number(cell) and not isinstance(cell, str):
            return math.nan
        if isinstance(cell, str):
            return float(str.__str__(cell))
        if isinstance(cell, numbers.Complex) and not isinstance(cell, numbers.Real):
            return float(cell.real) if cell.imag == 0 else math.nan
        try:
            return float(cell)  # type: ignore[arg-type]
        except OverflowError:
            return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except Exception:
        # A value must not decide whether fit raises, whatever its class does when it is read.
        return math.nan


def level_key(cell: object) -> object:
    """Return what a cell is compared by: a string, a float, None if missing, or no level's key.

    Strings are their own key. Numbers and bools are compared as floats. An interval of pandas is
    its text, such as ``"(0, 10]"``. None, NaN, ``pandas.NA`` and the various NaT are missing.
    Anything else equals no level. Never raises.

    Parameters
    ----------
    cell : object
        Any cell of a table, hashable or not.
    """
    try:
        return _level_key(cell)
    except Exception:
        # An object's own word on its class may be wrong, or no answer.
        return _NO_LEVEL


def _level_key(cell: object) -> object:
    if isinstance(cell, str):
        return str.__str__(cell)
    if _is_number(cell):
        number = number_of(cell)
        if not math.isnan(number):
            return number
        is_complex = isinstance(cell, numbers.Complex) and not isinstance(cell, numbers.Real)
        return _NO_LEVEL if is_complex else None
    if is_interval(cell):
        return str(cell)
    return None if _is_missing(cell) else _NO_LEVEL


def is_interval(cell: object) -> bool:
    """Return whether a cell is an interval of pandas."""
    # Whoever holds an object of pandas has imported pandas: no need to import it for the question.
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(cell) is pandas.Interval


def _is_number(cell: object) -> bool:
    # NumPy counts durations among the integers; their number depends on the unit.
    return isinstance(cell, numbers.Number | np.bool_) and not isinstance(cell, np.timedelta64)


def _is_missing(cell: object) -> bool:
    if cell is None or cell is np.ma.masked:
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    pandas = sys.modules.get("pandas")
    return pandas is not None and (cell is pandas.NA or cell is pandas.NaT)


def chunks(n_rows: int) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows in order."""
    for start in range(0, n_rows, _CHUNK_ROWS):
        yield slice(start, min(start + _CHUNK_ROWS, n_rows))


def in_chunks(
    values: Values, rule: Callable[[Values], npt.NDArray[_Found]]
) -> Iterator[tuple[slice, npt.NDArray[_Found]]]:
    """Yield the rows of each chunk of a column, and what a rule makes of their cells.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        A column. Where it is category-coded, the rule reads each category once.
    rule : callable
        An array form of a scalar rule, such as :func:`numbers_of`.
    """
    if not is_category_coded(values):
        for rows in chunks(len(values)):
            yield rows, rule(values[rows])
        return
    # The code of a missing cell is -1, which picks the last entry.
    missing = np.array([None], dtype=np.object_)
    by_category = np.concatenate([rule(category_values(values)), rule(missing)])
    for rows in chunks(len(values)):
        yield rows, by_category[values.codes[rows]]


def numbers_of(values: Values) -> FloatArray:
    """Return :func:`number_of` of each cell; meant for one chunk of a column.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        Cells, in whatever dtype they came.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Numbers; NaN where there is none. May share memory with ``values``.
    """
    if values.dtype.kind in "biuf":
        if isinstance(values, np.ndarray):
            # Long doubles beyond the floats become infinite without a word about it.
            with np.errstate(all="ignore"):
                return values.astype(np.float64, copy=False)
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    cells = cells_of(values)
    if set(map(type, cells)) <= _PLAIN_NUMBERS:
        try:
            return cells.astype(np.float64)
        except OverflowError:
            # An integer beyond the floats: cell by cell, which gives the others the same number.
            pass
    with np.errstate(all="ignore"):
        return np.fromiter(map(number_of, cells), dtype=np.float64, count=len(cells))


class LevelTable:
    """Look-up from cells to positions of levels: 0 missing, 1..L levels, L + 1 anything else.

    Parameters
    ----------
    levels : sequence of Level, shape (L,)
        Levels with different keys, as :class:`Categorical` keeps them.
    """

    def __init__(self, levels: Sequence[Level]) -> None:
        self.n_levels = len(levels)
        self._unseen = self.n_levels + 1
        self._by_key: dict[object, int] = {
            level_key(level): position for position, level in enumerate(levels, start=1)
        }
        # Numeric columns are looked up by bisection among the numeric levels.
        numeric = {key: at for key, at in self._by_key.items() if isinstance(key, float)}
        self._numbers = np.array(sorted(numeric), dtype=np.float64)
        self._positions = np.array([numeric[key] for key in sorted(numeric)], dtype=np.uint16)
        self._by_key[None] = 0

    def positions(self, values: Values) -> CodeArray:
        """Return the position of each cell's level; meant for one chunk of a column.

        Parameters
        ----------
        values : Values, shape (n_rows,)
            Cells, in whatever dtype they came.

        Returns
        -------
        ndarray of uint16, shape (n_rows,)
            0 for missing, 1..L for a level, L + 1 for anything else.
        """
        if values.dtype.kind in "biuf":
            return self._positions_of_numbers(numbers_of(values))
        return self._positions_of_cells(cells_of(values))

    def _positions_of_numbers(self, numbers: FloatArray) -> CodeArray:
        positions = np.full(len(numbers), self._unseen, dtype=np.uint16)
        if len(self._numbers):
            nearest = np.searchsorted(self._numbers, numbers)
            # A number beyond every level is compared with the last one.
            np.minimum(nearest, len(self._numbers) - 1, out=nearest)
            equal = self._numbers[nearest] == numbers
            positions[equal] = self._positions[nearest[equal]]
        positions[np.isnan(numbers)] = 0
        return positions

    def _positions_of_cells(self, cells: npt.NDArray[np.object_]) -> CodeArray:
        types = set(map(type, cells))
        if not types <= _PLAIN_CELLS:
            with np.errstate(all="ignore"):
                return np.fromiter(map(self._position, cells), np.uint16, count=len(cells))
        positions_by_key = map(self._by_key.get, cells, repeat(self._unseen))
        positions = np.fromiter(positions_by_key, dtype=np.uint16, count=len(cells))
        if types & _PLAIN_FLOATS:
            # NaN equals no key, not even itself: it is among the unseen so far.
            rows = np.flatnonzero(positions == self._unseen)
            is_nan = np.fromiter(map(ne, cells[rows], cells[rows]), dtype=np.bool_, count=len(rows))
            positions[rows[is_nan]] = 0
        return positions

    def _position(self, cell: object) -> int:
        return self._by_key.get(level_key(cell), self._unseen)


def cells_of(values: Values) -> npt.NDArray[np.object_]:
    """Return the cells of a column as Python objects, shape (n_rows,)."""
    if isinstance(values, np.ndarray):
        return values.astype(np.object_, copy=False)
    try:
        return np.asarray(values.to_numpy(dtype=np.object_), dtype=np.object_)
    except Exception:
        if not hasattr(values, "__arrow_array__"):
            raise
        # Arrow text that is not UTF-8. The error would quote the cell, and stop the whole fit.
        from interpret_dp.schema.columns import arrow_values

        return np.asarray(arrow_values(values.__arrow_array__()), dtype=np.object_)
