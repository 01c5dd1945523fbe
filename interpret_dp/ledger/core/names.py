"""Names and texts that people give, and the user account and machine that entries name."""

from __future__ import annotations

import functools
import getpass
import os
import platform
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import canonical_json
from interpret_dp.ledger.core.chain import Entry

if TYPE_CHECKING:
    from interpret_dp.ledger.core.store import Log

__all__ = ["append_act", "check_name", "check_text", "current_host", "current_user", "user_of"]

_LONGEST_NAME = 200


def check_name(name: str, value: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Return a text that means the same to eyes and to the database (Unicode form NFC)."""
    tail = "" if longest is None else f", of at most {longest} characters"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text{tail}.")
    # The form NFC of a few characters is longer than they are.
    text = unicodedata.normalize("NFC", value)
    too_long = longest is not None and len(text) > longest
    if not value or value != value.strip() or not value.isprintable() or too_long:
        raise ValueError(
            f"{name} is {value!r}; it must be a printable text that is not empty{tail}, without "
            "spaces at its ends."
        )
    return text


def check_text(value: str, name: str = "purpose") -> str:
    """Return somebody's words, which may be none."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text.")
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(
            f"{name} is {value!r}; it must be a text without null characters and without halves "
            "of characters (surrogates), which no database stores."
        )
    return value


def current_user() -> str:
    """Return the name of the user account that runs this process.

    From the operating system's own list of accounts: the environment variables LOGNAME and USER,
    which anybody may set, are asked only where there is no such list.
    """
    number = os.getuid() if hasattr(os, "getuid") else None
    return _name_of(number)


@functools.cache
def _name_of(number: int | None) -> str:
    if number is not None:
        import pwd

        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            # A container may run under a number that has no name.
            return f"uid-{number}"
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def current_host() -> str:
    """Return the machine's name in the network; empty if it has none."""
    return platform.node()


def user_of(log: Log) -> str:
    """Return who acts: the database's login where a server checks one, else the user account."""
    return log.session_user() or current_user()


def append_act(log: Log, facts: Mapping[str, Any] | None = None, **fields: Any) -> Entry:
    """Append an entry that says who wrote it, and where; only inside a writing transaction.

    Parameters
    ----------
    log : Log
    facts : mapping, optional
        Further facts for the entry's context; those that are None are left out.
    **fields
        As :meth:`Log.append` takes them.
    """
    told = {name: value for name, value in (facts or {}).items() if value is not None}
    context = canonical_json({"user": user_of(log), "host": current_host(), **told})
    return log.append(context=context, **fields)
