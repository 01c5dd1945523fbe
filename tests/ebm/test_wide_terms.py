"""Terms with as many bins or levels as there may be, from the fit to its files."""

import json

import numpy as np
import pandas as pd
import pytest

import interpret_dp as dp
from interpret_dp.mechanisms import SeededRandomness, use_randomness
from tests.memory import peak_of

N_LEVELS = 20_000
ROWS = 40_000


def fit(kind, schema, X, y, **parameters):
    # Seeded noise is drawn in one go; nothing else in the fit depends on where it comes from.
    with use_randomness(SeededRandomness(0)):
        return kind(schema=schema, epsilon=1000.0, delta=1e-6, **parameters).fit(X, y)


@pytest.mark.thorough
def test_many_levels_fit_into_memory():
    """One matrix of all levels would take 3.2 GB."""
    rng = np.random.default_rng(1)
    levels = [f"level {number}" for number in range(N_LEVELS)]
    classes = ["a", "b", "c"]
    drawn = rng.integers(0, N_LEVELS, ROWS)
    X = pd.DataFrame({"x": rng.uniform(0, 1, ROWS), "level": np.array(levels, dtype=object)[drawn]})
    y = np.array(classes, dtype=object)[(drawn + rng.integers(0, 2, ROWS)) % 3]
    schema = dp.Schema(
        {"x": dp.Continuous(0, 1), "level": dp.Categorical(levels)}, dp.Categorical(classes)
    )
    model, peak = peak_of(lambda: fit(dp.DPExplainableBoostingClassifier, schema, X, y))
    narrow, wide = model.released_.terms
    assert len(wide.scores) == N_LEVELS + 2
    assert narrow.covariance is not None
    assert narrow.variances is None
    assert wide.covariance is None
    assert wide.variances.shape == wide.scores.shape
    assert (wide.standard_deviations[1:-1] > 0).mean() > 0.1
    assert peak < 300e6
    # Changed scores have unknown noise.
    model.term_scores_[1] = model.term_scores_[1] / 2
    assert model.to_released().terms[1].standard_deviations is None


@pytest.mark.thorough
def test_the_most_bins(tmp_path):
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.uniform(0, 1, 200_000)})
    y = np.sin(6 * X["x"].to_numpy()) + rng.normal(scale=0.1, size=len(X))
    schema = dp.Schema({"x": dp.Continuous(0, 1)}, target=dp.Continuous(-2, 2))
    model = fit(dp.DPExplainableBoostingRegressor, schema, X, y, max_bins=65_535)
    (term,) = model.released_.terms
    assert len(term.scores) > 30_000
    assert term.variances is not None
    assert np.mean((model.predict(X) - np.sin(6 * X["x"])) ** 2) < 0.02
    model.save(tmp_path / "model.json")
    again = dp.load_model(tmp_path / "model.json")
    assert again.released_.digest == model.released_.digest
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert len(model.to_tables()["x"]) >= len(term.scores) - 2
    assert len(model.explain_global().data(0)["scores"]) == len(term.scores) - 2
    with pytest.warns(UserWarning, match="JSON formats are in beta"):
        model.to_json(tmp_path / "interpret.json")
    assert len(json.loads((tmp_path / "interpret.json").read_text())["ebm"]["terms"]) == 1
