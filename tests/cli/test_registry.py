from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "about.toml"
STATEMENTS = EXAMPLE.read_text(encoding="utf-8")


def test_a_record_is_printed_or_written_once_and_charges_nothing(typed, model, folder):
    (folder / "about.toml").write_text(STATEMENTS)
    ledger = (folder / "privacy.db").read_bytes()
    line = "registry model.json --statements about.toml"
    typed(f"{line} --output record.yaml")
    text = (folder / "record.yaml").read_text()
    for said in ('publication_date: "2026-11-27"', "tier: 3", "data set 'ward'"):
        assert said in text
    assert typed(line).out == text
    typed(f"{line} --output record.yaml", code=2)
    typed(f"{line} --output record.yaml --overwrite")
    assert (folder / "privacy.db").read_bytes() == ledger


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
