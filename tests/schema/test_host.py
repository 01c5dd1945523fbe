"""Agreement with interpret's own binning and prediction."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from interpret.glassbox import ExplainableBoostingRegressor
from interpret.utils import EBMPreprocessor

from interpret_dp import Categorical, Continuous, Integer, Schema
from interpret_dp.schema import (
    canonical_frame,
    fine_bin_count,
    fine_edges,
    level_labels,
    open_table,
)
from tests.schema.tables import encode_table

N_BINS = 5
SCHEMA = Schema(
    {
        "age": Continuous(0, 10),
        "gain": Continuous(-1, 1e6, scale="log"),
        "flat": Continuous(3, 3),
        "hour": Integer(0, 3),
        "job": Categorical(["a", "b", "(undeclared)", "nan", ""]),
        "grade": Categorical([1, 2.5, "low"], ordered=True),
        "flag": Categorical([False, True]),
    }
)
NAMES = list(SCHEMA.features)


def bins_of(spec):
    if isinstance(spec, Continuous):
        return fine_edges(spec, N_BINS)
    return {label: code for code, label in enumerate(level_labels(spec), start=1)}


def type_of(spec):
    if isinstance(spec, Continuous):
        return "continuous"
    return "ordinal" if spec.ordered else "nominal"


def model_of_codes(feature):
    """Return a model of the host whose prediction is the bin of one feature."""
    specs = list(SCHEMA.features.values())
    model = ExplainableBoostingRegressor(interactions=0)
    model.has_fitted_ = True
    model.feature_names_in_ = NAMES
    model.n_features_in_ = len(NAMES)
    model.feature_types_in_ = [type_of(spec) for spec in specs]
    model.bins_ = [[bins_of(spec)] for spec in specs]
    model.term_features_ = [(feature,)]
    model.term_scores_ = [np.arange(fine_bin_count(specs[feature], N_BINS) + 2.0)]
    model.intercept_ = 0.0
    model.link_, model.link_param_ = "identity", math.nan
    return model


MODELS = [model_of_codes(feature) for feature in range(len(NAMES))]

numbers = (
    st.none() | st.floats(-2, 12) | st.integers(-2, 12) | st.sampled_from([math.inf, -math.inf])
)
cells = st.one_of(
    numbers, st.booleans(), st.sampled_from(["a", "b", "low", "1", "nan", "", "(undeclared)", "x"])
)
tables = st.lists(st.tuples(*[cells] * len(NAMES)), min_size=1, max_size=8)


@pytest.mark.filterwarnings("ignore::interpret_dp.exceptions.DeclarationWarning")
@settings(max_examples=40)
@given(tables)
def test_the_host_predicts_from_our_codes(rows):
    frame = pd.DataFrame(rows, columns=NAMES)
    # Another order of columns, and one that the model does not know.
    shuffled = frame[NAMES[::-1]].assign(other=0)
    # Older versions of pandas try infinities as integers.
    with np.errstate(invalid="ignore"):
        nullable = frame.convert_dtypes()
    for X in (rows, frame, shuffled, nullable):
        canonical = canonical_frame(X, SCHEMA, NAMES)
        codes = encode_table(open_table(X, NAMES), SCHEMA, N_BINS)
        for model, column in zip(MODELS, codes, strict=True):
            assert model.predict(canonical).tolist() == column.tolist()


def test_canonical_frames_are_plain():
    frame = pd.DataFrame({"b": [True, None, "?"], "a": ["7", "inf", None]}, index=[5, 6, 7])
    schema = Schema({"a": Continuous(0, 1), "b": Categorical([0, 1])})
    canonical = canonical_frame(frame, schema, ["a", "b"])
    assert list(canonical) == ["a", "b"]
    assert canonical["a"].dtype == np.float64
    np.testing.assert_array_equal(canonical["a"], [7, np.inf, np.nan])
    assert list(canonical["b"].astype(object).fillna("missing")) == ["1", "missing", "(undeclared)"]


@given(st.lists(st.floats(allow_nan=True) | st.integers(0, 10), min_size=1))
def test_cuts_belong_to_the_bin_above_as_in_the_host(values):
    spec = Continuous(0, 10)
    edges = fine_edges(spec, N_BINS)
    column = np.array([*values, *edges, *np.nextafter(edges, -np.inf)], dtype=np.float64)
    preprocessor = EBMPreprocessor(["a"], [edges.tolist()])
    preprocessor.fit(np.array([[1.0], [2.0]]))
    theirs = preprocessor.transform(column.reshape(-1, 1))[:, 0]
    ours = encode_table(open_table(column.reshape(-1, 1)), [spec], N_BINS)[0]
    assert ours.tolist() == theirs.tolist()
