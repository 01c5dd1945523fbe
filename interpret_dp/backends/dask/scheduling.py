"""Where partitions are computed: on the current distributed cluster, or in threads of this process.

Tasks are named by the client and a counter, never by a hash of what they hold: keys are shown in
logs and dashboards.
"""

from __future__ import annotations

import itertools
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import dask
from dask.delayed import delayed

from interpret_dp.backends.dask.parts import Answer, added
from interpret_dp.exceptions import BackendError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Workers", "current_workers"]

_FAN_IN = 16  # answers that are added in one task
_SYNCHRONOUS = ("sync", "synchronous", "single-threaded")
_numbers = itertools.count()


class Workers(ABC):
    """Computes one task a partition and keeps results where they were made."""

    @abstractmethod
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

    @abstractmethod
    def each(self, name: str, function: Callable[..., Any], *held: Sequence[Any]) -> list[Any]:
        """Apply a function to handles of one or more lists, one of each list at a time."""

    @abstractmethod
    def together(self, name: str, function: Callable[..., Any], held: Sequence[Any]) -> list[Any]:
        """Apply a function to groups of handles: one group a worker, so that nothing moves.

        Parameters
        ----------
        function : callable
            Called with the number of threads of its own, and what is in the group.
        """

    @abstractmethod
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
