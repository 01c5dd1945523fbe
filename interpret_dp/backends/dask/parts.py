"""Parts of the rows on Dask workers, and collections that belong to each row.

Nothing here raises because of a row, and nothing that a worker reports holds more than sums: Dask
writes the errors and arguments of failed tasks into logs.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from interpret_dp._optional import import_optional
from interpret_dp.backends.base import AdditiveRows
from interpret_dp.exceptions import BackendError, SchemaError

#: A method of the rows that moves or sets their scores, and its arguments; public.
Command = tuple[str, tuple[Any, ...]]
_Result = TypeVar("_Result")

# Tables of exponentials, which the caller computes once: another machine's last digits may differ.
_TABLES = ("_table", "_lowest", "_tables")
_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Trouble:
    """A placeholder for a result that could not be computed; it says nothing of rows.

    Attributes
    ----------
    reason : str
        A key of ``BackendError.REASONS``.
    """

    reason: str


class Part:
    """Rows of some partitions, and how much of the caller's commands their scores have followed.

    Codes, labels and weights never change. Scores do, but only as a note of what the commands make
    of them: whoever holds the part without that note (after a worker was lost, or the part was
    moved or spilled) starts over from the first command and comes to the same integers.

    Parameters
    ----------
    *rows : AdditiveRows
        Of each partition. Private; left out of the representation.
    n_threads : int
        Most threads that sum over partitions at a time.
    """

    def __init__(self, *rows: Any, n_threads: int = 1) -> None:
        self.rows = rows
        self.n_threads = n_threads
        self._followed: int | None = None  # number of the command up to which scores are known
        self._lock = threading.Lock()
        self._is_given_up = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave out how far scores are: they may be moving while a copy is made."""
        return {"rows": self.rows, "n_threads": self.n_threads, "is_given_up": self._is_given_up}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start as a part whose scores are not known."""
        self.__init__(*state["rows"], n_threads=state["n_threads"])  # type: ignore[misc]
        self._is_given_up = state["is_given_up"]

    def __sizeof__(self) -> int:
        """Return the bytes of all arrays, so that Dask knows what a worker holds."""
        held = [array for rows in self.rows for array in vars(rows).values()]
        return 1000 + sum(array.nbytes for array in held if isinstance(array, np.ndarray))

    def total(self, function: Callable[[Any], Any]) -> Any:
        """Return the sum over partitions of what a function of their rows gives."""
        return reduce(_plus, self._of_each(function))

    def given_up(self) -> tuple[Any, ...]:
        """Return the rows, for somebody who writes into their arrays; nobody gets them again.

        Workers of one process share a part. If one of them is lost after it changed the arrays, the
        other must not change them once more.
        """
        with self._lock:
            rows, self.rows = self._rows(), ()
            self._is_given_up = True
            return rows

    def _rows(self) -> tuple[Any, ...]:
        if self._is_given_up:
            raise RuntimeError("The part was changed for good; the new part has its rows.")
        return self.rows

    def _of_each(self, function: Callable[[Any], Any]) -> list[Any]:
        held = self._rows()
        threads = min(self.n_threads, len(held))
        if threads < 2:
            return [function(rows) for rows in held]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, held))

    def follow(
        self, first: int, commands: Sequence[Command], question: Command | None
    ) -> tuple[bool, Any]:
        """Bring the scores up to date, then answer.

        Parameters
        ----------
        first : int
            Number of the first command. The one at which all scores start is a ``begin``.
        commands : sequence of Command
            All up to the present.
        question : Command, or None
            What is asked at the present scores. Of an ``advance`` at the end of the commands, the
            last three arguments say what is to be summed in the same pass.

        Returns
        -------
        is_up_to_date : bool
            False if the scores lack commands before ``first``. Nothing was done then.
        answer : object
        """
        with self._lock:
            last = first + len(commands)
            if self._followed == last:
                pending: Sequence[Command] = ()
            elif (commands and commands[0][0] == "begin") or self._followed == first:
                pending = commands
            else:
                return False, None
            # If anything below fails, the scores are not known.
            self._followed = None
            answers = self._of_each(partial(_answer, pending, question))
            answer = None if question is None else reduce(_plus, answers)
            self._followed = last
            return True, answer


def _answer(pending: Sequence[Command], question: Command | None, rows: AdditiveRows) -> Any:
    """Follow commands, the last of them in the same pass as the sums where that can be."""
    asks_sums = question is not None and question[0] == "advance"
    last = pending[-1] if pending and pending[-1][0] == "advance" and asks_sums else None
    for name, arguments in pending[:-1] if last is not None else pending:
        if name == "advance":
            updated, updates = arguments
            rows.advance(updated, updates, _NOTHING, updates.shape[1])
        else:
            getattr(rows, name)(*arguments)
    if question is None:
        return None
    if not asks_sums:
        return getattr(rows, question[0])(*question[1])
    no_change = _NOTHING, np.zeros((0, 1, rows.n_scores), dtype=np.int32)
    updated, updates = no_change if last is None else last[1]
    wanted, n_bins = question[1]
    return rows.advance(updated, updates, wanted, n_bins)


def joined(n_threads: int, *parts: Part | Trouble) -> Part | Trouble:
    """Return one part with the rows of all, which stay the same arrays, for some threads."""

    def join(*held: Part) -> Part:
        return Part(*(rows for part in held for rows in part.given_up()), n_threads=n_threads)

    return attempted(join, *parts)


@dataclass(frozen=True, eq=False)
class Answer:
    """A sum over parts, and which parts could not answer yet; private.

    Attributes
    ----------
    total : object
        Integers: an int, an array, a list of arrays, or counts by key. None if there is none.
    late : tuple of int
        Numbers of parts whose scores lack commands.
    trouble : str, or None
        Why there is no total, as a key of ``BackendError.REASONS``.
    """

    total: Any = field(default=None, repr=False)
    late: tuple[int, ...] = ()
    trouble: str | None = None


def attempted(function: Callable[..., _Result], *arguments: Any) -> _Result | Trouble:
    """Return what a function returns, or Trouble: a worker's error may speak of rows."""
    for argument in arguments:
        if isinstance(argument, Trouble):
            return argument
    try:
        return function(*arguments)
    except BackendError as error:
        return Trouble(error.reason)
    except Exception:
        return Trouble("failed")


