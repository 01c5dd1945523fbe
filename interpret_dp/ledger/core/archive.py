"""Archives of the log: every entry in a file, to the bit, so that its chain can be checked there.

Both forms hold the fields of an entry as they are hashed; a number is written with all its digits.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from interpret_dp._documents import canonical_json, check_keys, parse_json, write_file
from interpret_dp._validate import check_choice
from interpret_dp.exceptions import LedgerError
from interpret_dp.ledger.core.chain import GENESIS, Entry, verify_chain

__all__ = ["FORMS", "read_archive", "verify_archive", "write_archive"]

FORMS = (".jsonl", ".csv")
"""Endings of archives' names."""

_FIELDS = {field.name: str(field.type) for field in dataclasses.fields(Entry)}
# An empty cell is the empty text, or nothing where an entry may have nothing.
_READ_CELL: dict[str, Callable[[str], Any]] = {
    "int": int,
    "str": str,
    "float": float,
    "int | None": lambda cell: int(cell) if cell else None,
    "float | None": lambda cell: float(cell) if cell else None,
}


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
    write_file(target, text)
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
    """
    last = verify_chain(read_archive(path), head)
    return None if last == GENESIS else last


def _form_of(path: Path) -> str:
    return check_choice(
        "The ending of the archive's name",
        path.suffix.lower(),
        FORMS,
        mend="Name the file accordingly, such as 'privacy.jsonl'.",
    )


def _to_lines(entries: Iterable[Entry]) -> str:
    return "".join(f"{canonical_json(dataclasses.asdict(entry))}\n" for entry in entries)


def _rows_of_lines(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        row = parse_json(line, f"line {len(rows) + 1}")
        check_keys(f"line {len(rows) + 1}", row, _FIELDS)
        rows.append(row)
    return rows


def _to_csv(entries: Iterable[Entry]) -> str:
    written = io.StringIO(newline="")
    writer = csv.writer(written)
    writer.writerow(_FIELDS)
    for entry in entries:
        values = dataclasses.asdict(entry).values()
        writer.writerow(["" if value is None else _cell(value) for value in values])
    return written.getvalue()


def _cell(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _rows_of_csv(text: str) -> list[dict[str, Any]]:
    rows = []
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    if next(table, None) != list(_FIELDS):
        raise ValueError(f"its first line must be {','.join(_FIELDS)}")
    for cells in table:
        if len(cells) != len(_FIELDS):
            raise ValueError(f"line {table.line_num} has {len(cells)} cells")
        row = {
            name: _READ_CELL[kind](cell)
            for (name, kind), cell in zip(_FIELDS.items(), cells, strict=True)
        }
        if any(isinstance(value, float) and not math.isfinite(value) for value in row.values()):
            raise ValueError(f"line {table.line_num} holds a figure that is not finite")
        rows.append(row)
    return rows
