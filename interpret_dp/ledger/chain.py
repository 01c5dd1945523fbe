"""Entries of the append-only log, their hash chain and archives, and the names in them.

An archive holds every entry to the bit, so that its chain can be checked there: the fields of an
entry as they are hashed, a number with all its digits.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import functools
import getpass
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from interpret_dp import _documents
from interpret_dp._validate import moment_text
from interpret_dp.accounting.events import SMALLEST_MU
from interpret_dp.accounting.lattice import Neighbourhood
from interpret_dp.exceptions import LedgerError

# Names, texts and moments that people give, and the account and machine that entries name.

_DAY = datetime.timedelta(days=1)

ONE_ROW = Neighbourhood().protected
"""Whom a request protects that names no other unit."""


def check_text(value: str, name: str = "purpose") -> str:
    """Return somebody's words, which may be none."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text.")
    if "\x00" in value or not _documents.is_encodable(value):
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


def now() -> datetime.datetime:
    """Return the present moment by this machine's clock."""
    return datetime.datetime.now(datetime.UTC)


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


GENESIS = "0" * 64
"""The predecessor that the first entry names."""

CLOSING = ("commit", "cancel")
"""Kinds that close a reservation."""

_HASH_FORMAT = 1
_ADVICE = "Restore the ledger from a backup."
# Kinds of the details that a version of this package writes; a newer one may write others.
_DETAILS = {
    **dict.fromkeys(("user", "host", "protected", "token", "new_people", "for_user"), "text"),
    **dict.fromkeys(("to", "with", "subject", "role", "was"), "text"),
    **dict.fromkeys(("conditions", "failures"), "list of texts"),
    **dict.fromkeys(("whole_budget", "overspent"), "boolean"),
    **dict.fromkeys(("approval", "uses", "at_most"), "integer"),
    "approval_above": "number",
    "expires": "moment",
}

