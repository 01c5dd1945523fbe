"""The reference's constructor arguments, read as a schema."""

import math

import numpy as np
import pytest

from interpret_dp import Categorical, Continuous, Integer, Schema, SchemaError
from interpret_dp.schema.containers import ColumnKind
from interpret_dp.schema.declarations import UndeclaredCategorical, UndeclaredContinuous
from interpret_dp.schema.partial import partial_schema_from_arguments

NAMES = ["age", "grade", "gain"]
TYPES = ["continuous", ["low", "high"], "continuous"]
LABELS = Schema(target=Categorical(["no", "yes"]))
EXPECTED = {
    "age": Continuous(17, 90),
    "grade": Categorical(["low", "high"], ordered=True),
    "gain": Continuous(0, 9),
}


def read_arguments(*given, names=NAMES, task="regression", **named):
    kinds = [ColumnKind("objects") for _ in names], ColumnKind("objects")
    return partial_schema_from_arguments(names, *kinds, *given, task=task, **named)


FORMS_OF_BOUNDS = [
    {"age": (17, 90), "gain": (0, 9)},
    {0: (17, 90), 2: [0, 9]},
    {np.int64(0): np.array([17.0, 90.0]), "gain": (0, 9)},
    np.array([[17, 90], [np.nan, np.nan], [0, 9]]),
    # The host's array must have a row for a categorical column too, and ignores it.
    np.array([[17, 90], [0, 1], [0, 9]]),
    [(17, 90), (0, 0), (0, 9)],
]


@pytest.mark.parametrize("bounds", FORMS_OF_BOUNDS, ids=repr)
def test_the_reference_s_forms_of_bounds(bounds):
    read = read_arguments(TYPES, bounds, schema=LABELS, task="classification")
    assert (read.features, read.target) == (EXPECTED, LABELS.target)
    assert list(read.features) == NAMES


def test_arguments_may_repeat_the_schema_and_fill_it_up():
    given = Schema({"age": Continuous(17, 90), "grade": EXPECTED["grade"]}, target=Continuous(0, 1))
    bounds = {"age": (17, math.nan), "gain": (0, 9)}
    read = read_arguments(TYPES, bounds, 0, 1, given)
    assert (read.features, read.target) == (EXPECTED, Continuous(0, 1))


CONFLICTS = [
    (Continuous(0, 1), "nominal", None),
    (Continuous(0, 1), ["low", "high"], None),
    (Continuous(0, 1), None, {"a": (0, 2)}),
    (Continuous(0, 1), "continuous", [(math.nan, 2)]),
    (Categorical(["x"]), "continuous", None),
    (Categorical(["x"]), "ordinal", None),
    (Categorical(["x"]), ["x"], None),
    (Categorical(["x"], ordered=True), "nominal", None),
    (Categorical(["x", "y"], ordered=True), ["y", "x"], None),
    (Categorical(["x"]), None, {"a": (0, 1)}),
]


@pytest.mark.parametrize(("spec", "given", "bounds"), CONFLICTS, ids=repr)
def test_conflicts_with_the_schema_are_errors(spec, given, bounds):
    for schema in (Schema({"a": spec}), Schema(default=spec)):
        with pytest.raises(SchemaError, match="For column 'a' the schema says"):
            read_arguments([given], bounds, schema=schema, names=["a"])


# ------------------------------------------------------------------------- declarations with gaps


NUMBERS, VALUES = UndeclaredContinuous(), UndeclaredCategorical()
ORDER = (2.0, "a")
CELL_KINDS = {
    "number": ColumnKind("integers"),
    "value": ColumnKind("objects"),
    "bool": ColumnKind("bools"),
    "codes": ColumnKind("integers", is_category=True),
    "ordered": ColumnKind("objects", is_category=True, order=ORDER),
}


COLUMNS_AND_SPECS = [
    ("number", None, UndeclaredContinuous(is_integer=True)),
    ("number", "continuous", NUMBERS),
    ("number", "nominal", VALUES),
    ("number", "ordinal", UndeclaredCategorical(ordered=True)),
    ("value", None, VALUES),
    ("value", "auto", VALUES),
    ("value", "continuous", NUMBERS),
    ("bool", None, Categorical([False, True])),
    ("bool", "continuous", Continuous(0, 1)),
    ("bool", "nominal", Categorical([False, True])),
    ("bool", "ordinal", Categorical([False, True], ordered=True)),
    ("codes", None, VALUES),
    ("codes", "continuous", NUMBERS),
    ("ordered", None, UndeclaredCategorical(ordered=True, order=ORDER)),
    ("ordered", "nominal", VALUES),
    ("value", ["low", "high"], Categorical(["low", "high"], ordered=True)),
]


@pytest.mark.parametrize(("kind", "feature_type", "expected"), COLUMNS_AND_SPECS)
def test_what_a_column_becomes(kind, feature_type, expected):
    partial = partial_schema_from_arguments(
        ["a"], [CELL_KINDS[kind]], CELL_KINDS["number"], [feature_type], task="regression"
    )
    assert partial.features == {"a": expected}
    assert partial.target == NUMBERS


INTEGER_BOUNDS = [
    (None, (0, 23), Integer(0, 23)),
    ("auto", (0, math.nan), UndeclaredContinuous(0.0, None, is_integer=True)),
    (None, (0.5, 23), Continuous(0.5, 23)),
    (None, (0.5, None), UndeclaredContinuous(0.5)),
    ("continuous", (0, 23), Continuous(0, 23)),
]


@pytest.mark.parametrize(("feature_type", "bounds", "expected"), INTEGER_BOUNDS)
def test_whole_bounds_of_integers_are_those_of_an_integer(feature_type, bounds, expected):
    number = CELL_KINDS["number"]
    partial = partial_schema_from_arguments(
        ["a"], [number], number, [feature_type], [bounds], 0, 9, task="regression"
    )
    assert partial.features == {"a": expected}
    assert partial.target == Continuous(0, 9)
