"""Rows on Dask workers: scheduling of partitions, and one round trip for each sum."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any, Protocol

import dask
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from interpret_dp.backends.base import (
    AdditiveRows,
    Integers,
    Integers32,
    Maps,
    Pairs,
    RegressionRows,
)
from interpret_dp.backends.dask.parts import (
    Answer,
    Command,
    Part,
    added,
    answered,
    attempted,
    changed_part,
    joined,
    summed,
    table_facts,
)
from interpret_dp.exceptions import BackendError

if TYPE_CHECKING:
    from distributed import Client


# Partitions of the rows, computed on the current distributed cluster or in threads here.
#
# One value a partition is mapped, added up, and dealt out anew by a public key. Tasks are named by
# the client and a counter, never by a hash of what they hold: keys are shown in logs and
# dashboards.

_FAN_IN = 16  # answers that are added in one task
_SYNCHRONOUS = ("sync", "synchronous", "single-threaded")
_numbers = itertools.count()

# Each partition is split into as many parts as there are buckets, so that their product is the
# number of tasks.
_MOST_BUCKETS = 64


class Workers(Protocol):
    """Computes one task a partition and keeps results where they were made."""

    def begin(self, name: str, function: Callable[..., Any], pieces: Sequence[Any]) -> list[Any]:
        """Apply a function to lazy pieces of Dask collections, one tuple a partition.

        Returns
        -------
        list of handles
            Of what was returned.

        Raises
        ------
        BackendError
            Here or in :meth:`total`, if a step before the function raises.
        """

    def each(self, name: str, function: Callable[..., Any], *held: Sequence[Any]) -> list[Any]:
        """Apply a function to handles of one or more lists, one of each list at a time."""

    def together(self, name: str, function: Callable[..., Any], held: Sequence[Any]) -> list[Any]:
        """Apply a function to groups of handles: one group a worker, so that nothing moves.

        Parameters
        ----------
        function : callable
            Called with the number of threads of its own, and what is in the group.
        """

    def total(self, answers: Sequence[Any]) -> Answer:
        """Add answers, given as handles, and bring the sum here; raises ``BackendError``."""


def current_workers(n_threads: int) -> Workers:
    """Return the workers of the current ``distributed`` client, or threads of this process.

    Parameters
    ----------
    n_threads : int
        Most threads where there is no client.
    """
    # Whoever has a client has imported distributed.
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            client = distributed.default_client()
        except ValueError:
            client = None
        if client is not None:
            if client.asynchronous:
                raise TypeError(
                    "The current Dask client is asynchronous; a fit needs a synchronous one. Call "
                    "fit from ordinary code, with Client(address)."
                )
            return _ClusterWorkers(client)
    return _ThreadWorkers(n_threads)


class _Held:
    """A result in this process; Dask would look into lists and dictionaries for tasks."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _held(function: Callable[..., Any], *arguments: Any) -> _Held:
    return _Held(function(*(a.value if isinstance(a, _Held) else a for a in arguments)))


class _ThreadWorkers(Workers):
    def __init__(self, n_threads: int) -> None:
        chosen = dask.config.get("scheduler", None)
        self._options: dict[str, Any] = {"scheduler": "threads", "num_workers": n_threads}
        if chosen in _SYNCHRONOUS or chosen is dask.get:
            self._options = {"scheduler": "sync"}

    def begin(self, name: str, function: Callable[..., Any], pieces: Sequence[Any]) -> list[Any]:
        call = delayed(partial(_held, function), pure=False)
        names = _keys(f"{os.getpid()}", name, len(pieces))
        tasks = [call(*some, dask_key_name=key) for some, key in zip(pieces, names, strict=True)]
        try:
            return list(dask.compute(*tasks, **self._options))
        except Exception:
            # Steps before the fit may raise, and speak of rows.
            raise BackendError("failed") from None

    def each(self, name: str, function: Callable[..., Any], *held: Sequence[Any]) -> list[Any]:
        rows = list(zip(*held, strict=True))
        if self._options["scheduler"] == "sync":
            # Nothing is lazy any more, and nothing waits.
            return [_held(function, *arguments) for arguments in rows]
        return self.begin(name, function, rows)

    def together(self, name: str, function: Callable[..., Any], held: Sequence[Any]) -> list[Any]:
        groups = _split(held, self._options.get("num_workers", 1))
        return [_held(function, 1, *group) for group in groups]

    def total(self, answers: Sequence[Any]) -> Answer:
        return _checked(added([held.value for held in answers]))


