"""Units of privacy: the rows of each person, and which of them are used.

Whether a row is used depends on the identifier, on the order of the rows of the same person, and
on a public key. So adding or removing a person changes nobody else's rows, whatever the key
(docs/proofs/neighbouring_tables.md).
"""

from __future__ import annotations

import datetime
import hashlib
import math
import numbers
import sys
import uuid
import zoneinfo
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from interpret_dp.schema.cells import (
    CodedColumn,
    Values,
    category_values,
    cells_of,
    is_category_coded,
    level_key,
    object_array,
)

Key: TypeAlias = str | bytes | int | float | Decimal | tuple[Any, ...]
Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]
_ALONE: Final = -1  # no identifier: the row is a unit of its own
_LEFT_OUT: Final = -2  # an identifier that cannot be told apart from others for certain

# Beyond this a float64 stands for several integers, so that two people would be taken for one.
_EXACT: Final = 2.0**53
_LONGEST_DECIMAL: Final = 100

# Steps of the Weyl sequence and mixing constants of SplitMix64 (Steele, Lea, Flood 2014).
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST_SHIFT: Final = np.uint64(31)


def kept_rows(identifiers: Values, max_rows: int, key: int) -> Mask:
    """Return which rows are used: at most ``max_rows`` of each unit. Private.

    Parameters
    ----------
    identifiers : Values, shape (n_rows,)
        The private identifier of each row's unit.
    max_rows : int
        Most rows of one unit.
    key : int
        64 public random bits, which decide what rows are drawn of a unit that has more.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Rows without an identifier are kept. Rows whose identifier is neither text nor a number
        that is known exactly are not: they might be somebody's who has other rows.
    """
    units, keys = _numbered(identifiers)
    return _kept(units, keys, max_rows, key)


def kept_counts(identifiers: Values, max_rows: int, key: int) -> Integers:
    """Return how many rows of its unit are used, for each row, as :func:`kept_rows` says. Private.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        0 for a row that is not used itself.
    """
    units, keys = _numbered(identifiers)
    return _counted(units, _kept(units, keys, max_rows, key))


def deal_units(identifiers: Values, n_buckets: int, key: int) -> list[Any]:
    """Deal the rows of one partition into buckets by their unit, so that each unit is in one.

    Parameters
    ----------
    identifiers : Values, shape (n_rows,)
        Private.
    n_buckets : int
    key : int
        64 public random bits.

    Returns
    -------
    list
        For each bucket its units, the unit of each of its rows, and where these rows stand; then
        which rows are used whatever the others are, shape (n_rows,). Private.
    """
    units, keys = _numbered(identifiers)
    bucket_of = np.array([_place(own, key) % n_buckets for own in keys], dtype=np.int64)
    has_unit = np.flatnonzero(units >= 0)
    buckets = bucket_of[units[has_unit]] if len(keys) else has_unit
    items: list[Any] = []
    for bucket in range(n_buckets):
        rows = has_unit[buckets == bucket]
        own, of_row = np.unique(units[rows], return_inverse=True)
        items.append(([keys[unit] for unit in own.tolist()], of_row.reshape(-1), rows))
    return [*items, units == _ALONE]


def kept_of_units(max_rows: int, key: int, counts: bool, items: list[Any]) -> list[Any]:
    """Return which rows of one bucket are used, as :func:`kept_rows` of the whole table says.

    Parameters
    ----------
    max_rows : int
    key : int
        As in :func:`kept_rows`.
    counts : bool
        Return what :func:`kept_counts` says.
    items : list
        The bucket's entry of :func:`deal_units` of every partition, in the order of their rows.

    Returns
    -------
    list of ndarray of bool or int64
        One for each partition. Private.
    """
    numbers_of_keys: dict[Key, int] = {}
    units = [np.zeros(0, dtype=np.int64)]
    for keys, of_row, _ in items:
        own = [numbers_of_keys.setdefault(one, len(numbers_of_keys)) for one in keys]
        units.append(np.array(own, dtype=np.int64)[of_row])
    of_rows = np.concatenate(units)
    used = _kept(of_rows, list(numbers_of_keys), max_rows, key)
    borders = np.cumsum([len(some) for some in units[1:]])
    return list(np.split(_counted(of_rows, used) if counts else used, borders)[:-1])