FORMS = (".jsonl", ".csv")
"""Endings of archives' names."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the log. Holds public figures of requests, never a figure of the rows.

    Attributes
    ----------
    number : int
        Position in the log, from 1 without gaps.
    time : str
        The date in UTC, ISO 8601; empty for a commit and a cancel. A finer time, or one of the
        end, would publish how long a request ran, which may depend on rows. Entries of older
        versions hold the moment.
    kind : str
        Of spending: "reserve", "commit", "cancel". Of an officer's act on an account: "budget",
        "raise", "renew", "link", "policy", "unit". Of asking before spending: "ask", "approve",
        "reject", "withdraw". Of an act on the whole ledger: "appoint", "dismiss". A version that
        does not know a kind refuses the account rather than guess.
    dataset : str
        The data set's name; empty for an act on the whole ledger.
    reservation : int or None
        For a commit or a cancel: the number of the entry that it closes; for an answer to a
        request for approval, the number of that request.
    explainer, purpose : str
        Which class asked, and what for; for an act of an officer, ``purpose`` is the reason.
    mu, delta : float
        The charged pair, or the one that an approval is asked for; for an entry that sets a
        budget, the limits B and delta_x; otherwise 0.
    epsilon, epsilon_delta : float or None
        The guarantee that was asked for; for an entry that sets a budget, what it grants.
    event : str
        Canonical JSON of the event tree, or the empty text.
    package_version : str
        Version of interpret_dp that wrote the entry.
    context : str
        Canonical JSON object of further details: user and host; for a reservation, whom its
        guarantee protects; for a budget, whom its owner wants to be protected, and its end.
    previous : str
        Hash of the entry before, or `GENESIS`.
    hash : str
        SHA-256 over the canonical JSON of all other fields.
    """

    number: int
    time: str
    kind: str
    dataset: str
    reservation: int | None = None
    explainer: str = ""
    purpose: str = ""
    mu: float = 0.0
    delta: float = 0.0
    epsilon: float | None = None
    epsilon_delta: float | None = None
    event: str = ""
    package_version: str
    context: str = "{}"
    previous: str
    hash: str = ""

    @property
    def details(self) -> dict[str, Any]:
        """The entries of ``context``; those that this version knows are of their kinds."""
        details = self._document("context", self.context)
        try:
            _documents.check_kinds(
                f"Entry {self.number} of the ledger", details, _DETAILS, mend=_ADVICE
            )
        except ValueError as error:
            raise LedgerError(str(error)) from None
        return details

    @property
    def date(self) -> str:
        """The date, also of an entry that holds a finer time; empty for a commit and a cancel."""
        return self.time[:10]

    @property
    def user(self) -> str:
        """The account that wrote the entry; empty in ledgers of the first version."""
        return str(self.details.get("user", ""))

    @property
    def host(self) -> str:
        """The machine that wrote the entry; empty likewise."""
        return str(self.details.get("host", ""))

    @property
    def protected(self) -> str | None:
        """The unit that the budget or the request's guarantee protects; None if it does not say.

        Requests of older versions do not, and were all about rows.
        """
        usual = ONE_ROW if self.kind == "reserve" else None
        protected = self.details.get("protected", usual)
        return None if protected is None else str(protected)

    def digest(self) -> str:
        """Return the hash that belongs to the content."""
        content = {**vars(self), "format": _HASH_FORMAT}
        del content["hash"]
        return _documents.digest_of(content)

    def sealed(self) -> Entry:
        """Return the entry with its hash filled in."""
        return dataclasses.replace(self, hash=self.digest())

    def to_dict(self) -> dict[str, Any]:
        """Return the entry with its event and context as JSON documents."""
        document = dict(vars(self))
        document["event"] = self._document("event", self.event) if self.event else None
        document["context"] = self.details
        return document

    def _document(self, name: str, text: str) -> dict[str, Any]:
        try:
            document = _documents.parse_json(text, name)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise LedgerError(
                f"Entry {self.number} of the ledger is damaged: its {name} is no object. {_ADVICE}"
            )
        return document

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Entry:
        """Return the entry of a stored row.

        Raises
        ------
        LedgerError
            If a field has a type or a value that this package never writes.
        """
        for name, types in _FIELDS.items():
            value = row[name]
            least, most = _LIMITS.get(name, _ANY)
            if type(value) not in types:
                fault = f"of type {type(value).__name__}"
            elif isinstance(value, float) and value != 0 and not least <= value <= most:
                fault = f"{value!r}; it must be 0, or from {least:g} to {most:g}"
            elif name == "time" and not _is_date(value[:10]):
                fault = f"{value!r}; it must be a date, or a moment, as ISO 8601 text"
            else:
                continue
            raise LedgerError(
                f"Entry {row['number']!r} of the log is damaged: its {name} is {fault}. {_ADVICE}"
            )
        return cls(**row)


def _is_date(text: str) -> bool:
    try:
        return not text or bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


_ANY = (0.0, sys.float_info.max)
_LIMITS = {
    "mu": (SMALLEST_MU, 1 / SMALLEST_MU),
    **dict.fromkeys(("delta", "epsilon_delta"), (0.0, 1.0)),
}
# An entry's fields, each with the types that it may have.
_FIELDS: dict[str, tuple[type, ...]] = {
    name: get_args(kind) or (kind,) for name, kind in get_type_hints(Entry).items()
}


def unknown_kind(entry: Entry) -> LedgerError:
    """Return the error for an entry of a kind that this version does not know."""
    return LedgerError(
        f"Entry {entry.number} of the ledger is of the unknown kind {entry.kind!r}. If a newer "
        "interpret_dp wrote it, upgrade to that; otherwise run verify() and restore a backup."
    )


def check_next(entry: Entry, number: int, previous: str) -> None:
    """Check that an entry is the next of a chain.

    Parameters
    ----------
    entry : Entry
        As it was read.
    number : int
        What its number must be.
    previous : str
        Hash of the entry before, or `GENESIS`.

    Raises
    ------
    LedgerError
        If it was changed, removed or moved.
    """
    if entry.number != number:
        fault = f"is missing: entry {entry.number} comes in its place"
    elif entry.previous != previous:
        fault = f"does not follow entry {number - 1}: one of them was exchanged or moved"
    elif entry.digest() != entry.hash:
        fault = "was changed: its content does not match its hash"
    else:
        return
    raise LedgerError(f"Entry {number} of the ledger {fault}. {_ADVICE}")


