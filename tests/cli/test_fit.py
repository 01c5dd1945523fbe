import io
import os
import re
import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from interpret_dp import PrivacyLedger, load_model
from interpret_dp.cli import main
from tests.cli.conftest import N_ROWS


@pytest.fixture
def spent(folder):
    """Return what the default ledger has charged to the data set, as mu."""

    def mu():
        ledger = PrivacyLedger()
        return ledger.spent("ward").mu if ledger.budget("ward") else 0.0

    return mu


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_fit_writes_a_model_and_says_what_it_promises(fit, patients, cohort, suffix):
    is_found = suffix == "parquet"
    flags = [] if is_found else ["--exclude", "bed"]
    outcome = fit(f"patients.{suffix}", *flags, budget=4)
    assert outcome.err == ""
    text = " ".join(outcome.out.split())
    model = load_model("model.json", PrivacyLedger())
    assert model.guarantee_.sentence in text
    assert "'readmitted': Categorical(['no', 'yes'])" in text
    assert "declared for 'ward'" in text
    assert "epsilon 1 at delta 1e-06, of this model" in text
    assert model.privacy_spend_.budget_rows.keys() == {"Budget", "Used", "One more"}
    assert all(f"{row} {words}" in text for row, words in model.privacy_spend_.budget_rows.items())
    assert model.guarantee_.ledger_head == PrivacyLedger().head
    assert model.guarantee_.ledger_head in text
    found = "does not declare column 'bed'. The fit finds levels or bounds privately"
    assert (found in text) is is_found
    assert ("bed" in model.schema_.features) is is_found
    assert (model.predict_proba(cohort.X[:5].assign(bed=1)) > 0).all()


def test_no_private_number_is_shown(fit, patients, cohort):
    outcome = fit(patients, "--verbose", budget=4)
    private = {N_ROWS, *Counter(cohort.y[:N_ROWS]).values(), cohort.X[:N_ROWS].isna().sum().sum()}
    # Times of progress bars, the ledger's path and its head in hexadecimal digits are of no row.
    of_no_row = r"\[[^][]*/s[^][]*\]|sqlite:\S+|\b[0-9a-f]{16,}\b"
    shown = re.sub(of_no_row, "", outcome.out + outcome.err)
    numbers = {int(word) for word in re.findall(r"\d+", shown)}
    assert numbers
    assert numbers.isdisjoint(private)
    assert not re.search(r"loss|auc|accura|rmse|rows:", outcome.out + outcome.err, re.IGNORECASE)


def test_a_budget_is_declared_once(fit, patients, spent):
    fit(patients, budget=4)
    once, first = spent(), Path("model.json").read_text()
    assert "was declared before" in fit(patients, "--overwrite", budget=4).out
    assert Path("model.json").read_text() != first
    assert spent() == pytest.approx(once * 2**0.5)

    other = fit(patients, budget=5, out="c.json", code=1)
    assert "has a budget of epsilon 4 at delta 1e-06 already. Nothing was spent" in other.err
    assert spent() == pytest.approx(once * 2**0.5)
    assert not os.path.exists("c.json")


def test_another_ledger_for_the_same_file_is_warned_of(fit, patients, folder, monkeypatch):
    first = fit(patients, budget=4, epsilon=9, code=1)
    assert "Warning" not in first.out
    misspelled = fit("absent.parquet", dataset="wart", code=1)
    assert "Did you mean 'ward'?" in misspelled.err
    monkeypatch.chdir(folder.parent)
    for gone in (False, True):
        path = f"{folder.name}/../{folder.name}/patients.parquet"
        options = {"schema": folder / "schema.toml", "ledger": f"sqlite:///{folder}/b.db"}
        second = fit(path, budget=4, epsilon=9, **options, code=1)
        assert "Nothing was spent" in second.err
        assert "Traceback" not in second.err
        assert not os.path.exists("model.json")
        assert (f"Warning     sqlite:///{folder}/privacy.db" in second.out) is not gone
        (folder / "privacy.db").unlink(missing_ok=True)


