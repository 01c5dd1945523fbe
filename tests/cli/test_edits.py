"""Edits leave by the shell: from the dashboard's file to a card, a record and predictions."""

import weakref

import numpy as np
import pandas as pd
import pytest

from interpret_dp import load_model
from tests.cli.conftest import write_patients
from tests.cli.test_registry import STATEMENTS
from tests.golden.kinds import FILES

LIVE = "interpret_dp.editor.autosave._live"


@pytest.fixture
def edited_in(typed, monkeypatch):
    """Edit a model as the dashboard of a process does that ends: two terms, one not committed."""
    monkeypatch.setenv("INTERPRET_DP_AUTOSAVE", "on")
    shown = []
    monkeypatch.setattr("interpret_dp.cli.show.serve", lambda e, **page: shown.append(e))

    def edit(line):
        typed(f"show {line}")
        session = shown[-1].edit_session
        session.autosave.start()
        session.flatten("age")
        session.commit("guideline 12")
        session.shift("bmi", 0.25)
        monkeypatch.setattr(LIVE, weakref.WeakSet())
        return session

    return edit


@pytest.mark.postgres
def test_an_officer_publishes_an_edited_model_by_the_shell_alone(
    typed, folder, cohort, edited_in, store_url
):
    write_patients(folder, cohort)
    cohort.X[2_345:].assign(readmitted=cohort.y[2_345:]).to_csv("public.csv", index=False)
    (folder / "about.toml").write_text(STATEMENTS)
    account = f"--ledger {store_url}"
    typed("schema draft public.csv --target readmitted --out drafted.toml")
    typed(f"ledger create --dataset ward --epsilon 4 --delta 1e-6 {account}")
    words = "--target readmitted --schema drafted.toml --epsilon 1 --delta 1e-6 --dataset ward"
    typed(f"fit patients.csv --exclude bed {words} {account} --out model.json")
    released, own = (folder / "model.json").read_bytes(), load_model("model.json").to_released()
    edited_in(f"model.json {account}")

    listed = typed("edits list model.json").out
    assert [line.split()[-1] for line in listed.splitlines()[2:]] == ["committed", "pending"]
    typed("edits apply model.json --output edited.json")
    assert (folder / "model.json").read_bytes() == released
    edited = load_model("edited.json").to_released()
    assert edited.guarantee == own.guarantee
    assert not np.ptp(edited.terms[0].scores[1:-1])
    assert np.array_equal(edited.terms[2].scores, own.terms[2].scores)

    outcome = typed(f"show model.json --text --html page.html {account}")
    assert "committed in model.autosave.json: 1" in outcome.err
    assert "left out: 1" in outcome.err
    promise, text = own.guarantee, " ".join(outcome.out.split())
    for said in (promise.sentence, *promise.assumptions, promise.mechanism, ": guideline 12"):
        assert said in text
    assert f"age: {own.schema.features['age']!r}" in text
    assert f"target: {own.schema.target!r}" in text
    assert f"intact, and holds the model's head {promise.ledger_head}" in text
    assert f"{edited.digest}, of the content" in text
    assert "Dashboard" not in text
    about = "model.json --statements about.toml --output"
    typed(f"registry {about} record.yaml")
    for name in ("card.html", "card.md"):
        typed(f"card --measured AUROC 0.84 {about} {name}")
        text = (folder / name).read_text()
        assert all(said in text for said in (edited.digest, "Ward 5", "AUROC", "0.84"))
    for name in ("page.html", "record.yaml", "card.html", "card.md"):
        assert "guideline 12" in (folder / name).read_text()
        assert "shifted by" not in (folder / name).read_text()
    typed("predict model.json patients.csv --output predicted.csv")
    expected = load_model("edited.json").predict_proba(pd.read_csv("patients.csv"))
    assert pd.read_csv("predicted.csv").to_numpy()[:, 1:].astype(float) == pytest.approx(expected)
    verify = f"ledger verify --head {promise.ledger_head} {account}"
    assert "holds the given head" in typed(verify).out

    assert "add --yes" in typed("edits drop model.json", code=2).err
    typed("edits drop model.json --yes")
    again = typed("show model.json --text")
    assert (again.err, own.digest in again.out) == ("", True)
    assert "in the model" in typed("edits list edited.json").out


def test_edits_that_are_none_or_not_clear_are_refused(typed, model, folder, edited_in):
    for words in ("list", "drop"):
        assert "No edits" in typed(f"edits {words} model.json").out
    assert "nothing to apply" in typed("edits apply model.json --output e.json", code=2).err
    edited_in("model.json").save("model.autosave-2.json")
    for words in ("card", "edits apply"):
        assert "Several files" in typed(f"{words} model.json --output it.md", code=2).err
    typed("edits drop model.json --file model.autosave-2.json --yes")
    assert "MODEL itself" in typed("edits apply model.json --output model.json", code=2).err
    (folder / "model.json").write_bytes((FILES / "classification.json").read_bytes())
    for words in ("edits list model.json", "card model.json --even-if-void --output it.md"):
        assert "The session was made on the model" in typed(words, code=2).err
    typed(f"predict {FILES / 'background.json'} patients.csv --output it.csv", code=2)
    assert not {"it.csv", "it.md", "e.json"} & {path.name for path in folder.iterdir()}
