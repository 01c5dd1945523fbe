"""Every refusal of the schema gives the value, what is allowed, and the mend."""

import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from interpret_dp.fitting.rows import open_people
from interpret_dp.schema import (
    Categorical,
    Continuous,
    Integer,
    PrivacyUnit,
    Schema,
    encode_classes,
    open_table,
    open_target,
)
from interpret_dp.schema.containers import ColumnKind
from interpret_dp.schema.partial import partial_schema_from_arguments

BOUNDED = Schema({"a": Continuous(0, 1)}, target=Continuous(0, 1))
LABELLED = Schema({"a": Continuous(0, 1)}, target=Categorical(["no", "yes"]))
NAMED = Schema({"age": Continuous(0, 1), "sex": Categorical(["f", "m"])})
FRAME = pd.DataFrame({"a": [1.0], "b": [2.0]})
PERSON = pd.DataFrame({"age": [1.0], "sex": ["f"]})
OF_CLASSES = {"task": "classification"}


def arguments(*given, task=None, **named):
    kinds = [ColumnKind("floats")] * 2, ColumnKind("floats")
    return lambda: partial_schema_from_arguments(["a", "b"], *kinds, *given, task=task, **named)


def people(unit, *columns):
    schema = Schema(unit=PrivacyUnit(columns)) if columns else None
    return lambda: open_people(FRAME, None, schema, unit)


def column(cells):
    return lambda: open_table(pd.DataFrame({"a": cells}))


def document(**change):
    whole = {"format": "interpret_dp.schema", "version": 1, "features": {}}
    return lambda: Schema.from_dict(whole | change)


