"""Declarations with gaps: dtypes, which are public, decide what is looked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp import Categorical, Continuous, Schema, SchemaError
from interpret_dp.schema.declarations import UndeclaredCategorical, UndeclaredContinuous
from interpret_dp.schema.partial import column_kind, partial_schema_from_arguments

NUMBERS, VALUES = UndeclaredContinuous(), UndeclaredCategorical()


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (np.array([1]), "number"),
        (np.array([1.0], dtype=np.float32), "number"),
        (np.array([True]), "bool"),
        (np.array(["a"]), "value"),
        (np.array([1], dtype=object), "value"),
        (pd.array([1, None], dtype="Int64"), "number"),
        (pd.array([True, None], dtype="boolean"), "bool"),
        (pd.array(["a"], dtype="string"), "value"),
        (pd.Categorical([1, 2]), "value"),
    ],
    ids=repr,
)
def test_the_kind_of_a_dtype(column: Any, kind: str) -> None:
    assert column_kind(column.dtype) == kind


@pytest.mark.parametrize(
    ("kind", "feature_type", "expected"),
    [
        ("number", None, NUMBERS),
        ("number", "continuous", NUMBERS),
        ("number", "nominal", VALUES),
        ("number", "ordinal", UndeclaredCategorical(ordered=True)),
        ("value", None, VALUES),
        ("value", "auto", VALUES),
        ("value", "continuous", NUMBERS),
        ("bool", None, Continuous(0, 1)),
        ("bool", "nominal", Categorical([False, True])),
        ("bool", "ordinal", Categorical([False, True], ordered=True)),
        ("value", ["low", "high"], Categorical(["low", "high"], ordered=True)),
    ],
)
def test_what_a_column_becomes(kind: str, feature_type: Any, expected: Any) -> None:
    partial = partial_schema_from_arguments(
        ["a"], [kind], "number", [feature_type], task="regression"
    )
    assert partial.features == {"a": expected}
    assert partial.target == NUMBERS


@pytest.mark.parametrize(
    ("task", "kind", "target"),
    [
        ("classification", "number", VALUES),
        ("classification", "value", VALUES),
        ("classification", "bool", Categorical([False, True])),
        ("regression", "number", NUMBERS),
        ("regression", "value", NUMBERS),
        ("regression", "bool", Continuous(0, 1)),
    ],
)
def test_what_a_target_becomes(task: str, kind: str, target: Any) -> None:
    partial = partial_schema_from_arguments(["a"], ["number"], kind, task=task)
    assert partial.target == target


def test_what_is_declared_stays() -> None:
    schema = Schema({"b": Continuous(0, 1)}, target=Continuous(5, 6))
    partial = partial_schema_from_arguments(
        ["a", "b", "c"],
        ["number", "number", "number"],
        "number",
        privacy_bounds={"a": (0, np.nan)},
        schema=schema,
        task="regression",
    )
    assert partial.features == {
        "a": UndeclaredContinuous(lower=0.0),
        "b": Continuous(0, 1),
        "c": NUMBERS,
    }
    assert partial.gaps.keys() == {"a", "c"}
    assert partial.target_gap is None
    filled = partial.completed({"a": Continuous(0, 9), "c": Continuous(1, 2)}, None)
    assert list(filled.features) == ["a", "b", "c"]
    assert filled.target == Continuous(5, 6)


def test_contradictions_are_errors_as_before() -> None:
    schema = Schema({"gone": Continuous(0, 1)})
    with pytest.raises(SchemaError, match="'gone'"):
        partial_schema_from_arguments(["a"], ["number"], "number", schema=schema, task="regression")
    with pytest.raises(SchemaError, match="class labels"):
        partial_schema_from_arguments(
            ["a"], ["number"], "value", target_min=0, task="classification"
        )
