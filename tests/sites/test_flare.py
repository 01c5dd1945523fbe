"""Sites that FLARE connects: keys, files, what stays at a site, and a study of two processes."""

import json
import os
import re
import subprocess

import pytest

from interpret_dp import PrivacyLedger, load_model
from interpret_dp.cli import main
from interpret_dp.cli.sites import fit_at_site, made_key, read_site
from interpret_dp.datasets import make_cohort
from tests.processes import ROOT

COHORT = make_cohort(900)
FIT = ["rows.parquet", "--target", "readmitted", "--schema", "schema.toml", "--epsilon", "1"]
ACCOUNT = ["--delta", "1e-6", "--dataset", "ward", "--budget", "4", "--ledger", "sqlite:///own.db"]
OTHER = "ab" * 32


@pytest.fixture
def site(tmp_path):
    """Return a function that writes a site's file, with some of its values changed."""
    key = made_key(tmp_path / "site.key")
    COHORT.X.assign(readmitted=COHORT.y).to_parquet(tmp_path / "rows.parquet")
    COHORT.schema.save(tmp_path / "schema.toml")
    given = {"key": "site.key", "participants": {"north": key.public, "south": OTHER}}
    given["fit"] = [*FIT, *ACCOUNT, "--out", "model.json"]

    def write(**changed):
        file = tmp_path / "interpret_dp.north.json"
        document = {name: value for name, value in (given | changed).items() if value is not None}
        file.write_text(json.dumps(document))
        return file

    return write


class Wire:
    """A transport whose first message fails; it keeps the kinds of all."""

    def __init__(self, error):
        self.error, self.kinds = error, []

    def exchange(self, header, payload):
        self.kinds.append(header["kind"])
        if len(self.kinds) == 1:
            raise self.error


def test_a_key_is_made_once_and_only_its_public_part_is_printed(tmp_path, capsys):
    file = tmp_path / "site.key"
    outputs = []
    for _ in range(2):
        assert main(["sites", "key", str(file)]) == 0
        outputs.append(capsys.readouterr().out)
    assert file.stat().st_mode & 0o777 == 0o600
    secret = file.read_text().strip()
    assert outputs == [f"{made_key(file).public}\n"] * 2
    assert secret not in outputs[0]
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [(0o640, None, "chmod 600"), (0o600, "17" * 31, "holds no signing key")],
)
def test_a_key_that_others_can_read_or_that_is_none_is_refused(
    tmp_path, capsys, mode, text, message
):
    file = tmp_path / "site.key"
    made_key(file)
    file.write_text(text or file.read_text())
    file.chmod(mode)
    assert main(["sites", "key", str(file)]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert file.read_text() not in shown


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": "a.csv"}, "has unknown keys: 'rows'; its keys are key, participants, fit, n_"),
        ({"fit": None}, "lacks 'fit'. Correct it by hand"),
        ({"fit": "rows.csv"}, "fit is 'rows.csv' (str); it must be a list of texts. Correct"),
        ({"max_sites": 1.5}, "max_sites is 1.5 (float); it must be an integer. Correct"),
        ({"n_colluding": 2}, "n_colluding"),
        ({"participants": {"north": OTHER}}, "two or more names"),
        ({"participants": {"north": OTHER, "south": "AB"}}, "'AB' as the public key of 'south'"),
        ({"participants": {"north": OTHER, "south": "cd" * 32}}, "0 participants with that part"),
        ({"key": "other.key"}, "other.key"),
    ],
)
def test_a_sites_file_is_checked_before_anything_is_sent(site, capsys, changed, message):
    file, wire = site(**changed), Wire(OSError())
    assert fit_at_site(file, wire) == "not ready"
    assert message in file.with_suffix(".log").read_text()
    assert (capsys.readouterr(), wire.kinds) == (("", ""), [])


