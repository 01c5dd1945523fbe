"""Figures of speed are drawn from raw figures as the benchmarks store them."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from benchmarks.lime_report import Report
from benchmarks.speed_figures import draw_dask, draw_lime, draw_llm


def is_drawn(path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000


def test_lime(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    report = Report("How long")
    report.add("Against lime on adult", measured={"lime": [1.0, 2.0], "statistics": [0.5, 0.6]})
    stages = [{"stage": f"part {n}", "statistics, ms": n, "interactive, ms": 1} for n in range(9)]
    report.add("Where the time goes", pd.DataFrame(stages))
    loop = {"loop": [30.0], "kept": [10.0], "statistics": [0.2, 0.3], "interactive": [0.3]}
    report.add("Against 300 passes over 1,000 rows of 5 numbers", measured=loop)
    report.write("lime_speed", draw_lime)
    assert is_drawn(tmp_path / "docs/figures/lime_speed.png")


def test_llm_with_every_setting_of_the_benchmark(tmp_path):
    pytest.importorskip("torch")
    from benchmarks.llm_speed import SETTINGS

    def runs(job) -> dict:
        epochs = {str(size): {"processor": 1.0 + size / 1000} for size in job.batch_sizes}
        return {**vars(job), "runs": [{"epochs": epochs}] * 2}

    sections = [
        {"heading": setting.heading, "rows": [runs(job) for job in setting.jobs]}
        for setting in SETTINGS
    ]
    where = [{"part": f"part {n}", "784 inputs": n, "100 inputs": 1} for n in range(9)]
    raw = {"sections": [*sections, {"heading": "Where the time goes", "rows": where}]}
    draw_llm(json.loads(json.dumps(raw)), tmp_path / "llm.png")
    assert is_drawn(tmp_path / "llm.png")


def test_dask(tmp_path):
    trips = {"2": [10.0, 12.0], "16": [20.0, 25.0]}
    draw_dask(
        trips, trips, lambda workers, rows, threads: [workers, rows / threads], tmp_path / "d.png"
    )
    assert is_drawn(tmp_path / "d.png")


def test_what_was_not_measured_is_not_drawn(tmp_path):
    with pytest.raises(StopIteration):
        draw_lime({"sections": []}, tmp_path / "lime.png")
