import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from interpret_dp.cli.console import CommandError
from interpret_dp.cli.tables import CsvFormat, column_names, read_declared, read_public
from interpret_dp.exceptions import SchemaError
from interpret_dp.schema import Categorical, Continuous, PrivacyUnit, Schema, open_table
from interpret_dp.schema.cells import numbers_of
from interpret_dp.schema.units import kept_rows
from tests.schema.tables import encode_table

SCHEMA = Schema(
    {"age": Continuous(0, 100), "ward": Categorical([1, 2, 3]), "code": Categorical(["007", "x"])},
    target=Categorical([False, True]),
)
HEADER = "age,ward,code,y\n"


def _write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def _codes(path):
    table = open_table(read_declared(path, SCHEMA, "y").X)
    return np.column_stack(encode_table(table, SCHEMA.resolve(table.names), 4))


def test_csv_cells_mean_what_the_schema_says(tmp_path):
    path = _write(tmp_path, HEADER + "50,1,007,True\n?,2.0,x,false\nhigh,4,7,\n1e9,?,NaN,maybe\n")
    assert _codes(path).tolist() == [[3, 1, 1], [0, 2, 2], [0, 4, 3], [4, 0, 0]]
    assert read_declared(path, SCHEMA, "y").y.tolist() == [1.0, 0.0, None, "maybe"]


def test_a_line_that_is_no_record_is_a_row_of_empty_cells(tmp_path):
    """A quote that is not closed took the rows up to the next quote; others were refused."""
    path = tmp_path / "table.csv"
    broken = b'5,1,"x,no\n5,1,x,"no\r\n"5,1,x,no\r5,"1"2,x,no\n\n5,1,x\n5,1,x,no,,\n5,1,"a\n'
    broken += b"5,1," + b"x" * 200_000 + b",no\n"
    path.write_bytes(HEADER.encode() + b'1,1,"x",no\n' + broken + b'99,\xff,5" x,"yes"')
    table = read_declared(str(path), SCHEMA, "y")
    assert table.X["age"].tolist() == ["1", *[""] * 8, "99"]
    assert table.X["ward"].tolist() == [1, *[None] * 8, "\ufffd"]
    assert table.X["code"].tolist() == ["x", *[None] * 8, '5" x']
    assert table.y.tolist() == ["no", *[None] * 8, "yes"]
    # Such a line may be one of somebody who has other rows, so it is no person of its own.
    people = Schema({"age": Continuous(0, 100)}, target=SCHEMA.target, unit=PrivacyUnit("code"))
    ids = read_declared(str(path), people, "y", ["ward"]).X["code"]
    assert kept_rows(ids.to_numpy(), 1, 0).tolist() == [True, *[False] * 8, True]
    with pytest.raises(CommandError, match="name its --encoding"):
        read_public(str(path))
    public = read_public(str(path), CsvFormat(encoding="latin-1"))
    assert public["age"].fillna(5).tolist() == [1, *[5] * 8, 99]
    assert public["ward"].tolist()[-1] == "ÿ"


AMOUNTS = [
    *(("1,234", 1234, 1.234), ("1.234", 1.234, 1234), (" 1 234 ", 1234, 1234), ("5", 5, 5)),
    *(("-$1,234.50", -1234.5, None), ("1.234,50 €", None, 1234.5), ("ICD 12", None, None)),
    *(("1\u202f234\u202f567", 1234567, 1234567), ("1'234", 1234, 1234), ("1e3", 1000, 1000)),
    *(("1,23,4", None, None), ("12,34", None, 12.34), ("12.34", 12.34, None)),
    *(("USD", None, None), ("", None, None)),
    *(("0,123", None, 0.123), ("0.123", 0.123, None), ("-012,345", None, -12.345)),
]


@pytest.mark.parametrize("decimal", [".", ","])
def test_amounts_are_read_as_they_are_written(decimal, tmp_path):
    lines = "".join(f'"{text}";yes \n' for text, *_ in AMOUNTS)
    path = _write(tmp_path, f" cost ;y;\n{lines}".replace(" ;y;", ";y"))
    schema = Schema({"cost": Continuous(-1e9, 1e9)}, target=Categorical(["yes"]))
    read = read_declared(path, schema, "y", csv_format=CsvFormat(";", decimal))
    wanted = [point if decimal == "." else comma for _, point, comma in AMOUNTS]
    found = [number if number == number else None for number in numbers_of(read.X["cost"])]
    assert found == wanted
    assert set(read.y) == {"yes"}


def test_spaces_and_an_empty_last_field_are_no_part_of_a_row(tmp_path):
    rows = "50,1,007,True\n40,2,x,False\n"
    plain = read_declared(_write(tmp_path, HEADER + rows), SCHEMA, "y")
    spaced = HEADER.replace(",", " , ") + rows.replace(",", ", ").replace("\n", ",\n")
    spaced = read_declared(_write(tmp_path, spaced, "spaced.csv"), SCHEMA, "y")
    pd.testing.assert_frame_equal(spaced.X, plain.X)
    assert spaced.y.tolist() == plain.y.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("sep", "name"), [(";", "';'"), ("\t", "tabs")])
def test_another_separator_is_named(sep, name, tmp_path):
    path = _write(tmp_path, HEADER.replace(",", sep))
    with pytest.raises(CommandError, match=f"separated by {name}, not by ','.*--sep {name}"):
        column_names(path)
    assert column_names(path, CsvFormat(sep)) == ["age", "ward", "code", "y"]


CELLS = st.sampled_from(
    [
        *("1", "2", "3", "1.0", "7", "007", "x", "", "NA", "nan", "1e3", "é", "-5", '"', '"x'),
        *("x,", " x", "1 234", "$5", ' "x"'),
    ]
)
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=8)


