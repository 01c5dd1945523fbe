"""Pages of the benchmarks name the machine, and every measurement is in a JSON file beside them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from benchmarks.lime_report import Report, spread


def test_a_spread_is_the_median_and_both_ends():
    assert spread([3.0, 1.0, 2.0]) == "2 (1 to 3)"
    assert spread([0.123456]) == "0.123"


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
