"""The curator's report: exact counts, and that it says it is private."""

import math

import pandas as pd
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
    with pytest.raises(SchemaError, match="inconsistent"):
        SCHEMA.check(FRAME, [0])


MISSING = "column 'p' may be missing: each such row counts as a person of its own."
NULLABLE = ["Int64", "string", "category", "object", "int64[pyarrow]"]
REFUSED = {"float64": "floats, which cannot", "datetime64[ns]": "Column 'p' has dtype datetime64"}


@pytest.mark.parametrize("dtype", ["int64", *NULLABLE, *REFUSED])
def test_identifiers_are_left_out_and_their_dtype_says_whether_they_may_be_missing(dtype):
    X = FRAME.assign(p=pd.Series(range(5)).astype(dtype), h=1)

    def report(*columns, **more):
        return Schema(SCHEMA.features, unit=PrivacyUnit(columns, **more)).check(X)

    if dtype in REFUSED:
        with pytest.raises(SchemaError, match=REFUSED[dtype]):
            report("p")
        return
    assert (MISSING in str(report("p"))) == (dtype in NULLABLE)
    assert "A DP-EBM speaks of a random row of each 'p'." in str(report("p"))
    assert [column.name for column in report("h", "p").columns] == ["job", "age"]
    for text in map(str, (report("p", missing="drop"), report("h", "p"))):
        assert ("'p' may be missing: such rows are left out." in text) == (dtype in NULLABLE)
