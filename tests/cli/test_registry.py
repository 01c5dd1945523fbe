from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "about.toml"
STATEMENTS = EXAMPLE.read_text(encoding="utf-8")
RECORD = ('publication_date: "2026-11-27"', "tier: 3", "data set 'ward'")
CARD = ("Planning of follow-up", "AUROC", "0.84")


OUTPUTS = [
    ("registry model.json", "record.yaml", RECORD),
    ("card model.json --measured AUROC 0.84", "card.md", CARD),
    ("card model.json --measured AUROC 0.84", "card.html", CARD),
]


@pytest.mark.parametrize(("words", "output", "says"), OUTPUTS)
def test_records_and_cards_are_written_from_a_saved_model(
    typed, model, folder, words, output, says
):
    (folder / "about.toml").write_text(STATEMENTS)
    ledger = (folder / "privacy.db").read_bytes()
    line = f"{words} --statements about.toml"
    typed(f"{line} --output {output}")
    text = (folder / output).read_text()
    assert [said for said in ("Readmission within 30 days", *says) if said not in text] == []
    assert (folder / "privacy.db").read_bytes() == ledger
    if output == "record.yaml":
        assert typed(line).out == text
    typed(f"{line} --output {output}", code=2)
    typed(f"{line} --output {output} --overwrite")


def test_a_card_of_another_format_is_refused(typed, model, folder):
    assert "must end in .html or .md" in typed("card model.json --output card.pdf", code=2).err
    assert not (folder / "card.pdf").exists()


UNUSABLE_STATEMENTS = [
    ("", "needs what no model knows: name (name of the model), data_curators"),
    (STATEMENTS + "purpose = 'any'", "'purpose' is no field that is stated"),
    ("name = Readmission", "about.toml is no TOML file"),
]


@pytest.mark.parametrize(("text", "message"), UNUSABLE_STATEMENTS)
def test_statements_that_cannot_be_used_are_refused(command, model, folder, text, message):
    (folder / "about.toml").write_text(text)
    outcome = command(
        "registry", model, "--statements", "about.toml", "--output", "record.yaml", code=2
    )
    assert message in " ".join(outcome.err.split())
    assert not (folder / "record.yaml").exists()
