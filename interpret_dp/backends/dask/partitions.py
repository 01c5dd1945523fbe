"""One value a partition on the workers: mapped, added up, and dealt out anew by a public key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from interpret_dp.backends.dask.parts import Part, attempted, joined, summed
from interpret_dp.backends.dask.scheduling import Workers, current_workers

__all__ = ["Held", "Partitions"]

# Each partition is split into as many parts as there are buckets, so that their product is the
# number of tasks.
_MOST_BUCKETS = 64


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
        """Who computes."""
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
        call = partial(summed, partial(_on_rows, function))
        return self._workers.total(self._workers.each("ask", call, self._parts)).total


def _on_rows(function: Callable[[Any], Any], part: Part) -> Any:
    return part.total(function)


def _as_part(function: Callable[..., Any], *pieces: Any) -> Part:
    return Part(function(*pieces))


def _each_entry(workers: Workers, lists: Sequence[Any], number: int) -> list[Any]:
    """Return handles of one entry of each list, so that nothing else moves between workers."""
    return workers.each("take", partial(attempted, partial(_taken, number)), lists)


def _taken(number: int, items: list[Any]) -> Any:
    return items[number]


def _gathered(
    workers: Workers, name: str, function: Callable[..., Any], groups: Sequence[Sequence[Any]]
) -> list[Any]:
    """Apply a function to the list of what each group of handles holds."""
    call = partial(attempted, partial(_on_list, function))
    return workers.begin(name, call, [tuple(group) for group in groups])


def _on_list(function: Callable[[list[Any]], Any], *items: Any) -> Any:
    return function(list(items))
