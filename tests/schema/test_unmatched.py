"""Text is no number: a prediction warns of a dtype that cannot hold a declared level.

A fit, an explainer and private metrics do not: a container may infer its dtype from private rows.
"""

from __future__ import annotations

from typing import Any

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
from interpret_dp.schema.dtypes import unmatched_levels

CODES = Categorical([101, 102])
WORDS = Categorical(["101", "102"])
MIXED = Categorical([101, "other"])
TEXT = pd.Series(["101", "102"], dtype="string")


@pytest.mark.parametrize(
    ("column", "spec"),
    [
        (TEXT, CODES),
        (TEXT.astype("category"), CODES),
        (np.array(["101", "102"]), CODES),
        (pd.Series([101, 102]), WORDS),
        (pd.Series([101, 102], dtype="Int64"), WORDS),
        (pd.Series([101, 102]).astype("category"), WORDS),
        (pd.Series([True, False]), Categorical(["no", "yes"])),
        (TEXT, Categorical([False, True])),
    ],
)
def test_a_dtype_of_the_other_kind_is_named(column: Any, spec: Categorical) -> None:
    problem = unmatched_levels("Column 'ward'", column.dtype, spec)
    assert problem is not None
    assert problem.startswith("Column 'ward' has dtype ")
    assert repr(spec.levels[0]) in problem
    assert "Convert the cells" in problem


@pytest.mark.parametrize(
    ("column", "spec"),
    [
        (TEXT, WORDS),
        (TEXT, MIXED),
        (pd.Series([101, 102]), CODES),
        (pd.Series([101, 102]), MIXED),
        (pd.Series([0, 1]), Categorical([False, True])),
        (pd.Series([np.nan, np.nan]), WORDS),  # no value at all: pandas reads floats
        (pd.Series(["101", 102], dtype=object), CODES),
        (TEXT, Continuous(0, 200)),
    ],
)
def test_what_could_match_passes(column: Any, spec: Any) -> None:
    assert unmatched_levels("Column 'ward'", column.dtype, spec) is None


def table(ward: Any, y: Any) -> tuple[pd.DataFrame, pd.Series]:
    return pd.DataFrame({"age": np.arange(200.0), "ward": np.tile(ward, 100)}), pd.Series(
        np.tile(y, 100)
    )


def test_private_rows_are_not_spoken_of() -> None:
    schema = Schema({"age": Continuous(0, 200), "ward": CODES}, target=Categorical([False, True]))
    X, y = table([101, 102], [False, True])
    X, target = X.astype({"ward": "string"}), y.astype("string")
    model = DPExplainableBoostingClassifier(schema=schema, delta=1e-6).fit(X, target)
    # Schema.check is private, and says it.
    assert [column.unseen for column in schema.check(X, target).columns] == [0, 200, 200]
    private_metrics({"model": model}, X, target, epsilon=0.5, delta=1e-6)


def test_an_excluded_column_is_not_looked_at_and_a_prediction_warns() -> None:
    schema = Schema({"age": Continuous(0, 200), "ward": CODES}, target=Categorical([False, True]))
    X, y = table([101, 102], [False, True])
    as_text = X.assign(ward=X["ward"].astype("string"))
    model = DPExplainableBoostingClassifier(schema=schema, delta=1e-6)
    model.set_params(exclude=["ward"]).fit(as_text, y)
    model.set_params(exclude=None).fit(X, y)
    with pytest.warns(UserWarning, match="read as undeclared"):
        found = model.predict_proba(as_text)
    undeclared = model.predict_proba(X.assign(ward=999))
    assert np.array_equal(found, undeclared)