def test_the_default_ledger_is_the_users(capsys, tmp_path, monkeypatch):
    for name, folder in (("HOME", tmp_path), ("XDG_DATA_HOME", tmp_path / "data")):
        monkeypatch.setenv(name, str(folder))
    words = ["ledger", "create", "--dataset", "ward", "--epsilon", "4", "--delta", "1e-6"]
    assert main(words) == 0
    (file,) = tmp_path.rglob("privacy.db")
    assert f"sqlite:///{file}" in "".join(capsys.readouterr().out.split())


def test_a_home_that_cannot_be_written_stops_no_fit(fit, patients, folder, monkeypatch):
    (folder / "home").touch()
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: folder / "home" / "data")
    refused = fit(budget=4, code=2).err
    assert "cannot be made (Not a directory). Name another file: --ledger sqlite:///" in refused
    assert "ledger=PrivacyLedger(" in refused
    done = fit(budget=4, ledger="sqlite:///privacy.db")
    assert "Your data folder cannot be used" in " ".join(done.out.split())


def test_budget_delta_alone_is_wrong_usage(fit, patients):
    outcome = fit(patients, budget_delta=1e-5, code=2)
    assert "--budget-delta needs --budget too" in outcome.err


MISTAKES = [
    ("--out nowhere/model.json", "cannot be written"),
    ("--out .", "is a directory"),
    ("--out schema.toml", "--overwrite"),
    ("--target absent", "lacks column 'absent', which --target names"),
    ("--exclude readmitted", "the target or privacy unit"),
    ("--schema absent.toml", "absent.toml"),
    ("--target age", "in the schema a feature too"),
    ("--dataset ' '", "dataset"),
    ("--ledger mysql://x/y", "mysql"),
    ("--objective rmse", "for a regression"),
    ("--objective huber", "must be one of 'rmse'"),
    ("--monotone age", "COLUMN=increasing"),
    ("--monotone age=up", "COLUMN=increasing"),
    ("--monotone weight=increasing", "among the columns ['age'"),
    ("--monotone Age=increasing", "Did you mean 'age'?"),
    ("--monotone age=increasing --monotone age=decreasing", "has two directions"),
    ("--monotone smoker=increasing", "no order"),
    ("--pair age weight", "names the feature 'weight'"),
    ("--pair age age", "names one feature twice"),
    ("--pair age bmi --interactions 1", "Give one"),
    ("--interactions 0", "x>=1"),
]


@pytest.mark.parametrize(("flags", "message"), MISTAKES, ids=str)
def test_every_mistake_is_found_before_anything_is_spent(fit, patients, folder, flags, message):
    before, schema = sorted(folder.iterdir()), (folder / "schema.toml").read_bytes()
    outcome = fit(patients, *shlex.split(flags), budget=4, code=2)
    assert message in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err
    # Neither a ledger nor a file that was begun.
    assert sorted(folder.iterdir()) == before
    assert (folder / "schema.toml").read_bytes() == schema


@pytest.mark.parametrize("problem", ["No space left", "Is a directory"])
def test_a_full_disk_does_not_lose_what_was_paid_for(fit, patients, spent, monkeypatch, problem):
    from interpret_dp.ebm.estimators import PrivateEBM

    save = PrivateEBM.save

    def full(self, path):
        if problem == "Is a directory":
            Path("model.json").mkdir()
        elif Path(path).parent == Path.cwd():
            raise OSError(28, problem)
        save(self, path)

    monkeypatch.setattr(PrivateEBM, "save", full)
    outcome = fit(patients, budget=4, code=1)
    assert problem in outcome.err
    assert spent() > 0
    rescued = re.search(r" in '(.+?)': move it", outcome.err).group(1)
    assert load_model(rescued).guarantee_.epsilon == 1
    os.unlink(rescued)


