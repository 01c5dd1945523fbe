"""Continuous, Categorical and Schema: what is equal, and how they are shown."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import interpret_dp.schema
from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    PrivacyUnit,
    Schema,
    SchemaError,
)
from interpret_dp.schema import Integer


def small_schema():
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


def test_equality_and_hash_do_not_mind_the_order_of_columns():
    schema = small_schema()
    turned = Schema(dict(reversed(schema.features.items())), target=schema.target)
    assert schema == turned
    assert hash(schema) == hash(turned)
    assert schema != Schema(schema.features)


def test_representation_can_be_typed_in_again():
    schema = small_schema()
    assert eval(repr(schema)) == schema
    assert repr(Schema()) == "Schema({})"
    assert "... 28 more" in repr(Categorical(list(range(40))))


def test_a_schema_is_a_table_of_its_declarations():
    schema = Schema(
        {"age": Continuous(18, 95), "<b>sex": Categorical(["f", "<i>m"])},
        target=Continuous(0, 1),
        default=Continuous(-1, 1),
        unit=PrivacyUnit("person", 3),
    )
    assert schema.to_dict()["unit"] == {"column": "person", "max_rows": 3}
    dropped = schema.replace(unit=PrivacyUnit(["house", "person"], 3, missing="drop"))
    assert eval(repr(dropped)) == dropped != schema
    page = schema._repr_html_()
    assert page.count("<tr>") == 1 + 2 + 3
    assert "Continuous(18, 95)" in page
    assert "&lt;b&gt;sex" in page
    assert "&lt;i&gt;m" in page
    assert "<b>sex" not in page
    assert "every other column" in page
    assert "a DP-EBM speaks of up to 3 random rows of each &#x27;person&#x27;" in page
    assert "all rows of one &#x27;person&#x27;" in page


def test_an_empty_schema_has_no_table():
    page = Schema({})._repr_html_()
    assert "<table>" not in page
    assert "Protected: one row" in page


# --------------------------------------------------- schemas made of other schemas, and skeletons


AGE, SEX = Continuous(0, 120), Categorical(["f", "m"])
LABELS, PERSON = Categorical([0, 1]), PrivacyUnit("person")
SCHEMA = Schema({"age": AGE, "sex": SEX, "x1": AGE}, target=LABELS, unit=PERSON)


def test_a_schema_is_changed_into_new_ones():
    frame = pd.DataFrame({"sex": ["f"], "person": [1], "age": [2]})
    chosen = SCHEMA.select(frame.columns)
    assert chosen == SCHEMA.drop(["x1"]) == Schema({"sex": SEX, "age": AGE}, LABELS, None, PERSON)
    assert list(chosen.features) == ["sex", "age"]
    assert SCHEMA.replace() == SCHEMA
    wider = SCHEMA.replace({"age": Continuous(0, 150), "new": SEX}, target=AGE, unit=None)
    features = {"age": Continuous(0, 150), "sex": SEX, "x1": AGE, "new": SEX}
    assert wider == Schema(features, target=AGE)
    assert SCHEMA.replace(default=AGE).replace(default=None) == SCHEMA


def test_a_fit_uses_the_declared_columns_that_the_table_has():
    X = pd.DataFrame({"sex": ["f", "m"] * 40, "x2": 1.0, "person": range(80)})
    model = DPExplainableBoostingClassifier(schema=SCHEMA, max_rounds=1, exclude=["x2"])
    # "x2" is not taken for a misspelled "x1".
    model.fit(X, [0, 1] * 40)
    assert list(model.schema_.features) == ["sex", "x2"]
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        model.fit(X.rename(columns={"x2": "ages"}), [0, 1] * 40)
    # What another argument declares is not misspelled.
    model.set_params(privacy_bounds={"ages": (0, 9)}, exclude=None)
    model.fit(X.rename(columns={"x2": "ages"}), [0, 1] * 40)
    assert model.schema_.features["ages"] == Continuous(0, 9)


COLUMNS = {
    "age": np.array([1]),
    "weight": np.array([1.5]),
    "smoker": np.array([True]),
    "ward": pd.Categorical(["private-7919"]),
    "stage": pd.Categorical(["private-7919"], ordered=True),
    "name": ["private-7919"],
    "visits": pd.array([1], dtype="Int64"),
    "admitted": pd.to_datetime(["2020-01-01"]),
}
FRAME = pd.DataFrame(COLUMNS)


FORMS_OF_DTYPES = [
    FRAME.dtypes,
    {**FRAME.dtypes, "both": np.dtype([("a", int)])},
    pa.Table.from_pandas(FRAME).schema,
]


@pytest.mark.parametrize("dtypes", FORMS_OF_DTYPES, ids=["pandas", "mapping", "arrow"])
def test_a_skeleton_has_a_blank_for_each_column_and_no_cell(dtypes):
    text = Schema.skeleton(dtypes)
    lines = [line.strip() for line in text.splitlines()]
    assert lines[4:11] == [
        "'age': Integer(lower, upper),",
        "'weight': Continuous(lower, upper),",
        "'smoker': Categorical([False, True]),",
        "'ward': Categorical([level, ...]),",
        "'stage': Categorical([level, ...], ordered=True),",
        "'name': Categorical([level, ...]),",
        "'visits': Integer(lower, upper),",
    ]
    assert lines[11].startswith("# Column 'admitted' has dtype")
    assert "Turn dates into numbers first" in " ".join(lines).replace(" #", "")
    assert "7919" not in text
    compile(text, "skeleton", "exec")


@pytest.mark.parametrize("name", interpret_dp.schema.__all__)
def test_public_names_are_there(name):
    assert name in dir(interpret_dp.schema)
    assert getattr(interpret_dp.schema, name) is not None
