"""Counting the values that occur in a column, and writing released ones as levels.

The counts are private, and so is which values occur: they go to partition selection and nowhere
else. What a cell counts as depends on that cell alone.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.cells import cells_of, chunks, level_key, numbers_of
from interpret_dp.schema.columns import Values, is_category_coded
from interpret_dp.schema.declarations import Categorical, Level, level_label

__all__ = ["count_occurring", "levels_of_keys", "number_kind"]

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
        infinity, or a number of 2**53 and beyond.
    """
    if is_category_coded(values):
        return _count_categories(values)
    total: Counter[Any] = Counter()
    for rows in chunks(len(values)):
        total += _count_chunk(values[rows])
    return {key: count for key, count in total.items() if _could_be_level(key)}


def _count_categories(values: Values) -> dict[str | float, int]:
    index = values.categories
    cells = index.to_numpy() if isinstance(index.dtype, np.dtype) else index.array
    codes = np.asarray(values.codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(index)).tolist()
    total: Counter[Any] = Counter()
    for cell, count in zip(cells, counts, strict=True):
        if count:
            total[level_key(cell)] += count
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
        return Counter(map(level_key, cells))


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
