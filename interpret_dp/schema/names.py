"""Names of columns: lists of them for messages, and signs that two tables do not have the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from interpret_dp._validate import near_names

__all__ = ["listed", "name_faults", "shortened"]

_NAMES_SHOWN = 12
_NUMBERS = re.compile(r"\d+")
# So near are "age" and "ages", and "height" and "weight"; "systolic" and "diastolic" are not.
_MISSPELLED = 0.8
_MOST_COMPARED = 40_000


def name_faults(
    declared: Collection[str], names: Sequence[str], unlisted: Sequence[str]
) -> list[str]:
    """Return a sentence on each sign that a schema was not written for a table.

    A schema may declare more columns than a table has. But a name that is misspelled in one of
    the two would be paid for in vain, and so would the schema of another table.

    Parameters
    ----------
    declared : collection of str
        The columns that the schema declares.
    names : sequence of str, shape (n_features,)
        The columns of the table.
    unlisted : sequence of str
        Those that neither the schema nor another argument declares by name.
    """
    present = set(names)
    absent = [name for name in declared if name not in present]
    if absent and len(absent) == len(declared):
        return [
            f"The table has none of the columns that the schema declares: it has "
            f"{shortened(names)}, and the schema declares {shortened(absent)}. Columns are matched "
            "by name: rename them, pass feature_names=[...] for data without names, or pass the "
            "schema of this table."
        ]
    # Where both have hundreds of columns, comparing all pairs takes too long.
    compared = unlisted if len(unlisted) * len(absent) <= _MOST_COMPARED else ()
    near = {name: found[0] for name in compared if (found := _misspelled(name, absent))}
    return [
        f"The schema does not list column {name!r}; did you mean {other!r}, which it declares and "
        f"the table lacks? Rename one of the two, or pass schema.drop([{other!r}])."
        for name, other in near.items()
    ]


def _misspelled(name: str, absent: Sequence[str]) -> list[str]:
    """Return the absent columns that ``name`` is likely to mean, the nearest first."""
    # Names that differ in a number, such as "x1" and "x2", are two columns.
    number = _NUMBERS.findall(name)
    alike = [other for other in absent if _NUMBERS.findall(other) == number]
    return near_names(name, alike, cutoff=_MISSPELLED)


def listed(names: Sequence[str]) -> str:
    """Return names of columns as the object of a sentence."""
    return ("column " if len(names) == 1 else "columns ") + ", ".join(map(repr, names))


def shortened(names: Sequence[str]) -> str:
    """Return the first names of columns as the object of a sentence."""
    hidden = len(names) - _NAMES_SHOWN
    shown = listed(names[:_NAMES_SHOWN]) if names else "no columns"
    return f"{shown} and {hidden} more" if hidden > 0 else shown
