"""Edits leave by the shell: from the dashboard's file to a card, a record and predictions."""

import weakref

import numpy as np
import pandas as pd
import pytest

from interpret_dp import load_model
from interpret_dp.datasets import make_cohort
from tests.cli.test_registry import STATEMENTS
from tests.golden.kinds import FILES


@pytest.fixture
def dashboard(typed, monkeypatch):
    """Return the session that `show` serves; call it again as a process that starts anew."""
    monkeypatch.setenv("INTERPRET_DP_AUTOSAVE", "on")

    def show(line):
        shown = []
        monkeypatch.setattr("interpret_dp.editor.autosave._live", weakref.WeakSet())
        monkeypatch.setattr("interpret_dp.cli.show.serve", lambda e, **page: shown.append(e))
        typed(f"show {line}")
        shown[0].edit_session.autosave.start()
        return shown[0].edit_session

    return show


@pytest.mark.postgres
def test_an_officer_publishes_an_edited_model_by_the_shell_alone(
    typed, folder, cohort, dashboard, monkeypatch, store_url
):
    public = make_cohort(500, seed=9)
    public.X.assign(readmitted=public.y).to_csv("public.csv", index=False)
    cohort.X[:2_345].assign(readmitted=cohort.y[:2_345]).to_csv("patients.csv", index=False)
    typed("schema draft public.csv --target readmitted --out schema.toml")
    (folder / "about.toml").write_text(STATEMENTS)
    account = f"--ledger {store_url}"
    typed(f"ledger create --dataset ward --epsilon 4 --delta 1e-6 {account}")
    words = "--target readmitted --schema schema.toml --epsilon 1 --delta 1e-6 --dataset ward"
    typed(f"fit patients.csv {words} {account} --out model.json")
    released = (folder / "model.json").read_bytes()
    own = load_model("model.json").to_released()

    session = dashboard(f"model.json {account}")
    session.flatten("age")
    session.commit("guideline 12")
    session.shift("bmi", 0.25)
    monkeypatch.setattr("interpret_dp.editor.autosave._live", weakref.WeakSet())

    listed = typed("edits list model.json").out
    assert [line.split()[-1] for line in listed.splitlines()[2:]] == ["committed", "pending"]
    text = typed(f"show model.json --text {account}")
    assert "model.autosave.json holds: 1" in text.err
    assert "not committed, and left out: 1" in text.err
    assert ": guideline 12" in " ".join(text.out.split())
    assert "holds the model's head" in " ".join(text.out.split())
    typed("edits apply model.json --output edited.json")
    assert (folder / "model.json").read_bytes() == released
    edited = load_model("edited.json").to_released()
    assert edited.guarantee == own.guarantee
    assert f"{edited.digest}, of the content" in " ".join(text.out.split())
    assert not np.ptp(edited.terms[0].scores[1:-1])
    assert np.array_equal(edited.terms[2].scores, own.terms[2].scores)

    for name in ("card.html", "card.md", "page.html", "record.yaml"):
        about = f"--statements about.toml --output {name}"
        word = "registry" if name == "record.yaml" else "card"
        typed(
            f"show model.json --html {name}"
            if name == "page.html"
            else f"{word} model.json {about}"
        )
        page = (folder / name).read_text()
        assert "guideline 12" in page
        assert "shifted by" not in page
        assert name == "page.html" or "Ward 5" in page
        assert not name.startswith("card") or edited.digest in page
    typed("predict model.json patients.csv --output predicted.csv")
    predicted = pd.read_csv("predicted.csv")["probability of yes"]
    X = pd.read_csv("patients.csv")
    assert predicted.to_numpy() == pytest.approx(load_model("edited.json").predict_proba(X)[:, 1])
    typed(f"ledger report --html report.html {account}")
    head = own.guarantee.ledger_head
    assert "holds the given head" in typed(f"ledger verify --head {head} {account}").out

    assert "add --yes" in typed("edits drop model.json", code=2).err
    assert "Deleted" in typed("edits drop model.json --yes").out
    assert "No edits" in typed("edits list model.json").out
    again = typed("show model.json --text")
    assert own.digest in again.out
    assert again.err == ""
    assert "in the model" in typed("edits list edited.json").out


def test_edits_that_are_none_or_not_clear_are_refused(typed, model, folder, dashboard):
    for words in ("edits list", "edits drop"):
        assert "No edits" in typed(f"{words} model.json").out
    assert "nothing to apply" in typed("edits apply model.json --output e.json", code=2).err
    session = dashboard("model.json")
    session.autosave.stop()
    session.flatten("age")
    session.commit("guideline 12")
    for name in ("model.autosave.json", "model.autosave-2.json"):
        session.save(name)
    for words in ("card", "edits apply"):
        assert "Several files" in typed(f"{words} model.json --output it.md", code=2).err
    typed("edits drop model.json --file model.autosave-2.json --yes")
    typed("card model.json --output card.md")
    assert "MODEL itself" in typed("edits apply model.json --output model.json", code=2).err
    typed("edits list model.json")
    (folder / "model.json").write_bytes((FILES / "classification.json").read_bytes())
    for words in ("edits list model.json", "card model.json --even-if-void --output it.md"):
        assert "The session was made on the model" in typed(words, code=2).err
    typed(f"predict {FILES / 'background.json'} patients.csv --output it.csv", code=2)
    assert not (folder / "it.csv").exists()
