import pytest


@pytest.fixture
def schema(cohort, folder):
    others = cohort.schema.features.keys() - {"age", "smoker"}
    cohort.schema.drop(list(others)).save(folder / "schema.toml")
    return folder / "schema.toml"


def test_a_plan_is_printed_with_what_the_ledger_has_room_for(command, schema, folder):
    account = ("--dataset", "ward", "--ledger", "sqlite:///privacy.db")
    command("ledger", "create", *account, "--epsilon", 4, "--delta", 1e-6)
    before = (folder / "privacy.db").read_bytes()
    words = ("--rows", 2_000, "--rate", 0.2, "--delta", 1e-6, "--epsilon", 1, "--epsilon", 4)
    outputs = ("--effect", 0.3, "--html", "plan.html")
    outcome = command("plan", "--schema", schema, *words, *account, *outputs)
    first, second = (line.split() for line in outcome.out.splitlines()[1:3])
    assert first[:3] == ["2,000", "1", "levels"]
    assert (first[4], second[4]) == ("12", "12")
    assert first[5] == second[5] == "Shows"
    assert "no private row was read. Nothing was charged." in " ".join(outcome.out.split())
    assert "Needed      epsilon" in outcome.out
    assert "Plan of a private fit" in (folder / "plan.html").read_text(encoding="utf-8")
    assert (folder / "privacy.db").read_bytes() == before


def test_a_missing_guess_is_named(command, schema):
    outcome = command("plan", "--schema", schema, "--rows", 3_000, "--delta", 1e-6, code=2)
    assert "your own public guess" in outcome.err
