"""Containers at the estimators: neither fits nor predictions depend on what holds the rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from interpret_dp import (
    DPExplainableBoostingClassifier,
    LedgerError,
    PrivacyWarning,
    SchemaError,
)

CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "pandas": (lambda X: X, lambda y: y),
    "polars": (pl.from_pandas, lambda y: pl.Series(np.asarray(y))),
    "arrow": (pa.Table.from_pandas, lambda y: pa.array(np.asarray(y))),
    "objects": (lambda X: X.astype(object).to_numpy(), np.asarray),
    "rows": (lambda X: X.astype(object).to_numpy().tolist(), lambda y: np.asarray(y).tolist()),
}
NAMED = ("pandas", "polars", "arrow")


def fitted(schema: Any, X: Any, y: Any, **named: Any) -> Any:
    model = DPExplainableBoostingClassifier(schema=schema, random_state=3, max_rounds=3, **named)
    with pytest.warns(PrivacyWarning, match="voids the privacy promise"):
        return model.fit(X, y)


@pytest.fixture(scope="module")
def rows(cohort: Any) -> pd.DataFrame:
    """Return rows with all that prediction meets: missing, unseen and out-of-range cells."""
    X = cohort.X.head(6).copy()
    X.loc[X.index[0], "age"] = np.nan
    X.loc[X.index[1], "age"] = 1e9
    X.loc[X.index[2], "creatinine"] = -np.inf
    X.loc[X.index[3], "insurance"] = "never heard of"
    X.loc[X.index[4], "smoker"] = None
    return X


@pytest.fixture(scope="module")
def model(cohort: Any) -> Any:
    return fitted(cohort.schema, cohort.X, cohort.y)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_fit_does_not_depend_on_the_container(cohort: Any, model: Any, kind: str) -> None:
    of_table, of_column = CONTAINERS[kind]
    names = None if kind in NAMED else list(cohort.X)
    twin = fitted(cohort.schema, of_table(cohort.X), of_column(cohort.y), feature_names=names)
    assert twin.feature_names_in_ == model.feature_names_in_
    for ours, theirs in zip(twin.term_scores_, model.term_scores_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_predictions_are_those_of_pandas(model: Any, rows: Any, kind: str) -> None:
    given = CONTAINERS[kind][0](rows)
    np.testing.assert_array_equal(model.predict_proba(given), model.predict_proba(rows))
    np.testing.assert_array_equal(model.eval_terms(given), model.eval_terms(rows))
    predicted = model.predict(given)
    assert isinstance(predicted, np.ndarray)
    assert predicted.tolist() == model.predict(rows).tolist()


def test_odd_cells_score_as_the_bins_they_belong_to(model: Any, rows: Any) -> None:
    scores = pd.DataFrame(model.eval_terms(rows), columns=model.term_names_)
    tables = dict(zip(model.term_names_, model.term_scores_, strict=True))
    assert scores["age"][0] == tables["age"][0]
    assert scores["age"][1] == tables["age"][-2]
    assert scores["creatinine"][2] == tables["creatinine"][1]
    assert scores["insurance"][3] == tables["insurance"][-1]
    assert scores["smoker"][4] == tables["smoker"][0]


@pytest.mark.parametrize("kind", NAMED)
def test_columns_are_matched_by_name(model: Any, rows: Any, kind: str) -> None:
    of_table = CONTAINERS[kind][0]
    shuffled = of_table(rows[list(rows)[::-1]].assign(ward="a column that the fit did not have"))
    np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(rows))
    with pytest.raises(SchemaError, match="X lacks columns 'age', 'smoker'"):
        model.predict(of_table(rows.drop(columns=["smoker", "age"])))


def test_lazy_frames_are_refused(cohort: Any, model: Any) -> None:
    lazy = pl.from_pandas(cohort.X).lazy()
    with pytest.raises(TypeError, match=r"Run its query first, as X\.collect\(\) does"):
        model.predict(lazy)
    with pytest.raises(TypeError, match=r"Run its query first, as X\.collect\(\) does"):
        DPExplainableBoostingClassifier(schema=cohort.schema).fit(lazy, cohort.y)


def test_nothing_asks_for_set_output(model: Any) -> None:
    # scikit-learn's set_output is for transformers: an estimator without transform has none.
    assert not hasattr(model, "transform")
    assert not hasattr(model, "set_output")


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": -1}, "epsilon is -1 .* above 0.* 1 is a usual start"),
    ({"epsilon": "1"}, "epsilon is '1' .*real number above 0.* 1 is a usual start"),
    ({"delta": 1.0}, "delta is 1.0 .* below 1.* such as 1e-6"),
    ({"composition": "rdp"}, "composition is 'rdp' .*'gdp', 'classic'.* less noise"),
    ({"bin_budget_frac": 0}, "bin_budget_frac is 0 .* above 0 and below 1.* suits most"),
    ({"max_rounds": -1}, "max_rounds is -1 .* at least 0.* None leaves it"),
    ({"max_leaves": 0}, "max_leaves is 0 .* at least 1.* None leaves it"),
    ({"learning_rate": 0.0}, "learning_rate is 0.0 .* above 0.* None leaves it"),
    ({"max_bins": 1}, "max_bins is 1 .* at least 2"),
    ({"max_bins": 65_536}, "max_bins is 65536 .* at most 65535"),
    ({"n_jobs": 0}, "n_jobs is 0; .*or -1.* Pass n_jobs=1"),
    ({"random_state": -1}, "random_state is -1 .* at least 0"),
    ({"outer_bags": 8}, "outer_bags is 8 .*must be 1 and 0.* standard_deviations_"),
    ({"exclude": ["x"]}, "exclude has 'x'; .*name or index of one feature .*or a pair of them"),
    ({"dataset": " "}, "dataset is ' ' .str.; .*not blank, such as"),
    ({"ledger": 3, "dataset": "a"}, "ledger is 3 .*a PrivacyLedger, its URL.* or None"),
    ({"ledger": "sqlite://"}, "without dataset=.* same name, such as dataset="),
    ({"schema": "schema.toml"}, "type str; it must be a Schema.* Schema.load"),
    ({"feature_types": ["quantile"]}, "one type for each of the 10 columns"),
]


@pytest.mark.parametrize(("change", "said"), REFUSALS, ids=lambda value: str(value)[:40])
def test_refusals_say_what_to_do(cohort: Any, change: dict[str, Any], said: str) -> None:
    """The value given, what is allowed, and the mend, in this order."""
    model = DPExplainableBoostingClassifier(**{"schema": cohort.schema, **change})
    with pytest.raises((TypeError, ValueError, LedgerError)) as caught:
        model.fit(cohort.X, cohort.y)
    assert re.search(said, str(caught.value), re.DOTALL)
