"""Hypothesis' strategies for schemas, tables and targets: every dtype and container, odd cells.

A table is drawn as the kind of each column, a number of rows and a seed: cells follow from these,
so that an example is small and quick to draw.
"""

import decimal
import fractions
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, Schema

NAMES = ["a", "b c", "", "é\u0301", "\U0001f600", "<b>'\"&", "a\x00b", "0", "x" * 300, "$y`"]
# A level of rows that no schema declares.
UNDECLARED = "Zebulon"

NUMBERS = [0.0, -0.0, 1.0, 2.5, -3e9, 5e-324, 1e308, math.inf, -math.inf, math.nan]
MIXED = [
    *(None, math.nan, 1, 0, -5, 2.5, True, "a", "1", "", UNDECLARED, 10**400, -(2**63), 2**64 - 1),
    *(b"a", 1j, (), ("a",), frozenset([1]), decimal.Decimal("NaN"), decimal.Decimal("1.5")),
    *(fractions.Fraction(1, 3), np.float16(1), np.int8(1), np.str_("a"), np.bool_(True)),
    *(pd.NA, pd.NaT, pd.Timestamp(0), np.datetime64("NaT"), object, "a\x00", "\ud800", "é"),
]
TEXTS = ["a", "b", "1", "", "nan", UNDECLARED, "a\x00", "é", "\U0001f600", " a"]


def _of(values, dtype):
    def cells(rng, n):
        picked = [values[at] for at in rng.integers(len(values), size=n)]
        return np.array(picked, dtype=dtype)

    return cells


def _objects(values):
    def cells(rng, n):
        found = np.empty(n, dtype=object)
        for row, at in enumerate(rng.integers(len(values), size=n)):
            found[row] = values[at]
        return found

    return cells


def _series(values, dtype):
    return lambda rng, n: pd.Series(_objects(values)(rng, n), dtype=dtype)


ARRAYS = {
    "bool": _of([True, False], bool),
    **{
        kind: _of([0, 1, 2, np.iinfo(kind).max, np.iinfo(kind).min], kind)
        for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    "float16": _of([0.0, 1.0, math.nan, math.inf, 6e-8], "float16"),
    "float32": _of([0.0, -0.0, 1.0, math.nan, -math.inf, 1e-45], "float32"),
    "float64": _of(NUMBERS, "float64"),
    "longdouble": _of(NUMBERS, "longdouble"),
    "text": _of([text for text in TEXTS if text != "a\x00"], "U12"),
    "mixed": _objects(MIXED),
    "objects": _objects(["a", "b", None, UNDECLARED]),
}
SERIES = {
    "Int64": _series([0, 1, None, 2**62], "Int64"),
    "UInt8": _series([0, 1, None, 255], "UInt8"),
    "Float32": _series([0.0, None, 1.5], "Float32"),
    "boolean": _series([True, False, None], "boolean"),
    "string": _series(["a", "b", None, UNDECLARED], "string"),
    "category": _series(["a", "b", None, UNDECLARED], "category"),
    "category of numbers": _series([1, 2.5, None], "category"),
    "sparse": lambda rng, n: pd.Series(pd.arrays.SparseArray(rng.choice([0.0, 1.0, np.nan], n))),
    "arrow text": _series(["a", None, UNDECLARED], pd.ArrowDtype(pa.string())),
    "arrow numbers": _series([1, None, 3], pd.ArrowDtype(pa.int16())),
}
REFUSED = {
    "complex": _of([1j, 2.0], "complex128"),
    "bytes": _of([b"a", b"b"], "S4"),
    "datetime": _of([0, 10**18], "datetime64[ns]"),
    "timedelta": _of([0, 10**18], "timedelta64[s]"),
    "void": _of([(1, 2.0)], [("x", "i4"), ("y", "f8")]),
    "period": lambda rng, n: pd.Series(pd.period_range("2020", periods=n, freq="D")),
    "interval": lambda rng, n: pd.Series(pd.interval_range(0, n)),
}
KINDS = ARRAYS | SERIES | REFUSED
PLAIN = [*ARRAYS, *SERIES]

LEVELS = ["a", "b", "01", 1, 2, 2.5, False, "", "nan", "é", "(undeclared)", 2**52]
BOUNDS = [
    *((0, 1), (-1, 1), (5, 5), (0, 1e308), (-8e307, 8e307), (5e-324, 1e-323), (-1e-300, 0)),
    *((1e300, 1.0000000001e300), (-(2**70), 2**70)),
]


@st.composite
def specs(draw):
    """Return a valid declaration, or draw again."""
    if draw(st.booleans()):
        scale = draw(st.sampled_from(["linear", "log"]))
        return Continuous(*draw(st.sampled_from(BOUNDS)), scale=scale)
    levels = draw(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=5, unique=True))
    return Categorical(levels, ordered=draw(st.booleans()))


@dataclass(frozen=True)
class Drawn:
    """A drawn table.

    Attributes
    ----------
    names : list of str
    kinds : list of str
        Of the columns.
    container : str
    n_rows, seed : int
    """

    names: list[str]
    kinds: list[str]
    container: str
    n_rows: int
    seed: int

    def columns(self):
        rng = np.random.default_rng(self.seed)
        return [KINDS[kind](rng, self.n_rows) for kind in self.kinds]

    def table(self):
        """Return the table; TypeError or ValueError if the container cannot hold it."""
        return CONTAINERS[self.container](self.names, self.columns())


def _frame(names, columns):
    frame = pd.concat([pd.Series(column) for column in columns], axis=1)
    frame.columns = pd.Index(names, dtype=object)
    return frame


def _cells(columns):
    found = np.empty((len(columns[0]), len(columns)), dtype=object)
    for at, column in enumerate(columns):
        for row, cell in enumerate(column):
            found[row, at] = cell
    return found


def _same_dtype(names, columns):
    return np.column_stack([np.asarray(columns[0])] * len(columns))


def _polars(names, columns):
    named = zip(names, columns, strict=True)
    return pl.DataFrame([pl.Series(name, list(cells), strict=False) for name, cells in named])


def _arrow(names, columns):
    return pa.table([pa.array(column, from_pandas=True) for column in columns], names=names)


CONTAINERS = {
    "frame": _frame,
    "array of objects": lambda names, columns: _cells(columns),
    "array": _same_dtype,
    "list": lambda names, columns: [list(row) for row in _cells(columns)],
    "tuples": lambda names, columns: tuple(tuple(row) for row in _cells(columns)),
    "polars": _polars,
    "arrow": _arrow,
    "sparse": lambda names, columns: scipy.sparse.csr_array(
        np.column_stack([np.asarray(columns[0], dtype=float)] * len(columns))
    ),
}


@st.composite
def drawn_tables(draw, kinds=None, max_rows=9):
    n_columns = draw(st.integers(1, 4))
    names = draw(
        st.lists(st.sampled_from(NAMES), min_size=n_columns, max_size=n_columns, unique=True)
    )
    of = st.sampled_from(kinds or [*KINDS])
    return Drawn(
        names,
        draw(st.lists(of, min_size=n_columns, max_size=n_columns)),
        draw(st.sampled_from([*CONTAINERS])),
        draw(st.integers(0, max_rows)),
        draw(st.integers(0, 2**16)),
    )


def declared(draw, table, target):
    """Return a schema of all columns of a table, or of some with a default for the others."""
    features = {name: draw(specs()) for name in table.names}
    default = draw(st.none() | specs())
    if default is not None and draw(st.booleans()):
        features.popitem()
    return Schema(features, target=target, default=default)
