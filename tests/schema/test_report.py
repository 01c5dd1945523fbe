"""The curator's report: exact counts, and that it says it is private."""

import math

import pandas as pd
import pyarrow as pa
import pytest

from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, ColumnReport, Continuous, PrivacyUnit, Schema

SCHEMA = Schema({"age": Continuous(17, 90), "job": Categorical(["a", "b"])}, Categorical([0, 1]))
FRAME = pd.DataFrame(
    {"job": ["a", "x", None, "b", "y"], "age": [16, 17, math.nan, math.inf, 95]}, dtype=object
)


def test_counts_are_exact():
    report = SCHEMA.check(FRAME, [0, 1, 2, None, 1])
    assert report.n_rows == 5
    assert report.columns == (
        ColumnReport("job", "categorical", missing=1, clipped=0, unseen=2),
        ColumnReport("age", "continuous", missing=1, clipped=3, unseen=0),
        ColumnReport("(target)", "categorical", missing=1, clipped=0, unseen=1),
    )
    assert not report.is_clean


def test_report_prints_and_turns_into_a_frame():
    report = SCHEMA.check(FRAME)
    lines = str(report).splitlines()
    assert "private" in lines[0]
    assert [line.split() for line in lines[1:]] == [
        ["column", "kind", "missing", "clipped", "unseen"],
        ["job", "categorical", "1", "0", "2"],
        ["age", "continuous", "1", "3", "0"],
    ]
    frame = report.to_frame()
    assert frame.loc["age", "clipped"] == 3
    assert list(frame.index) == ["job", "age"]


def test_undeclared_and_absent_columns_are_listed():
    report = SCHEMA.check(FRAME[["age"]].assign(zip=["1", None, "", "2", 3], smoker=True))
    assert report.columns[1:] == (
        ColumnReport("zip", "undeclared", missing=1, clipped=0, unseen=0),
        ColumnReport("smoker", "categorical", missing=0, clipped=0, unseen=0),
    )
    assert "Undeclared: column 'zip'. A fit finds" in str(report)
    assert "not in the table: column 'job'." in str(report)
    assert not Schema({"a": Continuous(0, 1)}).check(pd.DataFrame({"a": [0], "b": [0]})).is_clean


def test_a_report_needs_what_it_reports_on():
    with pytest.raises(SchemaError, match="none of the columns that the schema declares"):
        SCHEMA.check(FRAME[["age"]].set_axis(["years"], axis=1))
    with pytest.raises(SchemaError, match="column 'Job'; did you mean 'job'"):
        SCHEMA.check(FRAME.rename(columns={"job": "Job"}))
    with pytest.raises(SchemaError, match="declares no target"):
        Schema(SCHEMA.features).check(FRAME, [0] * 5)
    with pytest.raises(SchemaError, match="inconsistent"):
        SCHEMA.check(FRAME, [0])


def test_the_column_of_identifiers_is_left_out():
    schema = Schema(SCHEMA.features, target=SCHEMA.target, unit=PrivacyUnit("patient"))
    report = schema.check(FRAME.assign(patient=1), [0, 1, 2, None, 1])
    assert [column.name for column in report.columns] == ["job", "age", "(target)"]
    assert "A DP-EBM speaks of a random row of each 'patient'." in str(report)


MISSING = "may be missing: each such row counts as a person of its own. PrivacyUnit(..., missing="
IDENTIFIERS = [
    (pd.Series([1, 2, 3, 4, 5]), ""),
    (pd.Series([1, 2, 3, 4, 5], dtype="Int64"), MISSING),
    (pd.Series(list("abcde"), dtype="string"), MISSING),
    (pd.Series(list("abcde"), dtype="category"), MISSING),
    (pd.Series([1, 2, 3, 4, 5], dtype=object), MISSING),
    (pd.Series([1, 2, 3, 4, 5], dtype="int64[pyarrow]"), MISSING),
    (pd.Series([1.0, 2, 3, 4, 5]), "floats, which cannot tell everybody apart"),
    (pd.Series(pd.date_range("2020", periods=5)), "Column 'p' has dtype datetime64"),
]


@pytest.mark.parametrize(("column", "text"), IDENTIFIERS, ids=lambda one: str(one)[-12:])
def test_the_dtype_says_whether_identifiers_may_be_missing(column, text):
    frame = FRAME.assign(p=column, h=1)

    def report(*columns, X=frame, **more):
        return str(Schema(SCHEMA.features, unit=PrivacyUnit(columns, **more)).check(X))

    if text not in ("", MISSING):
        with pytest.raises(SchemaError, match=text):
            report("p")
        return
    assert ("By its dtype, column 'p' may" in report("p")) == (MISSING in report("p")) == bool(text)
    assert MISSING in report("p", X=pa.table({"age": [1] * 5, "p": pa.array(column)}))
    for dropped in (report("p", missing="drop"), report("h", "p")):
        assert ("column 'p' may be missing: such rows are left out." in dropped) == bool(text)
