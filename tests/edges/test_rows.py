"""One row of another form: an empty row in every container, for every explainer.

Neither its length nor its type may decide whether a table is read, what is said of it, or what
other rows become.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from interpret_dp.schema.cells import whole_rows
from interpret_dp.schema.containers import open_table
from tests.contract.explainers.registry import ONE_EACH, names
from tests.contract.explainers.tables import COLUMNS, TARGET, frame, published

ROWS = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
EMPTY = [None, None]
# Where the odd row stands.
ADDED = 23


class Broken:
    """A row that cannot be read."""

    def __len__(self):
        return 2

    def __iter__(self):
        raise ValueError("of its own")


ODD = {
    "short": [0.5],
    "long": [0.5, "x", 1, 1],
    "no cell": [],
    "matrix": np.zeros((1, 2)),
    "array without axes": np.zeros(()),
    "series": pd.Series([0.5] * 5),
    "None": None,
    "masked": np.ma.masked,
    "number": 0.5,
    "text": "ab",
    "bytes": b"ab",
    "dict": {"a": 0.5, "b": "x"},
    "generator": (cell for cell in (0.5, "x")),
    "broken": Broken(),
}


def objects(entries):
    """Return a one-dimensional array, as NumPy makes it of rows that differ in length."""
    return np.fromiter(entries, dtype=object, count=len(entries))


CONTAINERS = {"list": list, "objects": objects}


def with_row(row, rows=ROWS):
    return [*rows[:ADDED], row, *rows[ADDED + 1 :]]


def outcome(name, X, y=TARGET, **given):
    """Return what is published with frozen noise, and every warning."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        found = published(name, X, y, **given)
    return found, [str(warning.message) for warning in caught]


@pytest.mark.thorough
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", names(only=(*ONE_EACH, "lime")))
def test_a_row_of_another_form_is_an_empty_row(name, container):
    make = CONTAINERS[container]
    expected = outcome(name, make(with_row(EMPTY)))
    for kind, row in ODD.items():
        assert outcome(name, make(with_row(row))) == expected, kind
    # The control: the row counts.
    assert outcome(name, list(ROWS)) != expected


NAMELESS = {"feature_names": None, "schema": None}


@pytest.mark.parametrize("name", names(only=("binary", "regression", "background", "maps")))
def test_without_names_most_rows_say_how_many_columns_there_are(name):
    expected = outcome(name, with_row(EMPTY), **NAMELESS)
    for kind, row in ODD.items():
        assert outcome(name, with_row(row), **NAMELESS) == expected, kind


def test_names_say_how_many_columns_there_are(name):
    """Whatever the rows are: in a list of one row, or of none, nothing else says so."""
    expected = outcome(name, [EMPTY], TARGET[:1])
    for row in (*ODD.values(), [0.5, "x", 1]):
        assert outcome(name, [row], TARGET[:1]) == expected
    assert outcome(name, [], TARGET[:0]) == outcome(name, frame().iloc[:0], TARGET[:0])


CELLS = ODD | {"set": {1}, "complex": 1j, "interval": pd.Interval(0, 1)}
CELLS.pop("short")  # its only element is what the entry says


ENTRIES = [
    ("binary", "y", None, 1),
    ("regression", "y", None, 1),
    ("maps", "y", None, 1),
    ("metrics", "y", None, 1),
    ("binary", "sample_weight", None, 1.0),
    ("regression", "init_score", None, 1.0),
    ("multiclass", "init_score", [None] * 3, [0.1, 0.2, 0.3]),
    # What is no identifier at all may be somebody's who has other rows.
    ("binary", "unit", (), 1),
    ("background", "unit", (), 1),
]


@pytest.mark.parametrize(("name", "role", "missing", "usual"), ENTRIES)
def test_an_entry_of_another_form_is_a_missing_one(name, role, missing, usual):
    entries = [*range(len(ROWS))] if role == "unit" else [usual] * len(ROWS)
    # These say something of whose the row is, and a number is one.
    said = ("text", "None", "masked", "number", "bytes") if role == "unit" else ("number",)

    def found(make, cell):
        given = {role: make(with_row(cell, entries))}
        return outcome(name, frame(), **given)

    for make in (list, objects):
        expected = found(make, missing)
        assert expected != found(make, entries[ADDED])
        for kind in CELLS.keys() - said:
            assert found(make, CELLS[kind]) == expected, (make, kind)


def test_no_row_is_as_good_a_table_for_a_prediction_as_for_a_fit():
    assert open_table([], ["a", "b"]).n_rows == 0


@pytest.mark.parametrize(
    ("rows", "width"), [([[1], [1, 2]], 2), ([[1], [2], [1, 2]], 1), ([[]], 0), ([None, [1]], 1)]
)
def test_the_larger_of_two_lengths_counts_if_they_are_equally_frequent(rows, width):
    assert {len(row) for row in whole_rows(rows)} == {width}
    assert whole_rows(whole_rows(rows)) == whole_rows(rows)
