"""Text is no number, and nothing says so of private rows but the curator's own report.

A container may infer its dtype from its rows, and then one row would decide whether something is
said.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    Schema,
    private_metrics,
)

SCHEMA = Schema(
    {"age": Continuous(0, 200), "ward": Categorical([101, 102])}, target=Categorical([False, True])
)


@pytest.mark.thorough
def test_text_where_levels_are_numbers_is_undeclared_and_not_spoken_of() -> None:
    X = pd.DataFrame({"age": np.arange(200.0), "ward": np.tile(["101", "102"], 100)})
    y = pd.Series(np.tile(["False", "True"], 100), dtype="string")
    assert [column.unseen for column in SCHEMA.check(X, y).columns] == [0, 200, 200]
    model = DPExplainableBoostingClassifier(schema=SCHEMA, delta=1e-6).fit(X, y)
    private_metrics({"model": model}, X, y, epsilon=0.5, delta=1e-6)
    found = model.predict_proba(X)
    assert np.array_equal(found, model.predict_proba(X.assign(ward=999)))
