"""Declarations of one column: a number between bounds, or one of a list of levels."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

from interpret_dp._validate import check_choice, check_int, check_real, describe_argument
from interpret_dp.exceptions import SchemaError

Level: TypeAlias = str | int | float | bool

#: A path, or an open file of text or bytes.
Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]

#: Most bins that a feature can have: codes are 16 bits, and two of them mean missing and unseen.
MAX_BINS = 2**16 - 2

#: Most class labels: their codes are 16 bits with a sign.
MAX_CLASSES = 2**15 - 1

#: The only level of a feature, or the only label, where no level was frequent enough.
NO_LEVEL = "(no level was released)"

#: Up to this share of the larger bound a "symlog" scale is linear, beyond it logarithmic.
SYMLOG_UNIT = 2.0**-40

# From here on a float64 can stand for two integers, so that two cells would share one key.
_NUMBER_LIMIT = 2**53
_LEVELS_SHOWN = 12
_BOUND_MEND = "Declare a bound that values can reach, in the units of the column."


@dataclass(frozen=True)
class Continuous:
    """A number between two public bounds.

    Parameters
    ----------
    lower, upper : float
        The public bounds, in the units of the column. Values outside are clipped; the bounds
        may be equal. They must not be read off private data.
    scale : {"linear", "log", "symlog"}, default="linear"
        Where fine bins lie: at equal steps of the value; of ``log1p(value - lower)``, which suits
        a column that is crowded near its lower bound; or of ``asinh(value / unit)``, which suits
        a column whose order of magnitude is not known. The unit is 2**-40 of the larger bound.

    Raises
    ------
    TypeError
        If a bound is not a real number.
    SchemaError
        If a bound is not finite, ``lower`` is above ``upper``, or the range overflows a float.

    Examples
    --------
    >>> Continuous(0, 99_999, scale="log")
    Continuous(0, 99999, scale='log')
    """

    lower: float
    upper: float
    scale: str = "linear"

    def __post_init__(self) -> None:
        """Check the bounds and keep them as floats."""
        try:
            lower = check_real("lower", self.lower, mend=_BOUND_MEND)
            upper = check_real("upper", self.upper, mend=_BOUND_MEND)
            check_choice("scale", self.scale, ("linear", "log", "symlog"))
        except ValueError as error:
            raise SchemaError(str(error)) from None
        if lower > upper:
            allowed = "lower must not be above upper. Swap the two."
            raise SchemaError(f"lower is {lower:g} and upper is {upper:g}; {allowed}")
        if not math.isfinite(upper - lower):
            what = f"The range from {lower:g} to {upper:g} is wider than a float can hold"
            raise SchemaError(f"{what}. {_BOUND_MEND}")
        # Adding zero turns -0.0 into 0.0, so that equal bounds are written alike.
        object.__setattr__(self, "lower", lower + 0.0)
        object.__setattr__(self, "upper", upper + 0.0)

    def __repr__(self) -> str:
        """Show the declaration as it is written."""
        scale = "" if self.scale == "linear" else f", scale={self.scale!r}"
        return f"{type(self).__name__}({_plain(self.lower)}, {_plain(self.upper)}{scale})"

    @property
    def extent(self) -> tuple[float, float]:
        """The range that the values take up on an axis: from ``lower`` to ``upper``."""
        return self.lower, self.upper


@dataclass(frozen=True, repr=False)
class Integer(Continuous):
    """A whole number between two public bounds.

    A :class:`Continuous` whose bins are cut between the integers: each holds whole numbers, and
    where there are few, one value a bin. Other numbers count as the nearest integer.

    Parameters
    ----------
    lower, upper : int
        The public bounds, both included. Values outside are clipped; the bounds may be equal. They
        must not be read off private data.
    scale : {"linear", "log", "symlog"}, default="linear"
        Where fine bins lie if there are more values than bins, as for :class:`Continuous`.

    Raises
    ------
    TypeError
        If a bound is not a real number.
    SchemaError
        If a bound is not whole, is 2**53 or more in size, or ``lower`` is above ``upper``.

    Examples
    --------
    >>> Integer(0, 23)
    Integer(0, 23)
    """

    def __post_init__(self) -> None:
        """Check that the bounds are whole numbers as well."""
        super().__post_init__()
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if not bounds_integers(bound):
                raise SchemaError(
                    f"{name} is {bound!r}; it must be a whole number between -2**53 and 2**53. "
                    "Declare Continuous(lower, upper) where values may be fractions or larger."
                )

    @property
    def extent(self) -> tuple[float, float]:
        """The range that the values take up on an axis: half a unit more at both ends."""
        return self.lower - 0.5, self.upper + 0.5


@dataclass(frozen=True, init=False, eq=False)
class Categorical:
    """One of a public list of levels.

    Parameters
    ----------
    levels : sequence of str, int, float or bool
        The public levels, in the order in which they are shown and coded. A cell matches a level
        if both are strings and equal, or both are numbers or bools and equal as numbers (``1``,
        ``1.0`` and ``True`` are one level; ``"1"`` is another). The list must not be read off
        private data.
    ordered : bool, default=False
        Whether the order means something, so that only neighbouring levels may share a bin.

    Raises
    ------
    TypeError
        If ``levels`` is a string, a set or not iterable, or a level is of another type.
    SchemaError
        If there is no level, a level repeats, two levels would be written alike (``1`` and
        ``"1"``), or a level is NaN, infinite, a number of 2**53 or beyond, or text that holds
        NUL or cannot be encoded as UTF-8.

    Examples
    --------
    >>> Categorical(["low", "medium", "high"], ordered=True)
    Categorical(['low', 'medium', 'high'], ordered=True)
    """

    levels: tuple[Level, ...]
    ordered: bool = False

    # The field's type is what is kept; any ordered collection may be given.
    def __init__(self, levels: Iterable[Any], ordered: bool = False) -> None:
        if not isinstance(ordered, bool):
            raise TypeError(
                f"{describe_argument('ordered', ordered)}; it must be True or False. "
                "Leave it out if the order of the levels means nothing."
            )
        object.__setattr__(self, "levels", _checked_levels(levels))
        object.__setattr__(self, "ordered", ordered)

    def _typed(self) -> tuple[object, ...]:
        # 1, 1.0 and True are equal in Python, and yet they make different class labels.
        return (self.ordered, tuple((type(level), level) for level in self.levels))

    def __eq__(self, other: object) -> bool:
        """Compare levels, their types, their order and ``ordered``."""
        return self._typed() == other._typed() if isinstance(other, Categorical) else NotImplemented

    def __hash__(self) -> int:
        """Hash consistently with equality."""
        return hash(self._typed())

    def __repr__(self) -> str:
        """Show the declaration as it is written, a long list of levels shortened."""
        shown = [repr(level) for level in self.levels[:_LEVELS_SHOWN]]
        hidden = len(self.levels) - len(shown)
        if hidden:
            shown.append(f"... {hidden} more")
        ordered = ", ordered=True" if self.ordered else ""
        return f"Categorical([{', '.join(shown)}]{ordered})"


FeatureSpec: TypeAlias = Continuous | Categorical


ROWS = "rows"
"""What is given as the unit where each row is a person of its own."""


@dataclass(frozen=True)
class PrivacyUnit:
    """The unit of privacy where one person may have several rows.

    Parameters
    ----------
    column : str or sequence of str
        The column that identifies a person, or several that do so together, such as
        ``["hospital", "patient"]``. They are dropped before training. Where a table does not have
        them, ``fit(X, y, unit=ids)`` gives their cells, of several columns as a table or tuples.
    max_rows : int, default=1
        Most rows used per person; of those who have more, that many are drawn. A model speaks of
        the rows that are left: people with many rows count for less than their share. A larger
        number uses more rows, and the noise grows in proportion to it. It must be public knowledge.
    total_rows : int, default=None
        Most rows per person in the total of a DP-EBM, above ``max_rows``: after training the
        intercept moves until predictions are right on average over so many rows of each person. Its
        noise grows in proportion, so choose what nearly all people stay below. It must be public
        knowledge. None: predictions are right on average over the rows that ``max_rows`` leaves.
    missing : {"separate", "drop"}, default="separate"
        Rows whose identifier is missing: each counts as a person of its own, or they are left out.
        Of several columns, a row that lacks one is left out in any case.

    Raises
    ------
    TypeError, ValueError
        If a column is not a text or occurs twice, there is none, ``max_rows`` is not an integer
        above 0, ``total_rows`` is neither None nor an integer above it, or ``missing`` is another
        one.

    Notes
    -----
    Identifiers are text, integers, UUIDs (as their text), dates, bytes, or tuples of these; they
    match by equality, ``1`` and ``1.0`` alike, ``"1"`` apart. A row whose cell is something else,
    a tuple with a missing part, or a float of 2**53 and beyond, is left out, and a column of floats
    is refused: in it, large integers cannot be told apart.

    Examples
    --------
    >>> from interpret_dp import Integer, Schema
    >>> schema = Schema({"age": Integer(0, 120)}, unit=PrivacyUnit("patient_id", max_rows=3))
    >>> schema.unit
    PrivacyUnit(column='patient_id', max_rows=3)
    """

    column: str | Sequence[str]
    max_rows: int = 1
    total_rows: int | None = None
    missing: str = "separate"

    def __post_init__(self) -> None:
        """Check the fields."""
        columns = _checked_columns(self.column)
        object.__setattr__(self, "column", columns[0] if len(columns) == 1 else columns)
        mend = "It is the most rows of one person that are used."
        object.__setattr__(self, "max_rows", check_int("max_rows", self.max_rows, low=1, mend=mend))
        if self.total_rows is not None:
            mend = "It is the most rows of one person in the total, above max_rows."
            most = check_int("total_rows", self.total_rows, low=self.max_rows + 1, mend=mend)
            object.__setattr__(self, "total_rows", most)
        mend = "'separate': a row without an identifier is a person of its own."
        check_choice("missing", self.missing, ("separate", "drop"), mend=mend)

    def __repr__(self) -> str:
        """Show the declaration as it is written."""
        total = "" if self.total_rows is None else f", total_rows={self.total_rows}"
        missing = "" if self.missing == "separate" else f", missing={self.missing!r}"
        return f"PrivacyUnit(column={self.column!r}, max_rows={self.max_rows}{total}{missing})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that identify a person."""
        return (self.column,) if isinstance(self.column, str) else tuple(self.column)

    @property
    def name(self) -> str:
        """Name of the identifier, as in a ledger: "patient", or "hospital + patient"."""
        # The people are the same in any order of the columns.
        return " + ".join(sorted(self.columns))

    @property
    def drops_missing(self) -> bool:
        """Whether rows without an identifier are left out."""
        return self.missing == "drop" or len(self.columns) > 1

    def speaks_of(self, population: str = "rows") -> str:
        """Say whom a DP-EBM speaks of, such as "a random row of each 'patient_id'".

        Parameters
        ----------
        population : {"rows", "people"}, default="rows"
            As an estimator takes it.
        """
        used = "a random row" if self.max_rows == 1 else f"up to {self.max_rows} random rows"
        text = f"{used} of each {self.name!r}"
        if population == "people":
            return text if self.max_rows == 1 else f"{text}, who all weigh the same"
        if self.total_rows is None:
            return text
        return f"{text}; on average, of up to {self.total_rows} rows of each"


