"""Names, texts and moments that people give, and the account and machine that entries name."""

from __future__ import annotations

import datetime
import functools
import getpass
import os
import platform
from typing import Any

_DAY = datetime.timedelta(days=1)


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


def now() -> datetime.datetime:
    """Return the present moment by this machine's clock."""
    return datetime.datetime.now(datetime.UTC)


def today() -> str:
    """Return the present date in UTC, as ISO 8601 text."""
    return now().date().isoformat()


def until(name: str, value: Any) -> str:
    """Return the moment up to which something holds, as ISO 8601 text in UTC.

    Parameters
    ----------
    name : str
        The argument's name, for messages.
    value : date, datetime or str
        A date, or an ISO text of one, is the last day on which it holds, in UTC. A moment needs a
        time zone.

    Raises
    ------
    TypeError, ValueError
        If it is none of these, or has passed already.
    """
    moment = _moment(name, value)
    if moment <= now():
        raise ValueError(
            f"{name} is {value!r}, which has passed (it is {moment_text(now().isoformat())} by "
            "this machine's clock). Give a later date."
        )
    return moment.astimezone(datetime.UTC).isoformat(timespec="seconds")


def in_days(days: int) -> str:
    """Return the moment in so many days, as ISO 8601 text in UTC."""
    return (now() + days * _DAY).isoformat(timespec="seconds")


def has_passed(moment: str | None, date: str | None = None) -> bool:
    """Whether a moment of :func:`until` was over at the start of a date (UTC), or is; None never.

    Parameters
    ----------
    moment : str or None
    date : str, optional
        ISO 8601; by default the present moment by this machine's clock.
    """
    if moment is None:
        return False
    reached = now() if date is None else datetime.datetime.fromisoformat(f"{date}T00:00+00:00")
    return datetime.datetime.fromisoformat(moment) <= reached


def moment_text(moment: str) -> str:
    """Return an ISO moment for eyes: to the minute, in UTC."""
    utc = datetime.datetime.fromisoformat(moment).astimezone(datetime.UTC)
    return f"{utc:%Y-%m-%d %H:%M} UTC"


def _moment(name: str, value: Any) -> datetime.datetime:
    if isinstance(value, str):
        value = _parsed(name, value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError(
                f"{name} is {value.isoformat()!r}, which has no time zone. Add one, as in "
                "'2030-12-31T18:00+01:00', or give a date alone: the last day, in UTC."
            )
        return value
    if isinstance(value, datetime.date):
        # The last day of the calendar has no next one.
        day = min(value, datetime.date.max - _DAY)
        return datetime.datetime.combine(day, datetime.time(), datetime.UTC) + _DAY
    raise TypeError(
        f"{name} is {value!r} ({type(value).__name__}); it must be a date, a moment with a time "
        "zone, or the ISO text of one, such as '2030-12-31'."
    )


def _parsed(name: str, text: str) -> datetime.date:
    for kind in (datetime.date, datetime.datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    raise ValueError(
        f"{name} is {text!r}; it must be a date such as '2030-12-31' (the last day, in UTC), or a "
        "moment with a time zone such as '2030-12-31T18:00+01:00'."
    )
