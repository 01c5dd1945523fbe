"""Nothing that a fit publishes holds a row, an exact count or an undeclared level.

Values that occur nowhere else are planted in a table; everything that the fitted estimator holds
or writes is then searched for them: attributes, pickles, files, explanations. The searcher is
tested by estimators that leak on purpose.
"""

from __future__ import annotations

import dataclasses
import gc
import pickletools
import re
import struct
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    PrivacyLedger,
    Schema,
)
from interpret_dp.audit import published_parts
from interpret_dp.mechanisms import SeededRandomness, use_randomness

N_ROWS = 2749
N_YES = 1117
N_SITE_A = 1303
RARE_NUMBER = 48.72951386
RARE_TARGET = 17.31986253
TEXTS = ["Zebulon", "undeclared-label"]
NUMBERS = [N_ROWS, N_YES, N_ROWS - N_YES, N_SITE_A, RARE_NUMBER, RARE_TARGET]

SCHEMA: dict[str, Continuous | Categorical] = {
    "age": Continuous(0, 100),
    "site": Categorical(["a", "b"]),
}


def private_table(task: str) -> tuple[pd.DataFrame, pd.Series[Any]]:
    rng = np.random.default_rng(3)
    age = rng.uniform(0, 100, N_ROWS)
    age[7] = RARE_NUMBER
    site = np.array(["a"] * N_SITE_A + ["b"] * (N_ROWS - N_SITE_A - 1) + ["Zebulon"], dtype=object)
    if task == "classification":
        y = np.array(["yes"] * N_YES + ["no"] * (N_ROWS - N_YES - 1) + ["undeclared-label"])
    else:
        y = rng.uniform(0, 20, N_ROWS)
        y[9] = RARE_TARGET
    return pd.DataFrame({"age": age, "site": site}), pd.Series(y)


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


# ------------------------------------------------------------------------------- the searcher


def leaves(value: Any, path: str, seen: dict[int, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every text, number and array inside a value, ledgers apart, with its path."""
    if id(value) in seen or isinstance(value, PrivacyLedger | type) or callable(value):
        return
    if isinstance(value, str | bytes | int | float | np.generic):
        yield path, value
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield path, value
        return
    if isinstance(value, pd.DataFrame | pd.Series):
        value = {"index": value.index.tolist(), "cells": value.to_numpy().tolist()}
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(key, f"{path} key", seen)
            yield from leaves(part, f"{path}[{key!r}]", seen)
    elif isinstance(value, list | tuple | set | frozenset | np.ndarray):
        for index, part in enumerate(value):
            yield from leaves(part, f"{path}[{index}]", seen)
    else:
        for name, part in getattr(value, "__dict__", {}).items():
            yield from leaves(part, f"{path}.{name}", seen)


def planted_in(value: Any) -> bool:
    """Whether a leaf is or holds a planted value: as itself, as text, or as raw bytes."""
    if isinstance(value, bytes):
        return any(planted in value for planted in binary_forms())
    if isinstance(value, str):
        numbers = re.findall(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.]*\w)", value)
        return any(text in value for text in TEXTS) or any(
            float(number) in NUMBERS for number in numbers
        )
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return any(text in str(array.tolist()) for text in TEXTS)
    return any((np.abs(array) == number).any() for number in NUMBERS)


def binary_forms() -> Iterator[bytes]:
    for text in TEXTS:
        yield text.encode()
        yield text.encode("utf-16-le")
    for number in NUMBERS:
        if number != int(number):
            yield struct.pack("<d", number)
            yield struct.pack(">d", number)
            yield struct.pack("<f", number)
        else:
            yield struct.pack("<q", int(number))
            yield struct.pack("<d", number)


def inside_pickle(pickled: bytes) -> Iterator[tuple[str, Any]]:
    """Yield what each opcode carries: short numbers would hide among other bytes."""
    for opcode, argument, _ in pickletools.genops(pickled):
        if isinstance(argument, str | bytes | bytearray | int | float):
            is_address = "GET" in opcode.name or "PUT" in opcode.name or opcode.name == "FRAME"
            if not is_address:
                found = bytes(argument) if isinstance(argument, bytearray) else argument
                yield f"pickle {opcode.name}", found


def find_planted(model: Any) -> list[str]:
    parts = published_parts(model)
    seen: dict[int, Any] = {}
    found = [path for path, leaf in leaves(vars(model), "", seen) if planted_in(leaf)]
    found += [path for path, leaf in leaves(parts, "", seen) if planted_in(leaf)]
    found += [path for path, leaf in inside_pickle(parts["pickle"]) if planted_in(leaf)]
    return found


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