class _ClusterWorkers(Workers):
    def __init__(self, client: Client) -> None:
        self._client = client

    def begin(self, name: str, function: Callable[..., Any], pieces: Sequence[Any]) -> list[Any]:
        call = delayed(function, pure=False)
        names = _keys(self._client.id, name, len(pieces))
        tasks = [call(*some, dask_key_name=key) for some, key in zip(pieces, names, strict=True)]
        with _without_loss():
            return list(self._client.compute(tasks))

    def each(self, name: str, function: Callable[..., Any], *held: Sequence[Any]) -> list[Any]:
        names = _keys(self._client.id, name, len(held[0]))
        with _without_loss():
            return list(self._client.map(function, *held, key=names, pure=False))

    def together(self, name: str, function: Callable[..., Any], held: Sequence[Any]) -> list[Any]:
        from distributed import wait

        with _without_loss():
            wait(list(held))
            holders, threads = self._client.who_has(list(held)), self._client.nthreads()
            of_worker: dict[str, list[Any]] = {}
            for one in held:
                # What failed, or was lost since, lies nowhere.
                place = next(iter(holders.get(one.key) or ()), "")
                of_worker.setdefault(place, []).append(one)
            names = _keys(self._client.id, name, len(of_worker))
            return [
                self._client.submit(function, threads.get(place, 1), *group, key=key, pure=False)
                for (place, group), key in zip(of_worker.items(), names, strict=True)
            ]

    def total(self, answers: Sequence[Any]) -> Answer:
        level = list(answers)
        with _without_loss():
            while len(level) > 1:
                groups = [level[at : at + _FAN_IN] for at in range(0, len(level), _FAN_IN)]
                names = _keys(self._client.id, "add", len(groups))
                level = [
                    self._client.submit(added, group, key=key, pure=False)
                    for group, key in zip(groups, names, strict=True)
                ]
            return _checked(_result(level[0]) if level else Answer())


def _result(future: Any) -> Answer:
    from distributed import KilledWorker

    try:
        answer: Answer = future.result()
    except KilledWorker:
        raise
    except Exception:
        if future.status == "error":
            # A step before the fit raised; what it says, such as a missing file, may be an OSError.
            raise BackendError("failed") from None
        raise
    return answer


def _keys(owner: str, name: str, count: int) -> list[str]:
    number = next(_numbers)
    return [f"interpret-dp-{name}-{owner}-{number}-{at}" for at in range(count)]


def _split(held: Sequence[Any], most: int) -> list[list[Any]]:
    """Cut into at most so many groups of about the same size; none is empty."""
    count = max(1, min(most, len(held)))
    groups = [list(held[at::count]) for at in range(count)]
    return [group for group in groups if group]


def _checked(answer: Answer) -> Answer:
    if answer.trouble is not None:
        raise BackendError(answer.trouble)
    return answer


@contextmanager
def _without_loss() -> Iterator[None]:
    """Raise BackendError where the cluster is lost."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    lost = (CommClosedError, OSError, TimeoutError, CancelledError, KilledWorker)
    try:
        yield
    except lost:
        raise BackendError("lost") from None


class Partitions:
    """Lazy pieces of Dask collections, one tuple a partition, and what is known of each.

    Parameters
    ----------
    pieces : sequence of tuple
        Of each partition, pieces of the collections (delayed).
    workers : Workers
    notes : list of handles, default=()
        What :meth:`dealt` left on the workers for each partition.
    """

    def __init__(
        self, pieces: Sequence[tuple[Any, ...]], workers: Workers, notes: Sequence[Any] = ()
    ) -> None:
        self._pieces = list(pieces)
        self._workers = workers
        self._notes = list(notes)

    @classmethod
    def of(cls, pieces: Sequence[tuple[Any, ...]], n_threads: int) -> Partitions:
        """Return the partitions, to be computed by the current client's workers or by threads."""
        return cls(pieces, current_workers(n_threads))

    @property
    def workers(self) -> Workers:
        """The workers that compute."""
        return self._workers

    def total(self, function: Callable[..., Any]) -> Any:
        """Return the sum over partitions of what a function returns. Private.

        Parameters
        ----------
        function : callable
            Called on a worker with the pieces of a partition and, if there is one, its note.
            Returns integers: an array, a list of arrays and counts by key, or such counts.
        """
        answers = self._begin("sum", partial(summed, function))
        return self._workers.total(answers).total

    def parts(self, function: Callable[..., Any]) -> list[Any]:
        """Return handles of the rows, which stay with the workers: one part a worker.

        Parameters
        ----------
        function : callable
            Called as in :meth:`total`; returns rows.
        """
        parts = self._begin("encode", partial(attempted, partial(_as_part, function)))
        # One task a worker in each round trip: the scheduler's work grows with their number.
        return self._workers.together("group", joined, parts)

    def held(self, function: Callable[..., Any]) -> Held:
        """Return what a function makes of each partition, which stays with the workers.

        Parameters
        ----------
        function : callable
            Called as in :meth:`total`.
        """
        return Held(self._workers, self.parts(function))

    def _begin(self, name: str, function: Callable[..., Any]) -> list[Any]:
        pieces = self._pieces
        if self._notes:
            pieces = [(*some, note) for some, note in zip(pieces, self._notes, strict=True)]
        return self._workers.begin(name, function, pieces)

    def dealt(
        self,
        split: Callable[..., list[Any]],
        join: Callable[[list[Any]], list[Any]],
        note: Callable[[list[Any], list[Any]], Any],
    ) -> Partitions:
        """Bring together what belongs together, once, and leave a note on each partition.

        Parameters
        ----------
        split : callable
            From the number of buckets and the pieces of a partition to one item a bucket.
        join : callable
            From the items of one bucket, in the order of the partitions, to one answer for each.
        note : callable
            From what a partition was split into, and the answers of its buckets, to its note.

        Returns
        -------
        Partitions
            With notes. Items and answers stay on the workers.
        """
        n_buckets = max(1, min(len(self._pieces), _MOST_BUCKETS))
        workers = self._workers
        items = self._begin("split", partial(attempted, partial(split, n_buckets)))
        joined = [
            _gathered(workers, "join", join, [_each_entry(workers, items, bucket)])[0]
            for bucket in range(n_buckets)
        ]
        answers = [_each_entry(workers, joined, number) for number in range(len(items))]
        gathered = _gathered(workers, "gather", list, answers)
        notes = workers.each("note", partial(attempted, note), items, gathered)
        return Partitions(self._pieces, workers, notes)


