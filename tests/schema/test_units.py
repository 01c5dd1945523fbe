"""Which rows of a person are used: a rule that sees that person's rows alone."""

import datetime
import random
import uuid
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from interpret_dp import PrivacyUnit, Schema, SchemaError
from interpret_dp.fitting.rows import open_people
from interpret_dp.schema import Categorical, Continuous, encode_column, open_table
from interpret_dp.schema.units import deal_units, kept_of_units, kept_rows, noted_units
from tests.schema.tables import Liar, object_column

identifiers = st.sampled_from(["a", "b", 1, 2, 1.0, True, "1", None, np.nan, 1j, 2.0**60, 0.5])


def same(one, other):
    return isinstance(one, str) == isinstance(other, str) and one == other


@given(st.lists(identifiers, max_size=20), st.integers(1, 4), st.integers(0, 2**64 - 1), st.data())
def test_removing_a_person_changes_nobody_elses_rows(cells, max_rows, key, data):
    """The whole privacy argument of max_rows: a row's fate hangs on its own person alone."""
    leaver = data.draw(st.sampled_from(["a", "b", 1, "1", 2, 0.5]))
    kept = kept_rows(object_column(cells), max_rows, key)
    stays = [not same(cell, leaver) for cell in cells]
    without = kept_rows(
        object_column([c for c, s in zip(cells, stays, strict=True) if s]), max_rows, key
    )
    assert kept[np.array(stays, dtype=bool)].tolist() == without.tolist()


@given(st.lists(identifiers, max_size=30), st.integers(1, 4), st.integers(0, 2**64 - 1))
def test_at_most_max_rows_of_a_person_are_kept_and_as_many_as_there_are(cells, max_rows, key):
    kept = kept_rows(object_column(cells), max_rows, key)
    people = [cell for cell in cells if cell in ("a", "b", 1, "1", 2, 0.5)]
    used = [cell for cell, keep in zip(cells, kept, strict=True) if keep]
    for person in people:
        total = sum(same(person, cell) for cell in cells)
        assert sum(same(person, cell) for cell in used) == min(total, max_rows)
    # A row without an identifier is a person of its own.
    nobody = [c for c in cells if c is None or c != c]
    assert sum(c is None or c != c for c in used) == len(nobody)
    # Cells that cannot be told apart for certain might be somebody's who has other rows.
    assert not any(c in (1j, 2.0**60) for c in used)


@given(st.lists(st.tuples(identifiers, identifiers), max_size=20), st.integers(1, 3))
def test_columns_are_the_parts_of_tuples_and_missing_identifiers_can_be_left_out(cells, max_rows):
    parts = {name: object_column([row[at] for row in cells]) for at, name in enumerate("hp")}
    frame = pd.DataFrame({"age": np.zeros(len(cells)), **parts})

    def used(names, unit, beside=None):
        X, schema = frame[["age", *names]], Schema({"age": Continuous(0, 1)}, unit=unit)
        _, own, _ = open_people(X, None, schema, beside)
        return kept_rows(own, max_rows, 5).tolist()

    both, drop = PrivacyUnit(["h", "p"]), PrivacyUnit("h", missing="drop")
    tuples = kept_rows(object_column(cells), max_rows, 5).tolist()
    assert used("hp", both) == used("", both, object_column(cells)) == tuples
    assert used("", both, frame[["p", "h"]]) == tuples
    separate = zip(used("h", PrivacyUnit(["h"])), parts["h"], strict=True)
    wanted = [own and cell is not None and cell == cell for own, cell in separate]
    assert used("h", drop) == used("", drop, parts["h"]) == wanted


def test_equal_numbers_are_one_person_and_texts_are_others():
    cells = [1, 1.0, True, np.int8(1), np.float32(1), Decimal("1.00"), "1", "1.0"]
    kept = kept_rows(object_column(cells), 1, 5)
    assert kept[:6].sum() == 1
    assert kept[6:].all()


def test_large_integers_are_told_apart_and_large_floats_are_left_out():
    close = [2**60, 2**60 + 1]
    assert kept_rows(np.array(close), 1, 0).all()
    assert kept_rows(np.array(close, dtype=np.uint64), 1, 0).all()
    assert kept_rows(object_column([*close, Decimal(2**60) + 2]), 1, 0).all()
    # As floats, two people share one number: their rows would compete for places.
    assert not kept_rows(np.array(close, dtype=np.float64), 1, 0).any()


class Hostile(int):
    """A number that cannot be read."""

    def __int__(self):
        raise RuntimeError("no")

    def __index__(self):
        raise RuntimeError("no")


class Unreadable(float):
    """A number that is there, and gives none."""

    def __float__(self):
        raise RuntimeError("no")


class Zone(datetime.tzinfo):
    """A time zone that answers as it likes."""

    def utcoffset(self, when):
        return datetime.timedelta(minutes=random.randrange(60))


class HostileDecimal(Decimal):
    """A number without a hash."""

    __hash__ = None


OTHER_CELLS = [
    *([1], 1j, np.inf, np.timedelta64(1, "s"), Decimal("1e999"), (), ("a", None), ("a", object())),
    *(bytearray(b"a"), datetime.datetime(2020, 1, 1, tzinfo=Zone())),
    *(object(), Hostile(3), Liar(str), Liar(Decimal), Unreadable(3), Decimal("sNaN")),
]


# A name with an address in it would differ between the workers of a run.
@pytest.mark.parametrize("cell", OTHER_CELLS, ids=lambda cell: type(cell).__name__)
def test_a_cell_of_another_kind_leaves_its_row_out(cell):
    assert kept_rows(object_column([cell, "a"]), 1, 0).tolist() == [False, True]


