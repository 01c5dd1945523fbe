"""Edits of a released model: small public records that travel with it."""

from __future__ import annotations

import dataclasses
import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from interpret_dp._documents import check_keys

_LONGEST_TEXT = 2_000


@dataclass(frozen=True, kw_only=True)
class EditRecord:
    """One change that a person made to a shape function; public, holds no row.

    Attributes
    ----------
    term : str
        Name of the term.
    what : str
        What was done, in words.
    who : str
        Name of the person.
    when : str
        Time in UTC, such as ``2026-01-31T12:00:00Z``.
    why : str, default=""
        The message of the commit that the edit belongs to; empty while it is pending.

    Raises
    ------
    TypeError, ValueError
        If a field is no text, is empty where it may not be, is longer than 2,000 letters, or
        ``when`` is no such time.

    Examples
    --------
    >>> from interpret_dp import DPExplainableBoostingClassifier
    >>> from interpret_dp.datasets import make_cohort
    >>> patients = make_cohort(500)
    >>> model = DPExplainableBoostingClassifier(schema=patients.schema, max_rounds=2)
    >>> session = model.fit(patients.X, patients.y).edit(author="Ada")
    >>> session.shift("sex", 0.1, levels=["male"]).who
    'Ada'
    """

    term: str
    what: str
    who: str
    when: str
    why: str = ""

    def __post_init__(self) -> None:
        """Check every field."""
        for name, value in dataclasses.asdict(self).items():
            if not isinstance(value, str):
                raise TypeError(
                    f"{name} of an edit is {value!r} ({type(value).__name__}); it must be a text."
                )
            if not value.strip() and name in ("what", "who", "when"):
                raise ValueError(f"{name} of an edit is {value!r}; it must not be empty.")
            if len(value) > _LONGEST_TEXT and name != "term":
                raise ValueError(
                    f"{name} of an edit has {len(value)} letters; at most {_LONGEST_TEXT} are "
                    "allowed. Shorten it."
                )
        try:
            offset = datetime.fromisoformat(self.when).utcoffset()
        except ValueError:
            offset = None
        if offset != timedelta(0):
            raise ValueError(
                f"when of an edit is {self.when!r}; it must be a time in UTC such as "
                "'2026-01-31T12:00:00Z'."
            )

    @classmethod
    def of_now(cls, term: str, what: str, who: str) -> EditRecord:
        """Return the record of a pending edit that is made now."""
        when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(term=term, what=what, who=who, when=when)

    def to_dict(self) -> dict[str, str]:
        """Return the fields as plain JSON values; :meth:`from_dict` reads them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> EditRecord:
        """Rebuild a record.

        Raises
        ------
        TypeError, ValueError
            If the document has other keys, or a field is not as described above.
        """
        names = [field.name for field in dataclasses.fields(cls)]
        check_keys("An edit", document, names)
        return cls(**document)


def login_name() -> str:
    """Return the name under which the user of this process logged in."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


def edits_text(count: int) -> str:
    """Return "edited: 3 changes"."""
    return f"edited: {count} change{'' if count == 1 else 's'}"
