"""The kind of cells that a column's type implies: public, and known before a row is read.

A declaration that no cell of the type can meet is refused here, before anything is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interpret_dp.exceptions import DeclarationWarning, SchemaError, warn_caller
from interpret_dp.schema.cells import in_chunks, level_key, numbers_of
from interpret_dp.schema.columns import CodedColumn, Values, is_category_coded
from interpret_dp.schema.containers import Table
from interpret_dp.schema.declarations import (
    Categorical,
    Continuous,
    FeatureSpec,
    UndeclaredCategorical,
    UndeclaredContinuous,
    level_labels,
)

_NUMBERS = {"i": "integers", "u": "integers", "f": "floats", "b": "bools"}


@dataclass(frozen=True)
class ColumnKind:
    """The kind of a column by its type; no cell is looked at.

    Attributes
    ----------
    cells : {"integers", "floats", "bools", "texts", "intervals", "objects"}
        What the cells are. Intervals are read as their texts. ``"objects"`` leaves it open: each
        cell is read by itself. Not the name of the dtype: an opened column of Arrow has another
        one if a cell is missing.
    is_category : bool
        Whether cells are names of categories, even if they are numbers.
    order : tuple or None
        The keys (:func:`~interpret_dp.schema.cells.level_key`) of an ordered type's categories.
    """

    cells: str
    is_category: bool = False
    order: tuple[object, ...] | None = None

    @property
    def is_number(self) -> bool:
        """Whether all cells are integers, floats or bools."""
        return self.cells in ("integers", "floats", "bools")


def kind_of(values: Values) -> ColumnKind:
    """Return the kind of an opened column.

    Parameters
    ----------
    values : Values, shape (n_rows,)
        A column whose dtype was not refused.
    """
    if not is_category_coded(values):
        return ColumnKind(_cells(values.dtype))
    if isinstance(values, CodedColumn):
        # The values of an Arrow dictionary are no part of its type: they say nothing of an order.
        cells = "texts" if values.is_text else _cells(values.categories.dtype)
        return ColumnKind(cells, is_category=True)
    order = tuple(map(level_key, values.categories)) if values.ordered else None
    return ColumnKind(_cells(values.categories.dtype), is_category=True, order=order)


def _cells(dtype: object) -> str:
    """Return what cells of a NumPy or pandas dtype hold."""
    number = _NUMBERS.get(getattr(dtype, "kind", "O"))
    if number is not None:
        return number
    if hasattr(dtype, "closed"):
        return "intervals"
    is_text = getattr(dtype, "kind", "O") in "UT" or getattr(dtype, "type", None) is str
    return "texts" if is_text else "objects"


def kinds_of(table: Table) -> tuple[ColumnKind, ...]:
    """Return the kind of each column of a table."""
    return tuple(kind_of(table.column(index)) for index in range(len(table.names)))


def mismatches(
    names: Sequence[str], kinds: Sequence[ColumnKind], specs: Sequence[object]
) -> list[str]:
    """Return one sentence for each column whose type rules out its declaration.

    Parameters
    ----------
    names : sequence of str, shape (n_features,)
    kinds : sequence of ColumnKind, shape (n_features,)
    specs : sequence, shape (n_features,)
        Declarations; an undeclared column fits any kind but intervals.
    """
    faults = [
        mismatch(f"Column {name!r}", kind, spec)
        for name, kind, spec in zip(names, kinds, specs, strict=True)
    ]
    return [fault for fault in faults if fault]


def refuse_mismatches(
    table: Table, specs: Sequence[FeatureSpec | None], target_faults: Sequence[str] = ()
) -> None:
    """Raise SchemaError if the type of a column rules out its declaration.

    Parameters
    ----------
    table : Table
    specs : sequence of Continuous, Categorical or None, shape (n_features,)
        None of an undeclared column, which fits any type.
    target_faults : sequence of str
        What :func:`target_mismatch` returned.
    """
    faults = [*mismatches(table.names, kinds_of(table), specs), *target_faults]
    if faults:
        raise SchemaError(" ".join(faults))


def target_mismatch(kind: ColumnKind, target: FeatureSpec | None, task: str) -> list[str]:
    """Return why the type of a target rules out its declaration: one sentence, or none.

    Parameters
    ----------
    kind : ColumnKind
    target : Continuous, Categorical or None
        None if it is not declared.
    task : {"classification", "regression"}
    """
    what = f"The target has a dtype of {kind.cells}"
    if task == "regression":
        mend = "Convert it to numbers, or use a classifier."
        is_text = kind.cells in ("texts", "intervals")
        return [f"{what}; a regressor needs numbers. {mend}"] if is_text else []
    if target is None and kind.cells == "floats" and not kind.is_category:
        # The first words are scikit-learn's.
        return [
            f"Unknown label type: continuous. {what}, and a classifier takes floats for classes "
            "only if they are declared. Pass classes=[0, 1], or whatever the labels are, or use a "
            "regressor."
        ]
    fault = mismatch("The target", kind, target or UndeclaredCategorical())
    return [fault] if fault else []


def refuse_texts(role: str, values: Values) -> None:
    """Raise SchemaError if what must be numbers, such as weights, has a type of texts."""
    cells = kind_of(values).cells
    if cells in ("texts", "intervals"):
        raise SchemaError(
            f"{role} has a dtype of {cells}; it must be numbers. Convert it to numbers."
        )


def refuse_identifiers(role: str, identifiers: Values) -> None:
    """Raise SchemaError for a dtype in which two people may have one identifier, or none has any.

    A float stands for several large integers. Otherwise one missing cell, by which pandas turns
    all integers into floats, would decide for everybody whose identifiers can still be told apart.
    """
    cells = kind_of(identifiers).cells
    if cells in ("floats", "intervals"):
        raise SchemaError(
            f"{role} has a dtype of {cells}, which cannot tell everybody apart; a privacy unit "
            "must be of integers or text. Read it so from the start: as 'Int64' or 'string' in "
            "pandas, which allow missing cells, or cast decimals to text."
        )


def identifiers_of(table: Table, columns: Sequence[str]) -> list[Values]:
    """Return the unit's columns, as far as the table has them; private.

    Raises
    ------
    SchemaError
        If the dtype of one cannot tell everybody apart.
    """
    present = [name for name in columns if name in table.names]
    parts = [table.column(table.names.index(name)) for name in present]
    for name, part in zip(present, parts, strict=True):
        refuse_identifiers(f"Column {name!r}", part)
    return parts


def warn_of_mismatches(table: Table, specs: Sequence[FeatureSpec]) -> None:
    """Warn if the type of a column, of rows to predict, rules out its declaration.

    Rows to predict are the caller's own: a column of numbers that are all missing is no mismatch.

    Warns
    -----
    DeclarationWarning
    """
    kinds = kinds_of(table)
    faults = [
        fault
        for index, (name, kind, spec) in enumerate(zip(table.names, kinds, specs, strict=True))
        if (fault := mismatch(f"Column {name!r}", kind, spec))
        and not (kind.is_number and _are_missing(table.column(index)))
    ]
    if faults:
        text = f"{' '.join(faults)} All cells count as undeclared."
        warn_caller(text, DeclarationWarning)


def _are_missing(values: Values) -> bool:
    return len(values) > 0 and all(
        np.isnan(numbers).all() for _, numbers in in_chunks(values, numbers_of)
    )


def mismatch(role: str, kind: ColumnKind, spec: object) -> str:
    """Return why no cell of a kind fits a declaration; empty if some can.

    Parameters
    ----------
    role : str
        Which column it is; the subject of the sentence.
    kind : ColumnKind
    spec : object
        As for :func:`mismatches`. Levels of both sorts, numbers and texts, fit any kind. Texts fit
        bounds, since a text may be a number.
    """
    has = f"{role} has a dtype of {kind.cells}"
    if kind.cells == "intervals" and isinstance(spec, UndeclaredCategorical | UndeclaredContinuous):
        return (
            f"{has}, and is not declared. pandas.cut and pandas.qcut read edges off the rows if "
            "they are given a number of bins. Cut at public edges, and declare the intervals as "
            "texts, Categorical(['(0, 10]', '(10, 20]'], ordered=True), or pass the numbers."
        )
    if kind.cells == "intervals" and isinstance(spec, Continuous):
        return (
            f"{has}, and is declared as {spec!r}. No interval is a number. Declare the intervals "
            "as levels, Categorical([...], ordered=True), or pass the numbers."
        )
    if not isinstance(spec, Categorical):
        return ""
    are_texts = {isinstance(level, str) for level in spec.levels}
    if kind.is_number and are_texts == {True}:
        levels, other = "texts", "text"
        mend = _as_numbers(spec) or "numbers as levels"
    elif kind.cells in ("texts", "intervals") and are_texts == {False}:
        levels, other = "numbers", "numbers"
        mend = repr(Categorical(level_labels(spec)))
    else:
        return ""
    return (
        f"{has}, and its declared levels are {levels}: {spec!r}. No cell can equal one of them. "
        f"Declare {mend}, or convert the column to {other}."
    )


def _as_numbers(spec: Categorical) -> str:
    """Return the declaration with texts such as "1" as numbers; empty if they are not such."""
    texts = [str(level) for level in spec.levels]
    if {text.lower() for text in texts} <= {"true", "false"}:
        return "Categorical([False, True])"
    try:
        numbers = [float(text) for text in texts]
        levels = [int(number) if number.is_integer() else number for number in numbers]
        return repr(Categorical(levels, ordered=spec.ordered))
    except (ValueError, OverflowError):
        return ""
