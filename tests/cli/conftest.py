"""A small private table on disk, its schema, and a way to run commands as a user does."""

import contextlib
import shlex
import shutil

import pytest

from interpret_dp.cli import main
from tests.ledger.conftest import path, postgres_server, postgres_url, run_folder, store_url

__all__ = ["path", "postgres_server", "postgres_url", "run_folder", "store_url"]
N_ROWS = 2_345


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, which holds the user's ledger too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path)
    # Of processes that a test starts.
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def command(folder, capsys):
    """Run a command in this process, which must end with a code."""

    def run(*arguments, code=0):
        capsys.readouterr()
        found = main([str(argument) for argument in arguments])
        outcome = capsys.readouterr()
        assert found == code, outcome.err
        return outcome

    return run


@pytest.fixture
def typed(command):
    """Run a command as it is typed after ``interpret-dp``."""
    return lambda line, code=0: command(*shlex.split(line), code=code)


def write_patients(folder, cohort):
    """Write a table of 2,345 simulated rows and its schema; return the table's path."""
    table = cohort.X.assign(readmitted=cohort.y, bed=range(len(cohort.X)))[:N_ROWS]
    table.to_parquet(folder / "patients.parquet")
    table.to_csv(folder / "patients.csv", index=False)
    cohort.schema.save(folder / "schema.toml")
    return folder / "patients.parquet"


@pytest.fixture
def patients(folder, cohort):
    """Write the table and its schema into the user's folder; return the table's path."""
    return write_patients(folder, cohort)


@pytest.fixture
def fit(command):
    """Run ``fit`` on the patients with epsilon 1, what is given changed or added."""

    def run(file="patients.parquet", *flags, code=0, **options):
        given = {
            "target": "readmitted",
            "schema": "schema.toml",
            "epsilon": 1,
            "delta": 1e-6,
            "dataset": "ward",
            "out": "model.json",
            **options,
        }
        words = [w for name, value in given.items() for w in (f"--{name.replace('_', '-')}", value)]
        return command("fit", file, *words, *flags, code=code)

    return run


@pytest.fixture(scope="session")
def fitted(tmp_path_factory, cohort):
    """Return a folder with the table, a model of epsilon 1 and the ledger that paid for it."""
    folder = tmp_path_factory.mktemp("fitted")
    write_patients(folder, cohort)
    line = "fit patients.parquet --target readmitted --schema schema.toml --epsilon 1 --delta 1e-6"
    account = "--dataset ward --budget 4 --ledger sqlite:///privacy.db --out model.json"
    with contextlib.chdir(folder):
        assert main(f"{line} {account}".split()) == 0
    return folder


@pytest.fixture
def model(fitted, folder):
    """Return the path of a fitted model; its ledger is the default one."""
    shutil.copytree(fitted, folder, dirs_exist_ok=True)
    return folder / "model.json"
