"""With any declaration, no undeclared level and no exact count is in what a fit publishes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)
from tests.audit.planted import TEXTS, find_planted, private_table

LEVELS = st.lists(
    st.sampled_from(["a", "b", "c", 1, 2.5, True, "", "nan", "é"]), min_size=1, max_size=5,
    unique_by=lambda level: str(float(level)) if not isinstance(level, str) else level,
)  # fmt: skip
BOUNDS = st.sampled_from([(0, 100), (-1e6, 1e6), (50, 50), (0, 1e-300), (40, 60.5)])


@st.composite
def _specs(draw: st.DrawFn) -> Any:
    if draw(st.booleans()):
        return Continuous(*draw(BOUNDS), scale=draw(st.sampled_from(["linear", "log"])))
    return Categorical(draw(LEVELS), ordered=draw(st.booleans()))


@pytest.mark.thorough
@pytest.mark.parametrize("task", ["classification", "regression"])
@settings(max_examples=6)
@given(age=st.none() | _specs(), site=st.none() | _specs(), bins=st.integers(2, 40))
def test_nothing_planted_is_published(task: str, age: Any, site: Any, bins: int) -> None:
    X, y = private_table(task)
    features = {n: spec for n, spec in (("age", age), ("site", site)) if spec is not None}
    is_labels = task == "classification"
    target = Categorical(["no", "yes"]) if is_labels else Continuous(0, 10)
    kind = DPExplainableBoostingClassifier if is_labels else DPExplainableBoostingRegressor
    model = kind(
        **{"schema": Schema(features, target=target), "max_rounds": 2, "max_bins": bins},
        **{"n_jobs": 1, "ledger": PrivacyLedger.in_memory(), "dataset": "audit"},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        assert find_planted(model) == []
    shown = [model.explain_global().visualize(at).to_json() for at in range(2)]
    assert not any(text in figure for text in TEXTS for figure in shown)
