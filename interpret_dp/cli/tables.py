"""Reader of table files, cell by cell: no row's text changes the meaning of another row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpret_dp._validate import did_you_mean, name_faults, shortened
from interpret_dp.cli.console import CommandError
from interpret_dp.schema import Categorical, FeatureSpec, Schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MISSING_TEXTS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""Texts that mean a missing cell of a CSV file, unless the schema declares them as levels."""

_SUFFIXES = (".parquet", ".csv")
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}
_CURRENCY = "[$€£¥₹₩₽฿]?"


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written; public.

    Attributes
    ----------
    sep : str
        One character between two fields.
    decimal : {".", ","}
        What stands before the fraction of a number; the other one may stand between thousands.
    encoding : {"utf-8", "latin-1", "cp1252"}
        Of letters. A byte that has no letter is replaced.
    """

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def number(self, text: str) -> str:
        """Return a number as Python writes it; any other text without the spaces around it.

        The sign of a currency may stand before or after it, and commas or points, spaces or
        apostrophes between thousands.
        """
        found = self._number.fullmatch(text.strip())
        if found is None:
            return text.strip()
        sign, digits, thousands, fraction, exponent = found.group(1, 2, 3, 4, 5)
        digits = digits.replace(thousands, "") if thousands else digits
        return f"{sign}{digits}{(fraction or '').replace(self.decimal, '.')}{exponent or ''}"

    @cached_property
    def _number(self) -> re.Pattern[str]:
        other, decimal = ("." if self.decimal == "," else ","), re.escape(self.decimal)
        # No number of thousands begins with 0: 0,123 is a fraction where points were expected.
        thousands = (
            rf"[1-9][0-9]{{,2}}(?:([{other} '\u2019\u00a0\u202f])[0-9]{{3}}(?:\3[0-9]{{3}})*)"
        )
        return re.compile(
            rf"(?=.*[0-9]){_CURRENCY} ?([+-]?) ?{_CURRENCY} ?({thousands}|[0-9]*)({decimal}[0-9]*)?"
            rf"([eE][+-]?[0-9]+)? ?{_CURRENCY}"
        )


COMMAS = CsvFormat()
"""Fields between commas, and points before fractions."""


@dataclass(frozen=True)
class DeclaredTable:
    """The columns of a file, as a schema says how to read them.

    Attributes
    ----------
    X : DataFrame or pyarrow.Table, shape (n_rows, n_columns)
        Private. The features, and the columns of the privacy unit if there is one. A Parquet file
        stays in Arrow's types: pandas would turn integers into floats for the sake of one missing
        cell.
    y : Series or pyarrow.ChunkedArray, shape (n_rows,), or None
        Private. The target, if one was named.
    undeclared : tuple of str
        Features whose levels or bounds a fit finds privately.
    absent : tuple of str
        Columns that the schema declares and the file lacks, unless they were excluded.
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    undeclared: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Notes on the columns, for before a fit is paid for."""
        notes = []
        if self.undeclared:
            notes.append(
                f"The schema does not declare {shortened(self.undeclared)}. The fit finds levels "
                "or bounds privately, out of its own budget. Declare what is public, or leave a "
                "column out with --exclude COLUMN."
            )
        if self.absent:
            notes.append(f"The file lacks {shortened(self.absent)}, which the schema declares.")
        return notes


def column_names(path: str, csv_format: CsvFormat = COMMAS) -> list[str]:
    """Return the names of a file's columns, in order.

    Parameters
    ----------
    path : str
        A Parquet file, or a CSV file whose first line names the columns.
    csv_format : CsvFormat

    Raises
    ------
    CommandError
        If the suffix is another one, or the file is not there, cannot be read, has a name twice, or
        has one column whose name holds another separator.
    """
    _check_path(path)
    if _is_csv(path):
        names = [name.strip() for name in next(_records(path, csv_format), [])]
        if len(names) > 1 and not names[-1]:
            del names[-1]  # every line ends with a separator
        if "\ufffd" in "".join(names):
            raise _unreadable(path)
        others = [sep for sep in _SEPARATORS if sep in "".join(names[:1])]
        if len(names) == 1 and others:
            raise CommandError(
                f"The columns of {path!r} are separated by {_SEPARATORS[others[0]]}, not by "
                f"{csv_format.sep!r}: use --sep {_SEPARATORS[others[0]]}."
            )
    else:
        import pyarrow as arrow
        from pyarrow import parquet

        try:
            names = list(parquet.read_schema(path).names)
        except arrow.ArrowException:
            raise _unreadable(path) from None
        names = [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]
    doubled = ", ".join(sorted({repr(name) for name in names if names.count(name) > 1}))
    if doubled or not names:
        what = f"names {doubled} twice" if doubled else "names no column"
        raise CommandError(f"The file {path!r} {what}. Each column needs a name of its own.")
    return names


def column_types(path: str) -> dict[str, Any]:
    """Return the Arrow type of each column of a Parquet file, by name; no row is read.

    Raises
    ------
    CommandError
        As :func:`column_names`, and for a CSV file, which has no types.
    """
    names = column_names(path)
    if _is_csv(path):
        raise CommandError(
            f"{path!r} is a CSV file, which has no types. Give a .parquet file, or call "
            "Schema.skeleton with a type for each column in Python."
        )
    from pyarrow import parquet

    types = parquet.read_schema(path)
    return {name: types.field(name).type for name in names}


def read_public(path: str, csv_format: CsvFormat = COMMAS) -> pd.DataFrame:
    """Read a whole file that the user declares to be public; types are found by looking at it.

    Raises
    ------
    CommandError
        As :func:`column_names`.
    """
    names = column_names(path, csv_format)
    if not _is_csv(path):
        # The file's pandas metadata would turn one of the columns into an index.
        public: pd.DataFrame = _read_parquet(path, names).to_pandas(ignore_metadata=True)
        return public
    import pandas as pd

    text = _whole_records(path, [""] * len(names), csv_format, csv_format.number)
    if "\ufffd" in text.read():
        raise _unreadable(path)  # levels with other letters would look alike
    text.seek(0)
    return pd.read_csv(
        text,
        names=names,
        header=0,
        index_col=False,
        keep_default_na=False,
        na_values=list(MISSING_TEXTS),
        low_memory=False,
    )


def kept_columns(
    path: str, names: Sequence[str], exclude: Sequence[str], roles: Sequence[str | None]
) -> list[str]:
    """Return the columns of a file but for those that ``--exclude`` names.

    Parameters
    ----------
    path : str
        For messages.
    names : sequence of str
        Of the file's columns.
    exclude : sequence of str
    roles : sequence of str or None
        The target and the privacy unit, which cannot be excluded.

    Raises
    ------
    CommandError
        If ``exclude`` names one of these, or no column of the file.
    """
    for name in exclude:
        if name in roles:
            raise CommandError(
                f"--exclude names {name!r}, the target or privacy unit. Leave it out of one."
            )
        if name not in names:
            raise CommandError(
                f"--exclude names {name!r}, and {path!r} has no such column; it has "
                f"{shortened(names)}.{did_you_mean(name, names)} Check the spelling."
            )
    return [name for name in names if name not in exclude]


def read_declared(
    path: str,
    schema: Schema,
    target: str | None,
    exclude: Sequence[str] = (),
    csv_format: CsvFormat = COMMAS,
) -> DeclaredTable:
    """Read the columns of a private file, by the schema's rule alone.

    Parameters
    ----------
    path : str
        A Parquet or CSV file; private. Each line of a CSV file is one row: where a quote is not
        closed, or the number of fields is not that of the first line, a row of empty cells, which
        is left out where a column identifies people; one empty field more is no field. Spaces
        around a cell are no part of it. Every cell stays text until the schema says what it means:
        types found by looking at a whole column would let one row decide how all others are read.
    schema : Schema
    target : str or None
        The column of the target.
    exclude : sequence of str, default=()
        Columns that are not read.
    csv_format : CsvFormat

    Raises
    ------
    CommandError
        As :func:`column_names`; or if a column is missing or misspelled, the schema has no target,
        or a column of a CSV file, which has no types, is not declared.
    """
    units = () if schema.people is None else schema.people.columns
    _check_roles(schema, target, units)
    all_names = column_names(path, csv_format)
    names = kept_columns(path, all_names, exclude, (target, *units))
    _check_present(path, names, target, units)
    others = [name for name in names if name not in (target, *units)]
    unlisted = [name for name in others if name not in schema.features]
    features = [*(name for name in schema.features if name in others), *unlisted]
    faults = name_faults(schema.features, features, unlisted)
    if faults:
        raise CommandError(" ".join(faults))
    undeclared = unlisted if schema.default is None else []
    absent = tuple(name for name in schema.features if name not in all_names)
    wanted = [*features, *units, *([] if target is None else [target])]
    if not _is_csv(path):
        table = _read_parquet(path, wanted)
        X = table.select([*features, *units])
        y = None if target is None else table.column(target)
        # The type of a column of bools says which values there are.
        unknown = tuple(name for name in undeclared if str(X.schema.field(name).type) != "bool")
        return DeclaredTable(X, y, unknown, absent)
    if undeclared:
        mend = "" if target is not None or schema.target is None else "Name the target: --target. "
        raise CommandError(
            f"The file {path!r} is a CSV file, which has no types, and the schema does not declare "
            f"{shortened(undeclared)}. {mend}Declare what is public, leave a column out with "
            "--exclude COLUMN, or write the table as Parquet."
        )
    import pandas as pd

    # A line that cannot be read may be somebody's who has other rows.
    empty = ["?" if name in units else "" for name in all_names]
    frame = pd.read_csv(
        _whole_records(path, empty, csv_format, str.strip),
        names=all_names,
        header=0,
        index_col=False,
        usecols=wanted,
        # Texts, of which each means what the schema says: the file itself has no types.
        dtype=object,
        na_filter=False,
    )
    specs = dict(zip(features, schema.resolve(features), strict=True))
    if target is not None and schema.target is not None:
        specs[target] = schema.target
    for name, spec in specs.items():
        frame[name] = _cells_of(frame[name], spec, csv_format)
    for name in units:
        frame[name] = _identifiers(frame[name])
    y = None if target is None else frame[target]
    return DeclaredTable(frame[[*features, *units]], y, (), absent)


def _check_roles(schema: Schema, target: str | None, units: Sequence[str]) -> None:
    if target is not None and schema.target is None:
        raise CommandError(
            'The schema declares no target. Add a [target] table to it: type = "categorical" '
            'with levels, or type = "continuous" with lower and upper.'
        )
    role = "privacy unit" if target in units else "feature"
    if target in schema.features or target in units:
        raise CommandError(
            f"Column {target!r} is the target, and in the schema a {role} too. Correct one."
        )


def _check_present(
    path: str, names: Sequence[str], target: str | None, units: Sequence[str]
) -> None:
    """Raise CommandError if the file lacks the target or a column of the privacy unit."""
    what = dict.fromkeys(units, "a column of the privacy unit that the schema names in [unit]")
    what |= {} if target is None else {target: "which --target names"}
    for name, missing in what.items():
        if name not in names:
            raise CommandError(
                f"The file {path!r} lacks column {name!r}, {missing}; it has {shortened(names)}."
                f"{did_you_mean(name, names)} Correct the name, or add the column."
            )


def _read_parquet(path: str, columns: list[str]) -> pa.Table:
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        return parquet.read_table(path, columns=columns)
    except arrow.ArrowException:
        raise _unreadable(path) from None


def _records(path: str, csv_format: CsvFormat) -> Iterator[list[str]]:
    """Yield the fields of each line that is not blank; none if the line is no record by itself."""
    # A byte that is no letter never takes the end of its line with it.
    encoding = "utf-8-sig" if csv_format.encoding == "utf-8" else csv_format.encoding
    with open(path, encoding=encoding, errors="replace") as file:
        for line in file:
            if line.strip(" \r\n\f\v"):
                own = [line.rstrip("\n")]
                record = csv.reader(
                    own, delimiter=csv_format.sep, skipinitialspace=True, strict=True
                )
                try:
                    yield next(record)
                except csv.Error:
                    yield []


def _whole_records(
    path: str, empty: list[str], csv_format: CsvFormat, cell: Callable[[str], str]
) -> io.TextIOWrapper:
    """Return a CSV file in which every line has so many fields, for a reader that is less strict.

    The lines that have not are written as ``empty``. Each field is what ``cell`` says of it.
    """
    text = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    writer = csv.writer(text)
    for fields in _records(path, csv_format):
        if len(fields) == len(empty) + 1 and not fields[-1].strip():
            del fields[-1]
        writer.writerow(map(cell, fields) if len(fields) == len(empty) else empty)
    text.seek(0)
    return text


def _cells_of(texts: pd.Series[str], spec: FeatureSpec, csv_format: CsvFormat) -> pd.Series[Any]:
    """Return what each text stands for, by the declaration of its column; None if missing."""
    import pandas as pd

    meaning: Callable[[str], Any] = partial(_amount, csv_format)
    if isinstance(spec, Categorical):
        declared = {level for level in spec.levels if isinstance(level, str)}
        holds_numbers = any(not isinstance(level, str) for level in spec.levels)
        meaning = partial(_level, declared, holds_numbers, csv_format)
    meanings = {text: meaning(text) for text in texts.unique()}
    # Objects stay as they are: a type found for all of them would depend on each.
    return pd.Series([meanings[text] for text in texts], dtype=object)


def _amount(csv_format: CsvFormat, text: str) -> str | None:
    number = csv_format.number(text)
    # Among decimal commas 1.5 is no number, and Python would read it as one.
    return None if csv_format.decimal == "," and number == text and "." in text else number


def _identifiers(texts: pd.Series[str]) -> pd.Series[Any]:
    """Return each identifier as it is; None if empty.

    A text such as "NA" may be a name or mean that there is none: as an empty tuple, which is no
    identifier, its row is left out.
    """
    import pandas as pd

    unclear = dict.fromkeys(MISSING_TEXTS, ()) | {"": None}
    return pd.Series([unclear.get(text, text) for text in texts], dtype=object)


def _level(
    declared: set[str], holds_numbers: bool, csv_format: CsvFormat, text: str
) -> str | float | None:
    if text in declared:
        return text
    if text in MISSING_TEXTS:
        return None
    if holds_numbers and text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        return float(csv_format.number(text)) if holds_numbers else text
    except ValueError:
        return text


def _is_csv(path: str) -> bool:
    return Path(path).suffix.lower() == ".csv"


def _check_path(path: str) -> None:
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise CommandError(
            f"FILE is {path!r}; its suffix must be one of {', '.join(_SUFFIXES)}. Convert the "
            "table, for example with pandas."
        )
    if not Path(path).is_file():
        raise CommandError(f"FILE is {path!r}, and there is no such file. Check the path.")


def _unreadable(path: str) -> CommandError:
    # The reader's own message may quote the line that it stumbled over.
    kind, mend = ("CSV file", ", or name its --encoding") if _is_csv(path) else ("Parquet file", "")
    return CommandError(
        f"The file {path!r} cannot be read as a {kind}. Repair or convert it{mend}."
    )
