"""A site: what it sends in each round, and what it checks of the answers."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from interpret_dp._validate import check_int, check_real
from interpret_dp.accounting.gaussian import MINIMUM_LATTICE_SIGMA, log10_excess_of_sum
from interpret_dp.exceptions import SitesError, warn_caller
from interpret_dp.sites.journal import Journal
from interpret_dp.sites.masks import (
    COMMON,
    PROTOCOL,
    Header,
    PairSecrets,
    SigningKey,
    digest,
    is_signed,
    packed,
    unpacked,
    words_of,
)

# Numbers that all releases of a request have together at most, as for one curator's noise.
_LOG10_NUMBERS = 16.0
# A request is calibrated 1e-10 below its limit, of which the noise's form may take next to nothing.
_LOG10_SLACK = -60.0
# Seconds between a message and the same one again: the first time, and at most.
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 1.0


class Transport(Protocol):
    """The way of messages to the coordinator: in one process, or a library's."""

    def exchange(self, header: Header, payload: bytes) -> bytes:
        """Deliver a message, and return the coordinator's answer.

        Raises
        ------
        OSError
            If the message or its answer was lost; the site sends the very same bytes again.
        """


class Site:
    """One site in one fit: it adds masks to its noisy sums, and learns the sum of all sites.

    Pass it to ``fit``. It serves once: a new attempt is a new fit, with a new charge.

    Parameters
    ----------
    name : str
        One of the participants.
    key : SigningKey
        Its own key.
    participants : mapping of str to str
        The public key of each site by its name; the same at all sites.
    transport : Transport
    n_colluding : int, default=1
        So many sites may tell the coordinator all that they know; below the number of sites. The
        noise of the others suffices alone. At least 1: whoever sees the model knows its own noise.
    max_sites : int, default=1
        Sites that may have rows of one privacy unit, such as a patient of two hospitals. The noise
        grows with it: what is promised holds for all rows of the unit together.
    journal : path-like, optional
        A file of this fit, which its owner alone may read. After a crash the same call of ``fit``
        with the same journal goes on where it was, and nothing is charged twice. Keep it until the
        model is saved. Without one, a crash ends the fit at all sites.
    patience : float, default=600.0
        Seconds for which a message that was lost is sent again.

    Raises
    ------
    ValueError
        If there are fewer than two sites, or the key is not that of the name.
    SitesError
        If the journal cannot be used, or its fit was stopped.
    """

    def __init__(
        self,
        name: str,
        key: SigningKey,
        participants: Mapping[str, str],
        transport: Transport,
        *,
        n_colluding: int = 1,
        max_sites: int = 1,
        journal: str | os.PathLike[str] = ":memory:",
        patience: float = 600.0,
    ) -> None:
        self.name, self._key, self.transport = name, key, transport
        self.participants = dict(sorted(participants.items()))
        keys = set(self.participants.values())
        is_alone = len(keys) < 2 or len(keys) < len(self.participants)
        if is_alone or self.participants.get(name) != key.public:
            raise ValueError(
                f"participants are {list(self.participants)}; there must be two or more, each with "
                f"a key of its own, and that of {name!r} must be that of key. Ask each site for "
                "its key.public."
            )
        self.n_sites = len(self.participants)
        self.n_colluding = check_int("n_colluding", n_colluding, low=1, high=self.n_sites - 1)
        self.n_shares = self.n_sites - self.n_colluding
        self.max_sites = check_int("max_sites", max_sites, low=1, high=self.n_sites)
        self._patience = check_real("patience", patience, low=0)
        self._fit, self._transcript = "", ""
        self._round, self._is_over = 0, False
        self._excess = log10_excess_of_sum(MINIMUM_LATTICE_SIGMA, self.n_shares)
        if self._excess + _LOG10_NUMBERS > _LOG10_SLACK:
            raise ValueError(f"{self.n_shares} shares of noise do not add up to what is promised.")
        self._journal = Journal(journal)
        refusal, own = "", name.encode("utf-8")
        if self._journal.get("stopped") is not None:
            refusal = "is of a fit that was stopped. A new attempt is a new fit with a new charge"
        elif self._journal.once("site", lambda: own) != own:
            refusal = "is of another site, and two sites with one secret would hide nothing"
        if refusal:
            self._journal.close()
            raise SitesError(f"The journal {os.fspath(journal)!r} {refusal}: name a new journal.")
        #: Public and of this fit alone: by it a ledger knows what it has reserved before a crash.
        self.token = self._journal.once("token", lambda: uuid4().hex.encode("ascii")).decode(
            "ascii"
        )
        self._secrets = PairSecrets(name, self._journal.once("secret", PairSecrets.new))

    @property
    def has_released(self) -> bool:
        """Whether sums of this fit may have left the site, before a crash too."""
        return self._journal.get("sent 1") is not None

    @property
    def clauses(self) -> tuple[str, ...]:
        """What a promise assumes of the sites, as clauses of a sentence."""
        clauses = (
            "each site is trusted with its own rows, and nobody with those of all",
            f"at most {self.n_colluding} of the sites {', '.join(self.participants)} and the "
            "coordinator put together what they know, and all follow the protocol",
            "X25519, HKDF-SHA256 and ChaCha20 cannot be broken: the promise is computational",
            f"the rows of a privacy unit are at {self.max_sites} of the sites at most",
        )
        if self.n_shares == 1:
            return clauses
        of_form = (
            f"the noise of {self.n_shares} sites together is discrete Gaussian, up to a factor of "
            f"exp(10^{math.ceil(self._excess)}) in each probability, which was proved and is far "
            "within the margin of the figures"
        )
        return *clauses, of_form

    @property
    def scope(self) -> str:
        """What a promise at sites says of itself."""
        return (
            f"The rows were at {self.n_sites} sites ({', '.join(self.participants)}), and no site "
            "and no coordinator saw rows or sums of another site. The promise is computational, "
            f"and holds while at most {self.n_colluding} of the sites and the coordinator put "
            "together what they know."
        )

    def open(self, terms: Mapping[str, str]) -> int:
        """Agree with all sites on the terms of the fit.

        Parameters
        ----------
        terms : mapping of str to str
            Public; what must be alike, by name.

        Returns
        -------
        int
            A seed that all sites have alike; public.

        Raises
        ------
        SitesError
            If a site has other terms, or one is missing; the message names what differs.
        """
        if self._round or self._is_over:
            raise SitesError(f"Site {self.name!r} was in a fit already. Make a new Site for each.")
        numbers = {"colluding sites": self.n_colluding, "sites of one unit": self.max_sites}
        agreed = {"sites": self.participants, **numbers}
        openings = self._gathered("open", {**terms, **agreed}, {"key": self._secrets.public})
        self._fit = self._transcript = digest(*openings.values())
        keys = {name: str(opening["own"].get("key")) for name, opening in openings.items()}
        self._secrets.agree({name: key for name, key in keys.items() if name != self.name})
        return int(digest(b"public choices", self._fit.encode("ascii")), 16)

    def total(self, noisy: NDArray[np.int64], facts: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the sum of all sites' noisy sums.

        Parameters
        ----------
        noisy : ndarray of int64
            With this site's noise.
        facts : mapping
            Public; what release it is.
        """
        common = self._common("sum", {**facts, "shape": list(noisy.shape)})
        _, payload = self._exchange(common, {}, lambda: self._secrets.masked(noisy, common))
        if len(payload) != 8 * noisy.size:
            raise SitesError("The coordinator's sum has another length than was sent.")
        self._transcript = digest(common, payload)
        return words_of(payload).view(np.int64).reshape(noisy.shape)

    def close(self, head: str, model: str) -> tuple[str, ...]:
        """Return a clause for each site, with the head of its ledger as far as it is known.

        Parameters
        ----------
        head : str
            Of this site's ledger.
        model : str
            Digest of what was released.

        Warns
        -----
        UserWarning
            If another site computed other numbers from the same sums.
        """
        own = {"head": head, "model": model}
        closings = {self.name: own}
        # The model is complete: a site that is lost now changes nothing.
        with suppress(SitesError):
            messages = self._gathered("close", {}, own)
            closings |= {name: message["own"] for name, message in messages.items()}
        self._is_over = True
        # All rounds are in the journal, and no mask is ever made again.
        self._journal.empty("secret")
        others = [name for name, of_site in closings.items() if of_site.get("model") != model]
        if others:
            warn_caller(
                f"Sites {_names(others)} computed another model from the same sums, by other "
                "versions of libraries or another processor. Publish one site's model only."
            )
        heads = {name: closings.get(name, {}).get("head", "unknown") for name in self.participants}
        return tuple(f"{name} (ledger head {of_site})" for name, of_site in heads.items())

    def stop(self) -> None:
        """Tell the others that this site does not go on; nothing is said of the reason."""
        if self._is_over:
            return
        self._is_over = True
        self._journal.once("stopped", bytes)
        self._journal.empty("secret")
        header = self._common("stop", {}) | {"site": self.name, "own": {}}
        # The coordinator may be gone as well.
        with suppress(Exception):
            self.transport.exchange(self._key.signed(header, b""), b"")

    def _common(self, kind: str, facts: Header) -> dict[str, Any]:
        """Return what all sites of a round have alike."""
        values = PROTOCOL, kind, self._fit, self._round, self._transcript, dict(facts)
        return dict(zip(COMMON, values, strict=True))

    def _gathered(self, kind: str, facts: Header, own: Header) -> dict[str, dict[str, Any]]:
        """Send what is this site's, and return the messages of all sites, which were checked."""
        common = self._common(kind, facts)
        reply, _ = self._exchange(common, own, bytes)
        messages = reply.get("messages")
        if not isinstance(messages, dict) or set(messages) != set(self.participants):
            raise SitesError("The coordinator's answer has not one message of each site.")
        if messages[self.name] != unpacked(self._journal.get(f"sent {self._round - 1}") or b"")[0]:
            raise SitesError(f"The coordinator's answer has another message of site {self.name!r}.")
        for name, message in messages.items():
            if not is_signed(message, b"", self.participants[name]):
                raise SitesError(f"The message of site {name!r} is not signed with its key.")
            refuse_differences(message, common, name, self.name)
        return dict(sorted(messages.items()))

    def _exchange(
        self, common: Header, own: Header, payload: Callable[[], bytes]
    ) -> tuple[dict[str, Any], bytes]:
        """Send one message, the very same again if it was lost, and return the answer.

        What is in the journal was sent before, or answered: it is not made anew.
        """
        if self._is_over:
            raise SitesError(f"The fit of site {self.name!r} is over. Make a new Site for each.")

        def signed() -> bytes:
            content = payload()
            header = {**common, "site": self.name, "own": dict(own)}
            return packed(self._key.signed(header, content), content)

        message, content = unpacked(self._journal.once(f"sent {self._round}", signed))
        differing = [name for name in COMMON if message.get(name) != common[name]]
        if differing:
            raise SitesError(
                f"The journal is of another fit, which differs in {_names(differing)}. Repeat the "
                "same call with the same rows and versions, or name a new journal."
            )
        answer = self._journal.once(
            f"answer {self._round}", lambda: self._answer(common, message, content)
        )
        self._round += 1
        return unpacked(answer)

    def _answer(self, common: Header, message: Header, payload: bytes) -> bytes:
        """Return the coordinator's answer, which belongs to this round."""
        answer = self._delivered(message, payload)
        reply, _ = unpacked(answer)
        if "stop" in reply:
            raise SitesError(str(reply["stop"]))
        if [reply.get(name) for name in COMMON[:4]] != [common[name] for name in COMMON[:4]]:
            raise SitesError("The coordinator's answer is that of another round.")
        return answer

    def _delivered(self, message: Header, payload: bytes) -> bytes:
        end, wait = time.monotonic() + self._patience, _FIRST_WAIT
        while True:
            with suppress(OSError):
                return self.transport.exchange(message, payload)
            if time.monotonic() + wait > end:
                raise SitesError("The coordinator cannot be reached.")
            time.sleep(wait)
            wait = min(2.0 * wait, _LONGEST_WAIT)


def refuse_differences(one: Header, other: Header, first: str, second: str) -> None:
    """Raise SitesError, which names what differs, unless two messages are of one round and fit."""
    facts = one["facts"], other["facts"]
    names = sorted({name for of_one in facts for name in of_one})
    differing = [name for name in names if facts[0].get(name) != facts[1].get(name)]
    differing += [name for name in COMMON if name != "facts" and one[name] != other[name]]
    if differing:
        raise SitesError(
            f"Sites {first!r} and {second!r} differ in {_names(differing)}. All sites must run the "
            "same fit, with the same schema and settings."
        )


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
