"""Ten made-up files with the shapes of public ones, from a draft to a model that is shown."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from interpret_dp import Categorical, Continuous, PrivacyUnit, Schema, load_model
from interpret_dp.cli.tables import CsvFormat, read_declared

N_ROWS = 2_000
# Header, a row, its labels where x is below 50 and from there on, and options.
SHAPES = {
    "adult": ("age,workclass,income", "{x}, {job}, {y}", "<=50K >50K", ""),
    "telco": ("ID,TotalCharges,Churn", "{i:04}-QX,{charges},{y}", "No Yes", "--exclude ID"),
    "bank": ('"age";"job";"y"', '{x};"{job}";"{y}"', "no yes", "--sep ;"),
    "wine": ('"fixed acidity";"alcohol";"quality"', "{tenth};{x};{x}", "", "--sep ;"),
    "commas": ("Breite;Gewicht", "{x};{comma}", "", "--sep ; --decimal ,"),
    "houses": ("sqft,price", '"{cost:,}","${cost:,}"', "", ""),
    "taxi": ("pickup,miles,fare", "{time},{tenth},{x}", "", "--exclude pickup"),
    "spreadsheet": ("\ufeffdose,cured", "{x},{y},", "False True", ""),
    "visits": ("patient,dose,outcome", "{person},{x},{y}", "good bad", ""),
    "latin": ("genre;ville", "{é};{y}", "Orléans Orlèans", "--sep ; --encoding latin-1"),
}


def _row(row, labels, i, x):
    return row.format(
        **{"i": i, "x": x, "tenth": x / 10, "comma": str(x / 8).replace(".", ",")},
        **{"job": ("Private", "State gov", "?")[i % 3], "é": ("modéré", "modèré")[x > 49]},
        charges=" " if x < 5 else f"{x * 1.5}",
        cost=1_000 + 5_000 * x,
        time=f"2024-01-{1 + i % 28:02} 07:{i % 60:02}:12",
        person=f"{i // 2:08x}-58cc-4372-a567-0e02b2c3d479",
        y=labels and labels.split()[x > 49],
    )


@pytest.mark.parametrize("name", SHAPES)
def test_a_public_file_goes_from_a_draft_to_a_right_model(name, command, folder):
    header, row, labels, options = SHAPES[name]
    written = dict(zip(options.replace("--", "").split()[::2], options.split()[1::2], strict=True))
    exclude = [written.pop("exclude")] if "exclude" in written else []
    file, target = f"{name}.csv", header.replace('"', "").split(written.get("sep", ","))[-1]
    numbers = np.random.default_rng(0).integers(0, 100, N_ROWS).tolist()
    lines = [header, *(_row(row, labels, i, x) for i, x in enumerate(numbers)), ""]
    text = ("\r\n" if name == "spreadsheet" else "\n").join(lines)
    (folder / file).write_bytes(text.encode(written.get("encoding", "utf-8")))
    unit = ["--unit", "patient"] if name == "visits" else []
    words = [file, "--target", target, *options.split()]
    command("schema", "draft", *words, *unit, "--out", "schema.json")
    schema = Schema.load("schema.json").replace(unit=PrivacyUnit("patient", 2) if unit else None)
    schema.save("schema.json")  # no draft can know how many rows a patient has at most
    command("schema", "check", *words, "--schema", "schema.json")
    given = ["--schema", "schema.json", "--epsilon", 30, "--delta", 1e-6, "--budget", 30]
    command("fit", *words, *given, "--dataset", name, "--out", "model.json")
    shown = command("show", "model.json", "--text").out.split()
    assert f"target: {schema.target!r}" in " ".join(shown)

    model = load_model("model.json")
    assert model.released_.n_rows == pytest.approx(N_ROWS, rel=0.02)
    table = read_declared(file, schema, target, exclude, CsvFormat(**written))
    predicted = model.predict(table.X)
    measure = r2_score if predicted.dtype.kind == "f" else accuracy_score
    assert measure(np.array(table.y, dtype=predicted.dtype), predicted) > 0.95


@pytest.mark.filterwarnings("always::interpret_dp.DeclarationWarning")
@pytest.mark.parametrize(
    ("mark", "other", "digits", "warning"),
    [(",", ".", 3, "of the cells are above"), (".", ",", 1, "nearly all cells are missing")],
)
def test_other_decimal_marks_are_named_after_the_fit(command, folder, mark, other, digits, warning):
    """A cell such as 1,234 does not say which it is; bounds and released counts do."""
    lines = [
        f"{i % 9}{mark}{i % 10**digits:0{digits}};{'yes' if i % 2 else 'no'}" for i in range(N_ROWS)
    ]
    (folder / "doses.csv").write_text("\n".join(["dose;cured", *lines]), encoding="utf-8")
    target = Categorical(["no", "yes"])
    Schema({"dose": Continuous(0, 10)}, target=target).save("schema.json")
    words = "fit doses.csv --schema schema.json --target cured --sep ; --epsilon 5 --delta 1e-6"
    words += " --budget 10 --dataset doses --out"
    assert "Check" not in command(*words.split(), "right.json", "--decimal", mark).out
    said = command(*words.split(), "wrong.json", "--decimal", other)
    assert f"--decimal: 1{mark}234 is 1234 and 1{mark}5 is a miss" in " ".join(said.out.split())
    assert said.err.startswith("interpret-dp: warning: 'dose' (Continuous(0, 10)): ")
    assert warning in said.err