class Broken(io.StringIO):
    """A terminal that knows ASCII alone, and that fails once the model is there."""

    encoding = "ascii"

    def write(self, text):
        text.encode(self.encoding)
        if self.error and os.path.exists("model.json"):
            raise self.error
        return super().write(text)


@pytest.mark.parametrize("error", [None, BrokenPipeError(32, "pipe"), OSError(28, "full")])
def test_no_terminal_turns_a_paid_fit_into_a_failure(fit, patients, monkeypatch, error):
    out = Broken()
    out.error = error
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", None)
    fit(patients, "--verbose", budget=4, dataset="wärd")
    assert load_model("model.json").guarantee_.dataset == "wärd"
    assert r"declared for 'w\xe4rd'" in out.getvalue()


def test_an_interrupted_fit_leaves_no_file(fit, patients, folder, monkeypatch):
    from interpret_dp.ebm import estimators

    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(estimators, "train", interrupt)
    outcome = fit(patients, budget=4, code=1)
    assert "charged" in outcome.err
    assert "ledger show" in outcome.err
    assert not [path for path in folder.iterdir() if "model" in path.name]


def test_a_schema_with_a_unit_protects_people(fit, patients, folder):
    """Texts that mean 'missing' are no identifier: such rows are people of their own."""
    table = pd.read_parquet(patients).drop(columns="bed")
    table["patient_id"] = [None if n % 9 == 0 else f"p{n // 5}" for n in range(len(table))]
    table.to_csv("patients.csv", index=False)
    with (folder / "schema.toml").open("a", encoding="utf-8") as schema:
        schema.write('\n[unit]\ncolumn = "patient_id"\nmax_rows = 2\n')
    outcome = fit("patients.csv", epsilon=50, budget=160)
    text = " ".join(outcome.out.split())
    assert "all rows of one 'patient_id' (at most 2 of them are used)" in text
    alone = table["patient_id"].isna().sum()
    known = table["patient_id"].value_counts().clip(upper=2).sum()
    model = load_model(folder / "model.json")
    assert model.bag_weights_[0] == pytest.approx(alone + known, abs=60)
    fit("patients.csv", "--overwrite", "--population", "people", epsilon=50)
    people = load_model(folder / "model.json").bag_weights_[0]
    assert people == pytest.approx(alone + table["patient_id"].nunique(), abs=60)


def test_a_model_that_learned_nothing_is_no_success(fit, patients, folder):
    table = pd.read_parquet(patients)
    table.assign(readmitted="maybe").to_parquet("none.parquet")
    outcome = fit("none.parquet", budget=9, code=1)
    assert "no more than noise" in " ".join(outcome.err.split())


def test_the_relation_is_a_choice(fit, patients, command):
    outcome = fit(patients, budget=4, neighboring="replace_one")
    assert "differ in the content of one row" in " ".join(outcome.out.split())
    refused = fit(patients, "--overwrite", code=1)
    assert "Losses of different promises do not add up" in " ".join(refused.err.split())
    assert "Protects" in command("ledger", "show").out


def test_shapes_are_constrained_and_paired(fit, patients):
    flags = ["--monotone", "age=increasing", "--monotone", "length_of_stay=increasing"]
    fit(patients, *flags, "--pair", "bmi", "systolic_bp", budget=20, epsilon=8)
    model = load_model("model.json").to_released()
    names = [feature.name for feature in model.features]
    (pair,) = (term for term in model.terms if term.partner is not None)
    assert {names[pair.feature], names[pair.partner]} == {"bmi", "systolic_bp"}
    curves = (term for term in model.terms if term.partner is None)
    steps = {names[term.feature]: np.diff(term.scores[1:-1]).min() for term in curves}
    assert min(steps["age"], steps["length_of_stay"]) >= 0
    # The true curve of blood pressure falls and rises: without a constraint so does ours.
    assert steps["systolic_bp"] < 0
