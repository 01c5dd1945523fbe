"""A released additive model as one SELECT statement, so that it can score inside a database.

sqlglot writes the identifiers, literals and casts of each dialect. This module adds the reading of
cells: in a database as in Python, missing, NaN, undeclared and out-of-range values go to the bins
that :mod:`interpret_dp.schema` sends them to. Databases differ in whether NaN equals itself,
whether text is compared exactly, and whether a cell has a type of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import ErrorLevel, exp
from sqlglot.generator import Generator

from interpret_dp._validate import check_choice, check_sequence
from interpret_dp.released.additive_model import AdditiveModel, score_suffixes
from interpret_dp.released.arrays import FloatArray
from interpret_dp.released.terms import AdditiveFeature, FeaturePair
from interpret_dp.schema.declarations import Categorical, Level, level_label

if TYPE_CHECKING:
    Branch = tuple[exp.Expr, exp.Expr]
    # What a SELECT returns in order: an expression, or None for a column of the SELECT inside it.
    Step = dict[str, exp.Expr | None]


# EXP overflows just beyond this; in PostgreSQL underflow is an error as well.
_EXP_LIMIT = 700.0
_SURVIVAL_NOTE = "/* Predictions are hazard ratios. */\n"
_EXPOSURE_NOTE = "/* Predictions are per unit of exposure: multiply them by that of each row. */\n"
_INIT_SCORE_NOTE = """\
/* Not the whole prediction: the model was fitted with init_score. Add that of each row to its score
   (without a score: to its prediction), and compute predictions, probabilities and labels from the
   sum. */
"""


def scoring_sql(
    model: AdditiveModel,
    dialect: str = "ansi",
    *,
    table: str | Sequence[str] = "data",
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
) -> str:
    """Return a SELECT statement that predicts for each row of a table.

    Parameters
    ----------
    model : AdditiveModel
    dialect : {"ansi", "bigquery", "duckdb", "mssql", "mysql", "postgresql", "snowflake", "sqlite"}
        The database's language.
    table : str or sequence of str, default="data"
        Name of the table; a sequence such as ``("schema", "people")`` if it is qualified. Names
        are always quoted: in a database that folds plain names to upper case, write them so.
    columns : mapping of str to str, default=None
        Name of the database's column for a feature; others are called as the feature is.
    keep : sequence of str, default=()
        Columns of the table to return with the predictions, such as its key.

    Returns
    -------
    str
        A statement whose columns are those of ``keep``, then for a regression ``prediction``, in
        units of the target, and before it under a log link ``score``, its logarithm; for two
        classes ``score`` (logits of the second class), ``probability`` (of the second class)
        and ``prediction`` (a label); for more ``score_0``, ``score_1`` ..., ``probability_0``,
        ``probability_1`` ... in the order of the classes, and ``prediction``. No semicolon at the
        end, so that it can be a subquery or a view. Of a model that needs ``init_score`` it begins
        with a comment that says so: it holds the part of the score that the model adds.

    Raises
    ------
    TypeError, ValueError
        If the dialect is unknown, a name is empty or cannot be written, ``columns`` names
        something that is no feature, or ``keep`` has a name that the statement itself uses.

    Notes
    -----
    Released: the statement is post-processing of the model and costs nothing. It holds every
    score, every cut point and every declared level.

    Columns of continuous features must be numbers, those of categorical ones of the type of their
    levels. NULL and NaN are missing. Text is compared exactly, blanks and case included, whatever
    the column's collation. Levels of mixed types are compared by their labels, as text. In SQLite
    cells are read one by one, as the fit reads them: text that is a number is a number for a
    continuous feature, other text is missing.
    """
    check_choice("dialect", dialect, DIALECTS)
    writer = _Writer(dialect)
    parts = (table,) if isinstance(table, str) else tuple(table)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"table is {table!r}; it must be a name, or up to three, outermost first.")
    parts = tuple(_checked_name("a part of table", part) for part in parts)
    column_of = _checked_columns(model, columns)
    kept = check_sequence("keep", keep, "names")
    kept_columns = [_checked_name("a name in keep", name) for name in kept]

    steps = _steps(model, writer, column_of)
    made = {name for step in steps for name in step}
    if made.intersection(kept_columns) or len(set(kept_columns)) < len(kept_columns):
        raise ValueError(
            f"keep is {kept_columns!r}; its names must differ from one another and from those "
            f"that the statement itself makes, {sorted(made)!r}. Rename the column in a view."
        )
    source: exp.Expr = writer.table(parts)
    for step in steps:
        chosen = [writer.column(name) for name in kept_columns]
        chosen += [
            writer.column(name) if value is None else exp.alias_(value, name, quoted=True)
            for name, value in step.items()
        ]
        query = exp.select(*chosen, copy=False).from_(source, copy=False)
        source = query.subquery(exp.to_identifier(_SOURCE, quoted=True), copy=False)
    note = _INIT_SCORE_NOTE if model.needs_init_score else ""
    if model.baseline is not None:
        note = _SURVIVAL_NOTE
    elif model.exposure is not None and not note:
        note = _EXPOSURE_NOTE
    return note + writer.text(source.this)


def _checked_name(what: str, name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{what} is {name!r} ({type(name).__name__}); it must be a string.")
    if not name or "\0" in name:
        raise ValueError(
            f"{what} is {name!r}; SQL has no names that are empty or hold NUL. Give the column's "
            "name in the database, for a feature with columns={feature: name}."
        )
    return name


def _checked_columns(model: AdditiveModel, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Return the database's column of each feature that has a term."""
    given = {} if columns is None else dict(columns)
    known = [feature.name for feature in model.features]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"columns names {unknown!r}; its keys must be features: {known!r}.")
    names = [known[index] for term in model.terms for index in term.features]
    return {name: _checked_name(f"column of {name!r}", given.get(name, name)) for name in names}


