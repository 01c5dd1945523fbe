"""Continuous, Categorical and Schema: what they accept, keep and refuse."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, Continuous, PrivacyUnit, Schema, level_labels


def small_schema() -> Schema:
    return Schema(
        {
            "age": Continuous(17, 90),
            "gain": Continuous(0, 99_999, scale="log"),
            "job": Categorical(["private", "state"]),
        },
        target=Categorical([0, 1]),
    )


def test_bounds_are_floats_and_may_be_equal() -> None:
    spec = Continuous(np.int64(3), 3)
    assert (spec.lower, spec.upper) == (3.0, 3.0)
    assert type(spec.lower) is float


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((2, 1), "must not be above upper"),
        ((math.nan, 1), "finite"),
        ((0, math.inf), "finite"),
        ((-1.7e308, 1.7e308), "wider than a float can hold"),
        ((0, 10**400), "must be a finite number"),
        ((0, 1, "cubic"), "'linear', 'log'"),
    ],
)
def test_contradicting_bounds_are_refused(arguments: tuple[float, ...], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Continuous(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", ["1", None, True, 1j])
def test_bounds_must_be_numbers(bound: object) -> None:
    with pytest.raises(TypeError, match="lower is"):
        Continuous(bound, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([], "at least one"),
        (["a", "b", "a"], "must be unique"),
        ([1, 1.0], "must be unique"),
        ([True, 1], "must be unique"),
        ([1, "1"], "both written '1'"),
        ([math.nan], "between -2\\*\\*53"),
        ([math.inf], "between -2\\*\\*53"),
        ([2**53], "between -2\\*\\*53"),
        (["a\0"], "NUL"),
        (["\ud800"], "UTF-8"),
        (range(2**16), "at most 65534"),
    ],
)
def test_impossible_levels_are_refused(levels: list[object], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Categorical(levels)


@pytest.mark.parametrize("levels", ["abc", {"a", "b"}, {"a": 1}, 7, None, [None], [["a"]], [b"a"]])
def test_levels_must_be_an_ordered_list_of_scalars(levels: object) -> None:
    with pytest.raises(TypeError):
        Categorical(levels)  # type: ignore[arg-type]


def test_levels_keep_their_type_and_equality_minds_it() -> None:
    assert Categorical(np.array([0, 1])).levels == (0, 1)
    assert type(Categorical(np.array([True, False])).levels[0]) is bool
    assert Categorical([0, 1]) != Categorical([False, True])
    assert Categorical([0, 1]) != Categorical([0.0, 1.0])
    assert Categorical(["a", "b"]) != Categorical(["b", "a"])
    assert Categorical(["a"], ordered=True) != Categorical(["a"])
    assert hash(Categorical(["a", 1])) == hash(Categorical(("a", 1)))


def test_labels_are_the_host_s() -> None:
    spec = Categorical(["a", 2, 2.5, -0.0, True, 1e-7])
    assert level_labels(spec) == ["a", "2", "2.5", "0", "1", "1e-07"]


def test_declarations_are_frozen() -> None:
    schema = small_schema()
    with pytest.raises(TypeError):
        schema.features["age"] = Continuous(0, 1)  # type: ignore[index]
    with pytest.raises(AttributeError):
        schema.target = None  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Categorical(["a"]).levels = ("b",)  # type: ignore[misc]


def test_a_schema_does_not_follow_the_mapping_it_was_made_from() -> None:
    columns = {"a": Continuous(0, 1)}
    schema = Schema(columns)
    columns["b"] = Continuous(0, 2)
    assert list(schema.features) == ["a"]


def test_equality_and_hash_do_not_mind_the_order_of_columns() -> None:
    schema = small_schema()
    turned = Schema(dict(reversed(schema.features.items())), target=schema.target)
    assert schema == turned
    assert hash(schema) == hash(turned)
    assert schema != Schema(schema.features)


def test_copies_and_pickles_are_equal() -> None:
    schema = small_schema()
    for twin in (copy.deepcopy(schema), copy.copy(schema), pickle.loads(pickle.dumps(schema))):
        assert twin == schema
        assert list(twin.features) == list(schema.features)


def test_representation_can_be_typed_in_again() -> None:
    schema = small_schema()
    assert eval(repr(schema)) == schema
    assert repr(Schema()) == "Schema({})"
    assert "... 28 more" in repr(Categorical(list(range(40))))


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ([("a", Continuous(0, 1))], "must be a mapping"),
        ({3: Continuous(0, 1)}, "must be a string. Write '3'"),
        ({"a": (0, 1)}, "must be Continuous"),
    ],
)
def test_a_schema_maps_strings_to_declarations(features: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Schema(features)  # type: ignore[arg-type]


def test_resolve_follows_the_table() -> None:
    schema = small_schema()
    names = ["job", "age", "gain"]
    assert schema.resolve(names) == tuple(schema.features[name] for name in names)


def test_resolve_names_everything_that_does_not_fit() -> None:
    with pytest.raises(SchemaError) as caught:
        small_schema().resolve(["age", "city", "street"])
    message = str(caught.value)
    assert "columns 'city', 'street'" in message
    assert "columns 'gain', 'job'" in message


def test_default_serves_the_columns_that_are_not_listed() -> None:
    default = Continuous(0, 16)
    schema = Schema({"age": Continuous(17, 90)}, default=default)
    assert schema.resolve(["feature_0000", "age"]) == (default, Continuous(17, 90))
    with pytest.raises(SchemaError, match="does not have column 'age'"):
        schema.resolve(["feature_0000"])


def test_a_unit_is_written_as_it_is_read() -> None:
    unit = PrivacyUnit("patient_id", 3)
    assert repr(unit) == "PrivacyUnit(column='patient_id', max_rows=3)"
    schema = Schema({"age": Continuous(0, 99)}, unit=unit)
    assert eval(repr(schema)) == schema
    assert pickle.loads(pickle.dumps(schema)) == copy.deepcopy(schema) == schema
    assert hash(schema) != hash(Schema(schema.features))
    assert schema != Schema(schema.features, unit=PrivacyUnit("patient_id", 4))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PrivacyUnit(3), TypeError, r"column is 3 \(int\); it must be the name.*max_rows="),  # type: ignore[arg-type]
        (
            lambda: PrivacyUnit("p", 0),
            ValueError,
            r"max_rows is 0 .*at least 1\. It is the",
        ),
        (lambda: PrivacyUnit("p", 1.5), TypeError, r"max_rows is 1.5 \(float\)"),  # type: ignore[arg-type]
        (lambda: Schema(unit="patient"), TypeError, r"unit is 'patient'.*it must be PrivacyUnit"),  # type: ignore[arg-type]
        (
            lambda: Schema({"p": Continuous(0, 1)}, unit=PrivacyUnit("p")),
            SchemaError,
            r"'p' is declared as a feature and as the unit.*Remove it",
        ),
    ],
)
def test_a_wrong_unit_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
