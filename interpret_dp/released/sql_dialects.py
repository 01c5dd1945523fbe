"""SQL dialects: how each database spells and reads the parts of a scoring statement.

sqlglot knows the spelling. What is here are differences in meaning: whether NaN equals itself,
whether text is compared exactly, whether a cell has a type of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import ErrorLevel, exp
from sqlglot.generator import Generator

from interpret_dp.schema.declarations import Level, level_label

__all__ = ["DIALECTS", "SOURCE", "Writer"]

#: Alias of the table, and of each SELECT that another one reads.
SOURCE = "source"


@dataclass(frozen=True)
class _Dialect:
    """Differences between databases beyond spelling.

    Attributes
    ----------
    name : str
        sqlglot's name.
    nan : {"absent", "equal", "unequal"}
        Whether a column can hold NaN, and whether NaN equals itself there.
    text : {"exact", "collation", "bytes", "padded"}
        How equality of text is made exact: it is; by SQLite's own binary collation; by a cast to
        bytes; by SQL Server's binary collation, with a mark that keeps trailing blanks.
    cells_have_types : bool
        Each cell has a type of its own, whatever the column is declared as.
    """

    name: str
    nan: str = "absent"
    text: str = "exact"
    cells_have_types: bool = False


_DIALECTS = {
    "ansi": _Dialect(""),
    "bigquery": _Dialect("bigquery", nan="unequal"),
    "duckdb": _Dialect("duckdb", nan="equal"),
    "mssql": _Dialect("tsql", text="padded"),
    "mysql": _Dialect("mysql", text="bytes"),
    "postgresql": _Dialect("postgres", nan="equal"),
    "snowflake": _Dialect("snowflake", nan="equal"),
    "sqlite": _Dialect("sqlite", text="collation", cells_have_types=True),
}

#: Names of the dialects that a :class:`Writer` writes.
DIALECTS = tuple(_DIALECTS)


class Writer:
    """Names, literals and readings of cells, in the words of one dialect.

    Parameters
    ----------
    dialect : str
        One of ``DIALECTS``.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = _DIALECTS[dialect]
        self.cells_have_types = self._dialect.cells_have_types

    # ------------------------------------------------------------------- names and literals

    def table(self, parts: Sequence[str]) -> exp.Expr:
        """Return a table, its parts from the outermost to the name, under the common alias."""
        *outer, name = parts
        catalog, schema = (None, None, *outer)[-2:]
        table = exp.table_(name, db=schema, catalog=catalog, quoted=True)
        return exp.alias_(table, SOURCE, table=True, quoted=True)

    def column(self, name: str) -> exp.Expr:
        """Return a qualified column: SQLite reads a plain quoted name that it lacks as text."""
        return exp.column(name, SOURCE, quoted=True)

    def literal(self, value: float) -> exp.Expr:
        """Return a number in scientific form, which most databases read as floating."""
        digits = np.format_float_scientific(abs(value), unique=True, trim="0", exp_digits=1)
        number = exp.Literal.number(digits.upper())
        # sqlglot writes a literal below zero in its own form, without the exponent.
        return exp.Neg(this=number) if value < 0 else number

    def floating(self, value: float) -> exp.Expr:
        """Return a number that is of floating type everywhere, and so is a sum with it."""
        return (
            exp.cast(self.literal(value), "DOUBLE") if self._dialect.name else self.literal(value)
        )

    def level(self, level: Level) -> exp.Expr:
        """Return a level or class label, in its own type."""
        if isinstance(level, str):
            return self._text(level)
        # SQLite has no bools, and reads TRUE as a column of that name where there is one.
        if isinstance(level, bool) and not self.cells_have_types:
            return exp.convert(level)
        number = float(level)
        return exp.Literal.number(int(number)) if number.is_integer() else self.literal(number)

    def _text(self, text: str) -> exp.Expr:
        # Without the N, SQL Server reads a literal in the database's own code page.
        if self._dialect.name == "tsql":
            return exp.National(this=text)
        return exp.Literal.string(text)

    # -------------------------------------------------------------------- readings of cells

    def as_number(self, name: str) -> exp.Expr:
        """Return a column as numbers."""
        if self.cells_have_types:
            return exp.cast(self.column(name), "DOUBLE")
        return self.column(name)

    def is_missing(self, name: str, *, numeric: bool) -> exp.Expr:
        """Return whether a cell is NULL or, in a column of numbers, NaN."""
        is_null = exp.Is(this=self.column(name), expression=exp.null())
        if not numeric or self._dialect.nan == "absent":
            return is_null
        cell, other = (exp.cast(self.column(name), "DOUBLE") for _ in range(2))
        is_nan: exp.Expr = exp.NEQ(this=cell, expression=other)
        if self._dialect.nan == "equal":
            nan = exp.cast(exp.Literal.string("NaN"), "DOUBLE")
            is_nan = exp.EQ(this=cell, expression=nan)
        return exp.Or(this=is_null, expression=is_nan)

    def is_no_number(self, name: str) -> exp.Expr:
        """Return whether a cell of a continuous feature is missing."""
        is_missing = self.is_missing(name, numeric=True)
        if not self.cells_have_types:
            return is_missing
        # SQLite casts any text to some number, and compares only well-formed numbers as such.
        differs = exp.NEQ(this=self.column(name), expression=self.as_number(name))
        is_other = exp.And(this=self._type_is(name, "text", "blob"), expression=differs)
        return exp.Or(this=is_missing, expression=exp.Paren(this=is_other))

    def is_text(self, name: str) -> exp.Expr:
        """Return whether a cell is text, where cells have types."""
        return self._type_is(name, "text")

    def _type_is(self, name: str, *types: str) -> exp.Expr:
        kind = exp.Anonymous(this="TYPEOF", expressions=[self.column(name)])
        return exp.In(this=kind, expressions=[exp.Literal.string(text) for text in types])

    def equals(self, name: str, level: Level, *, as_text: bool) -> exp.Expr:
        """Return whether a cell is a level, in the level's own type or by its label as text."""
        cell = self.column(name)
        if not as_text:
            return exp.EQ(this=cell, expression=self.level(level))
        label = level_label(level)
        value = self._text(label)
        if self._dialect.text == "collation":
            value = exp.Collate(this=value, expression=exp.var("BINARY"))
        elif self._dialect.text == "bytes":
            cell, value = exp.cast(cell, "BINARY"), exp.cast(value, "BINARY")
        elif self._dialect.text == "padded":
            marked = exp.Anonymous(this="CONCAT", expressions=[cell, self._text(".")])
            cell = exp.Collate(this=marked, expression=exp.var("Latin1_General_100_BIN2"))
            value = self._text(f"{label}.")
        return exp.EQ(this=cell, expression=value)

    # ------------------------------------------------------------------------- the statement

    def text(self, statement: exp.Expr) -> str:
        """Return the statement, laid out; raise if the dialect lacks something that it uses."""
        name, level = self._dialect.name, ErrorLevel.RAISE
        plain = statement.sql(dialect=name, unsupported_level=level)
        # Laying out text with line breaks is where versions of sqlglot differ; the newer ones mark
        # the breaks with a text that a level might hold.
        if "\n" in plain or Generator.SENTINEL_LINE_BREAK in plain:
            return plain
        return statement.sql(dialect=name, unsupported_level=level, pretty=True)