def noted_units(items: list[Any], answers: list[Any]) -> Any:
    """Return which rows of a partition are used, from :func:`deal_units` and each bucket's answer.

    Returns
    -------
    ndarray of bool or int64, shape (n_rows,)
        Private.
    """
    used = items[-1].astype(answers[0].dtype)
    for (_, _, rows), answer in zip(items[:-1], answers, strict=True):
        used[rows] = answer
    return used


def _place(own: Key, key: int) -> int:
    """Return what decides a unit's bucket: the same for equal keys, in every process."""
    if isinstance(own, tuple):
        return hash(tuple(_place(part, key) for part in own))
    if isinstance(own, str | bytes):
        return int(_hashes([own], key)[0])  # Python's own differs between processes
    return hash(own)  # of equal numbers of any type the same


def _counted(units: Integers, used: Mask) -> Integers:
    """Return how many used rows each used row's unit has; one without an identifier is alone."""
    counts = used.astype(np.int64)
    of_units = used & (units >= 0)
    counts[of_units] = np.bincount(units[of_units])[units[of_units]]
    return counts


def _kept(units: Integers, keys: list[Key], max_rows: int, key: int) -> Mask:
    used: Mask = units != _LEFT_OUT
    rows = np.flatnonzero(units >= 0)
    own = units[rows]
    rank = _rank_in_group(own)
    if rank.max(initial=0) < max_rows:
        return used
    priority = _mixed(_hashes(keys, key)[own] + _GOLDEN * rank.astype(np.uint64))
    drawn = np.lexsort((rank, priority, own))
    late = _rank_in_group(own[drawn]) >= max_rows
    used[rows[drawn[late]]] = False
    return used


def _rank_in_group(groups: Integers) -> Integers:
    """Return how many equal elements stand before each."""
    import pandas as pd

    return np.asarray(pd.Series(groups).groupby(groups).cumcount(), dtype=np.int64)


