"""The coordinator, which adds masked numbers and learns nothing but sums that are released."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Condition
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from interpret_dp._validate import check_real
from interpret_dp.exceptions import SitesError
from interpret_dp.sites.journal import Journal
from interpret_dp.sites.masks import (
    COMMON,
    Header,
    SigningKey,
    digest,
    is_signed,
    packed,
    unpacked,
    words_of,
)
from interpret_dp.sites.session import Site, refuse_differences

_Result = TypeVar("_Result")


@dataclass
class _Round:
    """The messages of a round so far: their digests, the first one, and the sum."""

    digests: dict[str, str] = field(default_factory=dict)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    total: Any = None
    reply: bytes | None = None


class Coordinator:
    """Adds the masked numbers of all sites, round by round, for one fit.

    It has no rows, no keys of masks, and no schema: only digests of what sites must have alike.
    Each call blocks until the messages of all sites are there.

    Parameters
    ----------
    participants : mapping of str to str
        The public key of each site by its name.
    timeout : float, default=600.0
        Seconds that it waits for the last site of a round. Then the fit stops.
    journal : path-like, optional
        A file of this fit. A coordinator that is made anew with it after a crash goes on: sites
        send their messages of the round again.
    """

    def __init__(
        self,
        participants: Mapping[str, str],
        *,
        timeout: float = 600.0,
        journal: str | os.PathLike[str] = ":memory:",
    ) -> None:
        self._participants = dict(participants)
        self._timeout = check_real("timeout", timeout, low=0)
        self._arrived = Condition()
        self._journal = Journal(journal)
        # The present round, and the one before, whose answer may have been lost.
        self._rounds, self._present = {0: _Round()}, 0
        self._stopped, self._fit = "", ""
        while (known := self._journal.get(f"answer {self._present}")) is not None:
            messages, reply = unpacked(known)
            self._end(_Round(messages["digests"], messages["messages"], reply=reply))

    def exchange(self, header: Header, payload: bytes) -> bytes:
        """Take one site's message, and return the answer to all once every site has sent its own.

        Parameters
        ----------
        header : mapping
        payload : bytes

        Returns
        -------
        bytes
            Header and sum; or why the message was refused, or the fit stopped.
        """
        name = header.get("site") if isinstance(header, Mapping) else None
        public = self._participants.get(name) if isinstance(name, str) else None
        # Of whoever has no key nothing is kept, and the fit goes on.
        if public is None or not is_signed(header, payload, public):
            return packed({"stop": "A message was refused: no site's key has signed it."})
        with self._arrived:
            try:
                if self._stopped:
                    raise SitesError(self._stopped)
                return self._answered(str(name), header, payload)
            except SitesError as error:
                return packed({"stop": str(error)})

    def _answered(self, name: str, header: Header, payload: bytes) -> bytes:
        number = header["round"]
        if header["kind"] == "stop":
            # A site that could not begin knows no fit yet; a stop of an earlier fit is none.
            if header["fit"] == self._fit or (header["fit"] == "" and self._present <= 1):
                self._stop(f"Site {name!r} does not go on, so that the fit stopped.")
            raise SitesError(f"Site {name!r} does not go on.")
        current = self._rounds.get(number) if isinstance(number, int) else None
        if current is None:
            raise SitesError(
                f"Site {name!r} sent a message of round {number}; it is round {self._present}."
            )
        own = digest({**header, "signature": ""}, payload)
        if current.digests.get(name, own) != own:
            raise SitesError(f"Site {name!r} sent a second, different message of round {number}.")
        if name not in current.digests:
            self._add(current, name, header, payload, own)
        self._arrived.wait_for(lambda: bool(current.reply or self._stopped), self._timeout)
        if current.reply is None and not self._stopped:
            missing = [repr(site) for site in self._participants if site not in current.digests]
            who = ", ".join(missing)
            self._stop(f"No message of round {number} came from {who}, so that the fit stopped.")
        if current.reply is None:
            raise SitesError(self._stopped)
        return current.reply

    def _add(self, current: _Round, name: str, header: Header, payload: bytes, own: str) -> None:
        for first, message in list(current.messages.items())[:1]:
            try:
                refuse_differences(header, message, name, first)
            except SitesError as error:
                self._stop(str(error))
                raise
        size = 8 * int(np.prod(header["facts"].get("shape", [0])))
        if len(payload) != size:
            raise SitesError(f"Site {name!r} sent {len(payload)} bytes; {size} were announced.")
        words = words_of(payload)
        current.total = words if current.total is None else current.total + words
        current.digests[name], current.messages[name] = own, dict(header)
        if len(current.digests) == len(self._participants):
            self._finish(current, header)

    def _finish(self, current: _Round, header: Header) -> None:
        common = {key: header[key] for key in COMMON}
        # Sums need no messages of others; keys and heads do, with their signatures.
        messages = {} if header["kind"] == "sum" else {"messages": current.messages}
        reply = packed({**common, **messages}, current.total.astype("<u8").tobytes())
        known = {"digests": current.digests, "messages": messages.get("messages", {})}
        answer = packed(known, reply)
        # Kept before any site has it: after a crash there is one answer to a round.
        self._journal.once(f"answer {self._present}", lambda: answer)
        current.reply = reply
        self._end(current)
        self._arrived.notify_all()

    def _end(self, current: _Round) -> None:
        """Begin the next round."""
        if self._present == 0:
            self._fit = digest(*(current.messages[name] for name in sorted(current.messages)))
        self._rounds = {self._present: current, self._present + 1: _Round()}
        self._present += 1

    def _stop(self, reason: str) -> None:
        self._stopped = reason
        self._arrived.notify_all()


def simulate(
    names: Sequence[str],
    fit: Callable[[Site], _Result],
    *,
    timeout: float = 600.0,
    **options: Any,
) -> dict[str, _Result]:
    """Run all sites of a fit in this process, each in a thread, for tests and notebooks.

    Parameters
    ----------
    names : sequence of str
        Names of the sites.
    fit : callable
        Given a :class:`~interpret_dp.sites.Site`, fits on that site's rows: ``site.name`` says
        which.
    timeout : float, default=600.0
        Seconds that the coordinator waits for a site.
    **options
        Of each site, as :class:`~interpret_dp.sites.Site` takes them: ``n_colluding`` and others.

    Returns
    -------
    dict of str to object
        What ``fit`` returned for each site.

    Raises
    ------
    Exception
        The first error of any site, if there was one.
    """
    keys = {name: SigningKey.generate() for name in names}
    participants = {name: key.public for name, key in keys.items()}
    coordinator = Coordinator(participants, timeout=timeout)
    errors: list[BaseException] = []

    def run(name: str) -> _Result:
        site = Site(name, keys[name], participants, coordinator, **options)
        try:
            return fit(site)
        except BaseException as error:
            errors.append(error)
            site.stop()
            raise

    # Threads of linear algebra would wait for each other's cores.
    with threadpool_limits(1), ThreadPoolExecutor(len(keys)) as threads:
        futures = {name: threads.submit(run, name) for name in keys}
    if errors:
        raise errors[0]
    return {name: future.result() for name, future in futures.items()}
