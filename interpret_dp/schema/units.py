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
import re
import sys
import uuid
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from interpret_dp._validate import listed, looks_of
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema.cells import cells_of, level_key
from interpret_dp.schema.columns import (
    CodedColumn,
    Values,
    category_values,
    is_category_coded,
)
from interpret_dp.schema.containers import (
    Source,
    Table,
    index_of,
    open_parts,
    open_table,
    read_source,
)
from interpret_dp.schema.declarations import ROWS, Categorical, FeatureSpec, PrivacyUnit
from interpret_dp.schema.kinds import identifiers_of, kind_of, refuse_identifiers
from interpret_dp.schema.lists import object_array, whole_rows

if TYPE_CHECKING:
    from interpret_dp.schema.schema import Schema

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
_UNNAMED_UNIT = "unit"

# Names of identifiers of people, in small letters and single words: an identifier, or a person's
# number.
_IDENTIFIER: Final = re.compile(
    r"(.* )?(id|ids|uid|uuid|guid|identifier|ssn|mrn)"
    r"|(.* )?(account|client|customer|employee|household|individual|insured|member|participant"
    r"|patient|person|policy|policyholder|respondent|resident|student|subject|user)"
    r"(id|no| no| nr| num| number| code| key| hash)"
)


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
    bucket_of = np.array([_bucket(own, n_buckets, key) for own in keys], dtype=np.int64)
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


def _bucket(own: Key, n_buckets: int, key: int) -> int:
    """Return a unit's bucket: the same for equal keys, in every process."""
    return _place(own, key) % n_buckets


def _place(own: Key, key: int) -> int:
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
    order = rows[np.argsort(units[rows], kind="stable")]
    rank = _rank_in_group(units[order])
    if rank.max(initial=0) < max_rows:
        return used
    priority = _mixed(_hashes(keys, key)[units[order]] + _GOLDEN * rank.astype(np.uint64))
    drawn = np.lexsort((rank, priority, units[order]))
    late = _rank_in_group(units[order][drawn]) >= max_rows
    used[order[drawn[late]]] = False
    return used


def _rank_in_group(groups: Integers) -> Integers:
    """Return each element's place among the equal ones, where equal ones stand together."""
    places = np.arange(len(groups))
    is_first = np.ones(len(groups), dtype=np.bool_)
    is_first[1:] = groups[1:] != groups[:-1]
    starts = np.maximum.accumulate(np.where(is_first, places, 0))
    ranks: Integers = places - starts
    return ranks


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


def _joined(columns: Sequence[Values]) -> CodedColumn:
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


