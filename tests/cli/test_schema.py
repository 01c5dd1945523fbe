import pandas as pd
import pytest

from interpret_dp.cli.tables import read_declared
from interpret_dp.schema import Categorical, Continuous, Integer, PrivacyUnit, Schema


def test_draft_writes_a_schema_and_says_that_it_looks_at_public_data(typed, patients, folder):
    words = "--target readmitted --exclude bed --exclude age --out draft.toml"
    outcome = typed(f"schema draft {patients} {words}")
    assert outcome.err == ""
    text = " ".join(outcome.out.split())
    assert "By running it you declare that the file is public" in text
    assert "9 columns, of which 4 have a list of levels" in text
    schema = Schema.load(folder / "draft.toml")
    assert {"bed", "age"}.isdisjoint(schema.features)
    assert schema.target == Categorical(["no", "yes"])
    assert schema.features["smoker"] == Categorical(["current", "former", "never"])
    assert list(folder.glob(".draft*")) == []


def test_numbers_that_may_be_codes_are_named_and_listed_when_asked(command, folder):
    (folder / "t.csv").write_text("ward,stays,y\n101,1,0\n102,2,1\n101,3,0\n")
    words = ["schema", "draft", "t.csv", "--target", "y", "--out", "s.json"]
    assert "'ward', 'stays': few whole numbers" in command(*words).out
    again = command(*words, "--overwrite", "--levels", "ward")
    assert "'stays': few whole numbers" in again.out
    assert "'ward'" not in again.out
    schema = Schema.load("s.json")
    assert schema.features["ward"] == Categorical([101, 102])
    assert schema.features["stays"] == Integer(1, 3)


def test_several_columns_identify_a_person(typed, folder):
    (folder / "t.csv").write_text("house,bed,age,y\n1,a,40,0\n1,NA,50,1\n2,,60,1\n1,a,70,0\n")
    typed("schema draft t.csv --target y --out s.toml --unit house --unit bed")
    schema = Schema.load("s.toml")
    assert (schema.unit, list(schema.features)) == (PrivacyUnit(["house", "bed"]), ["age"])
    assert read_declared("t.csv", schema, "y").X["bed"].tolist() == ["a", (), None, "a"]
    report = typed("schema check t.csv --schema s.toml --target y").out
    assert "'house', 'bed' may be missing: such rows are left out." in report
    assert "\n2 rows have no usable identifier." in report
    assert "Nothing is missing" not in report


WRONG_DRAFTS = [
    ({"--out": "draft.yaml"}, "must end in .toml or .json"),
    ({"--target": "absent"}, "no column 'absent'"),
    (
        {"--max-levels": 2},
        "Here: --exclude COLUMN, --decimal MARK of its fractions, --levels COLUMN",
    ),
    ({"--exclude": "absent"}, "--exclude names 'absent', and"),
    ({"--levels": "absent"}, "--levels names 'absent', and"),
    ({"--exclude": "readmitted"}, "the target or privacy unit"),
    ({"--out": "nowhere/draft.toml"}, "cannot be written"),
    ({"--out": "schema.toml"}, "--overwrite"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG_DRAFTS, ids=str)
def test_a_draft_that_cannot_be_made_leaves_nothing(command, patients, folder, changes, message):
    before, schema = sorted(folder.iterdir()), (folder / "schema.toml").read_bytes()
    options = {"--target": "readmitted", "--out": "draft.toml", **changes}
    outcome = command("schema", "draft", patients, *(w for o in options.items() for w in o), code=2)
    assert message in outcome.err
    assert sorted(folder.iterdir()) == before
    assert (folder / "schema.toml").read_bytes() == schema


def test_a_skeleton_needs_no_row(command, folder):
    table = pd.DataFrame({"age": [50, 51], "cost": [1.5, 2.0], "sex": ["f", "m"], "id": [1, 2]})
    table.iloc[:0].to_parquet(folder / "people.parquet")
    outcome = command("schema", "skeleton", "people.parquet", "--exclude", "id")
    for line in ("'age': Integer(lower, upper)", "'cost': Continuous(lower, upper)", "save("):
        assert line in outcome.out
    assert "'id'" not in outcome.out
    (folder / "people.csv").write_text("age\n50\n")
    outcome = command("schema", "skeleton", "people.csv", code=2)
    assert "which has no types" in outcome.err


def test_check_reports_to_the_curator_and_is_marked_private(command, folder):
    (folder / "t.csv").write_text("age,sex,y\n50,f,1\n200,m,5\n,x,-1\n")
    Schema(
        {"age": Continuous(0, 120), "sex": Categorical(["f", "m"])}, target=Continuous(0, 4)
    ).save("s.toml")
    outcome = command("schema", "check", "t.csv", "--schema", "s.toml", "--target", "y")
    assert outcome.out.startswith("PRIVATE")
    counts = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines() if line}
    assert counts["age"] == ["continuous", "1", "1", "0"]
    assert counts["sex"] == ["categorical", "0", "0", "1"]
    assert counts["(target)"] == ["continuous", "0", "2", "0"]


def test_check_says_when_there_is_nothing_to_mend(command, patients, folder):
    clean = "Nothing is missing, clipped or undeclared."
    # Smoking and creatinine are not known of everybody.
    words = ["schema", "check", patients, "--schema", "schema.toml"]
    outcome = command(*words)
    assert clean not in outcome.out
    assert "Undeclared: columns 'readmitted', 'bed'. A fit finds" in outcome.out
    assert "Without --target COLUMN, the target counts as a feature." in outcome.out
    # What is left is known of everybody.
    names = ["smoker", "creatinine", "readmitted", "bed"]
    assert clean in command(*words, *(word for name in names for word in ("--exclude", name))).out
