"""The reference at its best: the grid's best setting, on the same splits as ours."""

import pytest

from benchmarks.records import Results
from benchmarks.tuned_reference import best_setting, engine_name, page
from tests.benchmarks.records import add

GRID = [(100, 0.05), (300, 0.01)]


@pytest.fixture
def measured(tmp_path):
    """Results of the grid, without the default, and of ``benchmarks.accuracy``."""
    own, accuracy = Results(tmp_path / "tuned.json"), Results(tmp_path / "accuracy.json")
    for problem, tuned, default, ours in (("adult", 0.88, 0.85, 0.9), ("pol", 27.0, 25.0, 26.0)):
        for results, engine, score in (
            (own, engine_name(GRID[0]), tuned),
            (accuracy, "reference", default),
            (accuracy, "ours", ours),
        ):
            add(results, problem, engine, 2.0, [score, score * 1.001, score])
    return own, accuracy


def test_the_best_is_the_highest_auroc_and_the_lowest_rmse(measured):
    setting, fits = best_setting(*measured, GRID, "adult", 2.0)
    assert (setting, len(fits)) == ((100, 0.05), 3)
    # The default is not measured twice: it comes from the other file.
    setting, fits = best_setting(*measured, GRID, "pol", 2.0)
    assert (setting, fits[0].score) == ((300, 0.01), 25.0)


def test_the_page_says_who_is_better_and_that_the_choice_flatters(measured):
    text = page(*measured, GRID)
    assert "flatters the reference" in text
    assert "| adult | AUROC | 2 | 3 | 100 rounds at 0.05 | 0.8803 | 0.8503 | 0.9003 |" in text
    assert "| pol | RMSE | 2 | 3 | 300 rounds at 0.01 | 25.01 | 25.01 | 26.01 |" in text
    assert "of 2 cells: ours in 1, the reference in 1." in text
