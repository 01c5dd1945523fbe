"""Any value for any parameter: a result that is paid for, or a clear error and no charge."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, Schema
from tests.contract.explainers.registry import EXPLAINERS, ONE_EACH, attempt, names, new_ledger

# What a user is told about preprocessing, undeclared columns and shapes.
pytestmark = pytest.mark.filterwarnings("ignore")

FRAME = pd.DataFrame({"a": np.linspace(0, 1, 8), "b": ["x", "y"] * 4})
Y = [0, 1] * 4
ODD = st.sampled_from(
    [
        *(None, True, False, 0, -1, 1, 2, 0.5, 1e-320, 1e308, 10**400, -(10**400)),
        *(float("nan"), float("inf"), -float("inf"), -0.0, 1j, "", "1", "auto", "all", b"x"),
        *(np.float32(0.5), np.int8(3), np.float64("nan"), np.bool_(True), np.array(1.0)),
        *(np.array([1, 2]), [], [1, "a"], (), {}, {"a": 1}, object, set(), "\x00", "\ud800"),
        pd.NA,
    ]
)
# What a request is about, and counts whose large values are only slow: 10**6 rounds are allowed.
_FIXED = {"self", "X", "y", "models", "model", "data", "ledger", "dataset", "schema"}
_SLOW = {"max_rounds", "steps", "epochs", "n_maps", "sampling_rate", "batch_size", "n_jobs"}


def _schema(name: str) -> Schema:
    kinds: dict[str, Any] = {"a": Continuous(0, 1), "b": Categorical(["x", "y"])}
    if name == "metrics":
        kinds["b"] = Categorical([0, 1, "x"])
    return Schema(kinds, target=EXPLAINERS[name].target)


def _names(name: str) -> list[str]:
    return [p for p in inspect.signature(EXPLAINERS[name].kind).parameters if p not in _FIXED]


def _is_slow(parameter: str, value: Any) -> bool:
    if parameter not in _SLOW:
        return False
    try:
        return not isinstance(value, bool) and float(value) > 3
    except (TypeError, ValueError, OverflowError):
        return False


@pytest.mark.hypothesis
@pytest.mark.thorough
@pytest.mark.parametrize("name", names(only=ONE_EACH))
def test_any_value_of_a_parameter_is_taken_or_refused(name: str) -> None:
    @settings(max_examples={"maps": 15, "interactive": 40}.get(name, 50))
    @given(st.sampled_from(_names(name)), ODD)
    def check(parameter: str, value: Any) -> None:
        if not _is_slow(parameter, value):
            attempt(name, FRAME, Y, new_ledger(), **{"schema": _schema(name), parameter: value})

    check()
