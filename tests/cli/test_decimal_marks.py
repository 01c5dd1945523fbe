"""A file whose decimal mark was not given: what the command says after the fit."""

import pytest

from interpret_dp import Categorical, Continuous, Schema

N_ROWS = 2_000


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