# For each refusal: what was given, what is allowed, how to mend it.
REFUSALS = [
    # containers
    (lambda: open_table("ab"), "builtins.str", "NumPy array, or a list", "pandas.DataFrame("),
    (lambda: open_table(sparse.eye(2)), "X is sparse", "must be dense", "X.toarray()"),
    (lambda: open_table(pl.LazyFrame()), "X is lazy", "must hold its rows", "X.collect()"),
    (lambda: open_table(np.zeros(3)), "got 1D array", "Expected 2D array", "array.reshape(-1, 1)"),
    (lambda: open_table([1, 2]), "got 1D array", "list must hold rows", "write [[1], [2]]"),
    (lambda: open_table(FRAME["a"]), "Series", "Expected 2D array", "X.to_frame()"),
    (lambda: open_table(pl.Series([1])), "got 1D", "Expected 2D array", "pass X.to_frame()"),
    (lambda: open_table(pa.array([1])), "got 1D", "Expected 2D array", "pass pyarrow.table"),
    (lambda: open_table(pa.chunked_array([[1]])), "got 1D", "2D array", "pass pyarrow.table"),
    (lambda: open_table(FRAME.iloc[0]), "Series", "Expected 2D array", "table.iloc[[0]]"),
    (people("a"), "'a' (str)", "the identifier of each row", "Schema(..., unit=PrivacyUnit('a'))"),
    (lambda: open_table([[1], []]), "differ in length", "the same columns", "give every row"),
    (lambda: open_table(FRAME[[]]), "0 feature(s)", "minimum of 1", "Pass at least one column"),
    (lambda: open_table(FRAME, "a"), "'a'", "a sequence of names", "Write ['a']"),
    (lambda: open_table(FRAME, ["a", None]), "None", "tables without names", "Name every column"),
    (lambda: open_table(FRAME, ["c"]), "lacks column 'c'", "it has columns 'a', 'b'", "rename or"),
    (lambda: open_table(FRAME, ["A"]), "lacks column 'A'", "Did you mean 'a'?", "rename or"),
    (people(None, "p", "a"), "X lacks column 'p'", "as the privacy unit", "Add it"),
    (people([1], "p", "a"), "X has column 'a'", "as the privacy unit", "Drop one of the two"),
    (people(FRAME["a"].set_axis([7])), "indexes differ", "unit.loc[X.index]", "unit.set_axis(X"),
    (lambda: open_table([[1]], ["a", "b"]), "has 1 features", "expecting 2", "Pass the same"),
    (lambda: open_table(FRAME[["a", "a"]]), "'a' more than once", "each name is unique", "rename"),
    (
        column([datetime.timedelta(1)]),
        "'a' has dtype timedelta64",
        "hold numbers",
        "Turn durations",
    ),
    (column([pd.Period("2020-01-01")]), "dtype period. ", "hold numbers", "Convert the column"),
    (lambda: open_target(None), "got None", "1d array", "Pass the column of the target"),
    (lambda: open_target(FRAME), "2 columns", "1d array", "Pass one column alone"),
    (lambda: open_target(np.zeros((1, 1, 1))), "3 dimensions", "1d array", "Pass y.ravel()"),
    (lambda: open_target([1], 2), "inconsistent", "same number of rows", "exactly the rows of X"),
    # declarations
    (lambda: Continuous("0", 1), "lower is '0'", "must be a real number", "values can reach"),
    (lambda: Continuous(2, 1), "lower is 2", "must not be above upper", "Swap the two"),
    (lambda: Continuous(0, np.inf), "upper is inf", "finite", "bound that values can reach"),
    (lambda: Continuous(0, 10**400), "upper is 1000", "must be a finite number", "can reach"),
    (lambda: Continuous(-1e308, 1e308), "-1e+308 to 1e+308", "a float can hold", "can reach"),
    (lambda: Continuous(0, 1, "cubic"), "'cubic'", "'linear', 'log'", "must be one of"),
    (lambda: Continuous(0, 1, "Log"), "'Log'", "'linear', 'log'", "Did you mean 'log'"),
    (lambda: Categorical([]), "levels is []", "at least one level", "List every value"),
    (lambda: Categorical("ab"), "type str", "a sequence of strings", 'such as ["low", "high"]'),
    (lambda: Categorical(np.array(0)), "type ndarray", "a sequence of strings", "such as"),
    (lambda: Categorical(np.eye(2)), "type ndarray", "a string, a number or a bool", "Declare"),
    (lambda: Categorical([None]), "None", "a string, a number or a bool", "Declare what the cells"),
    (lambda: Categorical([np.nan]), "nan", "between -2**53 and 2**53", "not declared"),
    (lambda: Categorical(["a", "a"]), "'a'", "must be unique", "Remove or rename one"),
    (lambda: Categorical(["a\0"]), "'a\\x00'", "cut off", "Remove it"),
    (lambda: Categorical(["\ud800"]), "'\\ud800'", "UTF-8", "Remove the lone surrogate"),
    (lambda: Categorical(range(2**16)), "65536 levels", "at most 65534", "Group the rare ones"),
    (lambda: Categorical(["a"], 1), "ordered is 1", "True or False", "Leave it out"),
    (lambda: Integer(0, 0.5), "upper is 0.5", "must be a whole number", "Declare Continuous("),
    (lambda: Integer(-(2**53), 0), "lower is -9007199254740992", "between -2**53 and", "Declare"),
    (lambda: Integer(2, 1), "lower is 2 and upper is 1", "must not be above upper", "Swap the two"),
    (lambda: PrivacyUnit(3), "column is 3 (int)", "the name of a column", "max_rows="),
    (lambda: PrivacyUnit([]), "column is [] (list)", "the name of a column", "a list of such"),
    (lambda: PrivacyUnit(["p", "p"]), "['p', 'p'] (list)", "named once", "Remove the second"),
    (lambda: PrivacyUnit("p", missing="own"), "'own' (str)", "'separate', 'drop'", "of its own"),
    (lambda: PrivacyUnit("p", 0), "max_rows is 0", "at least 1", "the most rows of one person"),
    (lambda: PrivacyUnit("p", 1.5), "max_rows is 1.5 (float)", "an integer at least 1", "the most"),
    (lambda: PrivacyUnit("p", 2, 2), "total_rows is 2", "at least 3", "rows of one person in the"),
    # schemas
    (lambda: Schema(unit="p"), "unit is 'p' (str)", "must be PrivacyUnit(", "max_rows="),
    (lambda: BOUNDED.replace(unit=PrivacyUnit([*"pa"])), "'a' is", "as the unit", "Remove it"),
    (lambda: Schema([]), "type list", "a mapping", '{"age": Integer(17, 90)}'),
    (lambda: Schema({3: Continuous(0, 1)}), "name 3", "a string", "Write '3'"),
    (lambda: Schema({"a": 3}), "features['a'] is 3", "Continuous(lower", "Categorical(levels)"),
    (lambda: BOUNDED.resolve(["b"]), "not declare column 'b'", "Declare each as", "or drop it"),
    (lambda: BOUNDED.resolve(["c"]), "has column 'c'", "schema declares column 'a'", "Rename them"),
    (lambda: NAMED.resolve(["age", "Sex "]), "list column 'Sex '", "mean 'sex'", "drop(['sex'])"),
    (lambda: NAMED.resolve(["age", "sexe"]), "column 'sexe'", "mean 'sex'", "Rename one"),
    (lambda: NAMED.select(["Age"]), "not declare column 'Age'", "it has columns", "mean 'age'?"),
    (lambda: NAMED.drop("age"), "names is 'age'", "a list of", "names of columns"),
    (lambda: Schema.skeleton({"a": "int46"}), "for 'a'", "must be X.dtypes", "pyarrow.Schema"),
    (lambda: Schema.skeleton(FRAME["a"]), "type Series", "must be X.dtypes", "pyarrow.Schema"),
    (lambda: NAMED.check(PERSON, [1]), "y is given", "declares no target", "Schema(target=...)"),
    # documents; whatever else they say is in tests/edges/test_contents.py
    (document(format="x"), "format is 'x'", "'interpret_dp.schema'", "Schema.save(path) writes"),
    (document(version=9), "version is 9", "reads 1", "upgrade"),
    (document(other=1), "unknown keys: 'other'", "its keys are target", "Correct it"),
    (document(features=[]), "type list", "must map each column", "Write {"),
    (document(features={"a": {"type": "x"}}), "a: type is 'x'", "'integer'", "keys that"),
    (document(target={"type": "continuous"}), "target", "lacks 'lower'", "Correct it"),
    (document(unit={"column": "p", "a": 3}), "unknown keys: 'a'", "its keys are", "Correct it"),
    (lambda: Schema.from_json(io.StringIO("{")), "Expecting", "valid JSON", "Correct it"),
    (lambda: Schema.from_toml(io.StringIO("{")), "line 1", "valid TOML", "Correct it"),
    (lambda: Schema.from_json(io.BytesIO(b"\xff")), "invalid start byte", "UTF-8", "Correct it"),
    (lambda: Schema.from_json(io.StringIO('{"a":1,"a":2}')), "keys: 'a'", "one of each", "Correct"),
    (lambda: BOUNDED.save("a.yaml"), "'a.yaml'", ".toml or .json", "Rename the file"),
    # encoding
    (lambda: encode_classes([1], range(2**15)), "32768", "at most 32767", "Group the rare"),
    # the arguments of interpret's classes
    (arguments(schema=3), "type int", "must be a Schema", "Schema.load(path)"),
    (arguments("continuous"), "'continuous' (str)", "a list of one type for each", "'ordinal'"),
    (arguments({"a": "auto", "b": None}), "(dict)", "a list of one type for each", "'ordinal'"),
    (arguments(["nominal"]), "['nominal']", "one type for each of the 2 columns", "'continuous'"),
    (arguments(["quantile", None]), "'quantile'", "'continuous', 'nominal'", "made privately"),
    (arguments(["ignore", None]), "'ignore'", "'continuous', 'nominal'", "exclude"),
    *(
        (arguments([wrong, None]), f"of column 'a' is {wrong!r}", "'continuous', 'no", "None or")
        for wrong in ("", 3, [1.0, 2.0], [], ["a", 1], {"a": 1}, b"nominal", np.array("nominal"))
    ),
    (arguments(None, 3), "is 3 (int)", "a list of pairs (minimum, maximum)", "or a mapping"),
    (arguments(None, np.array(1.0)), "(ndarray)", "a list of pairs (minimum, maximum)", "mapping"),
    (arguments(None, [(0, 1)]), "1 rows", "one for each of the 2 columns", "or be a mapping"),
    (arguments(None, {"c": (0, 1)}), "key 'c'", "a column's name", "its index from 0 to 1"),
    (arguments(None, {"B": (0, 1)}), "key 'B'", "a column's name", "Did you mean 'b'?"),
    (arguments(None, {"a": 3}), "is 3", "a pair (minimum, maximum)", "such as (0, 100)"),
    (arguments(None, {0: (0, 1), "a": (0, 1)}), "'a' twice", "by its name", "keep one"),
    (arguments(None, {"a": (2, 1)}), "lower is 2", "not be above upper", "Swap the two"),
    (arguments(["nominal", None], {"a": (0, 1)}), "'nominal'", "only continuous", "Remove one"),
    (arguments(None, {"a": (0, 2)}, schema=BOUNDED), "Continuous(0, 1)", "privacy_bounds", "Leave"),
    (arguments(None, None, 0, 2, BOUNDED), "Continuous(0, 1)", "something else", "Remove them"),
    (arguments(schema=BOUNDED, **OF_CLASSES), "Continuous(0, 1)", "labels, not bounds", "target="),
    (arguments(None, None, 0, 1, **OF_CLASSES), "(0.0, 1.0)", "labels, not bounds", "Remove"),
    (arguments(schema=LABELLED, task="regression"), "'no', 'yes'", "bounds, not", "target="),
    (arguments(None, None, 0, 1, LABELLED), "Categorical(['no'", "something else", "Remove them"),
    (arguments(target_min="0"), "privacy_target_min is '0'", "must be a real", "number"),
    # drafts
    (lambda: Schema.draft(FRAME, "c"), "no column 'c'", "one of 'a', 'b'", "Leave it out"),
    (lambda: Schema.draft(FRAME, max_levels=0), "max_levels is 0", "at least 1", "must be"),
    (lambda: Schema.draft(FRAME, task="x"), "task is 'x'", "must be one of", "'auto', 'classif"),
]


