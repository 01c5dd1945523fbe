"""What the black box says: bounded, on a grid, one answer a row."""

import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LinearRegression

from interpret_dp import Continuous
from interpret_dp.lime.black_box import LABEL_UNITS, PublicModel, black_box

X = np.linspace(-1, 1, 40).reshape(20, 2)


def test_predictions_are_mapped_by_their_bounds():
    model = LinearRegression().fit(X, 10 * X[:, 0])
    found = black_box(model, Continuous(-5, 5)).labels(X, 20, 1)
    expected = np.clip(model.predict(X) / 5, -1, 1)
    np.testing.assert_allclose(found[:, 0] / LABEL_UNITS, expected, atol=0.51 / LABEL_UNITS)


@given(arrays(np.float64, st.integers(1, 9)), st.floats(-1e300, 1e300), st.floats(1e-3, 1e300))
def test_any_answer_is_within_bounds_and_its_row_s_own(answers, lower, width):
    bounds = Continuous(lower, lower + width) if lower + width > lower else Continuous(0, 1)
    box = black_box(lambda rows: rows, bounds)
    found = box.labels(answers, len(answers), 1)
    assert np.abs(found).max() <= LABEL_UNITS
    assert np.all(found[np.isnan(answers)] == 0)
    for answer, own in zip(answers, found, strict=True):
        assert box.labels(np.array([answer]), 1, 1).tolist() == [own.tolist()]


def picky(rows):
    """Raise, warn or return nonsense if any row has a mark, else the first column."""
    first = np.asarray(rows, dtype=object)[:, 0]
    if "raise" in first:
        raise RuntimeError("a secret")
    if "warn" in first:
        warnings.warn("a secret", stacklevel=2)
    return first[:-1] if "short" in first else first


@pytest.mark.parametrize("container", [np.array, pd.DataFrame, pa.table, list])
@pytest.mark.parametrize("mark", ["raise", "warn", "short", "text"])
def test_a_row_on_which_the_model_fails_is_labelled_zero_and_nobody_hears_of_it(mark, container):
    column = np.array([0.1, 0.9, mark, 0.5, 1.0, 0.0, 0.25], dtype=object)
    if container is pa.table:
        values = pa.table({"x": [str(cell) for cell in column]})
    else:
        values = container([[cell] for cell in column.tolist()])

    def model(rows):
        return picky(rows.to_pandas() if isinstance(rows, pa.Table) else rows)

    labels = black_box(model).labels(values, 7, 1)
    assert labels[:, 0].tolist() == [-13107, 13107, 0, 0, 16384, -16384, -8192]


def test_a_model_with_another_number_of_outputs_says_nothing():
    assert not black_box(lambda rows: np.ones((len(rows), 3))).labels(X, 20, 2).any()


@pytest.mark.parametrize("shape", [(19,), (20, 2, 2), (20, 0), ()])
def test_a_public_question_says_what_is_wrong(shape):
    with pytest.raises(ValueError, match=f"returned an array of shape {re.escape(str(shape))}"):
        black_box(lambda rows: np.zeros(shape)).ask(X, 20)


def test_labels_in_place_of_numbers_are_named():
    with pytest.raises(ValueError, match=r"such as labels; numbers are needed\. Pass a model"):
        black_box(lambda rows: np.array(["no"] * len(rows))).ask(X, 20)


def test_a_torch_module_is_refused_and_its_tensors_are_taken():
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 3)
    with pytest.raises(TypeError, match=r"model is a torch module .*Pass a function of rows"):
        black_box(layer)
    with pytest.raises(TypeError, match="model is a torch module"):
        PublicModel.of(layer)

    def scores(rows):
        return layer(torch.as_tensor(rows, dtype=torch.float32))

    assert PublicModel.of(scores).outputs(X, 20).shape == (20, 3)