def open_people(
    X: Any, feature_names: Any, schema: Schema | None, unit: Any, *, call: str
) -> tuple[Table, Values | None, PrivacyUnit | None]:
    """Open the features of a table and the identifiers of its rows' units.

    Parameters
    ----------
    X : object
        As :func:`~interpret_dp.schema.containers.open_table` takes it, with or without the unit's
        columns.
    feature_names : sequence of str, or None
        As ``open_table`` takes them; a container with names of its own need not have the unit's
        columns named here.
    schema : Schema or None
        Its ``unit`` counts, and which columns it declares as categories.
    unit : Series, pyarrow.Array, ndarray or list, shape (n_rows,), "rows" or None
        Identifiers that are given beside the table; a DataFrame of the unit's columns will do.
        ``"rows"``: each row is a unit.
    call : str
        How a user gives them, for the message, such as ``"fit(X, y, unit=ids)"``.

    Returns
    -------
    table : Table
        Without the unit's columns. Private.
    identifiers : Values, shape (n_rows,), or None
        Private; None where every row is a unit.
    declared : PrivacyUnit or None
        What was declared; a unit without a name of one row if only identifiers were given.

    Raises
    ------
    TypeError, SchemaError
        If one has another form, or it is not clear which rows are one unit's.
    """
    declared = schema.people if schema is not None else None
    identifier = () if declared is None else declared.columns
    source = read_source(whole_rows(X, feature_names, identifier=identifier))
    if isinstance(unit, str) and unit != ROWS:
        raise TypeError(
            f"unit is {unit!r} (str); it must hold the identifier of each row. Name a column in "
            f"the schema, Schema(..., unit=PrivacyUnit({unit!r})), or pass the column's cells: "
            f"{call}. If each row is a person of its own, pass unit='rows'."
        )
    if isinstance(unit, str):
        if declared is not None:
            raise SchemaError(
                f"unit is 'rows', and the schema names {declared.name!r} as the privacy unit. "
                "Leave one of the two out."
            )
        return open_table(source, feature_names), None, None
    if unit is None and declared is not None:
        names = _with_unit(source, feature_names, declared.columns)
        table = open_table(source, names, identifier=declared.columns)
        absent = [name for name in declared.columns if name not in table.names]
        if absent:
            raise SchemaError(
                f"X lacks {listed(absent)}, which the schema names as the privacy unit. "
                f"Add it, or pass its cells: {call}. Data without names need feature_names=[...]."
            )
        parts = identifiers_of(table, declared.columns)
        table = table.without(*declared.columns)
        if not table.names:
            raise SchemaError(
                f"X has only {listed(declared.columns)}, which is the privacy unit. Pass at least "
                "one feature."
            )
        return table, _joined(parts) if declared.drops_missing else parts[0], declared
    table = open_table(source, feature_names)
    doubled = [] if declared is None else [n for n in declared.columns if n in table.names]
    if doubled:
        raise SchemaError(
            f"unit was given, and X has {listed(doubled)}, which the schema names as "
            "the privacy unit. Drop one of the two."
        )
    if unit is None:
        if schema is None or schema.unit is None:
            _refuse_unnamed_people(table, {} if schema is None else schema.features)
        return table, None, declared
    declared = declared or PrivacyUnit(_UNNAMED_UNIT)
    parts = open_parts("unit", unit, table.n_rows, declared.columns)
    if has_other_index(source, unit):
        raise SchemaError(
            "X and unit are both of pandas, and their indexes differ, so that it is not clear "
            "which rows are one unit's. Pass unit.loc[X.index] to align by index, or "
            "unit.set_axis(X.index) if the rows of both are in the same order."
        )
    for part in parts:
        refuse_identifiers("unit", part)
    return table, _joined(parts) if declared.drops_missing else parts[0], declared


def _refuse_unnamed_people(table: Table, features: Mapping[str, FeatureSpec]) -> None:
    """Raise SchemaError if a column seems to say whose rows belong together, and nothing uses it.

    A fit that protects rows by mistake bounds nothing about a person. Names, declarations and
    dtypes decide, never a cell.
    """
    for index, name in enumerate(table.names):
        if not looks_like_identifier(name) or isinstance(features.get(name), Categorical):
            continue
        if kind_of(table.column(index)).cells in ("integers", "texts", "objects"):
            raise SchemaError(
                f"Column {name!r} looks like an identifier of people, and nothing says whose rows "
                "belong together, so that only single rows would be protected. If a person may "
                f"have several rows, declare Schema(..., unit=PrivacyUnit({name!r}, max_rows=...)),"
                " without it among the features. If each row is a person of its own, or the column "
                'identifies something else, say so: unit="rows", in the schema or the fit.'
            )


def looks_like_identifier(name: str) -> bool:
    """Whether a column's name is that of an identifier: "patient_id", "personID", "member no"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return _IDENTIFIER.fullmatch(looks_of(spaced)) is not None


def has_other_index(X: Any, unit: Any) -> bool:
    """Return whether a table and its identifiers are of pandas and are labelled differently.

    An index is structure, as a length is. It is compared as a whole, and no message quotes it.

    Parameters
    ----------
    X, unit : object
        As :func:`open_people` takes them.
    """
    own = read_source(X).index
    other = None if unit is None else index_of(unit)
    # Tables without rows say what the columns of Dask are, whose indexes are known to the workers.
    return own is not None and other is not None and len(own) > 0 and not own.equals(other)


def _with_unit(source: Source, feature_names: Any, columns: tuple[str, ...]) -> Any:
    """Return the columns to open: the named features, and the unit where X has names of its own."""
    if feature_names is None or source.names is None:
        return feature_names
    return [*feature_names, *(name for name in columns if name not in feature_names)]
