"""What a container says beside its cells may come from the rows: nothing of it shows.

Lists of categories, widths, units, names of axes and the like: whatever they are, the same is
published, and what is refused is refused in the same words. docs/dtypes.md lists what is public.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from interpret_dp import Continuous, SchemaError
from interpret_dp.fitting.declaring import count_occurring
from interpret_dp.lime.black_box import example_row
from interpret_dp.schema.cells import refuse_dtype
from tests.contract.explainers.tables import COLUMNS, FEATURES, N_ROWS, frame
from tests.edges.test_rows import NAMELESS, ROWS, outcome

CODES = [0, 1] * (N_ROWS // 2)
HALVES = [place / 2 for place in range(N_ROWS)]
TEXTS = np.array(ROWS, dtype=object).astype(str)


def with_texts(column):
    return frame().assign(b=column)


def with_numbers(column):
    return frame().assign(a=column)


def dictionary(levels, codes, kind, ordered):
    column = pa.DictionaryArray.from_arrays(pa.array(codes, kind), levels, ordered=ordered)
    return pa.table({"a": COLUMNS["a"], "b": column})


def described():
    """Return frames that differ in what pandas keeps beside cells."""
    notes, axes, flags = frame(), frame(), frame().set_flags(allows_duplicate_labels=False)
    notes.attrs["source"] = "ward 7"
    axes.index = pd.Index([f"patient {at}" for at in range(N_ROWS)], name="patient")
    axes.columns.name = "measured in 2024"
    return [frame(), notes, axes, flags]


VARIANTS = {
    "categories": lambda: [
        with_texts(pd.Categorical(COLUMNS["b"], levels))
        for levels in (["x", "y"], ["y", "x"], ["ward 7", "y", "x"])
    ],
    "dictionaries": lambda: [
        dictionary(["x", "y"], CODES, pa.int8(), False),
        dictionary(["y", "ward 7", "x"], [2, 0] * (N_ROWS // 2), pa.int32(), True),
    ],
    "polars categories": lambda: [
        pl.DataFrame(COLUMNS).with_columns(pl.col("b").cast(kind))
        for kind in (pl.Categorical, pl.Enum(["x", "y"]), pl.Enum(["y", "ward 7", "x"]))
    ],
    "widths of texts": lambda: [TEXTS, TEXTS.astype("<U99")],
    "kinds of texts": lambda: [
        with_texts(pd.Series(COLUMNS["b"], dtype=kind))
        for kind in (*map(pd.StringDtype, ("python", "pyarrow")), pd.ArrowDtype(pa.large_string()))
    ],
    "widths of integers": lambda: [
        with_numbers(pd.Series(range(N_ROWS), dtype=kind))
        for kind in ("int8", "uint16", "int64", ">i4", "Int8")
    ],
    "widths of floats": lambda: [
        with_numbers(np.array(HALVES, dtype=kind)) for kind in ("float16", "float32", "float64")
    ],
    "digits of decimals": lambda: [
        pa.table({"a": pa.array(HALVES).cast(kind), "b": COLUMNS["b"]})
        for kind in (pa.decimal128(3, 1), pa.decimal128(38, 9))
    ],
    "notes of pandas": described,
    "notes of Arrow": lambda: [
        pa.table(COLUMNS),
        pa.table(COLUMNS).replace_schema_metadata({"pandas": "ward 7"}),
    ],
}


@pytest.mark.parametrize("given", [{}, {"schema": None}], ids=["declared", "undeclared"])
@pytest.mark.parametrize("name", ["binary", "background"])
@pytest.mark.parametrize("kind", VARIANTS)
def test_what_is_beside_the_cells_does_not_show(name, given, kind):
    first, *others = (outcome(name, X, **given) for X in VARIANTS[kind]())
    assert all(other == first for other in others)
    # The control.
    assert outcome(name, [*ROWS[:-1], ROWS[0]], **NAMELESS) != outcome(name, ROWS, **NAMELESS)


@pytest.mark.parametrize("kind", [kind for kind in VARIANTS if kind.startswith(("w", "d"))])
def test_a_black_box_is_tried_on_the_same_row(kind):
    """Its numbers are in the middle of declared bounds, which a narrow type may not hold."""
    specs = FEATURES | {"a": Continuous(0, 1e6)}
    rows = [example_row(X, specs) for X in VARIANTS[kind]()]
    frames = [row.to_pandas() if isinstance(row, pa.Table) else pd.DataFrame(row) for row in rows]
    assert {float(row.iloc[0, 0]) for row in frames} == {5e5}


REFUSED = {
    "bytes": [np.dtype("S1"), np.dtype("S9")],
    "records": [np.dtype([("x", "i4")]), np.dtype([(("ward 7", "y"), "i4")])],
    "Arrow bytes": [pa.binary(1), pa.binary(9)],
    "Arrow structs": [pa.struct({"ward 6": pa.int8()}), pa.struct({"ward 7": pa.int8()})],
    "Arrow lists": [pa.list_(pa.int8(), 2), pa.list_(pa.int8(), 3)],
    "Arrow dictionaries": [pa.dictionary(kind, pa.binary()) for kind in (pa.int8(), pa.int32())],
    "dates": [np.dtype("M8[D]"), np.dtype("M8[ns]"), pd.DatetimeTZDtype("s", "Europe/Paris")],
    "periods": [pd.PeriodDtype("D"), pd.PeriodDtype("M")],
    "sparse": [pd.SparseDtype(float, 0.0), pd.SparseDtype(float, 7.5)],
    "categories of dates": [
        pd.CategoricalDtype(pd.to_datetime(days)) for days in (["2026-01-01"], ["2026-01-02"])
    ],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_do_not_show_it(kind):
    messages = set()
    for dtype in REFUSED[kind]:
        with pytest.raises(SchemaError, match="has dtype") as caught:
            refuse_dtype("Column 'a'", dtype)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_edges_of_undeclared_intervals_are_not_released():
    """A type of intervals is refused (docs/dtypes.md); among objects they are no levels."""
    cells = pd.qcut(pd.Series(HALVES), 3).astype(object)
    assert count_occurring(cells.to_numpy()) == {}
    mixed = pd.Categorical([*cells, "x"], pd.Index([*cells.unique(), "x"], dtype=object))
    assert count_occurring(mixed) == {"x": 1}
