"""The tables of the suite, and the check that the right version of the package is measured."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import interpret_dp
from interpret_dp import Categorical, Continuous, Schema

N_FEATURES = 14


def pytest_configure() -> None:
    """Stop unless the package comes from the checkout that is to be measured."""
    expected = os.environ.get("INTERPRET_DP_ROOT", "")
    found = Path(interpret_dp.__file__).parents[1]
    if not expected or found != Path(expected).resolve():
        raise pytest.UsageError(
            f"interpret_dp comes from {found}, and INTERPRET_DP_ROOT is {expected!r}; they must "
            "be the same. Run `python -m benchmarks.compare BASE`."
        )


@dataclass(frozen=True)
class Table:
    """Features uniform on [0, 1), labels of a logistic model, and what is declared of both."""

    X: pd.DataFrame
    y: Any
    schema: Schema


def make_table(n_rows: int, n_classes: int = 2) -> Table:
    """Draw a table; the same one at each call."""
    rng = np.random.default_rng(0)
    cells = rng.random((n_rows, N_FEATURES))
    slopes = rng.normal(size=(N_FEATURES, n_classes))
    scores = 4.0 * (cells - 0.5) @ slopes + rng.gumbel(size=(n_rows, n_classes))
    names = [f"x{number}" for number in range(N_FEATURES)]
    return Table(
        pd.DataFrame(cells, columns=names),
        scores.argmax(axis=1),
        Schema(
            {name: Continuous(0, 1) for name in names}, target=Categorical(list(range(n_classes)))
        ),
    )


@pytest.fixture(scope="session")
def small() -> Table:
    """Return 32,000 rows of two classes; read-only."""
    return make_table(32_000)


@pytest.fixture(scope="session")
def large() -> Table:
    """Return a million rows of two classes; read-only."""
    return make_table(1_000_000)


@pytest.fixture(scope="session")
def many_classes() -> Table:
    """Return 32,000 rows of five classes; read-only."""
    return make_table(32_000, n_classes=5)
