"""Forty dtypes and containers, as a feature and as a target: read, or refused before the charge.

``python -m tests.contract.test_dtypes`` writes the table of docs/dtypes.md.
"""

import warnings
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import interpret_dp as dp

PAGE = Path(__file__).parents[2] / "docs" / "dtypes.md"
Regressor = dp.DPExplainableBoostingRegressor
LEDGER = dp.PrivacyLedger.in_memory()
LEDGER.create_budget("a", epsilon=1e12, delta=1e-3)

ONES = [1, 2] * 40
TEXTS = [str(one) for one in ONES]


def arrow(cells, dtype):
    return pd.Series(cells, dtype=pd.ArrowDtype(dtype))


DTYPES = {
    **{
        f"pandas {dtype}": lambda dtype=dtype: pd.Series(ONES, dtype=dtype)
        for dtype in ("int64", "uint8", "Int64", "float64", "float32", "Float64")
    },
    "pandas int64[pyarrow]": lambda: arrow(ONES, pa.int64()),
    "pandas decimal128[pyarrow]": lambda: arrow([Decimal(n) for n in ONES], pa.decimal128(5, 1)),
    "pandas bool": lambda: pd.Series(ONES) == 1,
    "pandas boolean": lambda: (pd.Series(ONES) == 1).astype("boolean"),
    "pandas object of int": lambda: pd.Series(ONES, dtype=object),
    "pandas object of Decimal": lambda: pd.Series([Decimal(n) for n in ONES], dtype=object),
    "pandas object of str": lambda: pd.Series(TEXTS, dtype=object),
    "pandas string": lambda: pd.Series(TEXTS, dtype="string"),
    "pandas string[pyarrow]": lambda: arrow(TEXTS, pa.string()),
    "pandas dictionary[pyarrow]": lambda: arrow(TEXTS, pa.dictionary(pa.int32(), pa.string())),
    "pandas category of int": lambda: pd.Series(ONES).astype("category"),
    "pandas category of str": lambda: pd.Series(TEXTS, dtype="string").astype("category"),
    "pandas ordered category": lambda: pd.Series(TEXTS).astype(
        pd.CategoricalDtype(pd.Index(["2", "1"], dtype="string"), ordered=True)
    ),
    "pandas.cut intervals": lambda: pd.cut(pd.Series(ONES), [0, 1, 2]),
    "pandas datetime64": lambda: pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"] * 40)),
    "pandas datetime64 with zone": lambda: pd.Series(
        pd.to_datetime(["2026-01-01", "2026-01-02"] * 40, utc=True)
    ),
    "pandas timedelta64": lambda: pd.Series(pd.to_timedelta(ONES, unit="D")),
    "pandas period": lambda: pd.Series(pd.PeriodIndex(["2026-01", "2026-02"] * 40, freq="M")),
    "pandas Sparse": lambda: pd.Series(pd.arrays.SparseArray(ONES)),
    "NumPy int64": lambda: np.array(ONES),
    "NumPy float16": lambda: np.array(ONES, dtype=np.float16),
    "NumPy str": lambda: np.array(TEXTS),
    "NumPy bytes": lambda: np.array(TEXTS, dtype="S"),
    "NumPy complex": lambda: np.array(ONES, dtype=complex),
    "NumPy datetime64": lambda: np.array(["2026-01-01", "2026-01-02"] * 40, dtype="M8[D]"),
    "NumPy masked int64": lambda: np.ma.masked_array(ONES, mask=[False] * 80),
    "list of int": lambda: list(ONES),
    "list of str": lambda: list(TEXTS),
    "polars Int64": lambda: pl.Series(ONES),
    "polars String": lambda: pl.Series(TEXTS),
    "polars Categorical": lambda: pl.Series(TEXTS, dtype=pl.Categorical),
    "polars Enum": lambda: pl.Series(TEXTS, dtype=pl.Enum(["2", "1"])),
    "polars Boolean": lambda: pl.Series([n == 1 for n in ONES]),
    "polars Date": lambda: pl.Series(ONES).cast(pl.Date),
    "pyarrow int64": lambda: pa.array(ONES),
    "pyarrow string": lambda: pa.array(TEXTS),
    "pyarrow dictionary": lambda: pa.array(TEXTS).dictionary_encode(),
    "pyarrow timestamp": lambda: pa.array(ONES, type=pa.timestamp("s")),
}
# Levels of cells that are 1 and 2, False and True, or intervals.
NUMBERS, WORDS = dp.Categorical([0, 1, 2]), dp.Categorical(["1", "2", "(0, 1]", "(1, 2]"])
DECLARED = {
    "numbers": dp.Continuous(0, 3),
    "numeric levels": NUMBERS,
    "text levels": WORDS,
    "not declared": None,
}


