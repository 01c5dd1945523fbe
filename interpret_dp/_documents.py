"""Files: one way to write them, one strict way to read JSON, and a seal that shows a changed byte.

Every document of the package is opened by :func:`open_document`.

A seal is the SHA-256 of a document's canonical text, kept in the document itself. It guards against
accidents: a disk, an editor, a merge. It is no signature: whoever changes a file on purpose can
seal it again. To know that a file is the one that was released, keep its digest elsewhere.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from numbers import Integral
from pathlib import Path
from typing import Any
from uuid import uuid4

from interpret_dp._validate import describe_argument

SEAL = "sha256"
"""Key under which a file keeps the digest of all the rest of it."""

_MEND_KEYS = (
    "Restore the file from a copy, or read it with the version of interpret_dp that wrote it."
)


def canonical_json(document: Mapping[str, Any]) -> str:
    """Return the one JSON text of a document: sorted keys, no spaces, ASCII, finite numbers."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def digest_of(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical text, in hexadecimal digits."""
    return hashlib.sha256(canonical_json(document).encode("ascii")).hexdigest()


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its digest under `SEAL`, as files hold it."""
    return {**document, SEAL: digest_of(document)}


def unsealed(document: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return a document without its seal, if it has one and that matches.

    Documents without one are taken as they are: files of older versions, and what ``to_dict``
    returns.

    Raises
    ------
    ValueError
        If the content is not what was sealed.
    """
    content = dict(document)
    if SEAL not in content:
        return content
    seal = content.pop(SEAL)
    try:
        found = digest_of(content)
    except (TypeError, ValueError, RecursionError):
        found = None
    if seal != found:
        raise ValueError(
            f"{what} was changed after it was written: its content does not match its {SEAL}, "
            f"{str(seal)[:12]}.... Restore the file from a copy, or write it again from its source."
        )
    return content


def open_document(
    what: str,
    document: Any,
    document_format: str,
    versions: Collection[int],
    required: Collection[str],
    optional: Collection[str] = (),
    *,
    writer: str,
    mend: str = _MEND_KEYS,
) -> dict[str, Any]:
    """Return what a document of a known format and version holds, without format and version.

    Parameters
    ----------
    what : str
        What it is, for messages, such as ``"model file"``.
    document : object
        As JSON or TOML gave it.
    document_format : str
        What it must have under ``format``.
    versions : collection of int
        Those that this version of the package reads.
    required, optional : collection of str
        Its other keys: those that it must have, and those that it may. Where `SEAL` is among
        these, a seal is checked and left out.
    writer : str
        The call that writes such documents, such as ``"model.save(path)"``; for messages.
    mend : str
        The end of messages on its keys.

    Raises
    ------
    ValueError
        If it is no such document, was changed since it was sealed, is of another version, lacks
        a key or has one too many.
    """
    is_object = isinstance(document, Mapping)
    if not is_object or document.get("format") != document_format:
        fault = f"a {type(document).__name__} was given"
        if is_object:
            given = document.get("format")
            fault = "it has no 'format'" if given is None else f"its format is {given!r}"
        raise ValueError(
            f"This is not {'an' if what[0] in 'aeiou' else 'a'} {what} of interpret_dp: {fault}; "
            f"it must be an object of the format {document_format!r}, which {writer} writes."
        )
    content = unsealed(document, f"The {what}") if SEAL in optional else dict(document)
    version = content.get("version")
    if version not in versions or type(version) is not int:
        raise ValueError(
            f"The {what}'s version is {version!r}; this version of interpret_dp reads "
            f"{' and '.join(map(str, versions))}. A newer file needs a newer interpret_dp: pip "
            "install --upgrade interpret-dp."
        )
    del content["format"], content["version"]
    check_keys(f"The {what}", content, required, optional, mend=mend)
    return content


def check_keys(
    what: str,
    given: Any,
    required: Collection[str],
    optional: Collection[str] = (),
    *,
    mend: str = _MEND_KEYS,
) -> None:
    """Raise ValueError unless an object has all required keys, and no others but optional ones.

    Where either is a mapping, it names the kind of each value as well (:func:`check_kinds`).
    """
    allowed = ", ".join((*required, *optional))
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{what} is of type {type(given).__name__}; it must be an object with keys {allowed}."
        )
    missing = [key for key in required if key not in given]
    unknown = [key for key in given if key not in required and key not in optional]
    faults = []
    if missing:
        faults.append(f"lacks {', '.join(map(repr, missing))}")
    if unknown:
        faults.append(f"has unknown keys: {', '.join(map(repr, unknown))}; its keys are {allowed}")
    if faults:
        raise ValueError(f"{what} {' and '.join(faults)}. {mend}")
    for kinds in (required, optional):
        if isinstance(kinds, Mapping):
            check_kinds(what, given, kinds, mend=mend)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str) and is_encodable(value),
    "integer": lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    "number": lambda value: (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    ),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "list": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "moment": lambda value: isinstance(value, str) and _is_moment(value),
}


def check_kinds(
    what: str, given: Mapping[str, Any], kinds: Mapping[str, str], *, mend: str = _MEND_KEYS
) -> None:
    """Raise ValueError unless the values under the keys that are there are of the named kinds.

    Parameters
    ----------
    what : str
        What it is, for messages.
    given : mapping
    kinds : mapping of str to str
        Of each key: text, integer, number, boolean, null, list, object, moment (ISO 8601, with a
        time zone), "list of texts" and so on, or several of these with "or" between them.
    mend : str
        The end of messages.
    """
    for key, allowed in kinds.items():
        if key in given and not any(_is_of(given[key], kind) for kind in allowed.split(" or ")):
            raise ValueError(
                f"{what} is damaged: {describe_argument(key, given[key])}; it must be "
                f"{'an' if allowed[0] in 'aeiou' else 'a'} {allowed}. {mend}"
            )


