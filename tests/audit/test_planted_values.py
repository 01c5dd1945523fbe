"""Nothing that a fit publishes holds a row, an exact count or an undeclared level.

Values that occur nowhere else are planted in a table; everything that the fitted estimator holds
or writes is then searched for them: attributes, pickles, files, explanations. The searcher is
tested by estimators that leak on purpose.
"""

from __future__ import annotations

import dataclasses
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.audit.planted import (
    N_ROWS,
    N_SITE_A,
    N_YES,
    RARE_NUMBER,
    find_planted,
    planted_in,
    private_table,
)

SCHEMA: dict[str, Continuous | Categorical] = {
    "age": Continuous(0, 100),
    "site": Categorical(["a", "b"]),
}


def fitted(task: str, table: tuple[Any, Any]) -> Any:
    with use_randomness(SeededRandomness(4)):
        if task == "classification":
            schema = Schema(SCHEMA, target=Categorical(["no", "yes"]))
            return DPExplainableBoostingClassifier(
                schema=schema, ledger=PrivacyLedger.in_memory(), dataset="audit"
            ).fit(*table)
        return DPExplainableBoostingRegressor(
            schema=Schema(SCHEMA, target=Continuous(0, 20)),
            ledger=PrivacyLedger.in_memory(),
            dataset="audit",
        ).fit(*table)


# ---------------------------------------------------------------------------------- the search


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_no_planted_value_is_published(task: str) -> None:
    model = fitted(task, private_table(task))
    assert find_planted(model) == []
    assert find_planted(type(model).from_released(model.to_released())) == []


def leak_number(model: Any, table: Any) -> None:
    model.guarantee_ = dataclasses.replace(model.guarantee_, mechanism=f"over {N_ROWS} rows")


def leak_level(model: Any, table: Any) -> None:
    model.bins_[1] = [{"a": 1, "b": 2, "Zebulon": 3}]


def leak_row(model: Any, table: Any) -> None:
    model.boosting_record_ = (model.boosting_record_, table[0].iloc[7:8])


def leak_weight(model: Any, table: Any) -> None:
    model.bin_weights_[1][1] = float(N_SITE_A)


def leak_class_counts(model: Any, table: Any) -> None:
    model.counts_ = np.array([N_YES, N_ROWS - N_YES], dtype=np.int32)


def leak_private_name(model: Any, table: Any) -> None:
    model._cache = {"y": table[1].to_numpy()}


@pytest.mark.parametrize(
    "leak", [leak_number, leak_level, leak_row, leak_weight, leak_class_counts, leak_private_name]
)
def test_control_leaks_are_found(leak: Callable[[Any, Any], None]) -> None:
    table = private_table("classification")
    model = fitted("classification", table)
    leak(model, table)
    assert find_planted(model)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'"n": {N_ROWS},', True),
        (f"[{N_ROWS}.0]", True),
        (f"{RARE_NUMBER!r}", True),
        (f"1{N_ROWS}, 0.{N_ROWS}, {N_ROWS}.5, a{N_ROWS}", False),
        ("x = Zebulon", True),
    ],
)
def test_control_numbers_in_texts(text: str, expected: bool) -> None:
    assert planted_in(text) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([0.5, N_ROWS]).tobytes(), True),
        (np.array([7, N_ROWS]).tobytes(), True),
        (np.array([1, RARE_NUMBER], dtype=np.float32).tobytes(), True),
        (b"abc" + np.array(RARE_NUMBER).tobytes(), True),
        (b"abc" + "Zebulon".encode("utf-16-le"), True),
        # Across two items of a matrix, as its zeros and another number's last bytes.
        (bytes(3) + np.array(float(N_ROWS)).tobytes() + bytes(5), False),
    ],
    ids=["float64", "int64", "float32", "unaligned fraction", "text", "across two items"],
)
def test_control_numbers_in_bytes(value: bytes, expected: bool) -> None:
    assert planted_in(value) is expected


# -------------------------------------------------------------------------------- no reference


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_estimator_keeps_no_reference_to_the_rows(task: str) -> None:
    X, y = private_table(task)
    array, target = X.drop(columns="site").to_numpy(), y.to_numpy()
    frame_model = fitted(task, (X, y))
    with use_randomness(SeededRandomness(4)):
        array_model = type(frame_model)(
            feature_names=["age"],
            schema=Schema({"age": SCHEMA["age"]}, target=frame_model.schema_.target),
            ledger=PrivacyLedger.in_memory(),
            dataset="audit",
        ).fit(array, target)
    watched = [weakref.ref(rows) for rows in (X, y, array, target)]
    del X, y, array, target
    gc.collect()
    assert [reference() for reference in watched] == [None] * 4
    assert array_model.has_fitted_


def test_control_a_reference_is_noticed() -> None:
    X, y = private_table("regression")
    model = fitted("regression", (X, y))
    model._rows = X
    watched = weakref.ref(X)
    del X
    gc.collect()
    assert watched() is not None
