"""Problems of the benchmarks: their rows, delta and bounds."""

import pandas as pd

from benchmarks.bounds import widened
from benchmarks.problems import load_problem
from benchmarks.tables import DATA_VARIABLE
from interpret_dp import Integer


def test_a_problem_has_its_rows_its_delta_and_bounds_that_can_be_widened(tmp_path, monkeypatch):
    table = pd.DataFrame(
        {"age": [20, 30, 40], "work": ["a", "b", None], "target": [0, 1, 0]}, index=[5, 6, 7]
    )
    table.to_parquet(tmp_path / "adult.parquet")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    whole, complete = load_problem("adult"), load_problem("adult_complete")
    assert (len(whole.X), whole.y.tolist(), whole.delta) == (3, [0, 1, 0], 1e-6)
    assert (len(complete.X), complete.y.tolist(), complete.delta) == (2, [0, 1], 5e-8)
    assert complete.epsilons == (0.01, 0.02, 0.03, 0.1, 0.5)
    wide = widened(complete.schema)
    assert wide.features["age"] == Integer(20 - 9 * 10, 30 + 10 * 10)
    assert wide.features["work"] == complete.schema.features["work"]