def test_a_cell_that_does_not_even_say_its_class_leaves_its_row_out():
    # Not among the above: pytest asks for the class of each parameter.
    column = object_column([Liar(None), "a"])
    assert kept_rows(column, 1, 0).tolist() == [False, True]
    assert encode_column(column, Categorical(["a"]), 1).tolist() == [2, 1]
    assert encode_column(column, Continuous(0, 1), 1).tolist() == [0, 0]


def test_an_entry_that_is_no_row_is_no_person_of_its_own():
    schema = Schema({"age": Continuous(0, 1)}, unit=PrivacyUnit("p"))
    _, own, _ = open_people([[0, "a"], [0], None, [0, None]], ["age", "p"], schema, None)
    assert kept_rows(own, 1, 0).tolist() == [True, False, False, True]


UUIDS = [uuid.UUID(int=2**100 + n // 2) for n in range(20)]
STAMPS = [pd.Timestamp(2020, 1, 1 + n // 2) for n in range(20)]
KINDS = {
    "UUIDs": UUIDS,
    "bytes": [one.bytes for one in UUIDS],
    "dates": [one.date() for one in STAMPS],
    "times": [one.to_pydatetime() for one in STAMPS],
    "stamps": STAMPS,
    "stamps of a zone": [one.tz_localize("UTC") for one in STAMPS],
    "several columns": [(f"hospital {n // 4}", n // 2) for n in range(20)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_people_are_told_apart_whatever_identifies_them(kind):
    cells = KINDS[kind]
    assert kept_rows(object_column(cells), 1, 0).sum() == 10
    for n_buckets in (1, 3):
        dealt = deal_units(object_column(cells), n_buckets, 0)
        answers = [kept_of_units(1, 0, False, [bucket]) for bucket in dealt[:-1]]
        assert noted_units(dealt, [one[0] for one in answers]).sum() == 10


def test_a_uuid_is_its_text_and_bytes_are_no_text():
    column = object_column([UUIDS[0], str(UUIDS[0]), UUIDS[0].bytes, b"a", "a"])
    assert kept_rows(column, 1, 0).sum() == 4


@pytest.mark.parametrize(
    "column",
    [
        pa.array([one.bytes for one in UUIDS], pa.binary(16)),
        pa.array([one.bytes for one in UUIDS]).dictionary_encode(),
        pl.Series(UUIDS, dtype=pl.Object),
        pl.Series([one.bytes for one in UUIDS]),
        np.array([one.hex.encode() for one in UUIDS]),
        pd.Series([one.bytes for one in UUIDS], dtype=pd.ArrowDtype(pa.binary())),
    ],
    ids=["Arrow", "Arrow dictionary", "objects of polars", "polars", "NumPy", "pandas"],
)
def test_a_column_of_bytes_identifies_people_and_is_no_feature(column):
    schema = Schema({"age": Continuous(0, 1)}, unit=PrivacyUnit("p"))
    table = {"age": np.zeros(20), "p": column}
    frame = pl.DataFrame(table) if isinstance(column, pl.Series) else None
    frame = pa.table(table) if isinstance(column, pa.Array) else frame
    frame = pd.DataFrame({"age": table["age"], "p": list(column)}) if frame is None else frame
    for X, unit in ((frame, None), (np.zeros((20, 1)), column)):
        _, identifiers, _ = open_people(X, ["age"], schema, unit)
        assert kept_rows(identifiers, 1, 0).sum() == 10
    assert schema.check(frame).n_rows == 20
    with pytest.raises(SchemaError, match="unit has dtype datetime64"):
        open_people(np.zeros((20, 1)), ["age"], schema, np.array(STAMPS, "M8[ns]"))


def test_decimals_of_any_class_are_compared_by_value():
    column = object_column([HostileDecimal(3), Decimal(3), 3])
    assert kept_rows(column, 1, 0).sum() == 1


MAKERS = [
    lambda cells: np.array(cells),
    lambda cells: np.array(cells, dtype=np.float64),
    object_column,
    lambda cells: pd.array(cells, dtype="Int64"),
    lambda cells: pd.Categorical(cells),
    lambda cells: column(pa.table({"p": pa.array(cells)})),
    lambda cells: column(pa.table({"p": pa.array(cells).dictionary_encode()})),
    lambda cells: column(pd.DataFrame({"p": pd.Series(cells, dtype="int64[pyarrow]")})),
]


@pytest.mark.parametrize(
    "make",
    MAKERS,
    ids=["int", "float", "object", "Int64", "category", "arrow", "dictionary", "int[pyarrow]"],
)
def test_the_same_people_in_any_container_keep_the_same_rows(make):
    cells = np.random.default_rng(0).integers(0, 40, 300).tolist()
    assert kept_rows(make(cells), 3, 17).tolist() == kept_rows(object_column(cells), 3, 17).tolist()


def column(frame):
    return open_table(frame).column(0)


@pytest.mark.statistical
def test_each_row_of_a_person_is_equally_likely_to_be_drawn():
    """20,000 people of five rows, two of which are drawn.

    Each place among the five must be drawn with probability 0.4. Level 1e-6 for the five places
    together (5 standard errors of 0.0035 each); a rule that took the first two would be 170 away.
    """
    cells = np.repeat(np.arange(20_000), 5)
    drawn = kept_rows(cells, 2, 1234).reshape(-1, 5)
    assert (drawn.sum(axis=1) == 2).all()
    error = np.sqrt(0.4 * 0.6 / 20_000)
    assert np.abs(drawn.mean(axis=0) - 0.4).max() < 5 * error
    # Pairs as well: people do not all draw the same places.
    pairs = Counter(map(tuple, drawn.tolist()))
    assert len(pairs) == 10
    assert max(pairs.values()) < 20_000 * 0.1 + 6 * np.sqrt(20_000 * 0.09)