def test_a_sites_file_says_all_that_it_fits(site, monkeypatch):
    file = site(max_sites=2)
    monkeypatch.chdir(file.parent)
    read, given = read_site(file, Wire(OSError()))
    assert (read.name, read.n_colluding, read.max_sites) == ("north", 1, 2)
    assert given["fit"] == [*FIT, *ACCOUNT, "--out", "model.json"]


@pytest.mark.parametrize("error", [RuntimeError("of a row: 17"), SystemExit("of a row: 17")])
def test_errors_stay_at_the_site_which_stops_and_is_charged_nothing(site, capfd, caplog, error):
    file, wire = site(journal="fit.journal"), Wire(error)
    before = os.getcwd()
    assert fit_at_site(file, wire) == "stopped"
    assert wire.kinds == ["open", "stop"]
    assert (capfd.readouterr(), caplog.text) == (("", ""), "")
    assert "of a row: 17" in file.with_suffix(".log").read_text()
    assert os.getcwd() == before
    # Paths in the file start at its folder. A fit that is over leaves no journal.
    assert not list(file.parent.glob("fit.journal*"))
    assert PrivacyLedger(f"sqlite:///{file.parent / 'own.db'}").spent("ward").mu == 0


def test_a_site_refuses_what_sites_cannot_do_before_a_budget_is_declared(site):
    table = COHORT.X.assign(readmitted=COHORT.y, bed=range(900))
    file = site()
    table.to_parquet(file.parent / "rows.parquet")
    assert fit_at_site(file, Wire(OSError())) == "stopped"
    assert "sites release no bounds or levels" in file.with_suffix(".log").read_text()
    assert not (file.parent / "own.db").exists()


@pytest.mark.slow
def test_two_processes_of_flare_fit_one_model_and_flare_learns_of_no_row(tmp_path):
    python = ROOT / ".venv-sites" / "bin" / "python"
    if not python.exists():
        missing = pytest.fail if "CI" in os.environ else pytest.skip
        missing("There is no .venv-sites: make .venv-sites/.ready")
    words = ["-m", "interpret_dp", "demo", "--sites", "2", "--rows", "2345", "--no-serve"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, *words, "--out", "demo"], cwd=tmp_path, env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert b"hospital-2: DP-EBM rounds" in done.stdout
    places = [tmp_path / "demo" / f"hospital-{number}" for number in (1, 2)]
    one, other = (load_model(place / "model.json").to_released().to_dict() for place in places)
    heads = [promise.pop("ledger_head") for promise in (one["guarantee"], other["guarantee"])]
    assert one == other
    assert all(head in line for head, line in zip(heads, one["guarantee"]["sites"], strict=True))
    ledgers = [PrivacyLedger(f"sqlite:///{place / 'privacy.db'}") for place in places]
    (name,) = ledgers[0].datasets()
    assert ledgers[0].spent(name).mu == ledgers[1].spent(name).mu > 0
    assert not list((tmp_path / "demo" / "study").rglob("*.py"))
    logs = [tmp_path / "demo" / "flare.log", *(tmp_path / "demo" / "flare").rglob("*log*.*")]
    own = {path for path in logs if path.parent.name == "local"}
    text = "\n".join(path.read_text() for path in logs if path not in own)
    assert len(own) >= 2
    assert "exchange" in text
    assert not re.search("Traceback|ERROR|Guarantee|DP-EBM", text)
    # Moments, numbers of processes, ports and sizes of FLARE's own messages are of no row.
    of_no_row = r"[\d:, -]{19,}|PID: \d+|(127.0.0.1|localhost):\d+|[\w-]{36}|\d+B \(\d+ Bytes\)"
    text = re.sub(of_no_row, "", text)
    labels = make_cohort(2345).y[:1876]
    parts = [labels, labels[::2], labels[1::2]]
    rows = {count for part in parts for count in (len(part), *part.value_counts())}
    assert not {int(found) for found in re.findall(r"(?<![\d.])\d+(?![\d.])", text)} & rows
