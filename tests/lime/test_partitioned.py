"""Explanations from Dask collections equal those from rows in memory bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    BackendError,
    Categorical,
    Continuous,
    DPLimeTabular,
    PrivacyLedger,
    PrivacyUnit,
    Schema,
)

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore:random_state:interpret_dp.PrivacyWarning")

N_ROWS = 400
FEATURES = {"age": Continuous(20, 80), "dose": Continuous(0, 9), "sex": Categorical(["f", "m"])}
NAMES = list(FEATURES)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.uniform(20, 80, N_ROWS),
            "dose": rng.uniform(0, 9, N_ROWS),
            "sex": pd.array(rng.choice(["f", "m"], N_ROWS), dtype="string"),
            "person": rng.integers(0, 60, N_ROWS),
        }
    )


def risk(X: Any) -> Any:
    ages = X["age"].to_numpy() if hasattr(X, "columns") else X[:, 0]
    second = 1 / (1 + np.exp(-(ages - 50) / 8))
    return np.column_stack([1 - second, second])


def explained(data: Any, queries: Any, *, unit: Any = None, **more: Any) -> list[Any]:
    explainer = DPLimeTabular(
        risk,
        data,
        schema=more.pop("schema", Schema(FEATURES)),
        trained_on_same_people=False,
        random_state=3,
        epsilon=50.0,
        steps=20,
        unit=unit,
        **more,
    )
    found = explainer.explain_local(queries)
    return [found.data(row)["scores"] for row in range(len(queries))]


@pytest.mark.parametrize("method", ["statistics", "interactive", "adaptive", "enhanced"])
def test_the_sums_are_those_of_one_table(method: str) -> None:
    rows = table()
    expected = explained(rows[NAMES], rows[NAMES].iloc[:2], method=method)
    with dask.config.set(scheduler="synchronous"):
        lazy = dd.from_pandas(rows[NAMES], npartitions=3)
        assert explained(lazy, rows[NAMES].iloc[:2], method=method) == expected


@pytest.mark.parametrize("place", ["column", "argument"])
def test_people_keep_the_same_rows(place: str) -> None:
    rows = table()
    schema = Schema(FEATURES, unit=PrivacyUnit("person", max_rows=2))
    names = [*NAMES, "person"] if place == "column" else NAMES

    def found(data: Any) -> list[Any]:
        unit = None if place == "column" else data["person"]
        return explained(data[names], rows[NAMES].iloc[:1], schema=schema, unit=unit)

    with dask.config.set(scheduler="synchronous"):
        assert found(dd.from_pandas(rows, npartitions=4)) == found(rows)


def test_arrays_of_any_chunks() -> None:
    X = table()[["age", "dose"]].to_numpy()
    schema = Schema({"age": FEATURES["age"], "dose": FEATURES["dose"]})
    more = {"schema": schema, "feature_names": ["age", "dose"]}
    lazy = da.from_array(X, chunks=(90, 1))
    assert explained(lazy, X[:1], **dict(more)) == explained(X, X[:1], **dict(more))


def test_what_needs_the_rows_here_is_refused_and_costs_nothing() -> None:
    ledger = PrivacyLedger.in_memory()
    rows = table()[NAMES]
    more = {"ledger": ledger, "dataset": "d"}
    with pytest.raises(TypeError, match=r"method is 'surrogate'.*Dask"):
        explained(dd.from_pandas(rows, npartitions=2), rows.iloc[:1], method="surrogate", **more)
    assert ledger.datasets() == []


def test_identifiers_of_another_cut_are_an_error_of_their_own() -> None:
    rows = table()
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(BackendError, match="differ in their number of rows"),
    ):
        explained(
            dd.from_map(lambda part: part, [rows[NAMES].iloc[:9], rows[NAMES].iloc[9:]]),
            rows[NAMES].iloc[:1],
            schema=Schema(FEATURES, unit=PrivacyUnit("person")),
            unit=dd.from_map(lambda part: part, [rows["person"].iloc[:8], rows["person"].iloc[8:]]),
        )