def frame_of(column):
    """Return a table of one column in the column's own library."""
    if isinstance(column, pl.Series):
        return pl.DataFrame({"a": column})
    if isinstance(column, pa.Array):
        return pa.table({"a": column})
    if isinstance(column, list):
        return [[cell] for cell in column]
    if isinstance(column, np.ndarray):
        return column[:, np.newaxis]
    return pd.DataFrame({"a": column})


def small_fit(X, y, schema, estimator=Regressor, rounds=2):
    """Fit with next to no noise; return the model, or None if it was refused for nothing."""
    before = LEDGER.head
    model = estimator(epsilon=1e4, delta=1e-6, max_rounds=rounds, schema=schema, ledger=LEDGER)
    refusal = ""
    try:
        model.set_params(dataset="a", n_jobs=1, feature_names=["a"]).fit(X, y)
    except dp.SchemaError as error:
        refusal = str(error)
    assert (LEDGER.head == before) == bool(refusal), "a refusal costs nothing"
    assert not refusal or "dtype" in refusal
    return None if refusal else model


@cache
def fit_of_plain_cells(declared):
    spec = DECLARED[declared]
    schema = dp.Schema({} if spec is None else {"a": spec}, target=dp.Continuous(0, 3))
    return small_fit(frame_of(TEXTS if "text" in declared else ONES), np.array(ONES), schema)


def as_feature(dtype, declared):
    """Return what becomes of a feature of the dtype, and check what is predicted from it."""
    X, spec = frame_of(DTYPES[dtype]()), DECLARED[declared]
    schema = dp.Schema({} if spec is None else {"a": spec}, target=dp.Continuous(0, 3))
    model = small_fit(X, np.array(ONES), schema)
    if model is None:
        # Rows to predict are nobody's budget: what can be read is read, with a warning.
        with warnings.catch_warnings():
            warnings.simplefilter("error", dp.DeclarationWarning)
            with pytest.raises((dp.DeclarationWarning, dp.SchemaError)):
                fit_of_plain_cells(declared).predict(X)
        return "refused"
    shares = model.bin_weights_[0] / sum(model.bin_weights_[0])
    if shares[-1] > 0.9:
        return "undeclared"
    assert sum(shares[1:-1]) > 0.9
    found = model.predict(X)
    # Cells of one value are read alike, and those of two apart.
    np.testing.assert_array_equal(found, np.tile(found[:2], 40))
    assert found[0] != found[1]
    released = model.schema_.features["a"]
    if spec is None and isinstance(released, dp.Continuous):
        # Which bounds are found depends on the noise.
        return f"{type(released).__name__}(lower, upper)"
    return repr(released) if spec is None else "read"


def as_target(dtype, declared):
    """Return what becomes of a target of the dtype."""
    spec = DECLARED[declared]
    schema = dp.Schema({"a": dp.Continuous(0, 3)}, target=spec)
    estimator = Regressor if declared == "numbers" else dp.DPExplainableBoostingClassifier
    # How a target is read shows in the released counts: nothing has to be learned.
    model = small_fit(frame_of(ONES), DTYPES[dtype](), schema, estimator, rounds=0)
    if model is None:
        return "refused"
    if float(model.bag_weights_[0]) < 8:
        return "undeclared"
    return repr(model.schema_.target) if spec is None else "read"


def by_library(dtypes):
    """Return names of dtypes with that of their library written once."""
    libraries = {}
    for dtype in dtypes:
        library, _, name = dtype.partition(" ")
        libraries.setdefault(library, []).append(name)
    return "; ".join(f"{library} {', '.join(names)}" for library, names in libraries.items())


def outcome(dtype, declared):
    """Return what becomes of a feature of the dtype, and of a target if that differs."""
    feature, target = as_feature(dtype, declared), as_target(dtype, declared)
    return feature if feature == target else f"{feature}; target: {target}"


def table():
    """Return what becomes of each dtype as Markdown; those that are treated alike share a row."""
    rows = {}
    for dtype in DTYPES:
        rows.setdefault(tuple(outcome(dtype, one) for one in DECLARED), []).append(dtype)
    cells = [("dtype", *DECLARED), *((by_library(names), *found) for found, names in rows.items())]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|---" * len(cells[0]) + "|", *lines[1:]])


@pytest.mark.lengthy
@pytest.mark.filterwarnings("ignore:'.*% of the cells:interpret_dp.DeclarationWarning")
@pytest.mark.filterwarnings("ignore:'.*nearly all cells:interpret_dp.DeclarationWarning")
def test_each_dtype_is_read_or_refused_as_the_page_says():
    assert table() in PAGE.read_text(encoding="utf-8")


def _write_page():
    # The table ends the page.
    before, _, _ = PAGE.read_text(encoding="utf-8").partition("| dtype |")
    PAGE.write_text(f"{before}{table()}\n", encoding="utf-8")


if __name__ == "__main__":
    _write_page()