@pytest.mark.parametrize(
    ("act", "given", "allowed", "mend"), REFUSALS, ids=[f"{r[1]} {r[3]}" for r in REFUSALS]
)
def test_refusals_say_what_to_do(act, given, allowed, mend):
    with pytest.raises((TypeError, ValueError)) as caught:
        act()
    message = str(caught.value)
    assert given in message
    assert allowed in message
    assert mend in message


PLANTED = "planted-7919"


WITH_PLANTED_CELLS = [
    lambda: open_table([[PLANTED], [1, 2]]),
    lambda: open_table([PLANTED, 7919]),
    lambda: open_table(np.array([[PLANTED.encode()]])),
    lambda: open_table(pl.DataFrame({"a": [[PLANTED]]})),
    lambda: open_table(pl.DataFrame({"a": [PLANTED.encode()]})),
    lambda: open_target([7919] * 7919, 7918),
    lambda: open_people(pd.DataFrame({"a": [1]}, index=[7919]), None, None, pd.Series([PLANTED])),
    lambda: open_table(pl.DataFrame({"a": pl.Series([PLANTED.encode()] * 7919)})),
    # A column of the table where an argument should be.
    lambda: Continuous(pd.Series([7919]), 1),
    lambda: PrivacyUnit(pl.Series([PLANTED])),
    lambda: Schema({"a": np.array([PLANTED])}),
    lambda: Schema(unit=pa.array([PLANTED])),
    lambda: arguments(pd.Series([PLANTED] * 3))(),
]


@pytest.mark.parametrize("act", WITH_PLANTED_CELLS)
def test_refusals_hold_no_row_and_no_count(act):
    with pytest.raises((TypeError, ValueError)) as caught:
        act()
    assert "791" not in str(caught.value)
