import dataclasses
import socket

import pytest

from interpret_dp import DPExplainableBoostingClassifier, PrivacyLedger, PrivacyUnit, load_model
from interpret_dp._documents import write_sealed


def test_html_is_written_with_the_guarantee_and_the_account(command, model, folder):
    outcome = command("show", model, "--ledger", "sqlite:///privacy.db", "--html", "page.html")
    assert "one more release of at most epsilon 3.79" in outcome.out
    page = (folder / "page.html").read_text()
    assert "<h1>Model of ward</h1>" in page
    assert "For any two tables that differ by adding or removing one row" in page
    assert "Left for one more release" in page


def test_a_log_that_does_not_hold_the_models_head_is_refused(command, model, folder):
    words = ["ledger", "create", "--dataset", "ward", "--epsilon", "4", "--delta", "1e-6"]
    command(*words, "--ledger", "sqlite:///other.db")
    outcome = command("show", model, "--text", "--ledger", "sqlite:///other.db", code=1)
    assert "head" in outcome.err


def test_a_model_with_the_head_of_another_request_is_refused(command, model, folder):
    budget, *_ = PrivacyLedger("sqlite:///privacy.db").entries()
    released = load_model(model).to_released()
    changed = dataclasses.replace(released.guarantee, ledger_head=budget["hash"])
    write_sealed(folder / "other.json", dataclasses.replace(released, guarantee=changed).to_dict())
    outcome = command("show", "other.json", "--text", "--ledger", "sqlite:///privacy.db", code=2)
    assert "is a budget of mu" in outcome.err
    assert "the file was changed" in outcome.err.lower()


IMPOSSIBLE = [
    (["--ledger", "sqlite:///absent.db"], "no ledger file"),
    (["--html", "nowhere/page.html"], "cannot be written"),
    (["--public-rows", "patients.csv"], "--target is None; give both"),
    (["--public-rows", "patients.csv", "--target", "readmited"], "'readmited'"),
    (["--public-rows", "patients.csv", "--target", "age"], "'age'"),
]


@pytest.mark.parametrize(("options", "message"), IMPOSSIBLE)
def test_what_cannot_be_done_is_said(command, model, folder, options, message):
    outcome = command("show", model, *options, "--no-browser", code=2)
    assert message in outcome.err
    assert not (folder / "absent.db").exists()


@pytest.mark.parametrize("options", [[], ["--no-autosave"]])
def test_edits_are_kept_unless_that_is_switched_off(command, model, folder, monkeypatch, options):
    shown = []
    monkeypatch.setenv("INTERPRET_DP_AUTOSAVE", "on")
    monkeypatch.setattr("interpret_dp.cli.show.serve", lambda e, **page: shown.append(e))
    command("show", model, *options)
    session = shown[0].edit_session
    session.autosave.start()
    session.flatten("age")
    assert (folder / "model.autosave.json").exists() is not bool(options)


@pytest.mark.parametrize(
    "written", [{}, {"sep": ";", "decimal": ",", "encoding": "latin-1"}], ids=str
)
def test_metrics_are_of_the_public_rows_of_a_file(command, model, monkeypatch, cohort, written):
    shown = []
    X, y = cohort.X[:2_345].assign(bed=range(2_345)), cohort.y[:2_345]
    X.assign(readmitted=y).to_csv("public.csv", index=False, **written)
    options = [word for name, text in written.items() for word in (f"--{name}", text)]
    monkeypatch.setattr("interpret_dp.cli.show.serve", lambda e, **page: shown.append(e))
    words = "--public-rows", "public.csv", "--target", "readmitted"
    outcome = command("show", model, *words, *options)
    assert "Metrics     on 2,345 public rows" in outcome.out
    session = shown[0].edit_session
    found = session.metrics()
    session.use_public_rows(X, y, public=True)
    assert found.equals(session.metrics())


def test_public_rows_need_no_identifier(command, folder, monkeypatch, cohort):
    monkeypatch.setattr("interpret_dp.cli.show.serve", lambda explanation, **page: None)
    schema = cohort.schema.replace(unit=PrivacyUnit(["house", "bed"]))
    X, y = cohort.X[:2_345].assign(house=1, bed=range(2_345)), cohort.y[:2_345]
    DPExplainableBoostingClassifier(schema=schema, max_rounds=2).fit(X, y).save("model.json")
    for lacking in ([], ["bed"], ["house", "bed"]):
        X.drop(columns=lacking).assign(readmitted=y).to_csv("public.csv", index=False)
        words = "--public-rows", "public.csv", "--target", "readmitted"
        assert "on 2,345 public rows" in command("show", "model.json", *words).out


def test_a_port_in_use_is_refused(command, model):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        outcome = command("show", model, "--port", port, "--no-browser", code=2)
    assert f"--port is {port}" in outcome.err