def _steps(model: AdditiveModel, writer: _Writer, column_of: Mapping[str, str]) -> list[Step]:
    """Return the nested SELECTs, the innermost first."""
    sums = [
        _sum(
            writer.floating(intercept),
            [_term(model, writer, column_of, position, k) for position in range(len(model.terms))],
        )
        for k, intercept in enumerate(model.intercept.tolist())
    ]
    if model.classes is None:
        if model.link == "identity":
            return [{"prediction": sums[0]}]
        return [{"score": sums[0]}, {"score": None, "prediction": _exponential(writer, "score")}]
    labels = [writer.level(label) for label in model.classes]
    if len(sums) == 1:
        if len(labels) == 1:
            one = writer.literal(1.0)
            return [
                {"score": sums[0]},
                {"score": None, "probability": one, "prediction": labels[0]},
            ]
        is_second = exp.GT(this=writer.column("score"), expression=writer.literal(0.0))
        return [
            {"score": sums[0]},
            {
                "score": None,
                "probability": _logistic(writer, "score"),
                "prediction": _case([(is_second, labels[-1])], labels[0]),
            },
        ]
    suffixes = score_suffixes(model)
    scores, odds = [f"score{s}" for s in suffixes], [f"odds{s}" for s in suffixes]
    passed_on: Step = dict.fromkeys(scores)
    # The first class with the largest score is the prediction, as numpy's argmax has it.
    is_top = [writer.column(name).eq(writer.column("top_score")) for name in scores]
    prediction = _case(list(zip(is_top, labels, strict=True))[:-1], labels[-1])
    return [
        dict(zip(scores, sums, strict=True)),
        passed_on | {"top_score": _largest(writer, scores)},
        passed_on
        | {o: _odds(writer, s) for o, s in zip(odds, scores, strict=True)}
        | {"prediction": prediction},
        passed_on
        | {f"probability{s}": _share(writer, f"odds{s}", odds) for s in suffixes}
        | {"prediction": None},
    ]


def _sum(first: exp.Expr, others: Sequence[exp.Expr]) -> exp.Expr:
    total = first
    for other in others:
        total = exp.Add(this=total, expression=other)
    return total


def _case(branches: Sequence[Branch], otherwise: exp.Expr) -> exp.Expr:
    if not branches:
        return otherwise
    return exp.Case(
        ifs=[exp.If(this=condition, true=value) for condition, value in branches],
        default=otherwise,
    )


def _logistic(writer: _Writer, score: str) -> exp.Expr:
    exponential = exp.Exp(this=exp.Neg(this=writer.column(score)))
    odds = exp.Paren(this=exp.Add(this=writer.literal(1.0), expression=exponential))
    inside = exp.Div(this=writer.literal(1.0), expression=odds, typed=True)
    return _within_limits(writer, score, 1.0, inside)


def _exponential(writer: _Writer, score: str) -> exp.Expr:
    largest = float(np.exp(_EXP_LIMIT))
    return _within_limits(writer, score, largest, exp.Exp(this=writer.column(score)))


def _within_limits(writer: _Writer, score: str, largest: float, inside: exp.Expr) -> exp.Expr:
    """Return an expression with EXP where a database can hold it, and else 0 or the largest."""
    is_below = exp.LT(this=writer.column(score), expression=writer.literal(-_EXP_LIMIT))
    is_above = exp.GT(this=writer.column(score), expression=writer.literal(_EXP_LIMIT))
    ends = [(is_below, writer.literal(0.0)), (is_above, writer.literal(largest))]
    return _case(ends, inside)


def _largest(writer: _Writer, names: Sequence[str]) -> exp.Expr:
    # GREATEST is spelt or missing in several dialects; comparisons are not.
    branches = []
    for position, name in enumerate(names[:-1]):
        others = names[position + 1 :]
        wins = exp.and_(*(writer.column(name) >= writer.column(other) for other in others))
        branches.append((wins, writer.column(name)))
    return _case(branches, writer.column(names[-1]))