@dataclass(frozen=True)
class UndeclaredContinuous:
    """A column of numbers of which a bound or both are not public; a fit releases them privately.

    Attributes
    ----------
    lower, upper : float or None
        The public bound, if there is one.
    is_integer : bool
        Whether the column's dtype says that its numbers are whole.
    """

    lower: float | None = None
    upper: float | None = None
    is_integer: bool = False


@dataclass(frozen=True)
class UndeclaredCategorical:
    """A column whose levels are not public; a fit releases the frequent ones privately.

    Attributes
    ----------
    ordered : bool
        Whether the order of the values means something.
    order : tuple or None
        Keys of the categories of an ordered dtype: released levels follow their order.
    """

    ordered: bool = False
    order: tuple[object, ...] | None = None


@dataclass(frozen=True)
class ColumnArgument:
    """The declaration of one column in feature_types and privacy_bounds.

    Attributes
    ----------
    kind : {"continuous", "nominal", "ordinal", None}
        The type, None if it is left open.
    levels : tuple of str, shape (n_levels,), or None
        The ordered levels, if they are listed.
    lower, upper : float or None
        The bounds, each None if it is not given.
    is_integer : bool
        Whether the numbers are known to be whole, and the bounds are.
    """

    kind: str | None = None
    levels: tuple[str, ...] | None = None
    lower: float | None = None
    upper: float | None = None
    is_integer: bool = False

    @property
    def has_bounds(self) -> bool:
        """Whether at least one bound is given."""
        return self.lower is not None or self.upper is not None

    def spec(self) -> FeatureSpec | None:
        """Return the declaration, or None if a piece of it is missing."""
        if self.levels is not None:
            return Categorical(self.levels, ordered=True)
        # Bounds make a column continuous where no type is given.
        if self.kind in ("continuous", None) and self.lower is not None and self.upper is not None:
            return (Integer if self.is_integer else Continuous)(self.lower, self.upper)
        return None

    def example(self) -> str:
        """Return a declaration for a schema, with the missing piece as a blank."""
        if self.kind == "continuous" or self.has_bounds:
            lower = "lower" if self.lower is None else f"{self.lower:g}"
            upper = "upper" if self.upper is None else f"{self.upper:g}"
            return f"{'Integer' if self.is_integer else 'Continuous'}({lower}, {upper})"
        ordered = ", ordered=True" if self.kind == "ordinal" else ""
        levels = f"Categorical([level, ...]{ordered})"
        return levels if self.kind else f"Continuous(lower, upper) or {levels}"


