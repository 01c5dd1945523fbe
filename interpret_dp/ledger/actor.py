"""Who acts: the user account and the machine that an entry of the log names."""

from __future__ import annotations

import functools
import getpass
import os
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpret_dp._documents import canonical_json
from interpret_dp.ledger.chain import Entry

if TYPE_CHECKING:
    from interpret_dp.ledger.store import Log

__all__ = ["append_act", "current_host", "current_user", "user_of"]


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
