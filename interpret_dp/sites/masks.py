"""Messages of sites: signed headers, and payloads under pairwise masks modulo 2**64.

Each pair of sites has a secret of one fit, by X25519 with keys that are made for this fit and
signed by the sites' declared keys. HKDF-SHA256 derives from it a key for each round, which also
hangs on everything public about that round; ChaCha20 stretches it to one mask for each number. The
first site of a pair adds the mask, the other one subtracts it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from interpret_dp._documents import canonical_json, parse_json
from interpret_dp.exceptions import SitesError

Words: TypeAlias = NDArray[np.uint64]
Header: TypeAlias = Mapping[str, Any]

#: Name and version of the protocol, in every header.
PROTOCOL = "interpret_dp.sites 1"
#: What all sites of a round have alike, beside the protocol.
COMMON = ("protocol", "kind", "fit", "round", "transcript", "facts")
_KEYS = {*COMMON, "site", "own", "signature"}
# The counter's start and the nonce: every key has one stream.
_START = bytes(16)


@dataclass(frozen=True)
class SigningKey:
    """The Ed25519 key of one site, of which the others know the public part.

    Parameters
    ----------
    secret : bytes
        32 bytes, to be kept where only the site's own people can read them.

    Examples
    --------
    >>> from interpret_dp.sites import SigningKey
    >>> key = SigningKey.generate()
    >>> len(key.public), SigningKey(key.secret) == key
    (64, True)
    """

    secret: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> SigningKey:
        """Return a new key, from the operating system's generator."""
        return cls(bytes(Ed25519PrivateKey.generate().private_bytes_raw()))

    @property
    def public(self) -> str:
        """The public part, as 64 hexadecimal digits."""
        key = Ed25519PrivateKey.from_private_bytes(self.secret).public_key()
        return str(key.public_bytes_raw().hex())

    def signed(self, header: Header, payload: bytes) -> dict[str, Any]:
        """Return the header with a signature over it and the payload."""
        key = Ed25519PrivateKey.from_private_bytes(self.secret)
        return {**header, "signature": key.sign(_signed_text(header, payload)).hex()}


def is_signed(header: Header, payload: bytes, public: str) -> bool:
    """Return whether a header of the right form, and its payload, are signed by a public key."""
    if not isinstance(header, Mapping) or set(header) != _KEYS or header["protocol"] != PROTOCOL:
        return False
    content = {name: value for name, value in header.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(bytes.fromhex(header["signature"]), _signed_text(content, payload))
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def _signed_text(header: Header, payload: bytes) -> bytes:
    return canonical_json(header).encode("ascii") + hashlib.sha256(payload).digest()


def digest(*parts: Header | bytes) -> str:
    """Return the SHA-256 of some parts, each of which is hashed first."""
    texts = (p if isinstance(p, bytes) else canonical_json(p).encode("ascii") for p in parts)
    return hashlib.sha256(b"".join(hashlib.sha256(text).digest() for text in texts)).hexdigest()


class PairSecrets:
    """The secrets of one site with each other site, of one fit.

    Parameters
    ----------
    site : str
    own : bytes
        From :meth:`new`. Empty: of a fit that is over, in which no masks are made.
    """

    def __init__(self, site: str, own: bytes) -> None:
        self._site, self._is_over = site, not own
        self._own = X25519PrivateKey.from_private_bytes(own or self.new())
        self._shared: dict[str, bytes] = {}
        self._last_round = -1

    @staticmethod
    def new() -> bytes:
        """Return a new secret of this site, from the operating system's generator."""
        return bytes(X25519PrivateKey.generate().private_bytes_raw())

    @property
    def public(self) -> str:
        """What the other sites need, as hexadecimal digits."""
        return str(self._own.public_key().public_bytes_raw().hex())

    def agree(self, others: Mapping[str, str]) -> None:
        """Compute the secret with each other site, by their public parts."""
        for name, public in others.items():
            try:
                key = X25519PublicKey.from_public_bytes(bytes.fromhex(public))
                self._shared[name] = bytes(self._own.exchange(key))
            except (TypeError, ValueError):
                raise SitesError(f"Site {name!r} sent no valid public key.") from None

    def masked(self, sums: NDArray[np.int64], context: Header) -> bytes:
        """Return numbers with the masks of all pairs, modulo 2**64.

        Parameters
        ----------
        sums : ndarray of int64
            With noise.
        context : mapping
            Everything public of the round.

        Raises
        ------
        SitesError
            If the round has masks already: two messages under one mask would tell their difference.
        """
        if context["round"] <= self._last_round or not self._shared or self._is_over:
            raise SitesError(f"Round {context['round']} has masks already, or none can be made.")
        self._last_round = context["round"]
        total = sums.ravel().view(np.uint64).copy()
        for other, secret in self._shared.items():
            own = mask(secret, sorted((self._site, other)), context, total.size)
            total = total + own if self._site < other else total - own
        return total.astype("<u8").tobytes()


def mask(secret: bytes, pair: list[str], context: Header, size: int) -> Words:
    """Return the mask of a pair of sites in one round, shape (size,)."""
    info = bytes.fromhex(digest({"pair": pair, "context": context}))
    salt = PROTOCOL.encode("ascii")
    key = HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(secret)
    stream = Cipher(ChaCha20(key, _START), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * size)), dtype="<u8").astype(np.uint64)


def words_of(payload: bytes) -> Words:
    """Return the numbers of a payload, as they are on the wire, modulo 2**64."""
    return np.frombuffer(payload, dtype="<u8").astype(np.uint64)


def packed(header: Header, payload: bytes = b"") -> bytes:
    """Return the bytes of a reply: the header's length, the header as JSON, and the payload."""
    text = canonical_json(header).encode("ascii")
    return struct.pack(">I", len(text)) + text + payload


def unpacked(reply: bytes) -> tuple[dict[str, Any], bytes]:
    """Return header and payload of a reply.

    Raises
    ------
    SitesError
        If it is of another form.
    """
    try:
        (length,) = struct.unpack(">I", reply[:4])
        header, payload = parse_json(reply[4 : 4 + length], "answer"), reply[4 + length :]
    except (struct.error, TypeError, ValueError):
        header, payload = None, b""
    if not isinstance(header, dict):
        raise SitesError("The coordinator's answer is not one of this protocol.")
    return header, payload