def plain_values(what: str, values: Any) -> dict[str, Any]:
    """Return settings as a dict; ValueError unless they are values that a file can hold."""
    try:
        settings = dict(values)
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} must map names to texts, finite numbers, or lists or maps of them: {error}."
        ) from error
    return settings


_KIND_OF_TYPE = {
    **{"str": "text", "int": "integer", "float": "number", "bool": "boolean", "None": "null"},
    "tuple[str, ...]": "list of texts",
    "Mapping[str, Any]": "object",
}


def kinds_of(cls: type) -> dict[str, str]:
    """Return the kinds of the fields of a dataclass of plain values, by its annotations."""
    return {
        field.name: " or ".join(_KIND_OF_TYPE[part] for part in str(field.type).split(" | "))
        for field in dataclasses.fields(cls)
    }


def _is_of(value: Any, kind: str) -> bool:
    outer, _, inner = kind.partition(" of ")
    if not _KINDS[outer](value):
        return False
    return not inner or all(_KINDS[inner.removesuffix("s")](part) for part in value)


def is_encodable(text: str) -> bool:
    """Whether a text can be stored as UTF-8: it holds no half of a character (surrogate)."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


# Control characters but tab and ends of lines, separators of lines, byte-order marks and
# noncharacters: YAML and HTML forbid most of them, and readers take the others for breaks.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def printable(text: str) -> str:
    """Return a text with its escape, as JSON has it, for each character that pages may not hold."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


@contextmanager
def reading_parts(what: str, mend: str) -> Iterator[None]:
    """Turn the errors that a part of a document causes into one ValueError that names ``what``."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{what} is incomplete or was changed by hand ({type(error).__name__}: {error}). {mend}"
        ) from error


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new, empty file beside ``path``; it takes the place of ``path`` on success.

    What is at ``path`` stays whole if the block fails, if the disk is full, or if the machine
    stops. A pipe or a device cannot be replaced; it is yielded itself.

    Raises
    ------
    OSError
        If a file cannot be made there, if the one that is there is write-protected, or if the
        new one cannot be stored. If it cannot be put in its place, it is kept and named: making it
        may have cost budget.
    """
    # A link stays a link, to the new file.
    final = Path(os.path.realpath(path))
    old = Path(path)
    # A stream may be redirected to a regular file, whose content must stay.
    is_stream = os.path.abspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    if is_stream or (old.exists() and not old.is_file()):
        yield old
        return
    # The suffix stays: it says in which form some results are written.
    pending = final.with_name(f".{uuid4().hex}{final.suffix}")
    try:
        # What only its owner may read stays so at every moment.
        mode = 0o600 if final.exists() else 0o666
        os.close(os.open(pending, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except OSError as error:
        error.filename = os.fspath(path)  # the name that the caller knows
        raise
    try:
        if final.exists():
            # Replacing asks for rights to the folder alone.
            final.open("ab").close()
            shutil.copymode(final, pending)
        yield pending
        with pending.open("ab") as file:
            os.fsync(file.fileno())
    except BaseException:
        pending.unlink(missing_ok=True)
        raise
    try:
        os.replace(pending, final)
    except OSError as error:
        raise OSError(
            f"{os.fspath(path)!r} can no longer be written ({error.strerror}). The new file is "
            f"complete, in {str(pending)!r}: move it from there."
        ) from error


def ending_of(what: str, path: str | os.PathLike[str], endings: Collection[str]) -> str:
    """Return a path's ending, in lower case; ValueError, naming ``what``, if it is another."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise ValueError(
            f"{what} is {os.fspath(path)!r}; it must end in {' or '.join(endings)}, which says in "
            "which form it is written. Rename the file."
        )
    return ending


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, or leave the old one as it is; text as UTF-8.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with replaced_file(path) as pending:
        pending.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def write_sealed(
    path: str | os.PathLike[str], document: Mapping[str, Any], *, indent: int | None = None
) -> None:
    """Write a document and its seal.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    write_file(path, json.dumps(sealed(document), indent=indent, allow_nan=False))


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a JSON file holds; see :func:`parse_json`.

    Raises
    ------
    FileNotFoundError, OSError
        If it cannot be read.
    ValueError
        If it is no JSON file.
    """
    mend = "Give a file that this package wrote as JSON, or restore it from a copy."
    return parse_json(Path(path).read_bytes(), repr(os.fspath(path)), mend)


def parse_json(text: str | bytes, what: str, mend: str = "Restore the file from a copy.") -> Any:
    """Return what a JSON text holds.

    Stricter than Python's reader, which lets the last of two equal keys win and takes numbers that
    JSON does not have.

    Parameters
    ----------
    text : str or bytes
        Bytes are UTF-8.
    what : str
        Its name, for messages.
    mend : str
        The end of messages.

    Raises
    ------
    ValueError
        If it is no JSON, has a key twice, holds NaN, Infinity or a number too large for a double,
        or is nested too deep.
    """
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        return json.loads(  # noqa: TID251
            decoded, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite
        )
    except RecursionError:
        raise ValueError(
            f"{what} is not valid JSON of this package: it is nested too deep. {mend}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{what} is not valid JSON: {error}. {mend}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        doubled = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"it repeats keys: {', '.join(map(repr, doubled))}; keep one of each")
    return table


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds the number {text[:40]}; all numbers must be finite")
    return number