def integer_ranges(spec: Integer, cuts: Iterable[float]) -> list[tuple[int, int]]:
    """Return the first and the last integer of each bin, from bound to bound.

    Parameters
    ----------
    spec : Integer
    cuts : iterable of float, shape (n_bins - 1,)
        Increasing, with an integer between each two.
    """
    firsts = [math.ceil(cut) for cut in cuts]
    lower, upper = int(spec.lower), int(spec.upper)
    if firsts:
        # Cuts of a hand-made model may lie outside the declared bounds.
        lower, upper = min(lower, firsts[0] - 1), max(upper, firsts[-1])
    return list(zip([lower, *firsts], [*(first - 1 for first in firsts), upper], strict=True))


def integers_text(first: int, last: int) -> str:
    """Return a range of integers in words: "17 to 23", or "17" for one value."""
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def interpret_type(spec: FeatureSpec) -> str:
    """Return the type of a column in interpret's words: continuous, nominal or ordinal."""
    if isinstance(spec, Continuous):
        return "continuous"
    return "ordinal" if spec.ordered else "nominal"


def level_labels(spec: Categorical) -> list[str]:
    """Return the name of each level: the text by which interpret knows it in ``bins_``.

    A string is its own name. A number is written as interpret itself writes it (``1``, ``1.0``
    and ``True`` are all ``"1"``), so that a fitted model finds the level in a plain column too.

    Parameters
    ----------
    spec : Categorical
        The declared levels.

    Returns
    -------
    list of str
        Unique names, in the order of the levels.
    """
    return [level_label(level) for level in spec.levels]