def _mixed(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    for shift, factor in _MIX:
        bits = (bits ^ (bits >> shift)) * factor
    return bits ^ (bits >> _LAST_SHIFT)


def _hashes(keys: list[Key], key: int) -> npt.NDArray[np.uint64]:
    """Return a keyed hash of each identifier, which depends on nothing else. Never raises."""
    secret = key.to_bytes(8, "little")
    digests = [hashlib.blake2b(_bytes(own), digest_size=8, key=secret).digest() for own in keys]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _bytes(key: Key) -> bytes:
    if isinstance(key, tuple):
        parts = [_bytes(part) for part in key]
        return b"parts " + b"".join(b"%d %b" % (len(part), part) for part in parts)
    if isinstance(key, bytes):
        return b"bytes " + key
    if isinstance(key, str):
        # Lone surrogates are text as well.
        return b"text " + key.encode("utf-8", "surrogatepass")
    # Hexadecimal: Python refuses to write integers of many digits otherwise.
    return b"number " + (f"{key:x}" if isinstance(key, int) else str(key)).encode()


def _numbered(identifiers: Values) -> tuple[Integers, list[Key]]:
    """Give each unit a number; return that of each row, and the identifier of each number."""
    if is_category_coded(identifiers):
        of_category, keys = _numbered_cells([*category_values(identifiers), None])
        return of_category[np.asarray(identifiers.codes)], keys
    if isinstance(identifiers, np.ndarray) and identifiers.dtype.kind in "biuf":
        # Rows of one number share its key.
        distinct, inverse = np.unique(identifiers, return_inverse=True)
        of_number, keys = _numbered_cells(distinct.tolist())
        return of_number[inverse], keys
    return _numbered_cells(cells_of(identifiers).tolist())


def _numbered_cells(cells: Iterable[Any]) -> tuple[Integers, list[Key]]:
    numbers_of_keys: dict[Key, int] = {}
    units = [
        own
        if isinstance(own := _unit_key(cell), _NoKey)
        else numbers_of_keys.setdefault(own, len(numbers_of_keys))
        for cell in cells
    ]
    return np.array(units, dtype=np.int64).reshape(len(units)), list(numbers_of_keys)


def n_without_unit(parts: Sequence[Values]) -> int:
    """Count the rows whose identifier, or a part of it, is missing or none; exact, private."""
    return int(np.any([_numbered(part)[0] < 0 for part in parts], axis=0).sum())


def joined_identifiers(columns: Sequence[Values]) -> CodedColumn:
    """Return the identifiers of which each row has a part in every column; private.

    A row that lacks a part is left out, by an identifier without any.
    """
    import pandas as pd

    numbered = [_numbered(column) for column in columns]
    codes = first = np.zeros(len(columns[0]), dtype=np.int64)
    for units, _ in numbered:
        both = np.column_stack([codes.reshape(-1), units])
        _, first, codes = np.unique(both, axis=0, return_index=True, return_inverse=True)
    rows = zip(*(units[first].tolist() for units, _ in numbered), strict=True)
    cells: list[Any] = [
        () if min(row) < 0 else tuple(keys[at] for at, (_, keys) in zip(row, numbered, strict=True))
        for row in rows
    ]
    if len(columns) == 1:
        cells = [cell[0] if cell else cell for cell in cells]
    people = pd.Index(object_array(cells, len(cells)), dtype=object, tupleize_cols=False)
    return CodedColumn(codes.reshape(-1), people, ordered=False)


class _NoKey(int):
    """A placeholder for a key: ``_ALONE`` or ``_LEFT_OUT``."""


def _unit_key(cell: Any) -> Key | _NoKey:
    """Return what an identifier is compared by. Never raises."""
    try:
        if isinstance(cell, str):
            return str.__str__(cell)
        # NumPy counts durations among the integers; their number depends on the unit.
        if isinstance(cell, np.timedelta64):
            return _NoKey(_ALONE if np.isnat(cell) else _LEFT_OUT)
        if isinstance(cell, numbers.Integral | np.bool_):
            return int(cell)
        # Equal decimals and integers are one key, digit for digit.
        if isinstance(cell, Decimal) and cell.is_finite():
            # Of no class of the user's own, whose hash might raise.
            own = Decimal(cell)
            return own if abs(own.adjusted()) <= _LONGEST_DECIMAL else _NoKey(_LEFT_OUT)
        if isinstance(cell, Decimal | numbers.Real):
            # What raises here is not missing: other rows may be the same person's.
            number = float(cell)
            if math.isnan(number):
                return _NoKey(_ALONE)
            is_exact = abs(number) < _EXACT and number == cell
            return _plain(number) if is_exact else _NoKey(_LEFT_OUT)
        if type(cell) is tuple:
            parts = tuple(map(_unit_key, cell))
            # A row that lacks a part of its identifier might be somebody's who has other rows.
            is_whole = parts and not any(isinstance(part, _NoKey) for part in parts)
            return parts if is_whole else _NoKey(_LEFT_OUT)
        if (text := _text_of(cell)) is not None:
            return text
        # The same cells are missing here as anywhere else.
        if level_key(cell) is None:
            return _NoKey(_ALONE)
    except Exception:
        # A cell must not decide whether a fit raises, whatever its class does.
        return _NoKey(_LEFT_OUT)
    return _NoKey(_LEFT_OUT)


def _text_of(cell: Any) -> str | bytes | None:
    """Return what identifies a UUID, a date or bytes; None of anything else.

    Of these classes alone: others may say what they like of themselves.
    """
    kind = type(cell)
    if kind in (bytes, np.bytes_):
        return bytes(cell)
    if kind is uuid.UUID:
        return str(cell)
    pandas = sys.modules.get("pandas")
    is_stamp = pandas is not None and kind is pandas.Timestamp
    if kind is datetime.date or kind is datetime.datetime or is_stamp:
        # Of a time zone of the user's own, whose answers may depend on anything, nothing is known.
        zone = getattr(cell, "tzinfo", None)
        is_known = zone is None or type(zone) in (datetime.timezone, zoneinfo.ZoneInfo)
        return str(cell.isoformat()) if is_known else None
    return None


def _plain(number: float) -> int | float:
    return int(number) if math.isfinite(number) and number.is_integer() else number
