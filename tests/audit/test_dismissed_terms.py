"""Replays of fits in which terms are dismissed half-way, on tables that differ by one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
)
from interpret_dp.audit import replay
from interpret_dp.ebm import training
from interpret_dp.ebm.noise import choosing

NAMES = [f"x{i}" for i in range(8)]
TARGETS = {
    "two classes": Categorical([0, 1]),
    "three classes": Categorical([0, 1, 2]),
    "regression": Continuous(-5, 5),
}


def fit_of(target: Any) -> Any:
    schema = Schema({name: Continuous(-1, 1) for name in NAMES}, target=target)
    kind: Any = DPExplainableBoostingClassifier
    if isinstance(target, Continuous):
        kind = DPExplainableBoostingRegressor

    def fit(table: tuple[Any, Any]) -> Any:
        return kind(epsilon=2.0, delta=1e-6, schema=schema, feature_names=NAMES).fit(*table)

    return fit


def tables(target: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return rows of which the first column matters, and the same without the last one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3_000, 8))
    y: Any = np.clip(2 * X[:, 0] + rng.normal(size=len(X)), -5, 5)
    if isinstance(target, Categorical):
        y = np.digitize(y, [0.0] if len(target.levels) == 2 else [-0.7, 0.7])
    # A row as far from the others as the schema has it.
    X[-1] = [-1, 1, -1, 1, -1, 1, -1, 1]
    y[-1] = y.max()
    return (X, y), (X[:-1], y[:-1])


@pytest.fixture
def dismissed(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[int]]:
    """Return the terms that were dismissed, of each fit."""
    found, real = [], training.boost

    def watched(*args: Any, **how: Any) -> Any:
        result = real(*args, **how)
        found.append(result.dismissed)
        return result

    monkeypatch.setattr(training, "boost", watched)
    return found


@pytest.mark.parametrize("kind", TARGETS)
def test_one_row_decides_no_more_than_was_declared(
    kind: str, dismissed: list[frozenset[int]]
) -> None:
    with_row, without = tables(TARGETS[kind])
    report = replay(fit_of(TARGETS[kind]), with_row, without, seed=1)
    assert report.ok, report
    assert len(dismissed) == 2
    assert dismissed[0] == dismissed[1]
    assert 0 < len(dismissed[0]) < 8


def test_control_a_choice_that_looks_at_rows(
    dismissed: list[frozenset[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the number of rows decided how many terms go on, replays would see it."""
    with_row, without = tables(TARGETS["two classes"])
    fit = fit_of(TARGETS["two classes"])

    def leaking(table: tuple[Any, Any]) -> Any:
        limit = {3_000: 1.0, 2_999: -np.inf}[len(table[0])]
        monkeypatch.setattr(choosing, "_LEAST_EXCESS", limit)
        return fit(table)

    assert not replay(leaking, with_row, without, seed=1).ok
