"""Pages of the benchmarks say the machine, and every figure lies as JSON beside them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.lime_report import Report, spread
from benchmarks.machine import describe_machine, machine_text


def test_a_spread_is_the_median_and_both_ends():
    assert spread([3.0, 1.0, 2.0]) == "2 (1 to 3)"
    assert spread([0.123456]) == "0.123"


@pytest.mark.parametrize(("load", "is_busy"), [(0.1, False), (7.5, True)])
def test_a_busy_machine_is_named_as_one(load, is_busy):
    machine = {**describe_machine(), "processors": 2, "load average before": [load, 0.0, 0.0]}
    assert ("busy" in machine_text(machine)) is is_busy


def test_the_page_and_its_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    report = Report("A title", is_timed=True, packages=("scipy",))
    report.add("First", pd.DataFrame({"n": [np.int64(1_000)]}), measured={"x": np.ones(2)})
    report.add("Second", pd.DataFrame({"seconds": [0.25]}))
    report.write("it")
    page = (tmp_path / "benchmarks" / "results" / "it.md").read_text(encoding="utf-8")
    assert "Machine: " in page
    assert "scipy" in page
    assert "| 1,000 |" in page
    raw = json.loads((tmp_path / "benchmarks" / "results" / "it.json").read_text(encoding="utf-8"))
    assert raw["machine"]["processors"] >= 1
    assert [one["rows"] for one in raw["sections"]] == [{"x": [1.0, 1.0]}, [{"seconds": 0.25}]]


def test_a_quick_run_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Report("A title", is_kept=False).write("it")
    assert list(tmp_path.iterdir()) == []
