"""Explanations from a background: the right effects, honest standard errors, any container."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from interpret_dp import Categorical, Continuous, Integer, PrivateBackground
from interpret_dp.lime import background_explanation
from interpret_dp.released.background import BackgroundColumn
from interpret_dp.released.terms import AdditiveFeature
from tests.released.test_background import background

LEVELS = {"a": 0.0, "b": 1.0, "c": 3.0}


KNOWN = {
    "x": (Continuous(0, 1), [0, *[250] * 4, 0], [0.25, 0.5, 0.75]),
    "n": (Integer(0, 39), [0, *[500] * 2, 0], [19.5]),
    "site": (Categorical(list(LEVELS)), [0, 500, 300, 200, 0], None),
}


def known(noise=1e-3, rng=None):
    """Return a background of three columns whose means are known: 0.5, 20 and 0.8."""
    columns = []
    for name, (spec, counts, cuts) in KNOWN.items():
        deviations = np.full(len(counts), noise)
        if cuts is not None:
            deviations[-1] = 0.0
        drawn = np.array(counts, dtype=float)
        if rng is not None:
            drawn += deviations * rng.standard_normal(len(counts))
        columns.append(BackgroundColumn(AdditiveFeature(name, spec, cuts), drawn, deviations))
    return background(*columns)


def additive(X):
    return 2.0 * X["x"] + X["n"] / 10.0 + X["site"].map(LEVELS).astype(float)


ROWS = pd.DataFrame({"x": [0.9, 0.1], "n": [39, 5], "site": ["c", "a"]})
# Of each value against the mean over the background: 2 (0.9 - 0.5), (39 - 19.5) / 10, 3 - 0.9.
EFFECTS = [[0.8, 1.95, 2.1], [-0.8, -1.45, -0.9]]


def scores(explanation, kind="scores"):
    n_rows = len(explanation.selector)
    return np.array([explanation.data(row)[kind] for row in range(n_rows)])


def errors(explanation):
    return scores(explanation, "standard_errors")


def test_of_an_additive_function_effects_are_differences_from_the_mean():
    explanation = PrivateBackground.from_released(known()).explain_local(additive, ROWS)
    np.testing.assert_allclose(scores(explanation), EFFECTS, atol=0.03)
    assert (errors(explanation) < 0.02).all()
    row = explanation.data(0)
    assert row["fit"]["prediction"] == pytest.approx(row["predicted"], abs=0.02)
    assert row["fit"]["fidelity"] > 0.9
    assert row["output"] == "predicted value"
    assert "local fit: " in str(explanation.figure(0).layout.annotations[-1].text)


def test_a_column_that_the_model_does_not_use_has_no_effect():
    explanation = PrivateBackground.from_released(known()).explain_local(lambda X: X["x"], ROWS)
    assert np.abs(scores(explanation)[:, 1:]).max() < 5e-3


def test_intervals_hold_the_effects_of_the_background_without_noise():
    """Interactions included: 95 % intervals of 3 effects of 2 rows over 40 releases.

    Without the noise of the background in the errors, the control, they hold far fewer.
    """

    def model(X):
        return np.where(X["site"] == "c", 3.0, 1.0) * X["x"] + X["n"] / 40.0

    truth = scores(PrivateBackground.from_released(known()).explain_local(model, ROWS))
    rng = np.random.default_rng(5)
    held, control = [], []
    for _ in range(40):
        noisy = PrivateBackground.from_released(known(60.0, rng))
        explanation = noisy.explain_local(model, ROWS)
        found, error = scores(explanation), errors(explanation)
        held.append(np.abs(found - truth) <= 1.96 * error)
        free = noisy._perturbations
        free._weight_changes[...] = 0.0
        free._share_changes = [np.zeros_like(own) for own in free._share_changes]
        control.append(np.abs(found - truth) <= 1.96 * errors(noisy.explain_local(model, ROWS)))
    assert np.mean(held) >= 0.9
    assert np.mean(control) < 0.6


def test_columns_beyond_the_rows_for_them_have_no_groups(monkeypatch):
    monkeypatch.setattr(background_explanation, "_ROWS", 64)
    halves = [
        BackgroundColumn(
            AdditiveFeature(f"w{k}", Continuous(0, 1), [0.5]), [0, 9, 1, 0], [1, 1, 1, 0]
        )
        for k in range(10)
    ]
    wide = PrivateBackground.from_released(background(*halves))
    explanation = wide.explain_local(lambda X: X[:, 0] > 0.5, np.ones((1, 10)))
    assert len(wide._perturbations) == 8 * 11
    assert np.argmax(np.abs(scores(explanation)[0])) == 0


def numbers(X):
    cells = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    return 2.0 * cells[:, 0] + cells[:, 1] / 10.0


ARRAYS = [
    pytest.param(2, lambda rows: rows, id="array"),
    pytest.param(2, lambda rows: rows.astype(object), id="objects"),
    pytest.param(2, lambda rows: rows.tolist(), id="list"),
    pytest.param(2, sparse.csr_matrix, id="csr"),
    pytest.param(2, sparse.csr_array, id="csr array"),
]
FRAMES = [
    pytest.param(3, pl.from_pandas, id="polars"),
    pytest.param(3, lambda frame: pa.table(frame.to_dict("list")), id="arrow"),
    pytest.param(3, lambda frame: frame.astype({"site": "category", "n": "Int64"}), id="dtypes"),
    pytest.param(3, lambda frame: frame[["site", "extra", "n", "x"]], id="another order"),
]


@pytest.mark.parametrize(("n_columns", "make"), [*ARRAYS, *FRAMES])
def test_rows_stay_in_their_container(n_columns, make):
    """Frames keep their other columns too; arrays have two columns, without names."""
    is_frame = n_columns == 3
    rows = make(
        ROWS.assign(extra=["left", "alone"]) if is_frame else ROWS[["x", "n"]].to_numpy(float)
    )

    def model(X):
        assert type(X) is type(rows)
        if not is_frame:
            return numbers(X)
        frame = X.to_pandas() if hasattr(X, "to_pandas") else X
        assert set(frame["extra"]) <= {"left", "alone"}
        return additive(frame)

    own = PrivateBackground.from_released(background(*known().columns[:n_columns]))
    found = scores(own.explain_local(model, rows))
    np.testing.assert_allclose(found, np.array(EFFECTS)[:, :n_columns], atol=0.03)


class Classifier:
    classes_ = np.array(["no", "perhaps", "yes"])

    def predict_proba(self, X):
        high = np.clip(X["x"], 0, 1)
        return np.column_stack([1 - high, 0 * high, high])


def test_of_several_classes_the_predicted_one_is_explained():
    own = PrivateBackground.from_released(known())
    explanation = own.explain_local(Classifier(), ROWS, ["yes", "yes"])
    assert explanation.data(0)["output"] == "probability of yes"
    assert explanation.data(1)["output"] == "probability of no"
    assert scores(explanation)[:, 0] == pytest.approx([0.4, 0.4], abs=0.02)
    assert explanation.data(1)["perf"]["actual"] == 0
    chosen = own.explain_local(Classifier(), ROWS, explained_class="yes")
    assert scores(chosen)[:, 0] == pytest.approx([0.4, -0.4], abs=0.02)
    with pytest.raises(ValueError, match="explained_class is 'maybe'; it must be one of"):
        own.explain_local(Classifier(), ROWS, explained_class="maybe")


NOT_EXPLAINED = [
    (additive, ROWS[:0], "X has 0 rows"),
    (additive, ROWS[["x", "n"]], "lacks"),
]


@pytest.mark.parametrize(("model", "rows", "message"), NOT_EXPLAINED)
def test_what_cannot_be_explained_is_refused(model, rows, message):
    with pytest.raises((TypeError, ValueError), match=message):
        PrivateBackground.from_released(known()).explain_local(model, rows)