class Held:
    """Rows of all partitions, which stay with the workers and answer with sums.

    Parameters
    ----------
    workers : Workers
    parts : sequence of handles
        Of :class:`~interpret_dp.backends.dask.parts.Part`.
    """

    def __init__(self, workers: Workers, parts: Sequence[Any]) -> None:
        self._workers = workers
        self._parts = list(parts)

    def total(self, function: Callable[[Any], Any]) -> Any:
        """Return the sum over partitions of what a function of the value gives. Private.

        Parameters
        ----------
        function : callable
            Returns integers, as in :meth:`Partitions.total`.
        """
        call = partial(summed, methodcaller("total", function))
        return self._workers.total(self._workers.each("ask", call, self._parts)).total


def _as_part(function: Callable[..., Any], *pieces: Any) -> Part:
    return Part(function(*pieces))


def _each_entry(workers: Workers, lists: Sequence[Any], number: int) -> list[Any]:
    """Return handles of one entry of each list, so that nothing else moves between workers."""
    return workers.each("take", partial(attempted, itemgetter(number)), lists)


def _gathered(
    workers: Workers, name: str, function: Callable[..., Any], groups: Sequence[Sequence[Any]]
) -> list[Any]:
    """Apply a function to the list of what each group of handles holds."""
    call = partial(attempted, partial(_on_list, function))
    return workers.begin(name, call, [tuple(group) for group in groups])


def _on_list(function: Callable[[list[Any]], Any], *items: Any) -> Any:
    return function(list(items))