def summed(function: Callable[..., Any], *arguments: Any) -> Answer:
    """Return what a function of one partition returns as a sum of one."""
    outcome = attempted(function, *arguments)
    return Answer(trouble=outcome.reason) if isinstance(outcome, Trouble) else Answer(outcome)


def answered(
    first: int,
    commands: Sequence[Command],
    question: Command,
    part: Part | Trouble,
    number: int,
) -> Answer:
    """Return one part's answer; see :meth:`Part.follow`."""

    def follow(held: Part) -> tuple[bool, Any]:
        return held.follow(first, commands, question)

    outcome = attempted(follow, part)
    if isinstance(outcome, Trouble):
        return Answer(trouble=outcome.reason)
    is_up_to_date, answer = outcome
    return Answer(answer) if is_up_to_date else Answer(late=(number,))


def changed_part(
    first: int,
    commands: Sequence[Command],
    change: Command,
    tables: Mapping[str, Any],
    part: Part | Trouble,
) -> Part | Trouble:
    """Return a new part whose rows were changed for good; the old one has none any more.

    Parameters
    ----------
    first : int
    commands : sequence of Command
        From the ``begin`` on, so that any part can follow.
    change : Command
        A method that sets other codes, or another bound of residuals.
    tables : mapping of str to ndarray
        As :func:`table_facts` returns them of the caller's rows after the change.
    part : Part
    """

    def change_copy(held: Part) -> Part:
        held.follow(first, commands, None)
        changed = [_copied(rows) for rows in held.given_up()]
        for rows in changed:
            getattr(rows, change[0])(*change[1])
            vars(rows).update(tables)
        return Part(*changed, n_threads=held.n_threads)

    return attempted(change_copy, part)


def _copied(rows: Any) -> Any:
    """Return rows that share all arrays but the scores."""
    copied = copy.copy(rows)
    copied._scores = rows._scores.copy()
    return copied


def table_facts(rows: Any) -> dict[str, Any]:
    """Return the tables that rows look probabilities or means up in; public."""
    return {name: vars(rows)[name] for name in _TABLES if name in vars(rows)}


def added(answers: Sequence[Answer]) -> Answer:
    """Add sums over parts; integers, so that their order does not matter."""
    total: Any = None
    late: tuple[int, ...] = ()
    for answer in answers:
        if answer.trouble is not None:
            return Answer(trouble=answer.trouble)
        late += answer.late
        if answer.total is not None:
            total = answer.total if total is None else _plus(total, answer.total)
    return Answer(total, late)


def _plus(one: Any, other: Any) -> Any:
    if isinstance(one, Mapping):
        both = dict(one)
        for key, count in other.items():
            both[key] = both.get(key, 0) + count
        return both
    if isinstance(one, list):
        return [_plus(a, b) for a, b in zip(one, other, strict=True)]
    return one + other


# Dask collections that belong to each row, cut into the same partitions, and functions of them.
#
# Only the form of the collections is looked at: names, types, numbers of partitions. Nothing is
# computed here.

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
    if value.ndim == 2 and value.shape[1] == 1 and role not in ("X", "init_score"):
        value = value[:, 0]
    if value.ndim == 2:
        return value.rechunk({1: -1})
    if value.ndim != 1:
        raise SchemaError(f"{role} has {value.ndim} dimensions; a Dask array must have 1 or 2.")
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
