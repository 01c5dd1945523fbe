"""Dask collections that belong to each row, cut into the same partitions, and functions of them.

Only the form of the collections is looked at: names, types, numbers of partitions. Nothing is
computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from interpret_dp._optional import import_optional
from interpret_dp.exceptions import SchemaError

# The first of the room to be imported: without Dask it says how to get it.
da: Any = import_optional("dask.array", extra="dask", purpose="Fitting on Dask collections")
_ALIKE = (
    "Take them as columns of one Dask DataFrame, or cut them alike: y = y.repartition("
    "divisions=X.divisions), or y.rechunk(...) for arrays."
)
_NOT_CUT = (
    "Dask could not cut a collection into partitions. Its message is withheld: it may quote a row. "
    "Nothing was spent. Read the rows from files, or convert their columns to types of Arrow "
    "before dask.dataframe.from_pandas."
)


@dataclass(frozen=True)
class Pieces:
    """The collections of one request.

    Attributes
    ----------
    roles : tuple of str
        Arguments that are collections.
    forms : dict of str to object
        For each of them a container of the same kind without rows: its names and types. Public.
    pieces : list of tuple
        For each partition a lazy piece of each collection, in the order of ``roles``. Private.
    """

    roles: tuple[str, ...]
    forms: dict[str, Any]
    pieces: list[tuple[Any, ...]] = field(repr=False)

    def form_of(self, given: Mapping[str, Any]) -> list[Any]:
        """Return the arguments with a form in the place of each collection."""
        return [self.forms.get(role, value) for role, value in given.items()]


def open_pieces(given: Mapping[str, Any]) -> Pieces:
    """Cut Dask collections into pieces of the same rows.

    Parameters
    ----------
    given : mapping of str to object
        Arguments by name: Dask DataFrames, Series or arrays. ``X`` is one of them, and the first.

    Raises
    ------
    TypeError
        If one is no such collection.
    SchemaError
        If they are not cut at the same rows, as far as that is known without computing anything.
    """
    collections = {role: _one_column_block(role, value) for role, value in given.items()}
    lead = collections["X"]
    cut = {role: _cut_like(role, value, lead) for role, value in collections.items()}
    forms = {role: _form(value) for role, value in cut.items()}
    delayed = [_delayed(value) for value in cut.values()]
    return Pieces(tuple(cut), forms, list(zip(*delayed, strict=True)))


def _is_frame(value: Any) -> bool:
    return hasattr(value, "_meta") and hasattr(value, "npartitions") and hasattr(value, "divisions")


def _one_column_block(role: str, value: Any) -> Any:
    """Return a frame, or an array of which each block holds whole rows."""
    if _is_frame(value):
        if role != "X" and value.ndim == 2 and len(value.columns) == 1:
            return value[value.columns[0]]
        return value
    if not isinstance(value, da.Array):
        raise TypeError(
            f"{role} is of type {type(value).__module__}.{type(value).__name__}; beside other Dask "
            "collections it must be a Dask DataFrame, Series or array. Use "
            "dask.dataframe.from_pandas or dask.array.from_array, or call compute() on all of them."
        )
    if value.ndim == 2 and value.shape[1] == 1 and role in ("y", "unit", "sample_weight"):
        value = value[:, 0]
    if value.ndim == 2:
        return value.rechunk({1: -1})
    if value.ndim != 1:
        raise SchemaError(
            f"{role} is a Dask array of {value.ndim} dimensions; it must have one or two."
        )
    return value


def _cut_like(role: str, value: Any, lead: Any) -> Any:
    """Return a collection in the partitions of X, or raise SchemaError."""
    if isinstance(value, da.Array) and isinstance(lead, da.Array):
        own, wanted = value.chunks[0], lead.chunks[0]
        are_known = not np.isnan(own).any() and not np.isnan(wanted).any()
        if are_known and sum(own) == sum(wanted):
            return value.rechunk({0: wanted})
        if are_known:
            raise SchemaError(
                "Found input variables with inconsistent numbers of samples: X and "
                f"{role} must have the same number of rows."
            )
    if _count(value) != _count(lead):
        raise SchemaError(
            f"X has {_count(lead)} partitions and {role} has {_count(value)}; they must be cut at "
            f"the same rows. {_ALIKE}"
        )
    if (
        (_is_frame(value) and _is_frame(lead))
        and (value.known_divisions and lead.known_divisions)
        and tuple(value.divisions) != tuple(lead.divisions)
    ):
        raise SchemaError(f"X and {role} are cut at different divisions of the index. {_ALIKE}")
    return value


def _count(value: Any) -> int:
    return int(value.numblocks[0] if isinstance(value, da.Array) else value.npartitions)


def _form(value: Any) -> Any:
    if isinstance(value, da.Array):
        return np.empty((0, *value.shape[1:]), dtype=value.dtype)
    return value._meta


def _delayed(value: Any) -> list[Any]:
    # Not optimised one by one: Dask would read columns of the same files in other partitions, and
    # the same file several times.
    pieces = None
    with suppress(Exception):
        # Dask converts rows in memory here, and its error would quote a cell.
        pieces = value.to_delayed(optimize_graph=False)
    if pieces is None:
        raise SchemaError(_NOT_CUT)
    return list(pieces.ravel()) if isinstance(pieces, np.ndarray) else list(pieces)


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
