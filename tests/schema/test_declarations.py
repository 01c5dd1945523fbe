"""Continuous, Categorical and Schema: what is equal, and how they are shown."""

from __future__ import annotations

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


def test_a_schema_is_a_table_of_its_declarations() -> None:
    schema = Schema(
        {"age": Continuous(18, 95), "<b>sex": Categorical(["f", "<i>m"])},
        target=Continuous(0, 1),
        default=Continuous(-1, 1),
        unit=PrivacyUnit("person", 3),
    )
    page = schema._repr_html_()
    assert page.count("<tr>") == 1 + 2 + 3
    assert "Continuous(18, 95)" in page
    assert "&lt;b&gt;sex" in page
    assert "&lt;i&gt;m" in page
    assert "<b>sex" not in page
    assert "every other column" in page
    assert "at most 3 rows of one person" in page
    assert "all rows of one &#x27;person&#x27;" in page


def test_an_empty_schema_has_no_table() -> None:
    page = Schema({})._repr_html_()
    assert "<table>" not in page
    assert "Protected: one row" in page
