"""Names and words that people give: of data sets, users and purposes."""

from __future__ import annotations

import unicodedata

__all__ = ["check_name", "check_text"]

_LONGEST_NAME = 200


def check_name(name: str, value: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Return a text that means the same to eyes and to the database (Unicode form NFC)."""
    tail = "" if longest is None else f", of at most {longest} characters"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text{tail}.")
    too_long = longest is not None and len(value) > longest
    if not value or value != value.strip() or not value.isprintable() or too_long:
        raise ValueError(
            f"{name} is {value!r}; it must be a printable text that is not empty{tail}, without "
            "spaces at its ends."
        )
    return unicodedata.normalize("NFC", value)


def check_text(value: str, name: str = "purpose") -> str:
    """Return somebody's words, which may be none."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r} ({type(value).__name__}); it must be a text.")
    return value
