"""What pages say of the tables of accuracy is counted, and can turn out otherwise."""

import math

import pytest

from benchmarks.paired import corrected_standard_error
from benchmarks.records import Fit, Results
from benchmarks.summary import compare, findings


def fits(engine, epsilon, scores):
    return [
        Fit("adult", engine, "1", epsilon, split, score, 1.0, test_rows_per_training_row=0.25)
        for split, score in enumerate(scores)
    ]


def test_findings_are_counted(tmp_path):
    results = Results(tmp_path / "accuracy.json")
    for epsilon in (0.5, 2.0, 4.0):
        results.add(fits("ours", epsilon, [0.9, 0.91]))
        results.add(fits("reference", epsilon, [0.8, 0.805]))
    results.add(fits("ours", 8.0, [0.78, 0.83]) + fits("reference", 8.0, [0.82, 0.82]))
    results.add(fits("nonprivate", None, [0.92, 0.92]) + fits("constant", None, [0.81, 0.81]))
    better, at_2, _, at_8, constant, gap = findings(results, compare(results))
    # The difference at 8 is -0.015 with an error of sqrt(0.75 * 0.00125) = 0.031.
    assert "in 3 of 4 cells, worse by more than one in 0. Not better: adult at 8 (-0.5)." in better
    assert "as the reference at 2, or better, on 1 of 1 tables; not on: none" in at_2
    assert "at 8, or better, on 1 of 1 tables" in at_8
    assert constant == "Ours is worse than a constant in 1 cells: adult at 8."
    assert gap.endswith("this much is gone: adult -15%.")


def test_the_standard_error_knows_that_splits_overlap():
    # Variance 2 of the two differences; 1/2 for their number, 1/4 for the shared rows.
    assert corrected_standard_error([1.0, 3.0], 0.25) == pytest.approx(math.sqrt(0.75 * 2.0))
    assert corrected_standard_error([1.0], 0.25) is None