def verify_chain(entries: Iterable[Entry], head: str | None = None) -> str | None:
    """Check every entry's number, predecessor and hash; return the hash of the last entry, if any.

    Parameters
    ----------
    entries : iterable of Entry
        The whole log, in order of the entries' numbers.
    head : str, optional
        A hash that was printed earlier, in a guarantee or a report. It must still be in the log:
        a chain alone cannot see that its tail was cut off.

    Raises
    ------
    LedgerError
        Names the first entry that was changed, removed or moved.
    """
    previous, number, seen = GENESIS, 0, head is None
    for entry in entries:
        number += 1
        check_next(entry, number, previous)
        previous = entry.hash
        seen = seen or entry.hash == head
    if not seen:
        raise LedgerError(
            f"The head {head!r} is not among the ledger's {number} entries: the log was cut off "
            f"after entry {number}, was rewritten, or is another. Restore it from a backup."
        )
    return previous if number else None


def write_archive(path: str | os.PathLike[str], entries: Sequence[Entry]) -> Path:
    """Write all entries of a log, in order.

    Raises
    ------
    ValueError
        If the path ends in something else than :data:`FORMS`.
    OSError
        If it cannot be written.
    """
    target = Path(path)
    text = _to_csv(entries) if _form_of(target) == ".csv" else _to_lines(entries)
    _documents.write_file(target, text)
    return target


def read_archive(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of an archive, unchecked.

    Raises
    ------
    LedgerError
        If it is no archive of a ledger.
    ValueError
        If the path ends in something else than :data:`FORMS`.
    OSError
        If it cannot be read.
    """
    source = Path(path)
    form = _form_of(source)
    try:
        text = source.read_bytes().decode("utf-8")
        rows = _rows_of_csv(text) if form == ".csv" else _rows_of_lines(text)
        return [Entry.from_row(row) for row in rows]
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise LedgerError(
            f"{str(source)!r} is no archive of a ledger, or was changed: {error}. Export the "
            "ledger anew, or take another copy."
        ) from error


def verify_archive(path: str | os.PathLike[str], head: str | None = None) -> str | None:
    """Check an archive against its hash chain, without the ledger; return its head.

    Parameters
    ----------
    path : str or path-like
    head : str, optional
        A head that was kept; without it, an archive whose last entries were cut off looks whole.

    Raises
    ------
    LedgerError
        Names the first entry that was changed, removed, moved or cut off.
    ValueError, OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from interpret_dp import PrivacyLedger
    >>> from interpret_dp.ledger import verify_archive
    >>> ledger = PrivacyLedger.in_memory()
    >>> budget = ledger.create_budget("ward", epsilon=3, delta=1e-6)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ledger.export(f"{folder}/ledger.jsonl")
    ...     verify_archive(path) == ledger.head
    True
    """
    return verify_chain(read_archive(path), head)


def _form_of(path: Path) -> str:
    return _documents.ending_of("The archive's path", path, FORMS)


def _to_lines(entries: Iterable[Entry]) -> str:
    return "".join(f"{_documents.canonical_json(vars(entry))}\n" for entry in entries)


def _rows_of_lines(text: str) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        rows.append(_documents.parse_json(line, f"line {number}"))
        _documents.check_keys(f"line {number}", rows[-1], tuple(_FIELDS))
    return rows


def _to_csv(entries: Iterable[Entry]) -> str:
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(_FIELDS)
    # A float has all its digits, and None is an empty cell.
    writer.writerows(vars(entry).values() for entry in entries)
    return written.getvalue()


def _rows_of_csv(text: str) -> list[dict[str, Any]]:
    rows = []
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    if next(table, None) != list(_FIELDS):
        raise ValueError(f"its first line must be {','.join(_FIELDS)}")
    for cells in table:
        if len(cells) != len(_FIELDS):
            raise ValueError(f"line {table.line_num} has {len(cells)} cells")
        # An empty cell is the empty text, or nothing where an entry may have nothing.
        rows.append(
            {
                name: None if not cell and NoneType in types else types[0](cell)
                for (name, types), cell in zip(_FIELDS.items(), cells, strict=True)
            }
        )
    return rows
