"""Rows influence themselves alone: what a row is encoded as does not depend on the other rows.

That a row adds the same to every sum that an explainer releases, whatever else is in the table, is
in test_replay.py; here it is shown to the last unit for gradients.
"""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from interpret_dp import Categorical, Continuous, Schema
from interpret_dp.audit import refit
from interpret_dp.audit.replaying import Recording, Replaying
from interpret_dp.lime.background import codes_of
from interpret_dp.llm.request import input_coding
from interpret_dp.mechanisms import use_randomness
from interpret_dp.schema import encode_classes, encode_column, encode_target, open_table
from interpret_dp.schema.encode import encode_weights
from tests.audit.fits import cells_of

N_BINS = 7
SCHEMA = Schema(
    {
        "whole": Continuous(-3, 4),
        "real": Continuous(-2, 1000, scale="log"),
        "text": Categorical(["a", "b", "1"]),
        "flag": Categorical([True, False]),
        "grade": Categorical([1, 2, 3], ordered=True),
    },
    target=Continuous(-5, 5),
)
LABELS = Categorical([0, 1, 2])

whole = st.none() | st.integers(-5, 5)
real = st.none() | st.floats(-10, 2000) | st.sampled_from([math.nan, math.inf, -math.inf, -0.0])
text = st.none() | st.sampled_from(["a", "b", "1", "undeclared", "", "nan"])
flag = st.none() | st.booleans()
row = st.tuples(whole, real, text, flag, whole, st.floats(-9, 9) | whole)
rows = st.lists(row, min_size=1, max_size=7)

NAMES = [*SCHEMA.features, "target"]
POLARS = [pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Int8, pl.Float32]


def columns_of(found):
    return [list(column) for column in zip(*found, strict=True)] if found else [[] for _ in NAMES]


def inferred(found):
    return pd.DataFrame(dict(zip(NAMES, columns_of(found), strict=True)))


def nullable(found):
    return inferred(found).astype(object).convert_dtypes()


def with_categories(found):
    """Categories are those that occur, so that codes depend on the other rows."""
    return inferred(found).assign(text=lambda X: X["text"].astype("category"))


def of_polars(found):
    cells = zip(NAMES, columns_of(found), POLARS, strict=True)
    return pl.DataFrame(
        {name: pl.Series(name, column, dtype=dtype, strict=False) for name, column, dtype in cells}
    )


def of_objects(found):
    return cells_of(found, len(NAMES))


def of_lists(found):
    return [list(one) for one in found]


# What Arrow, and other types of polars, make of cells: tests/schema/test_arrow.py.
CONTAINERS = [inferred, nullable, with_categories, of_polars, of_objects, of_lists]


def row_values(table):
    """Return all that the trainers make of each row, as bytes a row."""
    opened = open_table(table, NAMES)
    target = opened.column(5)
    found = [
        encode_column(opened.column(at), spec, N_BINS)
        for at, spec in enumerate(SCHEMA.features.values())
    ]
    features = opened.without("target")
    found += [
        # Where all numbers of a column are whole pandas makes integers of them, without -0.0.
        encode_target(target, SCHEMA.target) + 0.0,
        encode_classes(target, LABELS),
        encode_weights(target, 4.0, 1000),
        input_coding(SCHEMA, None).encode(features),
        codes_of(opened.column(1), SCHEMA.features["real"], np.array([-1.0, 0.0, 7.5])),
    ]
    return [b"|".join(part[at].tobytes() for part in found) for at in range(opened.n_rows)]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda make: make.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_removing_or_changing_a_row_leaves_the_others_alone(container, data):
    before = data.draw(rows, label="rows")
    at = data.draw(st.integers(0, len(before) - 1), label="at")
    others = [*before[:at], *before[at + 1 :]]
    changed = [*before[:at], data.draw(row, label="instead"), *before[at + 1 :]]
    values = row_values(container(before))
    kept = [*values[:at], *values[at + 1 :]]
    if others:
        assert row_values(container(others)) == kept
    after = row_values(container(changed))
    assert [*after[:at], *after[at + 1 :]] == kept


def test_control_a_code_that_depends_on_the_other_rows_is_noticed():
    """Codes that pandas gives to categories are numbered by what occurs."""
    table = with_categories([(1, 1.0, level, True, 1, 0.0) for level in ("b", "a")])
    codes = table["text"].cat.codes.tolist()
    alone = table[:1].assign(text=lambda X: X["text"].cat.remove_unused_categories())
    assert alone["text"].cat.codes.tolist() != codes[:1]
    assert row_values(alone) == row_values(table)[:1]


# --------------------------------------------------------------------------- sums are additive


class _Summing(Replaying):
    """Keeps the exact sums of a run that is held on the path of another."""

    def __init__(self, recording):
        super().__init__(0, recording)
        self.sums = []

    def _note(self, name, exact, twin):
        assert twin is not None
        self.sums.append(exact.astype(object))


def exact_sums(fit, recording, table):
    replaying = _Summing(recording)
    with use_randomness(replaying):
        fit(table)
    return replaying.sums


@pytest.mark.parametrize("features", ["inputs", "scattering"])
def test_sums_of_gradients_are_those_of_the_parts(features):
    """DP-LLM rounds rows, not sums: not a unit is lost between the parts."""
    from interpret_dp.llm.estimator import DPLocallyLinearClassifier

    rng = np.random.default_rng(3)
    shape = (30, 4) if features == "inputs" else (30, 9, 8)
    X, y = rng.uniform(-3, 3, size=shape), np.arange(30) % 3
    schema = Schema(default=Continuous(-3, 3), target=Categorical([0, 1, 2]))
    fit = refit(
        DPLocallyLinearClassifier(
            schema=schema, sampling_rate=1.0, epochs=4, n_maps=2, features=features
        )
    )
    recording = Recording(0)
    with use_randomness(recording):
        fit((X, y))
    whole_sums = exact_sums(fit, recording, (X, y))
    parts = [
        exact_sums(fit, recording, (X[part], y[part]))
        for part in (slice(0, 1), slice(1, 20), slice(20, None))
    ]
    assert len(whole_sums) == 5, "the centre and four steps"
    for number, total in enumerate(whole_sums):
        assert (sum(part[number] for part in parts) == total).all()
        assert abs(parts[0][number]).max() > 1000
