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