class DaskRows:
    """Rows of which each worker holds some; see :class:`interpret_dp.backends.base.AdditiveRows`.

    Parameters
    ----------
    workers : Workers
    parts : sequence of handles
        Of :class:`~interpret_dp.backends.dask.parts.Part`.
    form : AdditiveRows
        The same kind of rows, without any: its norms are those of all parts. Public.

    Notes
    -----
    All changes of scores since ``begin`` are public, and kept here. A worker that lost its scores,
    or never had them, is sent all of them once more; every sum is therefore the same, bit for bit,
    whatever is lost. Codes are recomputed by Dask, from the collections.
    """

    def __init__(self, workers: Workers, parts: Sequence[Any], form: AdditiveRows) -> None:
        self._workers = workers
        self._parts = list(parts)
        self.n_scores = form.n_scores
        self.residual_norm = form.residual_norm
        self.target_norm = form.target_norm
        self._form, self._is_plain = form, False
        self._hazards: list[Command] = []  # the last command of that kind
        self._commands: list[Command] = []
        self._first = 0  # number of the first of these commands, over all
        self._sent = 0  # how many of them all parts have followed
        self.begin(np.zeros(self.n_scores, dtype=np.int64))

    def bin_counts(self, n_bins: Sequence[int]) -> list[Integers]:
        """Add the weights per fine bin; one array a feature."""
        return list(self._ask("bin_counts", list(n_bins)))

    def target_sums(self) -> Integers:
        """Sum the target."""
        return np.asarray(self._ask("target_sums"))

    def target_counts(self, edges: NDArray[np.float64]) -> Integers:
        """Add the weights of the rows in cells of a regression's target."""
        return np.asarray(self._ask("target_counts", edges))

    def residual_counts(self, edges: Integers) -> Integers:
        """Add the weights of the rows in cells of target minus score."""
        return np.asarray(self._ask("residual_counts", edges))

    def bound_residuals(self, norm: int, plain: bool = False) -> None:
        """Clip residuals at another bound from now on."""
        self.residual_norm, self._is_plain = norm, plain
        self._commands.append(("bound_residuals", (norm, plain)))

    def risk_sums(self, table: Integers32, lowest: int) -> Integers:
        """Add weight times hazard ratio of the rows in each cell of time."""
        return np.asarray(self._ask("risk_sums", table, lowest))

    def follow(self, hazards: Integers) -> None:
        """Take another cumulative hazard as exposure from now on."""
        self._hazards = [("follow", (hazards,))]
        self._commands += self._hazards

    def clip_residuals(self, clip: float, exposure: float = 1.0, mean: float = 1.0) -> None:
        """Choose the bound of a regression's residuals, before the first round."""
        # The form's tables are the ones that all parts take over.
        if isinstance(self._form, RegressionRows):
            self._form.clip_residuals(clip, exposure, mean)
        self._change("clip_residuals", clip, exposure, mean)

    def merge_bins(self, maps: Maps) -> None:
        """Replace every feature's codes by those of merged bins."""
        self._change("merge_bins", list(maps))

    def begin(self, scores: Integers) -> None:
        """Set the scores of every row, on top of its own."""
        # Nothing before it matters any more. Numbers are never used twice.
        self._first += len(self._commands)
        self._commands = [("begin", (np.array(scores, dtype=np.int64),)), *self._hazards]
        if isinstance(self._form, RegressionRows):
            # A part keeps the bound of its last command.
            self._commands.append(("bound_residuals", (self.residual_norm, self._is_plain)))
        self._sent = 0

    def advance(
        self, updated: Integers, updates: Integers32, wanted: Integers, n_bins: int
    ) -> Integers:
        """Add updates to the scores, then sum residuals per bin; one round trip."""
        self._commands.append(("advance", (np.array(updated), np.array(updates))))
        if len(wanted) == 0:  # with the next question
            return np.zeros((0, n_bins, self.n_scores), dtype=np.int64)
        return np.asarray(self._ask("advance", np.array(wanted), n_bins))

    def product_sums(self, wanted: Sequence[int], functions: Sequence[Integers]) -> Integers:
        """Sum products of what codes stand for; one round trip."""
        return np.asarray(self._ask("product_sums", list(wanted), list(functions)))

    def pair_sums(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> list[Integers]:
        """Sum residuals over the cells of pairs; one round trip."""
        return list(self._ask("pair_sums", list(pairs), list(maps), widths))

    def pair_up(self, pairs: Pairs, maps: Maps, widths: Sequence[int]) -> None:
        """Replace the features by pairs of them, from the present scores on."""
        self._change("pair_up", list(pairs), list(maps), list(widths))
        self.begin(np.zeros(self.n_scores, dtype=np.int64))

    def _change(self, name: str, *arguments: Any) -> None:
        """Replace all parts by changed ones; Dask can make these again from the collections."""
        if name != "pair_up" and any(command == "advance" for command, _ in self._commands):
            raise RuntimeError(f"{name} was called after advance; codes are set before scores.")
        commands, tables = tuple(self._commands), table_facts(self._form)
        change = partial(changed_part, self._first, commands, (name, arguments), tables)
        self._parts = self._workers.each(name, change, self._parts)
        # New parts have followed nothing.
        self._sent = 0

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Return the sum of all parts' answers at the present scores; one round trip."""
        question = (name, arguments)
        numbers = list(range(len(self._parts)))
        new = self._first + self._sent, tuple(self._commands[self._sent :]), question
        answer = self._total(new, numbers)
        if answer.late:
            every = self._first, tuple(self._commands), question
            answer = added([answer, self._total(every, list(answer.late))])
        self._sent = len(self._commands)
        return answer.total

    def _total(self, request: tuple[int, tuple[Command, ...], Command], numbers: list[int]) -> Any:
        some = [self._parts[number] for number in numbers]
        return self._workers.total(
            self._workers.each("ask", partial(answered, *request), some, numbers)
        )
