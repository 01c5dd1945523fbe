"""Rows influence themselves alone: what one row becomes, and what it adds to any released sum.

Two properties. What a row is encoded as does not depend on the other rows, in any container. And
every exact sum that an explainer would release is additive: that of a table is the sum of those of
its parts, down to the last unit. If one row moved another row's integers, it would not be.
"""

import math
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret_dp import Categorical, Continuous, PrivacyLedger, PrivateSurrogate, Schema
from interpret_dp.audit import refit
from interpret_dp.audit.replaying import Recording, Replaying
from interpret_dp.ebm.evaluation import private_metrics
from interpret_dp.lime.paper.coordinates import Coordinates
from interpret_dp.llm.inputs import input_coding
from interpret_dp.mechanisms import use_randomness
from interpret_dp.schema import encode_classes, encode_column, encode_target, open_table
from interpret_dp.schema.encode import encode_weights
from tests.audit.fits import (
    FEATURES,
    base_records,
    cells_of,
    classifier,
    objects,
    paper_answers,
    regressor,
)
from tests.audit.planted_kernels import centre_residuals

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
ARROW = [pa.int32(), pa.float64(), pa.large_string(), pa.bool_(), pa.int8(), pa.float32()]


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


def polars_categories(found):
    return of_polars(found).with_columns(pl.col("text").cast(pl.Categorical))


def of_arrow(found):
    # Numbers that are no integers have no place in a column of integers.
    cells = columns_of(found)
    cells[5] = [None if cell is None else float(cell) for cell in cells[5]]
    arrays = [pa.array(column, type=kind) for column, kind in zip(cells, ARROW, strict=True)]
    return pa.table(dict(zip(NAMES, arrays, strict=True)))


def arrow_dictionary(found):
    table = of_arrow(found)
    return table.set_column(2, "text", table["text"].dictionary_encode())


def of_objects(found):
    return cells_of(found, len(NAMES))


def of_lists(found):
    return [list(one) for one in found]


CONTAINERS = [
    *(inferred, nullable, with_categories, of_polars, polars_categories),
    *(of_arrow, arrow_dictionary, of_objects, of_lists),
]


def row_values(table):
    """Return all that the trainers make of each row, as bytes a row."""
    opened = open_table(table, NAMES)
    target = opened.column(5)
    found = [
        encode_column(opened.column(at), spec, N_BINS)
        for at, spec in enumerate(SCHEMA.features.values())
    ]
    features = opened.without("target")
    names = list(SCHEMA.features)
    found += [
        encode_target(target, SCHEMA.target),
        encode_classes(target, LABELS),
        encode_weights(target, 4.0, 1000),
        input_coding(SCHEMA, None).encode(features),
        Coordinates.of_schema(SCHEMA, names).points(features),
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


RECORDS = {task: base_records(task)[:24] for task in ("classification", "regression")}
AWKWARD = (math.inf, None, "rare", math.nan, "x")
RECORDS["classification"].insert(5, (*AWKWARD, "yes"))
RECORDS["regression"].insert(5, (*AWKWARD, 10**400))
PARTS = [slice(0, 5), slice(5, 6), slice(6, None)]


def fitted_metrics(table):
    ledger = PrivacyLedger.in_memory()
    return private_metrics(
        {"m": fitted_model()}, *table, epsilon=1.0, delta=1e-6, ledger=ledger, dataset="audit"
    )


@cache
def fitted_model():
    """Return the same fitted model each time: what it predicts must not differ between parts."""
    return classifier(objects(base_records("classification")))


class _Grades:
    """Looks at each row alone."""

    classes_ = np.array(["low", "high"])

    def predict_proba(self, X):
        high = np.array([0.9 if one[2] == "a" else 0.2 for one in X])
        return np.column_stack([1 - high, high])


def explained(method):
    queries, named = objects(base_records("classification")[-2:])[0], list(FEATURES)
    return paper_answers(_Grades(), queries, method, feature_names=named, schema=Schema(FEATURES))


def surrogate(data):
    model = PrivateSurrogate(
        _Grades(), Schema(FEATURES), feature_names=list(FEATURES), trained_on_same_people=False
    )
    return refit(model)((data,))


METHODS = "interactive", "adaptive", "enhanced"
EXPLAINERS = {
    "classifier": ("classification", classifier, True),
    "regressor": ("regression", regressor, True),
    "metrics": ("classification", fitted_metrics, True),
    **{method: ("classification", explained(method), False) for method in METHODS},
    "surrogate": ("classification", surrogate, False),
}


# Leaf sums are released without a share of their mean: within a lattice unit of a sum over rows.
ROUNDED = ("classifier", "regressor")


@pytest.mark.parametrize("name", EXPLAINERS)
def test_every_released_sum_is_that_of_its_parts(name):
    task, fit, has_target = EXPLAINERS[name]
    found = RECORDS[task]

    def table(records):
        X, y = objects(records)
        return (X, y) if has_target else X

    recording = Recording(0)
    with use_randomness(recording):
        fit(table(found))
    whole_sums = exact_sums(fit, recording, table(found))
    parts = [exact_sums(fit, recording, table(found[part])) for part in PARTS]
    assert len(whole_sums) > 0
    for number, total in enumerate(whole_sums):
        apart = np.abs(sum(part[number] for part in parts) - total)
        # A share of a total is rounded down, in the whole as in each part; it is declared.
        rounding = len(PARTS) if name in ROUNDED else 0
        assert (apart <= rounding).all(), f"call {number}"
    backwards = exact_sums(fit, recording, table(found[::-1]))
    for forward, backward in zip(whole_sums, backwards, strict=True):
        assert (forward == backward).all()


def test_control_a_row_that_moves_the_others_breaks_the_sum(monkeypatch):
    centre_residuals(monkeypatch)
    with pytest.raises(AssertionError, match="call"):
        test_every_released_sum_is_that_of_its_parts("regressor")


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
