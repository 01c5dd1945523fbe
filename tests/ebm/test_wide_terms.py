"""Terms with as many bins or levels as there may be, from the fit to its files."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from interpret_dp import (
    Categorical,
    Continuous,
    DPExplainableBoostingClassifier,
    DPExplainableBoostingRegressor,
    Schema,
    load_model,
)
from interpret_dp.mechanisms import SeededRandomness, use_randomness

N_LEVELS = 20_000
ROWS = 40_000


def fit(kind, schema, X, y, **parameters):
    # Seeded noise is drawn in one go; nothing else in the fit depends on where it comes from.
    with use_randomness(SeededRandomness(0)):
        return kind(schema=schema, epsilon=1000.0, delta=1e-6, **parameters).fit(X, y)


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def many_levels(request):
    """Return a fit on a nominal feature of 20,000 levels, its rows, and its peak of memory."""
    rng = np.random.default_rng(1)
    levels = [f"level {number}" for number in range(N_LEVELS)]
    classes = ["a", "b", "c"][: request.param]
    drawn = rng.integers(0, N_LEVELS, ROWS)
    X = pd.DataFrame({"x": rng.uniform(0, 1, ROWS), "level": np.array(levels, dtype=object)[drawn]})
    y = np.array(classes, dtype=object)[(drawn + rng.integers(0, 2, ROWS)) % request.param]
    schema = Schema(
        {"x": Continuous(0, 1), "level": Categorical(levels)}, target=Categorical(classes)
    )
    tracemalloc.start()
    try:
        model = fit(DPExplainableBoostingClassifier, schema, X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return model, X, peak


@pytest.mark.thorough
def test_many_levels_fit_into_memory(many_levels):
    """One matrix of all levels would take 3.2 GB."""
    model, _, peak = many_levels
    narrow, wide = model.released_.terms
    assert len(wide.scores) == N_LEVELS + 2
    assert narrow.covariance is not None
    assert narrow.variances is None
    assert wide.covariance is None
    assert wide.variances.shape == wide.scores.shape
    assert (wide.standard_deviations[1:-1] > 0).mean() > 0.1
    assert peak < 300e6


def test_changed_scores_of_a_wide_term_have_unknown_noise(many_levels):
    model, _, _ = many_levels
    assert model.to_released().terms[1].variances is not None
    fitted = model.term_scores_[1]
    try:
        model.term_scores_[1] = fitted / 2
        assert model.to_released().terms[1].standard_deviations is None
    finally:
        model.term_scores_[1] = fitted


@pytest.fixture(scope="module")
def many_bins():
    """Return a regression with the most bins that may be asked for, and its rows."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.uniform(0, 1, 200_000)})
    y = np.sin(6 * X["x"].to_numpy()) + rng.normal(scale=0.1, size=len(X))
    schema = Schema({"x": Continuous(0, 1)}, target=Continuous(-2, 2))
    return fit(DPExplainableBoostingRegressor, schema, X, y, max_bins=65_535), X


@pytest.mark.thorough
def test_the_most_bins(many_bins, tmp_path):
    model, X = many_bins
    (term,) = model.released_.terms
    assert len(term.scores) > 30_000
    assert term.variances is not None
    assert np.mean((model.predict(X) - np.sin(6 * X["x"])) ** 2) < 0.02
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.released_.digest == model.released_.digest
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert len(model.to_tables()["x"]) >= len(term.scores) - 2
    assert len(model.explain_global().data(0)["scores"]) == len(term.scores) - 2
    with pytest.warns(UserWarning, match="JSON formats are in beta"):
        model.to_json(tmp_path / "interpret.json")
    assert len(json.loads((tmp_path / "interpret.json").read_text())["ebm"]["terms"]) == 1
