"""A small private table on disk, its schema, and a way to run commands as a user does."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

N_ROWS = 2_345


@dataclass(frozen=True)
class Outcome:
    """What a command answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, which holds the user's ledger too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path)
    # Of processes that a test starts.
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def command(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command in this process."""
    from interpret_dp.cli import main

    def run(*arguments: Any) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def typed(command: Callable[..., Outcome]) -> Callable[[str], Outcome]:
    """Run a command as it is typed after ``interpret-dp``."""
    return lambda line: command(*shlex.split(line))


@pytest.fixture
def patients(folder: Path, cohort: Any) -> Path:
    """Write a table of 2,345 simulated rows and its schema; return the table's path."""
    table = cohort.X.assign(readmitted=cohort.y, patient_id=range(len(cohort.X)))[:N_ROWS]
    table.to_parquet(folder / "patients.parquet")
    table.to_csv(folder / "patients.csv", index=False)
    cohort.schema.save(folder / "schema.toml")
    return folder / "patients.parquet"


@pytest.fixture
def fit(command: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Run ``fit`` on the patients with epsilon 1, what is given changed or added."""

    def run(file: Any = "patients.parquet", *flags: str, **options: Any) -> Outcome:
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
        return command("fit", file, *words, *flags)

    return run


@pytest.fixture
def model(fit: Callable[..., Outcome], patients: Path, folder: Path) -> Path:
    """Return the path of a fitted model; its ledger is the default one."""
    outcome = fit(patients, budget=4)
    assert outcome.code == 0, outcome.err
    return folder / "model.json"