@given(rows=ROWS, data=st.data())
def test_a_row_of_a_csv_file_decides_its_own_codes_alone(rows, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    removed = data.draw(st.integers(0, len(rows) - 1))

    def codes(kept):
        return _codes(_write(folder, HEADER + "".join(",".join(row) + "\n" for row in kept)))

    everyone = codes(rows)
    others = codes(rows[:removed] + rows[removed + 1 :])
    np.testing.assert_array_equal(np.delete(everyone, removed, axis=0), others)


def test_control_types_found_by_looking_break_that_property(tmp_path):
    """The reader of public files lets one row turn all levels into text, so fit never uses it."""
    with_text = read_public(_write(tmp_path, HEADER + "1,1,x,True\n1,*,x,True\n", "a.csv"))
    without = read_public(_write(tmp_path, HEADER + "1,1,x,True\n", "b.csv"))
    assert with_text["ward"][0] == "1"
    assert without["ward"][0] == 1


def test_a_default_declares_all_columns(tmp_path):
    schema = Schema({"b": Continuous(0, 1)}, default=Continuous(0, 9))
    table = read_declared(_write(tmp_path, "a,b,c\n1,2,3\n"), schema, None)
    assert list(table.X) == ["b", "a", "c"]
    assert table.notes == []


def test_undeclared_columns_of_parquet_are_kept_and_named(tmp_path):
    schema = Schema({"age": Continuous(0, 9), "rooms": Continuous(0, 9)}, target=Continuous(0, 1))
    frame = pd.DataFrame({"zip": ["1"], "y": [1], "sane": [True], "age": [1], "note": ["x"]})
    path = str(tmp_path / "table.parquet")
    frame.to_parquet(path)
    table = read_declared(path, schema, "y", ["note"])
    assert table.X.column_names == ["age", "zip", "sane"]
    (undeclared, absent) = table.notes
    assert undeclared.startswith("The schema does not declare column 'zip'. The fit finds")
    assert absent == "The file lacks column 'rooms', which the schema declares."


WRONG_COLUMNS = [
    ("age,y,person,zip", [], "is a CSV file.* does not declare column 'zip'.*--exclude"),
    ("age,y,person,Ward", [], "list column 'Ward'; did you mean 'ward'"),
    ("years,y,person", [], "none of the columns that the schema declares"),
    ("age,Y,person", [], "lacks column 'y', which --target names.*Did you mean 'Y'"),
    ("age,y,Person", [], r"'person', a column of the privacy unit.*\[unit\].*mean 'Person'"),
    ("age,y,person", ["Age"], "--exclude names 'Age', and .*Did you mean 'age'"),
    ("age,y,person", ["person"], "'person', the target or privacy unit"),
]


@pytest.mark.parametrize(("columns", "exclude", "message"), WRONG_COLUMNS)
def test_columns_that_cannot_be_meant_are_refused(tmp_path, columns, exclude, message):
    path = _write(tmp_path, f"{columns}\n")
    schema = dataclasses.replace(SCHEMA, unit=PrivacyUnit("person"))
    with pytest.raises(CommandError, match=message):
        read_declared(path, schema, "y", exclude)


def test_a_type_that_no_fit_reads_can_be_excluded(tmp_path):
    path = str(tmp_path / "table.parquet")
    pd.DataFrame({"age": [1], "day": pd.to_datetime(["2020-01-01"])}).to_parquet(path)
    with pytest.raises(SchemaError, match="'day' has dtype timestamp"):
        open_table(read_declared(path, SCHEMA, None).X)
    assert read_declared(path, SCHEMA, None, ["day"]).X.column_names == ["age"]


def test_other_files_and_doubled_names_are_refused(tmp_path):
    for name in ("table.xlsx", "table", "table.csv.gz"):
        with pytest.raises(CommandError, match=r"must be one of \.parquet, \.csv"):
            column_names(_write(tmp_path, "a\n1\n", name))
    with pytest.raises(CommandError, match="no such file"):
        column_names(str(tmp_path / "absent.csv"))
    with pytest.raises(CommandError, match="names 'a' twice"):
        column_names(_write(tmp_path, "a,b,a\n"))
    for no_names in ("", 'age,"ward,code,y\nsecret,row\n'):
        with pytest.raises(CommandError, match="names no column"):
            column_names(_write(tmp_path, no_names))


def test_the_targets_declaration_is_asked_for_once(tmp_path):
    path = _write(tmp_path, "age,y\n1,2\n")
    with pytest.raises(CommandError, match="declares no target"):
        read_declared(path, Schema({"age": Continuous(0, 100)}), "y")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_broken_file_is_refused_without_a_word_of_its_content(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.write_bytes(b"\xff" + HEADER.encode() + b"50,1,secret-x,True\n")
    with pytest.raises(CommandError, match="cannot be read") as refused:
        read_declared(str(path), SCHEMA, "y")
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_an_index_of_pandas_is_no_column_unless_it_has_a_name(tmp_path):
    frame = pd.DataFrame({"a": [5, 2, 9], "b": [3, 4, 4]}, index=[7, 4, 5])
    frame.to_parquet(tmp_path / "unnamed.parquet")
    assert column_names(str(tmp_path / "unnamed.parquet")) == ["a", "b"]
    frame.set_index("a").to_parquet(tmp_path / "named.parquet")
    public = read_public(str(tmp_path / "named.parquet"))
    assert sorted(public) == ["a", "b"]
    assert public["a"].tolist() == [5, 2, 9]
