"""Declarations with gaps: dtypes, which are public, decide what is looked for."""

from __future__ import annotations

import math
from typing import Any

import pytest

from interpret_dp import Categorical, Continuous, Integer
from interpret_dp.schema.declarations import UndeclaredCategorical, UndeclaredContinuous
from interpret_dp.schema.kinds import ColumnKind
from interpret_dp.schema.partial import partial_schema_from_arguments

NUMBERS, VALUES = UndeclaredContinuous(), UndeclaredCategorical()
ORDER = (2.0, "a")
KINDS = {
    "number": ColumnKind("integers"),
    "value": ColumnKind("objects"),
    "bool": ColumnKind("bools"),
    "codes": ColumnKind("integers", is_category=True),
    "ordered": ColumnKind("objects", is_category=True, order=ORDER),
}


@pytest.mark.parametrize(
    ("kind", "feature_type", "expected"),
    [
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
    ],
)
def test_what_a_column_becomes(kind: str, feature_type: Any, expected: Any) -> None:
    partial = partial_schema_from_arguments(
        ["a"], [KINDS[kind]], KINDS["number"], [feature_type], task="regression"
    )
    assert partial.features == {"a": expected}
    assert partial.target == NUMBERS


@pytest.mark.parametrize(
    ("feature_type", "bounds", "expected"),
    [
        (None, (0, 23), Integer(0, 23)),
        ("auto", (0, math.nan), UndeclaredContinuous(0.0, None, is_integer=True)),
        (None, (0.5, 23), Continuous(0.5, 23)),
        (None, (0.5, None), UndeclaredContinuous(0.5)),
        ("continuous", (0, 23), Continuous(0, 23)),
    ],
)
def test_whole_bounds_of_integers_are_those_of_an_integer(
    feature_type: Any, bounds: Any, expected: Any
) -> None:
    partial = partial_schema_from_arguments(
        ["a"], [KINDS["number"]], KINDS["number"], [feature_type], [bounds], 0, 9, task="regression"
    )
    assert partial.features == {"a": expected}
    assert partial.target == Continuous(0, 9)
