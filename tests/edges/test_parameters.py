"""Any value for any parameter: a result that is paid for, or a clear error and no charge."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    DPLimeTabular,
    DPLocallyLinearClassifier,
    LedgerError,
    PrivacyLedger,
    Schema,
    private_metrics,
)
from tests.edges.explainers import (
    DATASET,
    EXPLAINERS,
    ODD,
    OURS,
    attempt,
    check_error,
    new_ledger,
)

FRAME = pd.DataFrame({"a": np.linspace(0, 1, 8), "b": ["x", "y"] * 4})
Y = [0, 1] * 4
SIGNATURES: dict[str, Any] = {
    "classifier": DPExplainableBoostingClassifier,
    "regressor": DPExplainableBoostingRegressor,
    "lime": DPLimeTabular,
    "maps": DPLocallyLinearClassifier,
    "metrics": private_metrics,
}
# What a request is about, and counts whose large values are only slow: 10**6 rounds are allowed.
_FIXED = {"self", "X", "y", "models", "model", "data", "ledger", "dataset", "schema"}
_SLOW = {"max_rounds", "steps", "epochs", "n_maps", "sampling_rate", "batch_size", "n_jobs"}


@pytest.fixture(autouse=True)
def _hints() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _schema(name: str) -> Schema:
    kinds: dict[str, Any] = {"a": Continuous(0, 1), "b": Categorical(["x", "y"])}
    if name == "metrics":
        kinds["b"] = Categorical([0, 1, "x"])
    return Schema(kinds, target=EXPLAINERS[name].target)


def _names(name: str) -> list[str]:
    return [p for p in inspect.signature(SIGNATURES[name]).parameters if p not in _FIXED]


def _is_slow(parameter: str, value: Any) -> bool:
    if parameter not in _SLOW:
        return False
    try:
        return not isinstance(value, bool) and float(value) > 3
    except (TypeError, ValueError, OverflowError):
        return False


@pytest.mark.thorough
@pytest.mark.parametrize("name", EXPLAINERS)
def test_any_value_of_a_parameter_is_taken_or_refused(name: str) -> None:
    if name == "maps":
        pytest.importorskip("torch")

    @settings(max_examples={"maps": 15, "lime": 40}.get(name, 50))
    @given(st.sampled_from(_names(name)), ODD)
    def check(parameter: str, value: Any) -> None:
        if not _is_slow(parameter, value):
            attempt(name, FRAME, Y, new_ledger(), **{"schema": _schema(name), parameter: value})

    check()


@pytest.mark.parametrize("name", ["classifier", "regressor"])
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("interactions", 10**400),
        ("interactions", -(10**400)),
        ("interactions", np.array(2)),
        ("monotone_constraints", np.array(1)),
        ("verbose", pd.NA),
        ("verbose", "no"),
        ("verbose", []),
    ],
    ids=["huge", "far below", "no axes", "no axis", "NA", "word", "list"],
)
def test_what_random_values_found_is_refused_by_name(name: str, parameter: str, value: Any) -> None:
    ledger = new_ledger()
    with pytest.raises((TypeError, ValueError), match=f"{parameter} is ") as raised:
        EXPLAINERS[name].request(
            FRAME, Y, schema=_schema(name), ledger=ledger, dataset=DATASET, **{parameter: value}
        )
    check_error(raised.value)
    assert len(str(raised.value)) < 1_000
    assert not ledger.to_dict()["datasets"][0]["requests"]


@pytest.mark.parametrize("name", EXPLAINERS)
@pytest.mark.parametrize("parameter", ["epsilon", "delta"])
@pytest.mark.parametrize(
    "value",
    [None, True, "1", -1.0, 0, np.nan, np.inf, -np.inf, 1j, 10**400, [1.0], np.array([1.0, 2.0])],
    ids=repr,
)
def test_a_budget_that_is_none_is_refused(name: str, parameter: str, value: Any) -> None:
    if name == "maps":
        pytest.importorskip("torch")
    ledger = new_ledger()
    before = ledger.entries()
    error = attempt(name, FRAME, Y, ledger, **{"schema": _schema(name), parameter: value})
    assert isinstance(error, OURS)
    assert parameter in str(error)
    assert ledger.entries() == before


@pytest.mark.parametrize("name", EXPLAINERS)
def test_a_request_over_the_budget_leaves_the_ledger_as_it_was(name: str) -> None:
    if name == "maps":
        pytest.importorskip("torch")
    ledger = new_ledger((0.25, 1e-6))
    before, left = ledger.entries(), ledger.remaining(DATASET)
    error = attempt(name, FRAME, Y, ledger, schema=_schema(name), delta=5e-7)
    assert isinstance(error, OURS)
    assert "budget" in str(error)
    assert ledger.entries() == before
    assert ledger.remaining(DATASET) == left


@pytest.mark.parametrize("name", EXPLAINERS)
@pytest.mark.parametrize(
    "ledger", ["", "x", 5, b"sqlite://", "sqlite:///", "mysql://h/d", object()]
)
def test_what_is_no_ledger_is_refused(name: str, ledger: Any) -> None:
    if name == "maps":
        pytest.importorskip("torch")
    given_ = EXPLAINERS[name].parameters | {"ledger": ledger, "dataset": DATASET}
    with pytest.raises((TypeError, ValueError), match=r"url|ledger"):
        EXPLAINERS[name].request(FRAME, Y, schema=_schema(name), **given_)


@pytest.mark.parametrize("name", EXPLAINERS)
@pytest.mark.parametrize("dataset", [None, "", " ", 5, "x" * 201, "a\x00b", "a\nb", "\ud800", b"a"])
def test_what_is_no_name_of_a_data_set_is_refused(name: str, dataset: Any) -> None:
    if name == "maps":
        pytest.importorskip("torch")
    ledger = PrivacyLedger.in_memory()
    given_ = EXPLAINERS[name].parameters | {"ledger": ledger, "dataset": dataset}
    with pytest.raises((TypeError, ValueError, LedgerError), match="dataset"):
        EXPLAINERS[name].request(FRAME, Y, schema=_schema(name), **given_)
    assert ledger.entries() == []
