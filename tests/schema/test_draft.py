"""Schema.draft: what it reads off a public table, and its warning."""

import datetime

import numpy as np
import pandas as pd
import pytest

from interpret_dp.exceptions import PrivacyWarning, SchemaError
from interpret_dp.schema import Categorical, Continuous, Integer, PrivacyUnit, Schema


def draft(frame, *arguments, **keywords):
    with pytest.warns(PrivacyWarning, match="counts as public"):
        return Schema.draft(frame, *arguments, **keywords)


COLUMNS = [
    ([3, 1, 2], Integer(1, 3)),
    # A missing cell has made floats of integers.
    ([3, np.nan, 1, np.inf], Integer(1, 3)),
    ([0, 2**60], Continuous(0, 2**60)),
    ([3.5, np.nan, -np.inf, 1], Continuous(1, 3.5)),
    (pd.array([3, None, 1], dtype="Int64"), Integer(1, 3)),
    (np.array([3, None, 1.5], dtype=object), Continuous(1.5, 3)),
    (["b", None, "a", "b"], Categorical(["a", "b"])),
    (pd.array(["b", None, "a"], dtype="string[pyarrow]"), Categorical(["a", "b"])),
    (np.array(["2", "10"]), Categorical(["10", "2"])),
    ([True, True], Categorical([False, True])),
    (pd.array([None, True], dtype="boolean"), Categorical([False, True])),
    (np.array(["b", 2, 1.5, None, True], dtype=object), Categorical([True, 1.5, 2, "b"])),
    (pd.Categorical(["low", "high"], ["low", "high", "top"]), Categorical(["high", "low", "top"])),
    (
        pd.Categorical(["low", None], ["low", "high"], ordered=True),
        Categorical(["low", "high"], ordered=True),
    ),
]


@pytest.mark.parametrize(("column", "spec"), COLUMNS, ids=repr)
def test_columns_are_declared_by_what_they_hold(column, spec):
    assert draft(pd.DataFrame({"a": column})).features == {"a": spec}


TARGETS = [
    (["no", "yes"] * 3, "auto", Categorical(["no", "yes"])),
    ([0, 1] * 3, "auto", Categorical([0, 1])),
    ([0.0, 1.0, np.nan] * 2, "auto", Categorical([0.0, 1.0])),
    ([True, False] * 3, "auto", Categorical([False, True])),
    ([3, 5, 4] * 2, "auto", Continuous(3, 5)),
    ([3, 5, 4] * 2, "classification", Categorical([3, 4, 5])),
    ([0, 1] * 3, "regression", Continuous(0, 1)),
]


@pytest.mark.parametrize(("y", "task", "target"), TARGETS)
def test_targets_are_classes_or_numbers(y, task, target):
    schema = draft(pd.DataFrame({"y": y, "a": range(6)}), "y", task=task)
    assert schema == Schema({"a": Integer(0, 5)}, target=target)


def test_columns_without_a_draft_are_named_together():
    frame = pd.DataFrame(
        {
            "code": [str(k) for k in range(70)],
            "empty": [None] * 70,
            "nothing": [np.nan] * 70,
            "charges": ["29.85", " ", "1889.5"] + [""] * 67,
            "power": ["?", "46", None] + ["230"] * 67,
            "mixed": np.array(["", 2.5, "1"] * 23 + [None], dtype=object),
            "flags": np.array(["", True] * 35, dtype=object),
            "codes": pd.Categorical(["1", ""] * 35),
            "date": np.array([datetime.date(2020, 1, 1)] * 70, dtype=object),
            "fine": range(70),
        }
    )
    with pytest.raises(SchemaError) as caught:
        draft(frame)
    message = str(caught.value)
    assert "Column 'code' has 70 levels, more than max_levels=64" in message
    assert "Column 'empty' has no value" in message
    assert "Column 'nothing' has no finite number" in message
    for name, some, bounds in (
        ("charges", "blank", "29.85, 1889.5"),
        ("power", "'?'", "46, 230"),
        ("mixed", "blank", "1, 2.5"),
    ):
        said = f"{name!r} holds numbers as text, some {some}: declare Continuous({bounds}) by hand"
        assert said in message
    assert "Column 'date' holds cells of type date" in message
    assert not any(name in message for name in ("fine", "flags", "'codes'"))
    assert len(draft(frame[["code"]], max_levels=70).features) == 1


def test_the_target_of_a_regression_must_be_numeric():
    with pytest.raises(SchemaError, match="'a' is not numeric"):
        draft(pd.DataFrame({"a": ["x", "y"]}), "a", task="regression")


def test_the_units_column_is_no_feature():
    frame = pd.DataFrame({"who": ["p1", "p2"], "age": [20, 30], "y": ["a", "b"]})
    unit = PrivacyUnit("who", 2)
    drafted = draft(frame, "y", unit=unit)
    assert list(drafted.features) == ["age"]
    assert drafted.unit == unit
    for wrong in (PrivacyUnit("nobody"), PrivacyUnit("y")):
        with pytest.raises(SchemaError, match=r"unit names the column .* target: 'who', 'age'\."):
            Schema.draft(frame, "y", unit=wrong)
    alone = frame[["who"]]
    for target, said in (("who", "target: there is none"), ("y", "no column but the unit's")):
        with pytest.raises(SchemaError, match=said):
            Schema.draft(alone, target, unit=PrivacyUnit("who"))
    with pytest.raises(TypeError, match="unit is 'who'"):
        Schema.draft(frame, "y", unit="who")