def _odds(writer: _Writer, score: str) -> exp.Expr:
    distance = writer.column(score) - writer.column("top_score")
    is_tiny = exp.LT(this=distance.copy(), expression=writer.literal(-_EXP_LIMIT))
    return _case([(is_tiny, writer.literal(0.0))], exp.Exp(this=distance))


def _share(writer: _Writer, odds: str, every: Sequence[str]) -> exp.Expr:
    total = _sum(writer.column(every[0]), [writer.column(name) for name in every[1:]])
    return exp.Div(this=writer.column(odds), expression=exp.Paren(this=total), typed=True)


def _term(
    model: AdditiveModel, writer: _Writer, column_of: Mapping[str, str], position: int, k: int
) -> exp.Expr:
    """Return the CASE expression of one term's score of one class."""
    term = model.terms[position]
    subject = model.subject(term)
    scores = term.scores.reshape(len(term.scores), -1)[:, k]
    if not isinstance(subject, FeaturePair):
        return _case_of(writer, column_of, subject, scores, writer.literal)

    # For each bin of the first feature, the CASE of the second.
    def inner(row: FloatArray) -> exp.Expr:
        return _case_of(writer, column_of, subject.second, row, writer.literal)

    return _case_of(writer, column_of, subject.first, scores.reshape(subject.shape), inner)


def _case_of(
    writer: _Writer,
    column_of: Mapping[str, str],
    feature: AdditiveFeature,
    values: FloatArray,
    write: Callable[[Any], exp.Expr],
) -> exp.Expr:
    """Return the CASE of what is written for the value of each bin, shape (n_codes, ...)."""
    column, spec = column_of[feature.name], feature.spec
    if not isinstance(spec, Categorical):
        cuts = np.asarray(feature.cuts).tolist()
        branches = [(writer.is_no_number(column), write(values[0]))]
        for position, cut in enumerate(cuts, start=1):
            # Neighbours with one score need no cut between them.
            if not np.array_equal(values[position], values[position + 1]):
                below = exp.LT(this=writer.as_number(column), expression=writer.literal(cut))
                branches.append((below, write(values[position])))
        return _case(branches, write(values[len(cuts) + 1]))
    unseen = write(values[-1])
    has_text = any(isinstance(level, str) for level in spec.levels)
    has_numbers = any(not isinstance(level, str | bool) for level in spec.levels)
    missing = writer.is_missing(column, numeric=has_numbers and not has_text)
    by_type: dict[bool, list[Branch]] = {True: [], False: []}
    for level, value in zip(spec.levels, values[1:-1], strict=True):
        # In a column of one type a mixed list can only be held as text.
        as_text = isinstance(level, str) or (has_text and not writer.cells_have_types)
        by_type[as_text].append((writer.equals(column, level, as_text=as_text), write(value)))
    branches = [(missing, write(values[0]))]
    if not writer.cells_have_types:
        return _case([*branches, *by_type[True], *by_type[False]], unseen)
    # SQLite would compare text with a number as text, or as a number, by the column's affinity.
    texts, numbers = (_case(by_type[as_text], unseen.copy()) for as_text in (True, False))
    return _case([*branches, (writer.type_is(column, "text"), texts)], numbers)


# ----------------------------------------------------------------------------------- dialects

#: Alias of the table, and of each SELECT that another one reads.
_SOURCE = "source"


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

DIALECTS = tuple(_DIALECTS)
"""Names of the databases whose language is known."""


class _Writer:
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
        return exp.alias_(table, _SOURCE, table=True, quoted=True)

    def column(self, name: str) -> exp.Expr:
        """Return a qualified column: SQLite reads a plain quoted name that it lacks as text."""
        return exp.column(name, _SOURCE, quoted=True)

    def literal(self, value: float) -> exp.Expr:
        """Return a number in scientific form, which most databases read as floating."""
        digits = np.format_float_scientific(abs(value), unique=True, trim="0", exp_digits=1)
        number = exp.Literal.number(digits.upper())
        # sqlglot writes a literal below zero in its own form, without the exponent.
        return exp.Neg(this=number) if value < 0 else number

    def floating(self, value: float) -> exp.Expr:
        """Return a number that is of floating type everywhere, and so is a sum with it."""
        number = self.literal(value)
        return exp.cast(number, "DOUBLE") if self._dialect.name else number

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
        is_other = exp.And(this=self.type_is(name, "text", "blob"), expression=differs)
        return exp.Or(this=is_missing, expression=exp.Paren(this=is_other))

    def type_is(self, name: str, *types: str) -> exp.Expr:
        """Return whether a cell is of one of some types, where cells have types."""
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
