from __future__ import annotations

import pytest

STATEMENTS = """
name = "Readmission within 30 days"
data_curators = ["Ward 5"]
description = "Risk of readmission by age, length of stay and other measures."
intended_use = "Planning of follow-up visits."
data_product_region = "Switzerland"
publication_date = 2026-11-27
actors = "Ward 5 sees the rows; everybody sees the model."
release_type_details = "The rows may be used again within the budget of the ledger."
preprocessing_and_hyperparameter_tuning = "None."
justification = "Epsilon follows the hospital's policy."
registry_authors = ["Ward 5"]
"""


def test_a_record_is_written_from_a_saved_model(command, model, folder):
    (folder / "about.toml").write_text(STATEMENTS)
    ledger = (folder / "privacy.db").read_bytes()
    arguments = ["registry", model, "--statements", "about.toml"]
    outcome = command(*arguments, "--output", "record.yaml")
    assert outcome.code == 0, outcome.err
    text = (folder / "record.yaml").read_text()
    for line in ('name: "Readmission within 30 days"', 'publication_date: "2026-11-27"', "tier: 3"):
        assert line in text
    assert "data set 'ward'" in text
    assert (folder / "privacy.db").read_bytes() == ledger
    assert command(*arguments).out == text
    assert command(*arguments, "--output", "record.yaml").code == 2
    assert command(*arguments, "--output", "record.yaml", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs what no model knows: name (name of the model), data_curators"),
        (STATEMENTS + "purpose = 'any'", "'purpose' is no field that is stated"),
        ("name = Readmission", "about.toml is no TOML file"),
    ],
)
def test_statements_that_cannot_be_used_are_refused(command, model, folder, text, message):
    (folder / "about.toml").write_text(text)
    outcome = command("registry", model, "--statements", "about.toml", "--output", "record.yaml")
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
    assert not (folder / "record.yaml").exists()


def test_a_card_is_written_from_the_same_statements(command, model, folder):
    (folder / "about.toml").write_text(STATEMENTS)
    ledger = (folder / "privacy.db").read_bytes()
    arguments = ["card", model, "--statements", "about.toml", "--measured", "AUROC", 0.84]
    for name in ("card.md", "card.html"):
        outcome = command(*arguments, "--output", name)
        assert outcome.code == 0, outcome.err
        text = (folder / name).read_text()
        for said in ("Readmission within 30 days", "Planning of follow-up", "AUROC", "0.84"):
            assert said in text
    assert (folder / "privacy.db").read_bytes() == ledger
    assert command(*arguments, "--output", "card.md").code == 2
    outcome = command(*arguments, "--output", "card.pdf")
    assert (outcome.code, (folder / "card.pdf").exists()) == (2, False)
    assert "must end in .html or .md" in outcome.err
