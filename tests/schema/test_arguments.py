"""The reference's constructor arguments, read as a schema."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, Continuous, Schema, schema_from_arguments

NAMES = ["age", "grade", "gain"]
TYPES: list[Any] = ["continuous", ["low", "high"], "continuous"]
LABELS = Schema(target=Categorical(["no", "yes"]))
EXPECTED = {
    "age": Continuous(17, 90),
    "grade": Categorical(["low", "high"], ordered=True),
    "gain": Continuous(0, 9),
}


@pytest.mark.parametrize(
    "bounds",
    [
        {"age": (17, 90), "gain": (0, 9)},
        {0: (17, 90), 2: [0, 9]},
        {np.int64(0): np.array([17.0, 90.0]), "gain": (0, 9)},
        np.array([[17, 90], [np.nan, np.nan], [0, 9]]),
        # The host's array must have a row for a categorical column too, and ignores it.
        np.array([[17, 90], [0, 1], [0, 9]]),
        [(17, 90), (0, 0), (0, 9)],
    ],
    ids=repr,
)
def test_the_reference_s_forms_of_bounds(bounds: Any) -> None:
    schema = schema_from_arguments(NAMES, TYPES, bounds, schema=LABELS, task="classification")
    assert schema == Schema(EXPECTED, target=LABELS.target)
    assert list(schema.features) == NAMES


def test_target_bounds_make_a_regression() -> None:
    schema = schema_from_arguments(["a"], None, [(0, 1)], -5, np.float64(5), task="regression")
    assert schema == Schema({"a": Continuous(0, 1)}, target=Continuous(-5, 5))


@pytest.mark.parametrize("given", [None, "auto"])
def test_bounds_alone_make_a_column_continuous(given: str | None) -> None:
    schema = schema_from_arguments(["a"], [given], {"a": (0, 1)}, 0, 1)
    assert schema.features["a"] == Continuous(0, 1)


def test_a_schema_alone_is_enough_and_follows_the_table() -> None:
    given = Schema(dict(reversed(EXPECTED.items())), target=Continuous(0, 1))
    schema = schema_from_arguments(NAMES, schema=given)
    assert schema == given
    assert list(schema.features) == NAMES


def test_the_default_is_spelt_out() -> None:
    given = Schema(default=Continuous(0, 16), target=Continuous(0, 1))
    schema = schema_from_arguments(["feature_0000", "feature_0001"], schema=given)
    assert schema == Schema(
        {"feature_0000": Continuous(0, 16), "feature_0001": Continuous(0, 16)},
        target=Continuous(0, 1),
    )


def test_arguments_may_repeat_the_schema_and_fill_it_up() -> None:
    given = Schema({"age": Continuous(17, 90), "grade": EXPECTED["grade"]}, target=Continuous(0, 1))
    bounds = {"age": (17, math.nan), "gain": (0, 9)}
    schema = schema_from_arguments(NAMES, TYPES, bounds, 0, 1, given)
    assert schema == Schema(EXPECTED, target=Continuous(0, 1))


@pytest.mark.parametrize(
    ("spec", "given", "bounds"),
    [
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
    ],
    ids=repr,
)
def test_conflicts_with_the_schema_are_errors(spec: Any, given: Any, bounds: Any) -> None:
    for schema in (Schema({"a": spec}), Schema(default=spec)):
        with pytest.raises(SchemaError, match="For column 'a' the schema says"):
            schema_from_arguments(["a"], [given], bounds, schema=schema)


def test_all_conflicts_are_named_together() -> None:
    given = Schema({"a": Continuous(0, 1), "gone": Continuous(0, 1)}, target=Continuous(0, 1))
    with pytest.raises(SchemaError) as caught:
        schema_from_arguments(["a", "b"], ["nominal", "nominal"], {"b": (0, 1)}, 0, 2, given)
    message = str(caught.value)
    for part in (
        "does not have column 'gone'",
        "column 'a' the schema says Continuous(0, 1)",
        "'b' has feature_types 'nominal' and privacy_bounds",
        "the target the schema says Continuous(0, 1)",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("target", "bounds", "task"),
    [
        (Continuous(0, 1), (None, None), "classification"),
        (None, (0, 1), "classification"),
        (Categorical(["x"]), (None, None), "regression"),
        (Categorical(["x"]), (0, 1), None),
        (Continuous(0, 1), (0, 2), "regression"),
    ],
)
def test_targets_of_the_other_task_are_errors(target: Any, bounds: Any, task: str | None) -> None:
    with pytest.raises(SchemaError, match=r"[Tt]he target"):
        schema_from_arguments(
            ["a"], None, [(0, 1)], *bounds, schema=Schema(target=target), task=task
        )


@pytest.mark.parametrize(
    ("task", "shown"),
    [
        ("classification", "target=Categorical([label, ...])"),
        ("regression", "target=Continuous(lower, upper)"),
        (None, "target=Categorical([label, ...]) or Continuous(lower, upper)"),
    ],
)
def test_everything_undeclared_is_named_with_its_mend(task: str | None, shown: str) -> None:
    names = ["none", "bounds", "lower", "levels", "steps", "fine"]
    types = [None, "continuous", "continuous", "nominal", "ordinal", "continuous"]
    with pytest.raises(SchemaError) as caught:
        schema_from_arguments(
            names, types, {"lower": (math.nan, 5), "fine": (0, 1)}, math.nan, None, task=task
        )
    message = str(caught.value)
    for part in (
        "column 'none', column 'bounds', column 'lower', column 'levels', column 'steps', the tar",
        "'none': Continuous(lower, upper) or Categorical([level, ...]),",
        "'bounds': Continuous(lower, upper),",
        "'lower': Continuous(lower, 5),",
        "'levels': Categorical([level, ...]),",
        "'steps': Categorical([level, ...], ordered=True),",
        shown,
    ):
        assert part in message
    assert "'fine'" not in message


def test_half_a_target_is_not_declared() -> None:
    with pytest.raises(SchemaError, match="Not declared: the target\\.") as caught:
        schema_from_arguments(["a"], None, [(0, 1)], target_min=0)
    assert "schema=Schema({...}, target=Continuous(0, upper))" in str(caught.value)


@pytest.mark.parametrize(
    "given", ["quantile", "ignore", "", 3, [1.0, 2.0], [], ["a", 1], {"a": 1}, b"nominal"]
)
def test_other_types_are_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"feature_types of column 'a' is .*'continuous', 'nomin"):
        schema_from_arguments(["a"], [given], None, 0, 1)


@pytest.mark.parametrize(
    ("types", "error"),
    [
        ("continuous", TypeError),
        (["continuous"], ValueError),
        ({"a": "nominal", "b": "nominal"}, TypeError),
    ],
)
def test_types_are_one_a_column(types: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="one type for each of the 2 columns"):
        schema_from_arguments(["a", "b"], types)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ([(0, 1)], "has 1 rows; it must have one for each of the 2"),
        ({"c": (0, 1)}, "has the key 'c'"),
        ({2: (0, 1)}, "has the key 2"),
        ({True: (0, 1)}, "has the key True"),
        ({0: (0, 1), "a": (0, 1)}, "column 'a' twice"),
        ({"a": 3}, "must be a pair"),
        ({"a": (0, 1, 2)}, "must be a pair"),
        ({"a": (0, math.inf)}, "The maximum in privacy_bounds of column 'a' is inf"),
        ({"a": (2, 1)}, "'a' do not fit together: lower is 2 and upper is 1"),
    ],
)
def test_other_bounds_are_refused(bounds: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        schema_from_arguments(["a", "b"], None, bounds, 0, 1)


def test_arguments_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match="privacy_bounds is of type int"):
        schema_from_arguments(["a"], None, 3)
    with pytest.raises(TypeError, match="privacy_bounds is of type ndarray"):
        schema_from_arguments(["a"], None, np.array(1.0))
    with pytest.raises(ValueError, match="feature_types of column 'a' is array"):
        schema_from_arguments(["a"], [np.array("nominal")])
    with pytest.raises(TypeError, match=r"Schema\.load"):
        schema_from_arguments(["a"], schema="schema.toml")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="task is 'ranking'"):
        schema_from_arguments(["a"], task="ranking")
    with pytest.raises(TypeError, match="privacy_target_min is '0'"):
        schema_from_arguments(["a"], target_min="0")  # type: ignore[arg-type]