def level_label(level: Level) -> str:
    """Return the name of one level, as :func:`level_labels` does."""
    if isinstance(level, str):
        return level
    number = float(level)
    return str(int(number)) if number.is_integer() else repr(number)


def _checked_columns(column: Any) -> tuple[str, ...]:
    is_sequence = isinstance(column, list | tuple)
    columns = tuple(column) if is_sequence else (column,)
    if not columns or not all(isinstance(name, str) for name in columns):
        raise TypeError(
            f"{describe_argument('column', column)}; it must be the name of a column, such as "
            'PrivacyUnit("patient_id", max_rows=3), or a list of such names.'
        )
    for name in columns:
        check_text("The column name", name)
    if len(set(columns)) < len(columns):
        mend = "each column must be named once. Remove the second one."
        raise SchemaError(f"{describe_argument('column', column)}; {mend}")
    return columns


def check_text(what: str, text: str) -> None:
    """Raise SchemaError unless ``text`` can be stored as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        fault = f"{what} {text!r} cannot be stored as UTF-8"
        raise SchemaError(f"{fault}. Remove the lone surrogate from it.") from None


def check_most_classes(labels: Categorical) -> None:
    """Raise SchemaError if there are more class labels than ``MAX_CLASSES``."""
    if len(labels.levels) > MAX_CLASSES:
        what = f"There are {len(labels.levels)} class labels; at most {MAX_CLASSES} are allowed"
        raise SchemaError(f"{what}. Group the rare ones.")


def bounds_integers(*bounds: float | None) -> bool:
    """Return whether numbers can bound an Integer: whole, and small enough; None can."""
    given = [float(bound) for bound in bounds if bound is not None]
    return all(bound.is_integer() and abs(bound) < _NUMBER_LIMIT for bound in given)


def _plain(number: float) -> str:
    return str(int(number)) if bounds_integers(number) else repr(number)


def _checked_level(level: Any) -> Level:
    # NumPy's scalars become Python's, which compare, hash and serialise as declared values do.
    is_scalar = type(level).__module__ == "numpy" and getattr(level, "ndim", None) == 0
    value = level.item() if is_scalar else level
    if isinstance(value, str):
        text = str.__str__(value)
        check_text("The level", text)
        if "\0" in text:
            raise SchemaError(f"The level {text!r} holds NUL, which arrays cut off. Remove it.")
        return text
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        number: int | float = int(value) if isinstance(value, int) else float(value)
        # The comparison is false for NaN too.
        if not abs(number) < _NUMBER_LIMIT:
            raise SchemaError(
                f"The level {number!r} must be a number between -2**53 and 2**53. Missing values "
                "are not declared: they have a bin. Declare larger numbers as strings."
            )
        return number
    raise TypeError(
        f"The level {level!r} is of type {type(level).__name__}; it must be a string, a number "
        "or a bool. Declare what the cells hold, such as str(level)."
    )


def _checked_levels(levels: Any) -> tuple[Level, ...]:
    is_unordered = isinstance(levels, str | bytes | set | frozenset | Mapping)
    # An array without dimensions has the method and cannot be iterated.
    if is_unordered or not isinstance(levels, Iterable) or getattr(levels, "ndim", 1) == 0:
        raise TypeError(
            f"levels is of type {type(levels).__name__}; it must be a sequence of strings, "
            'numbers or bools in a fixed order, such as ["low", "high"].'
        )
    checked = tuple(_checked_level(level) for level in levels)
    if not checked:
        allowed = "it must hold at least one level. List every value that could occur."
        raise SchemaError(f"levels is []; {allowed}")
    if len(checked) > MAX_BINS:
        what = f"There are {len(checked)} levels; at most {MAX_BINS} are allowed"
        raise SchemaError(f"{what}. Group the rare ones.")
    seen: dict[str, Level] = {}
    for level in checked:
        label = level_label(level)
        if label in seen:
            what = f"The levels {seen[label]!r} and {level!r} are both written {label!r}"
            raise SchemaError(f"{what}; levels must be unique. Remove or rename one.")
        seen[label] = level
    return checked
