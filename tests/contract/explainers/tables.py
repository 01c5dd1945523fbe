"""A small table of numbers and texts, in every container, with missing cells of every kind."""

import math
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.contract.explainers.registry import DATASET, EXPLAINERS

N_ROWS = 24
FEATURES = {"a": Continuous(0, 1), "b": Categorical(["x", "y"])}
COLUMNS = {"a": [place / (N_ROWS - 1) for place in range(N_ROWS)], "b": ["x", "y"] * (N_ROWS // 2)}
TARGET = [0, 1] * (N_ROWS // 2)


def schema_of(name, unit=None):
    return Schema(FEATURES, target=EXPLAINERS[name].target, unit=unit)


def frame(columns=COLUMNS):
    return pd.DataFrame(columns)


def fitted(name, X, y=TARGET, *, seed=1, **given):
    """Make a request of frozen noise that is small, so that each cell shows in what is published.

    Without a seed the noise is the system's.
    """
    explainer = EXPLAINERS[name]
    settings = {"schema": schema_of(name), "epsilon": 100.0}
    if not hasattr(type(X), "columns") and not hasattr(X, "column_names"):
        settings["feature_names"] = list(COLUMNS)
    with use_randomness(SeededRandomness(seed)) if seed is not None else nullcontext():
        return explainer.fit(X, y, **settings | given)


def requested(name, account, /, *, seed=None, **given):
    """Make a request of the registry's small budget, which an account is charged for."""
    charges = {"ledger": account, "dataset": DATASET} if account is not None else {}
    settings = EXPLAINERS[name].parameters | charges | given
    return fitted(name, settings.pop("X", frame()), seed=seed, **settings)


def published(name, *arguments, **given):
    return EXPLAINERS[name].published(fitted(name, *arguments, **given))


# ------------------------------------------------------------------------------- missing cells


def _put(columns, missing):
    return {
        name: [missing if cell is None else cell for cell in column]
        for name, column in columns.items()
    }


def _objects(columns):
    cells = np.empty((len(columns["a"]), len(columns)), dtype=object)
    for at, column in enumerate(columns.values()):
        cells[:, at] = column
    return cells


def _frame_of(missing, numbers=object, texts=object):
    def make(columns):
        return pd.DataFrame(_put(columns, missing), dtype=object).astype({"a": numbers, "b": texts})

    return make


def _masked(columns):
    cells = _objects(_put(columns, 0.75))
    return np.ma.masked_array(cells, mask=_objects(columns) == None)  # noqa: E711


def _dictionary(columns):
    table = pa.table(columns)
    return table.set_column(1, "b", table.column("b").dictionary_encode())


TABLES = {
    "frame of None": _frame_of(None),
    "frame of NaN": _frame_of(math.nan, float),
    "frame of pd.NA": _frame_of(pd.NA),
    "frame of NaT": _frame_of(pd.NaT),
    "nullable": _frame_of(pd.NA, "Float64", "string"),
    "category": _frame_of(math.nan, float, "category"),
    "frame of Arrow": _frame_of(pd.NA, pd.ArrowDtype(pa.float64()), pd.ArrowDtype(pa.string())),
    "array of None": _objects,
    "array of NaN": lambda columns: _objects(_put(columns, math.nan)),
    "masked array": _masked,
    "list": lambda columns: _objects(columns).tolist(),
    "list of masked": lambda columns: _objects(_put(columns, np.ma.masked)).tolist(),
    "polars": pl.DataFrame,
    "polars NaN": lambda columns: pl.DataFrame(columns | {"a": _put(columns, math.nan)["a"]}),
    "arrow": pa.table,
    "arrow dictionary": _dictionary,
}

TARGETS = {
    "list": list,
    "tuple": tuple,
    "index": lambda y: pd.Index(y, dtype=object),
    "NaN": lambda y: np.array(y, dtype=float),
    "pd.NA": lambda y: pd.Series(y, dtype="Int64"),
    "NaT": lambda y: pd.Series([pd.NaT if cell is None else cell for cell in y], dtype=object),
    "category": lambda y: pd.Series(y, dtype="category"),
    "masked": lambda y: np.ma.masked_array(
        [1 if cell is None else cell for cell in y], mask=[cell is None for cell in y]
    ),
    "polars": lambda y: pl.Series(y),
    "arrow": pa.array,
    "undeclared": lambda y: ["?" if cell is None else cell for cell in y],
}
