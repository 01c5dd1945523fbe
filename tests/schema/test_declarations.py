"""Continuous, Categorical and Schema: what they accept, keep and refuse."""

from __future__ import annotations

from typing import Any

import pytest

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, Continuous, Integer, PrivacyUnit, Schema


def small_schema() -> Schema:
    return Schema(
        {
            "age": Continuous(17, 90),
            "gain": Continuous(0, 99_999, scale="log"),
            "hour": Integer(0, 23),
            "stays": Integer(-1, 10**6, scale="log"),
            "job": Categorical(["private", "state"]),
        },
        target=Categorical([0, 1]),
    )


def test_equality_and_hash_do_not_mind_the_order_of_columns() -> None:
    schema = small_schema()
    turned = Schema(dict(reversed(schema.features.items())), target=schema.target)
    assert schema == turned
    assert hash(schema) == hash(turned)
    assert schema != Schema(schema.features)


def test_representation_can_be_typed_in_again() -> None:
    schema = small_schema()
    assert eval(repr(schema)) == schema
    assert repr(Schema()) == "Schema({})"
    assert "... 28 more" in repr(Categorical(list(range(40))))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Integer(0, 0.5), SchemaError, r"upper is 0.5; it must be a whole.*Declare Cont"),
        (lambda: Integer(-(2**53), 0), SchemaError, r"lower is .*between -2\*\*53 and 2\*\*53"),
        (lambda: Integer(2, 1), SchemaError, r"lower is 2 and upper is 1; .*Swap the two"),
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
def test_a_wrong_declaration_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
